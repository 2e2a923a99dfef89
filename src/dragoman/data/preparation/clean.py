"""The first stage: each corpus read, mended, normalised and filtered, chunk by chunk, in any number of processes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from dragoman.config import CleaningConfig, CorpusConfig, DataConfig, OnBadLine
from dragoman.data.chunk import Chunk, Lines, Reader
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
from dragoman.data.files import whole, write_json
from dragoman.data.preparation.stage import Stage, read_json
from dragoman.data.preparation.summary import Summary, histograms
from dragoman.data.progress import Progress
from dragoman.data.tally import Tally
from dragoman.data.workers import Workers
from dragoman.errors import DataError
from dragoman.text import Normalizer
from dragoman.text.normalize import Form

__all__ = ["Cleaned", "Recipe", "clean_corpus"]

_VERSION = 1  # of what this stage writes; a new number makes everybody's kept results old
_CHUNK_PAIRS = 65_536


@dataclass(frozen=True)
class Recipe:
    """All that decides what becomes of a chunk.

    A held-out corpus is not mended or filtered: what a translator is measured by stays what it is. Only pairs with an
    empty side leave it.
    """

    source: str
    target: str
    normal_form: Form
    on_bad_line: OnBadLine
    max_line_bytes: int
    cleaning: CleaningConfig | None
    keys: tuple[KeyKind, ...]

    @classmethod
    def of(cls, data: DataConfig, normal_form: Form, *, held_out: bool = False) -> Recipe:
        """The recipe that a configuration asks for."""
        cleaning = None if held_out else data.cleaning
        keys = _keys(cleaning) if cleaning else ()
        return cls(data.source, data.target, normal_form, data.on_bad_line, data.max_line_bytes, cleaning, keys)

    def depends(self) -> dict[str, Any]:
        """What the result depends on: to stop at a bad line or to leave it out gives the same chunks."""
        cleaning = self.cleaning and self.cleaning.model_dump(exclude=_LATER)
        return asdict(self) | {"cleaning": cleaning, "on_bad_line": self.on_bad_line == "replace"}


def _keys(cleaning: CleaningConfig) -> tuple[KeyKind, ...]:
    """The kinds of keys that the next stage will ask for."""
    wanted = {*LEAK_KEYS, *HELD_OUT_KEYS, *cleaning.duplicates, *(NEAR_KEYS if cleaning.near_duplicates else ())}
    return tuple(kind for kind in KINDS if kind in wanted)


# Settings of cleaning that only the next stage looks at.
_LATER = {"duplicates", "near_duplicates", "near_duplicate_similarity", "leakage"}


@dataclass(frozen=True)
class Cleaned:
    """A cleaned corpus: chunks on disk, how many pairs each holds, and what happened on the way."""

    name: str
    key: str
    folder: Path
    heights: tuple[int, ...]
    summary: Summary

    def frame(self, number: int) -> pl.DataFrame:
        """One chunk: the columns source, target, line."""
        return pl.read_ipc(_stem(self.folder, number).with_suffix(".arrow"))

    def chunk_files(self) -> list[Path]:
        """The files of text, one a chunk."""
        return [_stem(self.folder, number).with_suffix(".arrow") for number in range(len(self.heights))]

    def key_files(self) -> list[Path]:
        """The files of keys, one a chunk."""
        return [_stem(self.folder, number).with_suffix(".keys") for number in range(len(self.heights))]

    def files(self) -> list[str]:
        """The file that each chunk came from."""
        found = [read_json(_stem(self.folder, number).with_suffix(".json")) for number in range(len(self.heights))]
        return [str(each["file"]) for each in found if each]


def clean_corpus(
    corpus: CorpusConfig,
    reader: Reader,
    recipe: Recipe,
    *,
    work: Path,
    fingerprints: dict[str, str],
    workers: Workers,
    progress: Progress,
    stop_at_fault: bool,
) -> Cleaned:
    """Clean one corpus, or take what is there from before.

    With `stop_at_fault` a bad line is a `DataError` that names it; else bad lines are left out and counted.
    """
    name = corpus.name or Path(corpus.files[0]).name
    depends = [_VERSION, _CHUNK_PAIRS, recipe.depends(), fingerprints, corpus.model_dump(include={"format", "columns"})]
    stage = Stage(work, "clean", depends)
    result = stage.result()
    if result is None:
        progress.begin(f"cleaning {name}")
        result = _run(reader, recipe, stage, workers, progress, stop_at_fault)
        stage.finish(result)
    else:
        progress.skip(f"cleaning {name}")
    summary = Summary.from_json(result["summary"])
    if stop_at_fault and summary.faults.total:
        raise _complaint(summary.faults)
    return Cleaned(name, stage.key, stage.folder, tuple(result["heights"]), summary)


def _run(
    reader: Reader, recipe: Recipe, stage: Stage, workers: Workers, progress: Progress, stop_at_fault: bool
) -> dict[str, Any]:
    shares: list[float] = []
    tasks = _tasks(reader, recipe, stage.folder, shares)
    whole_summary, heights = Summary(), []
    for number, found in enumerate(workers.run(_clean_chunk, tasks)):
        summary = Summary.from_json(found["summary"])
        whole_summary.merge(summary)
        heights.append(summary.kept)
        progress.advance(shares[number], whole_summary.records)
        if stop_at_fault and summary.faults.total:
            raise _complaint(summary.faults)
    return {"summary": whole_summary.to_json(), "heights": heights}


@dataclass(frozen=True)
class _Task:
    chunk: Chunk
    recipe: Recipe
    stem: Path


def _tasks(reader: Reader, recipe: Recipe, folder: Path, shares: list[float]) -> Iterator[_Task]:
    for number, chunk in enumerate(reader.chunks(_CHUNK_PAIRS)):
        shares.append(chunk.progress)
        yield _Task(chunk, recipe, _stem(folder, number))


def _stem(folder: Path, number: int) -> Path:
    return folder / f"chunk-{number:06}"


def _clean_chunk(task: _Task) -> dict[str, Any]:
    """Clean one chunk, unless an earlier run did; its summary is written last and says that the rest is there."""
    done = read_json(task.stem.with_suffix(".json"))
    if done is not None:
        assert isinstance(done, dict)
        return done
    recipe = task.recipe
    lines = task.chunk.read(on_bad_line=recipe.on_bad_line, max_line_bytes=recipe.max_line_bytes)
    frame, summary = _clean_lines(lines, recipe)
    with whole(task.stem.with_suffix(".arrow")) as draft:
        # Uncompressed, and not as string views: single pairs are looked up in it.
        frame.write_ipc(draft, compat_level=pl.CompatLevel.oldest())
    if recipe.keys:
        write_keys(frame, task.stem.with_suffix(".keys"), recipe.keys)
    result = {"file": lines.file, "summary": summary.to_json()}
    write_json(task.stem.with_suffix(".json"), result)
    return result


def _clean_lines(lines: Lines, recipe: Recipe) -> tuple[pl.DataFrame, Summary]:
    frame, cleaning, file = lines.frame, recipe.cleaning, lines.file
    summary = Summary(lines.records, faults=lines.faults, notes=lines.notes, histograms=histograms(frame))
    filters: dict[str, Filter] = {"empty": empty}
    if cleaning is not None:
        frame, summary.repairs = repair(frame, cleaning, file)
        frame, drops = clean(frame, build_raw_filters(cleaning), file)
        summary.drops.merge(drops)
        filters = build_filters(cleaning, source=recipe.source, target=recipe.target)
    frame, normalized = normalize_frame(frame, Normalizer(form=recipe.normal_form), file)
    summary.repairs.merge(normalized)
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
    mend = "mend the file, or leave bad lines out with --on-bad-line skip; dragoman check lists them all"
    return DataError("\n".join([*lines, f"{f'and {more} more here; ' if more else ''}{mend}"]))
