"""Call CTranslate2 with token ids: convert them to the token strings of its vocabularies and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dragoman.engines.ctranslate2.results import EngineHypothesis, complete_attention, read_result
from dragoman.search.decoding_protocol import Floats
from dragoman.text import EOS_ID


class TranslatorClient:
    """A CTranslate2 translator. `source` and `target` are its vocabularies, by token id."""

    def __init__(self, translator: Any, source: list[str], target: list[str]) -> None:
        self.translator = translator
        self.source = source
        self.target = target
        self.numbers = {word: number for number, word in enumerate(target)}

    def gains(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[list[float]]:
        """log p of every target token, and of the end."""
        scored = self.translator.score_batch(self._sources(sources), self._targets(targets), max_input_length=0)
        return [each.log_probs for each in scored]

    def translate(self, sources: Sequence[Sequence[int]], prefixes: Sequence[Sequence[int]], **options: Any) -> Any:
        """Results of CTranslate2. Either all sentences have a prefix or none: prefixes change its first step."""
        given = self._targets(prefixes) if any(prefixes) else None
        return self.translator.translate_batch(
            self._sources(sources), given, max_input_length=0, return_end_token=True, return_scores=True, **options
        )

    def next_tokens(self, source: Sequence[int], prefix: Sequence[int], most: int = 64) -> list[int]:
        """The most likely tokens after a prefix, the best first."""
        (result,) = self.translate(
            [source],
            [prefix],
            beam_size=1,
            num_hypotheses=min(most, len(self.target)),
            max_decoding_length=len(prefix) + 1,
            return_alternatives=True,
        )
        found = [each.tokens[len(prefix)] for each in self.read(result, 0.0) if len(each.tokens) > len(prefix)]
        return list(dict.fromkeys(found))

    def first_token_log_probs(self, sources: Sequence[Sequence[int]], prefix: Sequence[int] = ()) -> Floats:
        """log p of every token as the first one, after `prefix`, of a translation. Shapes: [sources, vocab]."""
        results = self.translate(
            sources,
            [prefix] * len(sources),
            beam_size=1,
            min_decoding_length=0,
            max_decoding_length=len(prefix) + 1,
            return_logits_vocab=True,
        )
        logits = np.stack([np.array(result.logits[0][-1], np.float32) for result in results])[:, : len(self.target)]
        logits -= logits.max(1, keepdims=True)
        logits -= np.log(np.exp(logits).sum(1, keepdims=True))
        return logits

    def read(self, result: Any, exponent: float) -> list[EngineHypothesis]:
        """Parse the result of a sentence."""
        return read_result(result, self.numbers, exponent)

    def forced_maps(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[Floats]:
        """Attention of given translations: each is passed as a prefix with its end, and later tokens are dropped."""
        ended = [[*target, EOS_ID] for target in targets]
        longest = max(map(len, ended))
        results = self.translate(sources, ended, beam_size=1, max_decoding_length=longest, return_attention=True)
        return [
            complete_attention(result.attention[0][: len(target)] if source else None, len(target))
            for result, source, target in zip(results, sources, ended, strict=True)
        ]

    def _sources(self, sentences: Sequence[Sequence[int]]) -> list[list[str]]:
        return [[self.source[token] for token in sentence] for sentence in sentences]

    def _targets(self, sentences: Sequence[Sequence[int]]) -> list[list[str]]:
        return [[self.target[token] for token in sentence] for sentence in sentences]
