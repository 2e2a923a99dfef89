"""Scores on held-out sets at the end of a training: of the model, and of the one it began with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.api.scoring import translate_pieces
from dragoman.config import Config, CorpusConfig
from dragoman.data.pairs import SIDES
from dragoman.data.preparation.manifest import Prepared
from dragoman.data.readers.open import open_corpus
from dragoman.evaluation.metrics import Score, bleu, chrf
from dragoman.models.protocol import Model
from dragoman.text import Normalizer, Tokenizer
from dragoman.text.normalize import Form

__all__ = ["HeldOut", "SetScore", "held_out_sets", "score_set"]

_MOST = 2000  # sentences of a set: enough for a figure at the end of a training; evaluating takes all


@dataclass(frozen=True)
class HeldOut:
    """Sentences that training never sees, as text."""

    name: str
    sources: Sequence[str]
    references: Sequence[str]


@dataclass(frozen=True)
class SetScore:
    """The scores of one model on one set; `model` is "new" or, of the one that training began with, "before"."""

    name: str
    model: str
    sentences: int
    scores: tuple[Score, ...]


def held_out_sets(
    prepared: Prepared, config: Config, folder: Path, tokenizers: Mapping[str, Tokenizer]
) -> list[HeldOut]:
    """The validation set, and each test set of a configuration; of large ones the first sentences."""
    assert config.data is not None
    sets = [_read(corpus, config, folder) for corpus in config.data.test]
    if config.data.test_pairs:
        texts = [(prepared.folder / f"test.{getattr(config.data, side)}").read_text("utf-8") for side in SIDES]
        sets.append(HeldOut("test", *(text.split("\n")[:-1][:_MOST] for text in texts)))
    if "validation" in prepared.manifest["splits"]:
        shards = prepared.shards("validation")
        rows = np.arange(min(_MOST, len(shards)))
        pairs = shards.gather(rows)
        sides = ([tokenizers[side].decode(ids.tolist()) for ids in getattr(pairs, side).split()] for side in SIDES)
        sets.insert(0, HeldOut("validation", *sides))
    return [each for each in sets if each.sources]


def _read(corpus: CorpusConfig, config: Config, folder: Path) -> HeldOut:
    data = config.data
    assert data is not None
    reader = open_corpus(corpus, source=data.source, target=data.target, folder=folder)
    columns: dict[str, list[str]] = {side: [] for side in SIDES}
    for chunk in reader.chunks(_MOST):
        frame = chunk.read(on_bad_line=data.on_bad_line, max_line_bytes=data.max_line_bytes).frame
        for side in SIDES:
            columns[side] += frame[side].to_list()
        if len(columns["source"]) >= _MOST:
            break
    name = corpus.name or Path(reader.files()[0]).name
    return HeldOut(name, *(columns[side][:_MOST] for side in SIDES))


def score_set(
    model: Model[Any, Any],
    tokenizers: Mapping[str, Tokenizer],
    normal_form: Form,
    held_out: HeldOut,
    *,
    called: str,
    check: Callable[[], None],
) -> SetScore:
    """Translate a set greedily, and score it against its references; `check` is called now and then, and may raise."""
    normalize = Normalizer(form=normal_form)
    sources = [tokenizers["source"].encode(normalize(text)) for text in held_out.sources]
    hypotheses = translate_pieces(model, sources, check=check)
    texts = [tokenizers["target"].decode(hypothesis.pieces) for hypothesis in hypotheses]
    scores = (bleu(texts, held_out.references), chrf(texts, held_out.references))
    return SetScore(held_out.name, called, len(texts), scores)
