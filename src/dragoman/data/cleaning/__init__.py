"""Clean corpora: repair and normalize text, and drop sentence pairs that are not translations of each other.

Order: `repair`, `apply_filters` with `build_raw_filters`, `normalize_frame`, `apply_filters` with `build_filters`.
"""

from dragoman.data.cleaning.change_texts import normalize_frame, repair
from dragoman.data.cleaning.filters.base import Filter
from dragoman.data.cleaning.pipeline import apply_filters, build_filters, build_raw_filters

__all__ = ["Filter", "apply_filters", "build_filters", "build_raw_filters", "normalize_frame", "repair"]
