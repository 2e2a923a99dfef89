"""Model bundles: saved models in verified folders, and their model cards. Imports no torch."""

from dragoman.bundle.bundle import Bundle, write_bundle
from dragoman.bundle.model_card import model_card
from dragoman.bundle.verified_folder import verify, write_verified

__all__ = ["Bundle", "model_card", "verify", "write_bundle", "write_verified"]
