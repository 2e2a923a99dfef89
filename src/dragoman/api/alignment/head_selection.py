"""Rank the attention heads of a model by alignment error rate against gold alignments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, get_args

from dragoman.api.alignment.word_attention import OnPairs, all_word_attention, attention_maps, check_spaces
from dragoman.api.translation.translator import Translator
from dragoman.api.translation.word_alignment import Links
from dragoman.config.alignment import AlignmentSettings, AttentionChoice, AttentionReading
from dragoman.errors import ConfigError
from dragoman.evaluation.alignment.error_rate import AlignmentScores, GoldLinks, score_alignment

__all__ = ["RankedHead", "rank_heads"]


@dataclass(frozen=True)
class RankedHead:
    """One attention map of a model, and the errors of its links."""

    choice: AttentionChoice
    error: AlignmentScores

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self.choice) | self.error.to_json()


def rank_heads(
    translator: Translator,
    sources: Sequence[str],
    targets: Sequence[str],
    gold: Sequence[GoldLinks],
    settings: AlignmentSettings | None = None,
    *,
    on_pairs: OnPairs | None = None,
) -> tuple[RankedHead, ...]:
    """Rank every layer, head, mean of heads and reading by alignment error rate. Requires the torch engine.

    The choice of a map and the symmetrization in `settings` have no effect. For a translator from target to source,
    swap the texts and the gold links.
    """
    settings = settings or AlignmentSettings(words="spaces")
    if len(gold) != len(sources):
        raise ConfigError(f"gold must have links for each pair, got {len(gold)} for {len(sources)}; count the lines")
    readings = frozenset(get_args(AttentionReading))
    found: dict[AttentionChoice, list[Links]] = {}
    for number, attention in enumerate(attention_maps(translator, sources, targets, on_pairs, readings)):
        for choice, each in all_word_attention(attention, by_spaces=settings.by_spaces):
            if settings.by_spaces:
                check_spaces(number, each, sources, targets)
            found.setdefault(choice, []).append(each.links(settings))
    ranked = [RankedHead(choice, score_alignment(links, gold)) for choice, links in found.items()]
    return tuple(sorted(ranked, key=lambda each: each.error.aer))  # ties: the lowest layer, the mean of its heads
