"""Markup in text: find tags and placeholders, and transfer them to the translation."""

from dragoman.markup.html_text import HtmlText
from dragoman.markup.masking import MaskedText, mask_protected
from dragoman.markup.protected_spans import find_placeholders
from dragoman.markup.soft_alignment import SoftAlignment
from dragoman.markup.tag_projection import project_tags
from dragoman.markup.tagged_text import TaggedText, TagSpan

__all__ = [
    "HtmlText",
    "MaskedText",
    "SoftAlignment",
    "TagSpan",
    "TaggedText",
    "find_placeholders",
    "mask_protected",
    "project_tags",
]
