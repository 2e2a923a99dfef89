"""Translate every file of a folder, line by line; an interrupted translation can be resumed.

Each file has a partial output and a journal, as in `file_translation`. The manifest, ``translation.jsonl`` in the
output folder, has one line per finished file with its hashes; resuming skips files whose input and output still have
them. Blocks of several files may be translated at once, so that small files also keep all workers busy.
"""

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dragoman.api.files.file_translation import FileProgress, MapBlocks, OnProgress, check_output
from dragoman.api.files.input_lines import LineBlock, LineReader
from dragoman.api.files.resumable_output import START_OVER, Journal, ResumableOutput, different_options, partial_path
from dragoman.api.files.text_files import file_suffix, has_layout, is_text_file
from dragoman.errors import ConfigError, DataError
from dragoman.files import atomic_write, file_lock, fsync, open_without_links, remove_temporary_files
from dragoman.run_files import BUNDLE, PROJECT, RECORD
from dragoman.stop_signal import StopRequested, StopSignal

MANIFEST = "translation.jsonl"
"""File name of the manifest in the output folder."""

_LOCK = ".translation.lock"
_FORMAT = {"format": "dragoman-translated-folder", "version": 1}
_PROJECT_FILES = (MANIFEST, RECORD, PROJECT, f"{BUNDLE}/{MANIFEST}")


@dataclass(frozen=True)
class FolderResult:
    """How a translation ended: "finished", "terminated" or "interrupted".

    `resumed` and `resumed_lines` count what earlier runs had translated. `finished` has the journals of finished files.
    """

    status: str
    files: int
    lines: int
    resumed: int = 0
    resumed_lines: int = 0
    finished: Mapping[str, Journal] = field(default_factory=dict, compare=False)


class _Manifest:
    """The finished files of an output folder; locked by the caller."""

    def __init__(self, folder: Path, job: Mapping[str, Any], *, resume: bool) -> None:
        self._path = folder / MANIFEST
        self._job = json.loads(json.dumps(dict(job)))
        self.finished: dict[str, Journal] = self._read() if resume and self._path.exists() else {}
        remove_temporary_files(self._path)
        entries = [_FORMAT | {"job": self._job}, *map(_entry, self.finished, self.finished.values())]
        with atomic_write(self._path) as draft:  # written again: the last line may be incomplete
            draft.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries), encoding="utf-8")

    def _read(self) -> dict[str, Journal]:
        first, *lines = self._path.read_bytes().split(b"\n")
        try:
            header = json.loads(first)
            job = dict(header.pop("job"))
            is_known = header == _FORMAT
            finished = dict(map(_parse_entry, lines[:-1]))  # after the last line feed: nothing, or an incomplete line
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise DataError(
                f"{self._path} must list translated files, one JSON object per line; {START_OVER}"
            ) from None
        if not is_known:
            raise DataError(f"{self._path} is not of the format {_FORMAT}; {START_OVER}")
        if others := different_options(self._job, job):
            raise ConfigError(
                f"a translation is resumed with the options it started with, and {', '.join(others)} changed; use "
                f"the same, or {START_OVER}"
            )
        return finished

    def add(self, name: str, journal: Journal) -> None:
        """Record a file; its output is on the disk, and is renamed afterwards."""
        self.finished[name] = journal
        with open_without_links(self._path, os.O_RDWR) as file:
            file.seek(0, os.SEEK_END)
            file.write(f"{json.dumps(_entry(name, journal))}\n".encode())
        fsync(self._path)

    def has(self, name: str, source: Path, output: Path) -> bool:
        """Whether a file is translated already; raises `ConfigError` if its output is not the recorded one."""
        if not os.path.lexists(output):
            return False
        recorded = self.finished.get(name)
        if recorded is None:
            raise ConfigError(
                f"{output} is not listed in {MANIFEST}, so it is not of this translation; move it, or {START_OVER}"
            )
        with output.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != recorded.output_sha256:
            raise ConfigError(f"{output} was changed after it was written; move it, or {START_OVER}")
        digest = hashlib.sha256()
        with LineReader(source) as reader:
            for block in reader.skip(sys.maxsize):
                digest.update(block)
        return digest.hexdigest() == recorded.input_sha256


def _entry(name: str, journal: Journal) -> dict[str, Any]:
    return {"file": name} | asdict(journal)


def _parse_entry(line: bytes) -> tuple[str, Journal]:
    entry = json.loads(line)
    name, journal = str(entry.pop("file")), Journal(**entry)
    numbers, hashes = (
        (journal.lines, journal.input_bytes, journal.output_bytes),
        (journal.input_sha256, journal.output_sha256),
    )
    if not all(isinstance(number, int) for number in numbers) or not all(isinstance(each, str) for each in hashes):
        raise TypeError
    return name, journal


@dataclass
class _OpenFile:
    """A file that is being translated; the partial output is opened when its first lines are there, or to resume."""

    name: str
    reader: LineReader
    output: Path
    partial: ResumableOutput | None = None


def check_folders(
    folder: Path, output: Path | None, *, resume: bool, force: bool, as_text: bool = False
) -> tuple[list[str], list[str]]:
    """Return the names of the text files to translate, and of the files that are skipped: all others.

    Hidden files and links to folders are in neither list. With `as_text` only binary files are skipped. Raises
    `ConfigError` if the folders cannot be used.
    """
    for name in _PROJECT_FILES:
        if (folder / name).exists():
            raise ConfigError(f"the input must be a folder of texts, got {folder}, which contains {name}; name another")
    if output is None:
        raise ConfigError(f"the translation of the folder {folder} needs an output folder; name it with -o")
    inside, around = output.resolve(), folder.resolve()
    if inside.is_relative_to(around) or around.is_relative_to(inside):
        raise ConfigError(f"input and output must be separate folders, got {folder} and {output}; name another output")
    check_output_folder(output, resume=resume, force=force)
    names, skipped = _find_files(folder, as_text=as_text)
    if not names:
        raise DataError(f"{folder} has no text files{_explain_skipped(skipped)}")
    if MANIFEST in (*names, *skipped):
        raise ConfigError(f"{folder} has a file {MANIFEST}, which is the name of the record in the output; rename it")
    return names, skipped


def _find_files(folder: Path, *, as_text: bool) -> tuple[list[str], list[str]]:
    names = sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )
    texts = [name for name in names if is_text_file(folder / name, is_forced=as_text)]
    return texts, sorted(set(names) - set(texts))


def _explain_skipped(skipped: list[str]) -> str:
    """Return the reason and the next step if a folder has no text files; name a supported document if there is one."""
    if not skipped:
        return "; check the path"
    if supported := [name for name in skipped if has_layout(file_suffix(name))]:
        return f": {supported[0]} is no plain text; translate documents one by one"
    return f": {skipped[0]} is no plain text; convert it first"


def check_output_folder(output: Path, *, resume: bool, force: bool) -> None:
    """Raise `ConfigError` if translated files cannot be written to a folder."""
    if output.exists() and not output.is_dir():
        raise ConfigError(f"the output must be a folder, got the file {output}; name another")
    if output.is_dir() and any(output.iterdir()) and not force:
        if not resume:
            raise ConfigError(f"{output} has files in it; use --resume, or {START_OVER}")
        if not (output / MANIFEST).is_file():
            raise ConfigError(f"{output} has no {MANIFEST} to resume from; name another folder")


class _FolderWork:
    """The files to translate, those that are being translated, and how much is done."""

    def __init__(
        self, sources: Mapping[str, Path], output: Path, job: Mapping[str, Any], *, resume: bool, force: bool
    ) -> None:
        self._sources, self._output, self._job, self._resume, self._force = sources, output, job, resume, force
        self._sizes = {name: path.stat().st_size for name, path in sources.items()}
        self._total = sum(self._sizes.values())
        self._opened: dict[str, _OpenFile] = {}
        self._stack = ExitStack()
        self.manifest = _Manifest(output, job, resume=resume)
        self.bytes = self.lines = self.resumed = self.resumed_lines = self._resumed_bytes = 0

    def read_blocks(self) -> Iterator[LineBlock]:
        """Yield the blocks of all files that are not finished."""
        for name, size in self._sizes.items():
            source, target = self._sources[name], self._output / name
            if not self._force and self.manifest.has(name, source, target):
                self.resumed += 1
                self.bytes += size
                self._count_resumed(self.manifest.finished[name].lines, size)
                continue
            file = self._open(name, source, target)
            is_empty = True
            with file.reader:
                for block in file.reader.blocks():
                    is_empty = False
                    yield block
            if is_empty:
                self._finish(file)

    @property
    def progress(self) -> FileProgress:
        return self._progress(self.bytes)

    def _progress(self, consumed: int) -> FileProgress:
        return FileProgress(self.lines, consumed, self._total, self.resumed_lines, self._resumed_bytes)

    def _count_resumed(self, lines: int, stored: int) -> None:
        self.lines += lines
        self.resumed_lines += lines
        self._resumed_bytes += stored

    def _open(self, name: str, source: Path, target: Path) -> _OpenFile:
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.parent.resolve().is_relative_to(self._output.resolve()):
            raise ConfigError(f"{target.parent} is a link to a folder outside of {self._output}; name another output")
        file = _OpenFile(name, LineReader(source), target)
        check_output(target, file.reader, resume=True, force=True)
        self._opened[file.reader.name] = file
        if self._resume and partial_path(target).exists():
            file.partial = self._stack.enter_context(ResumableOutput(target, self._job))
            file.partial.resume(file.reader)
            self._count_resumed(file.partial.lines, file.reader.consumed)
        return file

    def _partial(self, file: _OpenFile) -> ResumableOutput:
        if file.partial is None:
            file.partial = self._stack.enter_context(ResumableOutput(file.output, self._job))
            file.partial.start()
        return file.partial

    def add(self, block: LineBlock, data: bytes) -> FileProgress:
        """Write the translation of a block, and return the progress."""
        file = self._opened[block.name]
        self._partial(file).add(block, data)
        self.lines += block.lines
        if block.is_last:
            self._finish(file)
            return self.progress
        return self._progress(self.bytes + block.consumed)

    def _finish(self, file: _OpenFile) -> None:
        partial = self._partial(file)
        self.manifest.add(file.name, partial.complete())
        partial.finish()
        partial.close()
        del self._opened[file.reader.name]
        self.bytes += self._sizes[file.name]

    def close(self) -> None:
        """Write the journals of unfinished files."""
        with self._stack:
            for file in self._opened.values():
                file.reader.close()
                if file.partial is not None:
                    file.partial.save()


def translate_files(
    translate_blocks: MapBlocks,
    sources: Mapping[str, Path],
    output: Path,
    *,
    job: Mapping[str, Any],
    resume: bool = False,
    force: bool = False,
    on_progress: OnProgress | None = None,
) -> FolderResult:
    """Translate files, by the names of their outputs in a folder; the arguments are those of `translate_file`."""
    check_output_folder(output, resume=resume, force=force)
    output.mkdir(parents=True, exist_ok=True)
    report = on_progress or (lambda progress: None)
    with StopSignal() as stop, file_lock(output / _LOCK) as is_locked, ExitStack() as closing:
        if not is_locked:
            raise DataError(f"another process is writing {output}; wait for it")
        work = _FolderWork(sources, output, job, resume=resume and not force, force=force)
        closing.callback(work.close)
        report(work.progress)
        results = translate_blocks(work.read_blocks())
        try:
            while True:
                with stop.interruptible():
                    block, data = next(results, (None, b""))
                if block is None:
                    report(work.progress)  # files of earlier runs may be the last ones
                    break
                report(work.add(block, data))
        except StopRequested:
            done = len(work.manifest.finished)
            return FolderResult(stop.reason, done, work.lines, work.resumed, work.resumed_lines)
    finished = {name: work.manifest.finished[name] for name in sources}
    return FolderResult("finished", len(sources), work.lines, work.resumed, work.resumed_lines, finished)
