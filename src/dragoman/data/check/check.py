"""The whole check, but for what only a model can tell: that is handed in."""

from __future__ import annotations

from collections.abc import Callable

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


def check(preparation: Preparation, predict_cost: PredictCost | None) -> Report:
    """Run the stages up to the tokenizer, and report; what stops one of them is reported, not raised."""
    config, data = preparation.config, preparation.data
    fatal: list[str] = []
    corpora = look_at_corpora(preparation)
    selection = Selection(0, 0, Tally(), {})
    pieces: Pieces | None = None
    batches: Batches | None = None
    cost: Cost | None = None
    try:
        selection = look_at_selection(preparation.selected)
        sample = sample_pairs(preparation, _SAMPLED_PAIRS)
        pieces = look_at_pieces(sample, config, _held_out(preparation))
        batches = look_at_batches(sample, config)
        if batches is not None and predict_cost is not None:
            cost = predict_cost(config, sample, batches)
    except DragomanError as error:
        fatal += str(error).splitlines()
    faults = sum(corpus.summary.faults.total for corpus in corpora)
    if faults and data.on_bad_line == "error":
        fatal.append(f"{counted(faults, 'bad line')} must be mended, or left out with --on-bad-line skip")
    advice = advise(config, corpora, selection, pieces, batches, cost)
    return Report(
        data.source, data.target, corpora, selection, pieces, batches, cost, advice, [*preparation.problems, *fatal]
    )


def _held_out(preparation: Preparation) -> pl.DataFrame:
    """Pairs that the tokenizer was not learnt from."""
    frames = [
        cleaned.frame(number)
        for source, cleaned in preparation.cleaned
        if source.role != "train"
        for number in range(len(cleaned.heights))
    ]
    frames += [preparation.selected.taken_frame(split) for split in preparation.selected.taken]
    schema = {"source": pl.String, "target": pl.String}
    return pl.concat([pl.DataFrame(schema=schema), *(frame.select(*schema) for frame in frames)]).head(_HELD_OUT_PAIRS)
