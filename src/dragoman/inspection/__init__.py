"""Inspection: what a model looked at, for people to see. Needs no torch."""

from dragoman.inspection.page import Aligned, alignment_page
from dragoman.inspection.terminal_map import terminal_map

__all__ = ["Aligned", "alignment_page", "terminal_map"]
