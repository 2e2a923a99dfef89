"""Import files into translation memories and export them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from dragoman.documents.memory_files import FileUnit, read_memory_file, write_memory_file
from dragoman.errors import ConfigError, DataError
from dragoman.files import atomic_write
from dragoman.language_codes import MAX_LANGUAGE, is_known_language, match_rank
from dragoman.progress import NoProgress, Progress
from dragoman.storage.memories import Added, MemoryStore, StoredMemory, Unit

_BUFFERED = 50_000  # units of a language pair that are written together
_MAX_BUFFERED = 200_000  # of all language pairs
_MAX_PAIRS = 500


def import_file(
    store: MemoryStore,
    memory: StoredMemory,
    path: Path,
    *,
    source: str = "",
    target: str = "",
    progress: Progress | None = None,
) -> Added:
    """Add the units of a file, with their neighbours in it; those in other or unknown languages are skipped."""
    total, progress = Added(), progress or NoProgress()
    progress.begin(f"import {path.name}")
    buffers: dict[tuple[str, str], list[Unit]] = {}
    count = waiting = 0
    for each, before, after in _with_neighbours(read_memory_file(path)):
        count += 1
        pair = _languages(each, source, target, path)
        if pair is None:
            total = replace(total, skipped=total.skipped + 1)
            continue
        unit = Unit(each.source, each.target, before, after, each.author, each.created, path.name)
        buffers.setdefault(pair, []).append(unit)
        if len(buffers) > _MAX_PAIRS:
            raise DataError(f"{path} must have {_MAX_PAIRS} language pairs at most, got more; name one with --target")
        waiting += 1
        if len(buffers[pair]) >= _BUFFERED or waiting >= _MAX_BUFFERED:
            most = max(buffers, key=lambda each: len(buffers[each]))
            waiting -= len(buffers[most])
            total = _sum(total, store.add(memory, *most, buffers[most]))
            buffers[most] = []
            progress.advance(0, count)
    for pair, units in buffers.items():
        total = _sum(total, store.add(memory, *pair, units))
    progress.advance(1, count)
    return total


def export_file(store: MemoryStore, memory: StoredMemory, path: Path) -> int:
    """Write the approved units of a memory to a TMX or TSV file; return their number."""
    languages = {id_: (source, target) for id_, source, target, _ in memory.directions}
    if path.suffix.lower() not in (".tmx", ".tsv"):
        raise ConfigError(f"{path} must end in .tmx or .tsv; the ending selects the format")
    if path.suffix.lower() == ".tsv" and len(languages) > 1:
        raise ConfigError(f"{path} must end in .tmx: the memory has several language pairs, which TSV cannot state")
    units = (
        FileUnit(*languages[each.direction], each.source, each.target, each.author, each.created)
        for each in store.units(memory)
    )
    with atomic_write(path) as draft:
        return write_memory_file(draft, units, path.suffix.lower())


def _with_neighbours(units: Iterable[FileUnit]) -> Iterator[tuple[FileUnit, str, str]]:
    """Yield units with the sources before and after them."""
    before, current = "", None
    for each in units:
        if current is not None:
            if each.source == current.source:  # another target language of one source
                yield current, before, ""
            else:
                yield current, before, each.source
                before = current.source
        current = each
    if current is not None:
        yield current, before, ""


def _languages(unit: FileUnit, source: str, target: str, path: Path) -> tuple[str, str] | None:
    """Return the languages under which a unit is stored; None if they are not the given ones."""
    for stated, given, option in (
        (unit.source_language, source, "--source"),
        (unit.target_language, target, "--target"),
    ):
        if not stated and not given:
            raise ConfigError(f"{path} does not state the {option[2:]} language; name it with {option}")
        is_code = is_known_language(stated) and len(stated) <= MAX_LANGUAGE
        if stated and (not is_code or (given and match_rank(given, stated) is None)):
            return None
    return source or unit.source_language, target or unit.target_language


def _sum(one: Added, other: Added) -> Added:
    return Added(one.added + other.added, one.known + other.known, one.skipped + other.skipped)
