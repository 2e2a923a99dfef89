"""Measure corpora, tokens and batches without a model, and report; a callback estimates the cost of training."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dragoman.config import Config
from dragoman.data.augmentation import Augmentation, changed_examples
from dragoman.data.batch_plan import BatchPlan, CorpusRows
from dragoman.data.check.advice import advise, find_misuse, is_small
from dragoman.data.check.report_types import (
    BatchStatistics,
    CheckReport,
    CorpusReport,
    SelectionStatistics,
    TokenStatistics,
    TrainingCost,
)
from dragoman.data.cleaning.filters.language import language_shares
from dragoman.data.cleaning.filters.lengths_and_letters import count_words
from dragoman.data.preparation.corpus_sources import CorpusSource
from dragoman.data.preparation.preparation import Preparation
from dragoman.data.preparation.selected_pairs import SelectedPairs
from dragoman.data.preparation.shard_stage import TOO_MANY_TOKENS, encode
from dragoman.data.preparation.tokenizer_stage import LISTED_BY_CHECK
from dragoman.data.readers.corpus_reader import exchange_sides, file_format
from dragoman.data.reason_counts import Example, Tally
from dragoman.data.token_pairs import SIDES, Pairs, Sentences
from dragoman.errors import DragomanError
from dragoman.language_codes import primary_language
from dragoman.reporting.number_format import format_count
from dragoman.text import Tokenizer
from dragoman.text.language_scripts import chinese_script
from dragoman.text.other_language import are_swapped, main_language
from dragoman.text.words import TextPair

_LANGUAGE_CHUNKS = 4
_UNKNOWN_EXAMPLES = 20


def measure_corpora(preparation: Preparation) -> list[CorpusReport]:
    """Return a report of every corpus: counts of cleaning, and the languages of a sample."""
    reports = []
    for source, cleaned in preparation.cleaned:
        declared = preparation.data.languages_of(source.settings)
        wanted = {side: primary_language(language) for side, language in zip(SIDES, declared, strict=True)}
        texts = cleaned.sample(_LANGUAGE_CHUNKS)
        languages = {side: language_shares(pl.Series(texts[side], dtype=pl.String), wanted[side]) for side in SIDES}
        main = {side: main_language(languages[side]) for side in SIDES}
        scripts = {side: chinese_script("".join(texts[side])) for side in SIDES if main[side] == "zh"}
        files = [name for name, _ in source.digests]
        sides, swap_fix = _side_names(source), exchange_sides(source.settings)
        reports.append(
            CorpusReport(
                cleaned.name,
                source.role,
                files,
                cleaned.summary,
                languages,
                scripts,
                are_swapped([*main.values()], declared),
                sides,
                swap_fix,
                source.foreign_encodings() if cleaned.summary.faults.total else {},
                declared,
            )
        )
    return reports


def _side_names(source: CorpusSource) -> dict[str, str]:
    """Return the names of the two files of a corpus, written as the name of the corpus is: with or without a path."""
    files = source.settings.files
    if source.settings.name or len(files) != len(SIDES) or file_format(source.settings) != "lines":
        return {}
    is_short = source.name == Path(files[0]).name
    return {side: Path(file).name if is_short else file for side, file in zip(SIDES, files, strict=True)}


def measure_selection(selected: SelectedPairs) -> SelectionStatistics:
    """Return the counts of the selection."""
    return SelectionStatistics(selected.cleaned, selected.kept, selected.drops, dict(selected.record["held_out"]))


class PairSample:
    """A sample of the kept training pairs, as text and as tokens."""

    def __init__(self, frame: pl.DataFrame, tokenizers: dict[str, Tokenizer], max_tokens: int, drawn_from: int) -> None:
        self.frame = frame
        self.tokenizers = tokenizers
        self.drawn_from = drawn_from
        self.pairs: Pairs
        self.pairs, self.too_long = encode(frame, tokenizers, max_tokens)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of tokens on both sides of pairs that are not too long. Shapes: [pairs, 2]."""
        return np.stack([self.pairs.source.lengths, self.pairs.target.lengths], axis=1)

    def gather(self, rows: NDArray[np.int64]) -> Pairs:
        """Return the tokens of some pairs."""
        return Pairs(*(_gathered(side, rows) for side in (self.pairs.source, self.pairs.target)))


def _gathered(sentences: Sentences, rows: NDArray[np.int64]) -> Sentences:
    ends = np.cumsum(sentences.lengths)
    chosen = [
        sentences.ids[end - length : end] for end, length in zip(ends[rows], sentences.lengths[rows], strict=True)
    ]
    return Sentences(np.concatenate(chosen), sentences.lengths[rows])


def sample_pairs(preparation: Preparation, pairs: int) -> PairSample:
    """Draw a sample and tokenize it."""
    selected = preparation.selected
    frame = pl.concat(list(selected.sample(pairs, preparation.data.seed)))
    corpora = preparation.data.train_pairs()
    directions = sum(len(preparation.data.directions_of(corpus)) for corpus in corpora)
    trained = round(selected.kept * directions / len(corpora))  # a pair may be trained in both directions
    return PairSample(frame, preparation.tokenizers.load(), preparation.data.max_tokens, trained)


def measure_tokens(sample: PairSample, config: Config, held_out: pl.DataFrame) -> TokenStatistics:
    """Measure the tokenizer on the sample, and unknown tokens on held-out pairs."""
    assert config.data is not None
    too_long = sample.frame.filter(pl.Series(sample.too_long))
    tally = Tally()
    examples = (
        Example(row["file"], row["line"], row["source"], row["target"]) for row in too_long.iter_rows(named=True)
    )
    tally.add(TOO_MANY_TOKENS, too_long.height, examples)
    fitting = sample.frame.filter(pl.Series(~sample.too_long))
    lengths = {side: getattr(sample.pairs, side).lengths for side in SIDES}
    words = {side: max(1, int(fitting.select(count_words(pl.col(side)).sum()).item())) for side in SIDES}
    shares, seen = {}, Counter[str]()
    for side in SIDES:
        shares[side] = _unknown(sample.tokenizers[side], held_out[side].to_list(), seen)
    vocabulary = _vocabulary(sample.tokenizers, joint=config.tokenizer.joint)
    has_grown = config.start is None and max(vocabulary.values()) > config.tokenizer.size
    return TokenStatistics(
        kind=config.tokenizer.kind,
        vocabulary=vocabulary,
        sampled=sample.frame.height,
        max_tokens=config.data.max_tokens,
        per_word={side: float(lengths[side].sum() / words[side]) for side in SIDES},
        unknown=shares,
        unknown_examples=[text for text, _ in seen.most_common(_UNKNOWN_EXAMPLES)],
        too_long=too_long.height,
        too_long_examples=tally,
        grown_from=config.tokenizer.size if has_grown else None,
    )


def _vocabulary(tokenizers: dict[str, Tokenizer], *, joint: bool) -> dict[str, int]:
    return {"both": tokenizers["source"].size} if joint else {side: tokenizers[side].size for side in SIDES}


def _unknown(tokenizer: Tokenizer, texts: Sequence[str], seen: Counter[str]) -> float:
    """Return the share of tokens that are unknown or single bytes; their texts are counted in `seen`."""
    total = strange = 0
    for text in texts:
        tokens = tokenizer.tokens(text)
        ids = tokenizer.encode(text)
        total += len(ids)
        for token, number in zip(tokens, ids, strict=True):
            if number == tokenizer.unk_id:
                strange += 1
                seen[token.strip("▁")] += 1
            elif len(token) == 6 and token.startswith("<0x"):
                strange += 1
        seen.update(
            character for character in set(text) if any(each.startswith("<0x") for each in tokenizer.tokens(character))
        )
    return strange / max(1, total)


def measure_batches(sample: PairSample, config: Config) -> BatchStatistics | None:
    """Plan an epoch of batches on the sample and scale it up; None if a pair does not fit a batch."""
    assert config.data is not None
    lengths = sample.lengths
    budget = config.training.batch_tokens
    if not len(lengths) or lengths.max() >= budget:
        return None
    plan = BatchPlan(
        [CorpusRows("sample", 0, len(lengths))],
        lambda rows: lengths[rows],
        seed=config.training.seed,
        batch_tokens=budget,
        window=config.data.sampling.window,
        augmentation=Augmentation.of(
            config, sample.tokenizers, lambda rows: lengths[rows], sample.gather, [len(lengths)]
        ),
    )
    planned = list(takewhile(lambda batch: batch.epoch == 0, plan.batches()))
    drawn = [plan.lengths(batch.epoch, batch.slots, batch.rows) + 1 for batch in planned]  # with the end token
    with_end = np.concatenate(drawn)
    longest = np.array([each.max(axis=0) for each in drawn])  # [batches, 2]
    heights = np.array([len(each) for each in drawn])
    cells = float((longest.sum(axis=1) * heights).sum())
    scale = sample.drawn_from / len(lengths)
    return BatchStatistics(
        batches=round(len(planned) * scale),
        target_tokens=round(float(with_end[:, 1].sum()) * scale),
        padding=1.0 - float(with_end.sum()) / cells,
        fill=float((longest.max(axis=1) * heights).mean()) / budget,
    )


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
