"""Display example sentences on the comparison page: mark differing words, draw attention maps as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.inspection.comparison.report_types import SentenceComparison, SystemAttention, SystemTranslation
from dragoman.inspection.select_attention_map import check_weights
from dragoman.inspection.word_diff import DiffWord, diff_words
from dragoman.reporting.bidi import reading_order
from dragoman.reporting.heatmap import heatmap_svg

__all__ = ["MAX_SENTENCE", "MarkedTranslation", "attention_svg", "mark_differences"]

MAX_SENTENCE = 1500
"""Characters of a sentence that are shown."""


@dataclass(frozen=True)
class MarkedTranslation:
    """A translation split into words with marks."""

    translation: SystemTranslation
    words: Sequence[DiffWord]


def mark_differences(sentence: SentenceComparison, baseline: str | None) -> list[MarkedTranslation]:
    """Mark the words that differ: those of the baseline from all others, those of others from the baseline."""
    return [MarkedTranslation(each, _words(each, sentence, baseline)) for each in sentence.translations]


def _words(each: SystemTranslation, sentence: SentenceComparison, baseline: str | None) -> list[DiffWord]:
    rest = [other for other in sentence.translations if other is not each]
    others = [other for other in rest if other.system == baseline] or rest
    texts = [other.text[:MAX_SENTENCE] for other in others]
    return diff_words(each.text[:MAX_SENTENCE], texts, sentence.reference)


def attention_svg(attention: SystemAttention, source: str) -> str:
    """Draw a map with its columns in the reading order of the source; empty without weights."""
    if attention.weights is None:
        return ""
    weights = check_weights(attention.weights, attention.source_words, attention.target_words)
    columns, weights = reading_order(source, attention.source_words, weights)
    title = f"{attention.system}: attention map of {attention.translation}, from {source}"
    return heatmap_svg(columns, attention.target_words, weights, title=title)
