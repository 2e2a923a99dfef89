"""Translate every file of a folder, line by line; an interrupted translation can be resumed.

Each file has a partial output and a journal, as in `file_translation`. The manifest, ``translation.jsonl`` in the
output folder, has one line per finished file with its hashes; resuming skips files whose output still has that hash.
Blocks of several files may be translated at once, so that small files also keep all workers busy.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dragoman.api.files.file_translation import FileProgress, MapBlocks, OnProgress, check_output
from dragoman.api.files.input_lines import LineBlock, LineReader
from dragoman.api.files.resumable_output import START_OVER, Journal, ResumableOutput, different_options, partial_path
from dragoman.errors import ConfigError, DataError
from dragoman.files import fsync, open_without_links
from dragoman.stop_signal import StopRequested, StopSignal

__all__ = ["FolderResult", "MANIFEST", "check_folders", "translate_folder"]

MANIFEST = "translation.jsonl"
"""File name of the manifest in the output folder."""

_FORMAT = {"format": "dragoman-translated-folder", "version": 1}
_WRITE = os.O_RDWR | os.O_CREAT


@dataclass(frozen=True)
class FolderResult:
    """How a translation ended: "finished", "terminated" or "interrupted"; `resumed` files were finished before."""

    status: str
    files: int
    lines: int
    resumed: int


class _Manifest:
    """The finished files of an output folder."""

    def __init__(self, folder: Path, job: Mapping[str, Any], *, resume: bool) -> None:
        self._path = folder / MANIFEST
        self._job = json.loads(json.dumps(dict(job)))
        self.finished: dict[str, Journal] = self._read() if resume and self._path.exists() else {}
        entries = [
            _FORMAT | {"job": self._job},
            *({"file": name} | asdict(each) for name, each in self.finished.items()),
        ]
        with open_without_links(self._path, _WRITE) as file:  # written again: the last line may be incomplete
            file.truncate(0)
            file.write("".join(f"{json.dumps(entry, ensure_ascii=False)}\n" for entry in entries).encode())
        fsync(self._path)

    def _read(self) -> dict[str, Journal]:
        finished: dict[str, Journal] = {}
        first, *lines = self._path.read_bytes().split(b"\n")
        try:
            header = json.loads(first)
            job = header.pop("job")
        except (ValueError, KeyError, AttributeError):
            raise DataError(
                f"{self._path} must be a manifest of translated files, got other text; {START_OVER}"
            ) from None
        if header != _FORMAT:
            raise DataError(f"{self._path} must be of the format {_FORMAT}, got {header}; {START_OVER}")
        if others := different_options(self._job, job):
            raise ConfigError(
                f"a translation must be resumed with the options it started with, got another {', '.join(others)}; use "
                f"the same, or {START_OVER}"
            )
        for line in lines[:-1]:  # after the last line feed: nothing, or an incomplete line
            try:
                entry = json.loads(line)
                name = entry.pop("file")
                finished[name] = Journal(**entry)
            except (ValueError, KeyError, TypeError):
                raise DataError(
                    f"{self._path} must have one JSON object per line, got {line[:40]!r}; {START_OVER}"
                ) from None
        return finished

    def add(self, name: str, journal: Journal) -> None:
        """Record a finished file."""
        self.finished[name] = journal
        with open_without_links(self._path, _WRITE) as file:
            file.seek(0, 2)
            file.write(f"{json.dumps({'file': name} | asdict(journal), ensure_ascii=False)}\n".encode())
        fsync(self._path)

    def has(self, name: str, output: Path) -> bool:
        """Whether a file is recorded, and its output unchanged."""
        recorded = self.finished.get(name)
        if recorded is None or not output.is_file() or output.stat().st_size != recorded.output_bytes:
            return False
        with output.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == recorded.output_sha256


@dataclass
class _OpenFile:
    """A file that is being translated."""

    name: str
    reader: LineReader
    partial: ResumableOutput
    closing: ExitStack
    consumed: dict[int, int]
    """Stored bytes read, by first line of a block."""


def check_folders(folder: Path, output: Path | None, *, resume: bool, force: bool) -> list[str]:
    """Return the names of the files to translate; raise `ConfigError` if the output folder cannot be used."""
    if output is None:
        raise ConfigError(
            f"the translation of a folder must have an output folder, got none for {folder}; name it with -o"
        )
    if output.resolve().is_relative_to(folder.resolve()):
        raise ConfigError(f"the output must not be inside the input folder, got {output}; name another folder")
    if output.exists() and not output.is_dir():
        raise ConfigError(f"the output must be a folder, as the input is, got the file {output}; name another")
    if output.is_dir() and any(output.iterdir()) and not resume and not force:
        raise ConfigError(f"{output} must be new or empty, got files in it; use --resume, or {START_OVER}")
    names = sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )
    if not names:
        raise DataError(f"{folder} must contain text files, got none; check the path")
    if MANIFEST in names:
        raise ConfigError(f"{folder} must not contain a file {MANIFEST}, got one; the output has a file of that name")
    return names


class _FolderWork:
    """The files of a folder, those that are being translated, and how much is done."""

    def __init__(
        self, folder: Path, output: Path, names: Sequence[str], job: Mapping[str, Any], *, resume: bool
    ) -> None:
        self._folder, self._output, self._job, self._resume = folder, output, job, resume
        self._sizes = {name: (folder / name).stat().st_size for name in names}
        self._total = sum(self._sizes.values())
        self._opened: dict[str, _OpenFile] = {}
        self.manifest = _Manifest(output, job, resume=resume)
        self.bytes = self.lines = self.resumed = 0

    def read_blocks(self) -> Iterator[LineBlock]:
        """Yield the blocks of all files that are not finished."""
        for name, size in self._sizes.items():
            if self.manifest.has(name, self._output / name):
                self.resumed += 1
                self.bytes += size
                self.lines += self.manifest.finished[name].lines
                continue
            file = self._open(name)
            self._opened[file.reader.name] = file
            self.lines += file.partial.lines
            is_empty = True
            for block in file.reader.blocks():
                is_empty = False
                file.consumed[block.first] = file.reader.consumed
                yield block
            if is_empty:
                self._finish(file)

    def _open(self, name: str) -> _OpenFile:
        target = self._output / name
        target.parent.mkdir(parents=True, exist_ok=True)
        has_part = self._resume and partial_path(target).exists()
        with ExitStack() as stack:
            reader = stack.enter_context(LineReader(self._folder / name))
            check_output(target, reader, resume=has_part, force=True)
            partial = stack.enter_context(ResumableOutput(target, self._job))
            if has_part:
                partial.resume(reader)
            else:
                partial.start()
            closing = stack.pop_all()
        return _OpenFile(name, reader, partial, closing, {})

    def add(self, block: LineBlock, data: bytes) -> FileProgress:
        """Write the translation of a block, and return the progress."""
        file = self._opened[block.name]
        file.partial.add(block, data)
        self.lines += block.lines
        consumed = file.consumed.pop(block.first)
        if block.is_last:
            self._finish(file)
            consumed = 0
        return FileProgress(self.lines, self.bytes + consumed, self._total)

    def _finish(self, file: _OpenFile) -> None:
        del self._opened[file.reader.name]
        file.partial.finish()
        file.closing.close()
        self.manifest.add(file.name, file.partial.state)
        self.bytes += self._sizes[file.name]

    def close(self) -> None:
        """Write the journals of unfinished files."""
        for file in self._opened.values():
            with file.closing:
                file.partial.save()


def translate_folder(
    translate_blocks: MapBlocks,
    folder: Path,
    output: Path,
    *,
    job: Mapping[str, Any],
    resume: bool = False,
    force: bool = False,
    on_progress: OnProgress | None = None,
) -> FolderResult:
    """Translate the files of a folder into files of the same names; the arguments are those of `translate_file`."""
    names = check_folders(folder, output, resume=resume, force=force)
    output.mkdir(parents=True, exist_ok=True)
    report = on_progress or (lambda progress: None)
    with StopSignal() as stop, closing(_FolderWork(folder, output, names, job, resume=resume and not force)) as work:
        results = translate_blocks(work.read_blocks())
        try:
            while True:
                with stop.interruptible():
                    block, data = next(results, (None, b""))
                if block is None:
                    break
                report(work.add(block, data))
        except StopRequested:
            return FolderResult(stop.reason, len(work.manifest.finished), work.lines, work.resumed)
    return FolderResult("finished", len(names), work.lines, work.resumed)
