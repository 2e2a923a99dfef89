"""Cleaning: mending damaged text, normalising it, and dropping pairs that are no translations.

In this order: `repair`, `clean` with `build_raw_filters`, `normalize_frame`, `clean` with `build_filters`.
"""

from dragoman.data.cleaning.build import build_filters, build_raw_filters
from dragoman.data.cleaning.clean import clean
from dragoman.data.cleaning.normalize import normalize_frame
from dragoman.data.cleaning.repair import repair
from dragoman.data.cleaning.suspects import Filter

__all__ = ["Filter", "build_filters", "build_raw_filters", "clean", "normalize_frame", "repair"]
