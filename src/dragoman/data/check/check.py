"""The whole check, but for what only a model can tell: that is handed in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import polars as pl

from dragoman.config import Config
from dragoman.data.check.advice import advise
from dragoman.data.check.figures import counted
from dragoman.data.check.look import (
    Sample,
    look_at_batches,
    look_at_corpora,
    look_at_pieces,
    look_at_selection,
    sample_pairs,
)
from dragoman.data.check.report import Batches, Cost, Pieces, Report, Selection
from dragoman.data.preparation.prepare import Preparation
from dragoman.data.tally import Tally
from dragoman.errors import DragomanError

__all__ = ["PredictCost", "check"]

PredictCost = Callable[[Config, Sample, Batches], Cost]
"""Says what training a configuration's model takes, given a sample of the pairs and the batches of an epoch."""

_SAMPLED_PAIRS = 20_000
_HELD_OUT_PAIRS = 2_000


@dataclass
class _Found:
    """What was found so far, beyond the corpora one by one."""

    selection: Selection = field(default_factory=lambda: Selection(0, 0, Tally(), {}))
    pieces: Pieces | None = None
    batches: Batches | None = None
    cost: Cost | None = None


def check(preparation: Preparation, predict_cost: PredictCost | None) -> Report:
    """Run the stages up to the tokenizer, and report; what stops one of them is reported, not raised."""
    config, data = preparation.config, preparation.data
    corpora, found = look_at_corpora(preparation), _Found()
    fatal = list(preparation.problems)
    if not fatal:  # where a corpus is missing, all that follows would only complain about that
        try:
            _look_further(preparation, predict_cost, found)
        except DragomanError as error:
            fatal += str(error).splitlines()
    faults = sum(corpus.summary.faults.total for corpus in corpora)
    if faults and data.on_bad_line == "error":
        fatal.append(f"{counted(faults, 'bad line')} must be mended, or left out with --on-bad-line skip")
    looks = (found.selection, found.pieces, found.batches, found.cost)
    return Report(data.source, data.target, corpora, *looks, advise(config, corpora, *looks), fatal)


def _look_further(preparation: Preparation, predict_cost: PredictCost | None, found: _Found) -> None:
    config = preparation.config
    found.selection = look_at_selection(preparation.selected)
    sample = sample_pairs(preparation, _SAMPLED_PAIRS)
    found.pieces = look_at_pieces(sample, config, _held_out(preparation))
    found.batches = look_at_batches(sample, config)
    if found.batches is not None and predict_cost is not None:
        found.cost = predict_cost(config, sample, found.batches)


def _held_out(preparation: Preparation) -> pl.DataFrame:
    """Pairs that the tokenizer was not learnt from."""
    frames = [pl.DataFrame(schema={"source": pl.String, "target": pl.String})]
    for source, cleaned in preparation.cleaned:
        if source.role != "train" and cleaned.heights:
            frames.append(cleaned.frame(0).head(_HELD_OUT_PAIRS))
    frames += [preparation.selected.taken_frame(split).head(_HELD_OUT_PAIRS) for split in preparation.selected.taken]
    return pl.concat([frame.select("source", "target") for frame in frames]).head(_HELD_OUT_PAIRS)
