"""Write a partial output file, and a journal of completed lines from which translation can be resumed."""

import gzip
import hashlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Self

from dragoman.api.files.input_lines import LineBlock, LineReader
from dragoman.errors import ConfigError, DataError
from dragoman.files import (
    copy_permissions,
    fsync,
    lock_open_file,
    open_without_links,
    read_json,
    remove_temporary_files,
    write_json,
)

START_OVER = "use --force to start over"
"""Fix in messages about output that cannot be resumed."""

_FORMAT = {"format": "dragoman-translation", "version": 1}
_INTERVAL = 1.0  # minimum seconds between two writes of the journal
_BLOCK = 1 << 20


def partial_path(output: Path) -> Path:
    """Return the path of the partial output."""
    return output.with_name(f"{output.name}.part")


def journal_path(output: Path) -> Path:
    """Return the path of the journal."""
    return output.with_name(f"{output.name}.part.json")


@dataclass(frozen=True)
class Journal:
    """Completed work: lines, and the size and hash of the input and output that belong to them."""

    lines: int
    input_bytes: int
    input_sha256: str
    output_bytes: int
    output_sha256: str


class _Digest:
    """Running size and hash of bytes."""

    def __init__(self) -> None:
        self.bytes = 0
        self._digest = hashlib.sha256()

    def add(self, data: bytes) -> None:
        self.bytes += len(data)
        self._digest.update(data)

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()


class ResumableOutput:
    """Partial output, locked by one process."""

    def __init__(self, output: Path, job: Mapping[str, Any]) -> None:
        self._output = output
        self._job = json.loads(json.dumps(dict(job)))  # as read back from the journal: tuples become lists
        self._path, self._journal_path = partial_path(output), journal_path(output)
        self._read, self._written = _Digest(), _Digest()
        self.lines = 0
        self._journal = self._now()
        self._saved_at = time.monotonic()
        self._file: IO[bytes] = open_without_links(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND)

    def __enter__(self) -> Self:
        if not self._lock():
            self._file.close()
            raise DataError(f"another process is writing {self._path}; wait for it")
        remove_temporary_files(self._journal_path)
        return self

    def _lock(self) -> bool:
        try:
            is_ours = lock_open_file(self._file)
            return is_ours and os.path.samestat(os.fstat(self._file.fileno()), self._path.stat())
        except FileNotFoundError:  # another process may have finished and renamed the file
            return False

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, and release its lock."""
        self._file.close()

    def start(self) -> Journal:
        """Delete earlier output and start."""
        self._journal_path.unlink(missing_ok=True)
        self._file.truncate(0)
        return self._write_journal()

    def resume(self, source: LineReader) -> Journal:
        """Verify the journal, and skip the input that is already translated."""
        found = read_json(self._journal_path)
        if found is None:
            if self._path.stat().st_size:
                raise DataError(
                    f"{self._path} has no journal, {self._journal_path}, and cannot be resumed; {START_OVER}"
                )
            return self.start()
        journal = self._parse(found)
        for block in source.skip(journal.input_bytes):
            self._read.add(block)
        self._file.seek(0)
        while (rest := journal.output_bytes - self._written.bytes) and (block := self._file.read(min(_BLOCK, rest))):
            self._written.add(block)
        self.lines = source.lines
        self._verify(journal, source)
        self._file.truncate(journal.output_bytes)
        self._journal = journal
        return journal

    def _parse(self, found: Any) -> Journal:
        """Return a journal from its JSON; raise if it is invalid or of another job."""
        try:
            kind, job, done = found["kind"], found["job"], Journal(**found["done"])
        except (TypeError, KeyError):
            raise DataError(f"{self._journal_path} is no journal of a translation; {START_OVER}") from None
        if kind != _FORMAT:
            raise DataError(f"{self._journal_path} must be of the format {_FORMAT}, got {kind}; {START_OVER}")
        others = different_options(self._job, job)
        if others:
            raise ConfigError(
                f"a translation is resumed with the options it started with, and {', '.join(others)} changed; use "
                f"the same, or {START_OVER}"
            )
        return done

    def _verify(self, journal: Journal, source: LineReader) -> None:
        """Raise `DataError` if the recorded input or output has changed."""
        if self._read.bytes != journal.input_bytes or self._read.sha256 != journal.input_sha256:
            raise DataError(
                f"the first {journal.lines:,} lines of {source.name} are not those that are translated already; "
                f"use the original input, or {START_OVER}"
            )
        if self._now() != journal:
            raise DataError(
                f"{self._path} does not match {self._journal_path.name}, so one of them was changed; {START_OVER}"
            )

    def add(self, block: LineBlock, data: bytes) -> None:
        """Write the translation of a block, and regularly the journal; after the last block the output needs none."""
        if self._output.name.endswith(".gz"):
            data = gzip.compress(data, 6, mtime=0)  # one member per block, so that the file can be truncated after any
        self._file.write(data)
        self._read.add(block.data)
        self._written.add(data)
        self.lines += block.lines
        if not block.is_last:
            self._journal = self._now()
            if time.monotonic() - self._saved_at >= _INTERVAL:
                self.save()

    def save(self) -> None:
        """Flush the output to the disk, then write the journal."""
        self._file.flush()
        fsync(self._path)
        self._write_journal()
        self._saved_at = time.monotonic()

    def complete(self) -> Journal:
        """Write the end of the output to the disk, and return the size and hash of the whole."""
        if self._output.name.endswith(".gz") and not self._written.bytes:
            empty = gzip.compress(b"", mtime=0)  # an empty file is not valid gzip data
            self._file.write(empty)
            self._written.add(empty)
        self._file.flush()
        fsync(self._path)
        return self._now()

    def finish(self) -> None:
        """Rename the partial output to the output."""
        self.complete()
        copy_permissions(self._output, self._path)
        self._path.replace(self._output)
        fsync(self._output.parent)
        self._journal_path.unlink(missing_ok=True)  # another run may have deleted it

    def _now(self) -> Journal:
        return Journal(self.lines, self._read.bytes, self._read.sha256, self._written.bytes, self._written.sha256)

    def _write_journal(self) -> Journal:
        write_json(self._journal_path, {"kind": _FORMAT, "job": self._job, "done": asdict(self._journal)})
        return self._journal


def different_options(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Return the option names that differ between two jobs."""
    names: list[str] = []
    for name in {**one, **other}:
        mine, theirs = one.get(name), other.get(name)
        if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
            names += different_options(mine, theirs)
        elif mine != theirs:
            names.append(name.replace("_", "-"))
    return list(dict.fromkeys(names))
