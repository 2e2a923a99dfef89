"""Clean corpora: repair and normalize text, and drop sentence pairs that are not translations of each other.

Order: `repair`, `apply_filters` with `build_raw_filters`, `normalize_frame`, `apply_filters` with `build_filters`.
"""

from dragoman.data.cleaning.filters.base import Filter
from dragoman.data.cleaning.normalize import normalize_frame
from dragoman.data.cleaning.pipeline import apply_filters, build_filters, build_raw_filters
from dragoman.data.cleaning.repair import repair

__all__ = ["Filter", "apply_filters", "build_filters", "build_raw_filters", "normalize_frame", "repair"]
