"""The saved model: folders that are whole or not there, bundles, and their cards. Imports no torch."""

from dragoman.bundle.bundle import Bundle, write_bundle
from dragoman.bundle.card import model_card
from dragoman.bundle.sealed import sealed, verify

__all__ = ["Bundle", "model_card", "sealed", "verify", "write_bundle"]
