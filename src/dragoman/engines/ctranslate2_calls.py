"""Calls of CTranslate2, with piece numbers in place of its words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dragoman.engines.ctranslate2_results import Found, read_result, whole_map
from dragoman.search.protocol import Floats
from dragoman.text import EOS_ID

__all__ = ["Calls"]


class Calls:
    """A translator of CTranslate2. `source` and `target` are its words, by piece number."""

    def __init__(self, translator: Any, source: list[str], target: list[str]) -> None:
        self.translator = translator
        self.source = source
        self.target = target
        self.numbers = {word: number for number, word in enumerate(target)}

    def gains(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[list[float]]:
        """log p of every word of the targets, and of their ends."""
        scored = self.translator.score_batch(self._sources(sources), self._targets(targets), max_input_length=0)
        return [each.log_probs for each in scored]

    def translate(self, sources: Sequence[Sequence[int]], prefixes: Sequence[Sequence[int]], **options: Any) -> Any:
        """CTranslate2's own results. All have a prefix, or none has: its first step is another one with prefixes."""
        given = self._targets(prefixes) if any(prefixes) else None
        return self.translator.translate_batch(
            self._sources(sources), given, max_input_length=0, return_end_token=True, return_scores=True, **options
        )

    def read(self, result: Any, exponent: float) -> list[Found]:
        """What CTranslate2 found for a sentence."""
        return read_result(result, self.numbers, exponent)

    def forced_maps(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[Floats]:
        """The alignments of given translations: each is a prefix with its end, and what comes after that is dropped."""
        ended = [[*target, EOS_ID] for target in targets]
        longest = max(map(len, ended))
        results = self.translate(sources, ended, beam_size=1, max_decoding_length=longest, return_attention=True)
        return [
            whole_map(result.attention[0][: len(target)] if source else None, len(target))
            for result, source, target in zip(results, sources, ended, strict=True)
        ]

    def _sources(self, sentences: Sequence[Sequence[int]]) -> list[list[str]]:
        return [[self.source[piece] for piece in sentence] for sentence in sentences]

    def _targets(self, sentences: Sequence[Sequence[int]]) -> list[list[str]]:
        return [[self.target[piece] for piece in sentence] for sentence in sentences]
