"""Run a corpus check and return its report; a callback estimates the cost of training."""

from collections.abc import Callable
from dataclasses import dataclass, field

import polars as pl

from dragoman.config import Config
from dragoman.data.augmentation import changed_examples
from dragoman.data.check.advice import advise, find_misuse, is_small
from dragoman.data.check.measure import (
    PairSample,
    measure_batches,
    measure_corpora,
    measure_selection,
    measure_tokens,
    sample_pairs,
)
from dragoman.data.check.report_types import (
    BatchStatistics,
    CheckReport,
    SelectionStatistics,
    TokenStatistics,
    TrainingCost,
)
from dragoman.data.preparation.preparation import Preparation
from dragoman.data.preparation.tokenizer_stage import LISTED_BY_CHECK
from dragoman.data.reason_counts import Tally
from dragoman.data.token_pairs import SIDES
from dragoman.errors import DragomanError
from dragoman.reporting.number_format import format_count
from dragoman.text.word_links import TextPair

PredictCost = Callable[[Config, PairSample, BatchStatistics], TrainingCost]
"""Returns the cost of training, given a configuration, a sample of the pairs and the batches of an epoch."""

_SAMPLED_PAIRS = 20_000
_HELD_OUT_PAIRS = 2_000


@dataclass
class _Found:
    """Results so far, except for those of single corpora."""

    selection: SelectionStatistics = field(default_factory=lambda: SelectionStatistics(0, 0, Tally(), {}))
    tokens: TokenStatistics | None = None
    batches: BatchStatistics | None = None
    cost: TrainingCost | None = None
    changes: list[tuple[str, TextPair, TextPair]] = field(default_factory=list)


def check(preparation: Preparation, predict_cost: PredictCost | None) -> CheckReport:
    """Run the stages up to the tokenizer and report; errors of stages are reported, not raised."""
    config, data = preparation.config, preparation.data
    corpora, found = measure_corpora(preparation), _Found()
    fatal = [*preparation.problems, *find_misuse(corpora, data.on_bad_line)]
    faults = sum(corpus.summary.faults.total for corpus in corpora if not corpus.encodings)
    bad_lines = f"{format_count(faults, 'bad line')} must be corrected, or skipped with --on-bad-line skip"
    last = [bad_lines] if faults and data.on_bad_line == "error" else []
    if fatal or last:
        predict_cost = None  # a training that cannot start, or is useless, has no cost
    if not preparation.problems:  # if a corpus is missing, all later errors would follow from that
        try:
            _measure_all(preparation, predict_cost, found)
        except DragomanError as error:
            fatal += str(error).removesuffix(LISTED_BY_CHECK).splitlines()
    results = (found.selection, found.tokens, found.batches, found.cost)
    advice = advise(config, corpora, *results)
    return CheckReport(
        data.source,
        data.target,
        corpora,
        *results,
        advice,
        fatal + last,
        is_small=is_small(found.selection, config),
        changes=found.changes,
    )


def _measure_all(preparation: Preparation, predict_cost: PredictCost | None, found: _Found) -> None:
    config = preparation.config
    found.selection = measure_selection(preparation.selected)
    sample = sample_pairs(preparation, _SAMPLED_PAIRS)
    found.changes = list(changed_examples(preparation.data, sample.frame.select(SIDES).rows()))
    found.tokens = measure_tokens(sample, config, _held_out(preparation))
    found.batches = measure_batches(sample, config)
    if found.batches is not None and predict_cost is not None:
        found.cost = predict_cost(config, sample, found.batches)


def _held_out(preparation: Preparation) -> pl.DataFrame:
    """Return pairs that the tokenizer was not trained on."""
    frames = [pl.DataFrame(schema={"source": pl.String, "target": pl.String})]
    for source, cleaned in preparation.cleaned:
        if source.role != "train" and cleaned.heights:
            frames.append(cleaned.frame(0).head(_HELD_OUT_PAIRS))
    frames += [preparation.selected.taken_frame(split).head(_HELD_OUT_PAIRS) for split in preparation.selected.taken]
    return pl.concat([frame.select("source", "target") for frame in frames]).head(_HELD_OUT_PAIRS)
