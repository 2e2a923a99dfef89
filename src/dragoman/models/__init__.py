"""Whole translators behind one protocol."""

from dragoman.models.build import build_model
from dragoman.models.protocol import Decoded, Decoder, Encoded, Encoder, Model, Step

__all__ = ["Decoded", "Decoder", "Encoded", "Encoder", "Model", "Step", "build_model"]
