"""Model bundles: saved models in verified folders, and their model cards. Imports no torch."""

from dragoman.bundle.bundle import Bundle, write_bundle
from dragoman.bundle.model_card import imported_model_card, model_card
from dragoman.bundle.verified_folder import verify, write_verified
from dragoman.bundle.weights import refuse_non_finite
