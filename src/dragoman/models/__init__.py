"""Encoder-decoder models, all with the same protocol."""

from dragoman.models.base import Decoded, Decoder, Encoded, Encoder, Model, Step
from dragoman.models.build import build_model
