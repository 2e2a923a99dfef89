"""Translations of held-out sentences, scored: what training is judged by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dragoman.api.parts import batches
from dragoman.api.word_alignment import word_alignment
from dragoman.data.pairs import SIDES, Pairs
from dragoman.engines.torch_engine import TorchEngine
from dragoman.evaluation.metrics import bleu, chrf
from dragoman.models.protocol import Model
from dragoman.search import Hypothesis, SearchSettings, Sentence
from dragoman.text import Tokenizer
from dragoman.training.progress import Sample, Scored

__all__ = ["TranslationScorer", "sample_of", "translate_pieces"]

_BATCH_PIECES = 4096


class TranslationScorer:
    """Translates sentences greedily, scores them against their references, and shows a few of them."""

    def __init__(self, pairs: Pairs, tokenizers: dict[str, Tokenizer], *, samples: int = 3) -> None:
        self._sources, targets = ([ids.tolist() for ids in getattr(pairs, side).split()] for side in SIDES)
        self._tokenizers = tokenizers
        self._references = [tokenizers["target"].decode(ids) for ids in targets]
        # Of middling length: they fit a screen, and say more than the shortest.
        by_length = np.argsort([len(ids) for ids in self._sources], kind="stable")
        places = (np.linspace(0.3, 0.7, samples) * (len(by_length) - 1)).astype(int)
        self._shown = sorted({int(by_length[place]) for place in places})

    def __call__(self, model: Model[Any, Any], check: Callable[[], None]) -> Scored:
        found = translate_pieces(model, self._sources, check=check)
        texts = [self._tokenizers["target"].decode(hypothesis.pieces) for hypothesis in found]
        scores = (bleu(texts, self._references), chrf(texts, self._references))
        shown = translate_pieces(model, [self._sources[row] for row in self._shown], check=check, show=True)
        return Scored(
            {score.name: score.value for score in scores},
            {score.name: score.signature for score in scores},
            tuple(
                sample_of(self._sources[row], hypothesis, self._tokenizers, self._references[row])
                for row, hypothesis in zip(self._shown, shown, strict=True)
            ),
        )


def translate_pieces(
    model: Model[Any, Any], sources: Sequence[Sequence[int]], *, check: Callable[[], None], show: bool = False
) -> list[Hypothesis]:
    """Greedy translations, in batches of like length; `check` is called before each and may raise."""
    found: dict[int, Hypothesis] = {}
    engine, greedy = TorchEngine(model), SearchSettings(beam=1)
    for rows in batches([len(source) for source in sources], pieces=_BATCH_PIECES, sentences=_BATCH_PIECES):
        check()
        batch = engine.search([Sentence(sources[row]) for row in rows], greedy, show=show)
        found.update((row, best) for row, (best,) in zip(rows, batch, strict=True))
    return [found[row] for row in range(len(sources))]


def sample_of(
    source: Sequence[int], hypothesis: Hypothesis, tokenizers: dict[str, Tokenizer], reference: str
) -> Sample:
    """A translation as people read it: words, and which source words each target word looked at."""
    spelt = {
        side: [tokenizers[side].id_to_piece(piece) for piece in pieces]
        for side, pieces in (("source", source), ("target", hypothesis.pieces))
    }
    aligned = word_alignment(spelt["source"], spelt["target"], hypothesis.alignment)
    source_words, target_words = aligned.labels()
    return Sample(
        source=tokenizers["source"].decode(source),
        reference=reference,
        translation=tokenizers["target"].decode(hypothesis.pieces),
        source_words=source_words,
        target_words=target_words,
        weights=None if aligned.weights is None else tuple(tuple(row) for row in aligned.weights.tolist()),
    )
