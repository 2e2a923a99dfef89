"""Looking at corpora: the parts of a report that need no model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import takewhile

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dragoman.config import Config
from dragoman.data.check.report import Batches, CorpusReport, Pieces, Selection
from dragoman.data.cleaning.language import language_shares, primary_language
from dragoman.data.pairs import SIDES, Pairs, Sentences
from dragoman.data.preparation.prepare import Preparation
from dragoman.data.preparation.selected import Selected
from dragoman.data.preparation.write import TOO_MANY_PIECES, encode
from dragoman.data.sampling import CorpusRows, Plan
from dragoman.data.tally import Example, Tally
from dragoman.text import Tokenizer

__all__ = ["Sample", "look_at_batches", "look_at_corpora", "look_at_pieces", "look_at_selection", "sample_pairs"]

_LANGUAGE_CHUNKS = 4
_UNKNOWN_EXAMPLES = 20
_SWAPPED = 0.5  # from this share on, in both directions


def look_at_corpora(preparation: Preparation) -> list[CorpusReport]:
    """Every corpus: what was read, mended and dropped, and the languages of a sample of what was read."""
    wanted = {side: primary_language(getattr(preparation.data, side)) for side in SIDES}
    reports = []
    for source, cleaned in preparation.cleaned:
        texts = cleaned.sample(_LANGUAGE_CHUNKS)
        languages = {side: language_shares(pl.Series(texts[side], dtype=pl.String), wanted[side]) for side in SIDES}
        swapped = (
            all(languages[side].get(wanted[other], 0.0) > _SWAPPED for side, other in (SIDES, SIDES[::-1]))
            and wanted["source"] != wanted["target"]
        )
        files = [name for name, _ in source.digests]
        reports.append(CorpusReport(cleaned.name, source.role, files, cleaned.summary, languages, swapped))
    return reports


def look_at_selection(selected: Selected) -> Selection:
    """What becomes of the cleaned training pairs."""
    return Selection(selected.cleaned, selected.kept, selected.drops, dict(selected.said["held_out"]))


class Sample:
    """Training pairs drawn from all that are kept, as text and as pieces."""

    def __init__(self, frame: pl.DataFrame, tokenizers: dict[str, Tokenizer], max_pieces: int, drawn_from: int) -> None:
        self.frame = frame
        self.tokenizers = tokenizers
        self.drawn_from = drawn_from
        self.pairs: Pairs
        self.pairs, self.too_long = encode(frame, tokenizers, max_pieces)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Pieces of both sides of those that are not too long. Shapes: [pairs, 2]."""
        return np.stack([self.pairs.source.lengths, self.pairs.target.lengths], axis=1)

    def gather(self, rows: NDArray[np.int64]) -> Pairs:
        """Some of them, as pieces."""
        return Pairs(*(_gathered(side, rows) for side in (self.pairs.source, self.pairs.target)))


def _gathered(sentences: Sentences, rows: NDArray[np.int64]) -> Sentences:
    ends = np.cumsum(sentences.lengths)
    chosen = [
        sentences.ids[end - length : end] for end, length in zip(ends[rows], sentences.lengths[rows], strict=True)
    ]
    return Sentences(np.concatenate(chosen), sentences.lengths[rows])


def sample_pairs(preparation: Preparation, pairs: int) -> Sample:
    """Draw a sample and cut it into pieces."""
    selected = preparation.selected
    frame = pl.concat(list(selected.sample(pairs, preparation.data.seed)))
    return Sample(frame, preparation.tokenizers.load(), preparation.data.max_pieces, selected.kept)


def look_at_pieces(sample: Sample, config: Config, held_out: pl.DataFrame) -> Pieces:
    """The tokenizer at work: on the sample, and on held-out pairs for what it does not know."""
    assert config.data is not None
    most = config.data.max_pieces
    too_long = sample.frame.filter(pl.Series(sample.too_long))
    tally = Tally()
    examples = (
        Example(row["file"], row["line"], row["source"], row["target"]) for row in too_long.iter_rows(named=True)
    )
    tally.add(TOO_MANY_PIECES, too_long.height, examples)
    fitting = sample.frame.filter(pl.Series(~sample.too_long))
    lengths = {side: getattr(sample.pairs, side).lengths for side in SIDES}
    words = {side: max(1, int(fitting[side].str.count_matches(r"\S+").sum())) for side in SIDES}
    shares, seen = {}, Counter[str]()
    for side in SIDES:
        shares[side] = _unknown(sample.tokenizers[side], held_out[side].to_list(), seen)
    return Pieces(
        kind=config.tokenizer.kind,
        vocabulary=_vocabulary(sample.tokenizers, joint=config.tokenizer.joint),
        sampled=sample.frame.height,
        histograms={side: np.bincount(lengths[side], minlength=most + 1).tolist() for side in SIDES},
        a_word={side: float(lengths[side].sum() / words[side]) for side in SIDES},
        unknown=shares,
        unknown_examples=[text for text, _ in seen.most_common(_UNKNOWN_EXAMPLES)],
        too_long=too_long.height,
        too_long_examples=tally,
    )


def _vocabulary(tokenizers: dict[str, Tokenizer], *, joint: bool) -> dict[str, int]:
    return {"both": tokenizers["source"].size} if joint else {side: tokenizers[side].size for side in SIDES}


def _unknown(tokenizer: Tokenizer, texts: Sequence[str], seen: Counter[str]) -> float:
    """The share of pieces that are unknown or single bytes; what they stand for is counted in `seen`."""
    total = strange = 0
    for text in texts:
        pieces = tokenizer.pieces(text)
        ids = tokenizer.encode(text)
        total += len(ids)
        for piece, number in zip(pieces, ids, strict=True):
            if number == tokenizer.unk_id:
                strange += 1
                seen[piece.strip("▁")] += 1
            elif len(piece) == 6 and piece.startswith("<0x"):
                strange += 1
        seen.update(character for character in set(text) if _is_spelt_in_bytes(tokenizer, character))
    return strange / max(1, total)


def _is_spelt_in_bytes(tokenizer: Tokenizer, character: str) -> bool:
    return any(piece.startswith("<0x") for piece in tokenizer.pieces(character))


def look_at_batches(sample: Sample, config: Config) -> Batches | None:
    """An epoch of batches, planned on the sample and scaled up; None where a pair would not fit a batch."""
    assert config.data is not None
    lengths = sample.lengths
    budget = config.training.batch_tokens
    if not len(lengths) or lengths.max() >= budget:
        return None
    plan = Plan(
        [CorpusRows("sample", 0, len(lengths))],
        lambda rows: lengths[rows],
        seed=config.training.seed,
        batch_tokens=budget,
        window=config.data.sampling.window,
    )
    planned = [batch.rows for batch in takewhile(lambda batch: batch.epoch == 0, plan.batches())]
    with_end = lengths + 1
    longest = np.array([with_end[rows].max(axis=0) for rows in planned])  # [batches, 2]
    heights = np.array([len(rows) for rows in planned])
    cells = float((longest.sum(axis=1) * heights).sum())
    scale = sample.drawn_from / len(lengths)
    return Batches(
        batches=round(len(planned) * scale),
        target_pieces=round(float(with_end[:, 1].sum()) * scale),
        padding=1.0 - float(with_end.sum()) / cells,
        fill=float((longest.max(axis=1) * heights).mean()) / budget,
    )
