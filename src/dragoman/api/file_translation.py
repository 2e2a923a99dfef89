"""Translating large files in constant memory, so that a crash costs what was done in the last second.

What is translated goes to ``OUT.part``. Beside it ``OUT.part.json``, the journal, says how much of the input, and how
much of the output, is done for good: it is written whole, and only after those bytes are on the disk. Going on means to
verify all that the journal says, to cut off what came after it, and to translate the rest. At the end ``OUT.part``
becomes ``OUT``.

The journal only ever speaks of windows that were full. They depend on the text alone (`text_lines`), so the batches are
the same as in a run that was never stopped, and so is every byte of the output.
"""

from __future__ import annotations

import fcntl
import gzip
import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple, Self

from dragoman.api.stopping import Stopped, StopSignal
from dragoman.api.text_lines import LineSource, Window
from dragoman.errors import ConfigError, DataError
from dragoman.files import flush, read_json, write_json

__all__ = ["Done", "Outcome", "Tell", "Work", "check_output", "translate_file", "translate_lines"]

_FORMAT = {"format": "dragoman-translation", "version": 1}
_EVERY = 1.0  # seconds, at least, between two journals
_BLOCK = 1 << 20
_ANEW = "use --force to begin anew"

Work = Callable[[Sequence[str], int], Sequence[str]]
"""Texts, and the number of the first from 0, to what is written for each of them, without its last line feed."""


class Done(NamedTuple):
    """How far a translation is: lines, and bytes of the input as it is stored: those that were read, and all."""

    lines: int
    consumed: int
    size: int | None


Tell = Callable[[Done], None]
"""Is told where it begins, and then how far it is after each window."""


@dataclass(frozen=True)
class Outcome:
    """How it ended: "finished", "terminated", "interrupted", or "was finished", where there was nothing left to do.

    `lines` are those of the output, `before` how many of them an earlier run had translated.
    """

    why: str
    lines: int = 0
    before: int = 0


@dataclass(frozen=True)
class _Journal:
    """What is done for good: so many lines, which are so many bytes of text, became so many bytes of output."""

    lines: int
    input_bytes: int
    input_sha256: str
    output_bytes: int
    output_sha256: str


class _Count:
    """Bytes as they pass: how many, and what they are."""

    def __init__(self) -> None:
        self.bytes = 0
        self._digest = hashlib.sha256()

    def add(self, data: bytes) -> None:
        self.bytes += len(data)
        self._digest.update(data)

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()


def translate_lines(work: Work, source: LineSource, write: Callable[[bytes], None], tell: Tell | None = None) -> int:
    """Translate what comes, and write it at once; returns how many lines it was. Nothing to go on from is kept."""
    tell = tell or _nobody
    tell(Done(0, source.consumed, source.size))
    for window in source.windows_as_they_arrive():
        texts, fault = window.texts()
        if texts:
            write(_bytes(work(texts, window.first - 1)))
        if fault is not None:
            raise fault
        tell(Done(source.lines, source.consumed, source.size))
    return source.lines


def _nobody(_: Done) -> None:
    """Nobody wants to know how far it is."""


def translate_file(
    work: Work,
    source: LineSource,
    output: Path,
    *,
    job: Mapping[str, Any],
    resume: bool = False,
    force: bool = False,
    tell: Tell | None = None,
) -> Outcome:
    """Translate a file into another, packed where its name ends in .gz.

    `job` is all that the output depends on besides the input, as plain values: only a run with the same may go on.
    SIGTERM and Ctrl-C end it after the batch at hand.
    """
    if not check_output(output, resume=resume, force=force):
        _journal_of(output).unlink(missing_ok=True)
        return Outcome("was finished")
    tell = tell or _nobody
    with StopSignal() as stop, _Draft(output, job) as draft:
        journal = draft.begin() if force or not resume else draft.go_on(source)
        tell(Done(draft.lines, source.consumed, source.size))
        try:
            windows, is_last = source.windows(), False
            while not is_last:
                with stop.leaving():  # reading too: a pipe may keep us waiting
                    window = next(windows, None)
                    data = _translated(work, window) if window else b""
                is_last = window is None or window.is_last
                if window:
                    draft.add(window, data)
                tell(Done(draft.lines, source.consumed, source.size))
        except Stopped:
            draft.save()
            return Outcome(stop.asked, draft.lines, journal.lines)
        except DataError:
            draft.save()
            raise
        draft.finish()
        return Outcome("finished", draft.lines, journal.lines)


def _translated(work: Work, window: Window) -> bytes:
    texts, fault = window.texts()
    if fault is not None:
        raise fault
    return _bytes(work(texts, window.first - 1))


def check_output(output: Path, *, resume: bool, force: bool) -> bool:
    """Whether there is something left to do; a `ConfigError` where what is there would be lost."""
    if output.exists() and not output.is_file():
        raise ConfigError(f"the output must be a file, got {output}; without -o it goes to standard output")
    if not output.parent.is_dir():
        raise ConfigError(f"the output must be in a folder that is there, got {output}; make {output.parent} first")
    if force:
        return True
    if _part_of(output).exists():
        if not resume:
            raise ConfigError(f"{output} must be new, got {_part_of(output)}; go on with --resume, or {_ANEW}")
        return True
    if output.exists() and not resume:
        raise ConfigError(f"{output} must be new, got a file that is there; name another, or {_ANEW}")
    return not output.exists()


def _part_of(output: Path) -> Path:
    return output.with_name(f"{output.name}.part")


def _journal_of(output: Path) -> Path:
    return output.with_name(f"{output.name}.part.json")


def _bytes(lines: Sequence[str]) -> bytes:
    # What cannot be encoded, half of a surrogate pair, could only come from a tokenizer's table.
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


class _Draft:
    """The output in the making, held by one process."""

    def __init__(self, output: Path, job: Mapping[str, Any]) -> None:
        self._output = output
        self._job = json.loads(json.dumps(dict(job)))  # as it comes back from the journal: tuples are lists
        self._path, self._journal_path = _part_of(output), _journal_of(output)
        self._read, self._written = _Count(), _Count()
        self.lines = 0
        self._journal = self._now()
        self._saved_at = time.monotonic()
        self._file: IO[bytes] = self._path.open("ab+")

    def __enter__(self) -> Self:
        if not self._is_ours():
            self._file.close()
            raise DataError(
                f"{self._path} must be written by one process at a time, got another that is at it; wait for that one"
            )
        return self

    def _is_ours(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return os.path.samestat(os.fstat(self._file.fileno()), self._path.stat())
        except (BlockingIOError, FileNotFoundError):  # the other may just have finished: the file has another name now
            return False

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._file.close()

    def begin(self) -> _Journal:
        """Begin with nothing, whatever was there."""
        self._journal_path.unlink(missing_ok=True)
        self._file.truncate(0)
        return self._write_journal()

    def go_on(self, source: LineSource) -> _Journal:
        """Go on where the journal says, if all of it is true; the input is read up to there."""
        found = read_json(self._journal_path)
        if found is None:
            if self._path.stat().st_size:
                raise DataError(f"{self._path} must have its journal, {self._journal_path}, got none; {_ANEW}")
            return self.begin()
        journal = self._understood(found)
        for block in source.blocks(journal.input_bytes):
            self._read.add(block)
        self._file.seek(0)
        while (rest := journal.output_bytes - self._written.bytes) and (block := self._file.read(min(_BLOCK, rest))):
            self._written.add(block)
        self.lines = source.lines
        self._verify(journal, source)
        self._file.truncate(journal.output_bytes)
        self._journal = journal
        return journal

    def _understood(self, found: Any) -> _Journal:
        """The journal, if it is one, and if it is about the same work."""
        try:
            kind, job, done = found["kind"], found["job"], _Journal(**found["done"])
        except (TypeError, KeyError):
            raise DataError(f"{self._journal_path} must be a journal, got something else; {_ANEW}") from None
        if kind != _FORMAT:
            raise DataError(f"{self._journal_path} must be of the format {_FORMAT}, got {kind}; {_ANEW}")
        others = [name for name in {**self._job, **job} if self._job.get(name) != job.get(name)]
        if others:
            raise ConfigError(
                f"a translation must go on as it began, got another {', '.join(others)}; type the same as at first, or "
                f"{_ANEW}"
            )
        return done

    def _verify(self, journal: _Journal, source: LineSource) -> None:
        """Whether input and output, as far as the journal goes, are what it says."""
        if self._read.bytes != journal.input_bytes or self._read.sha256 != journal.input_sha256:
            raise DataError(
                f"{source.name} must begin with the {journal.lines:,} lines that are translated already, got others; "
                f"take the input that this began with, or {_ANEW}"
            )
        if self._now() != journal:
            raise DataError(
                f"{self._path} must be what {self._journal_path.name} says, got other content; one of them was changed:"
                f" {_ANEW}"
            )

    def add(self, window: Window, data: bytes) -> None:
        """Write what became of a window, and now and then the journal. That of the last window is the output itself."""
        if self._output.name.endswith(".gz"):
            data = gzip.compress(data, 6, mtime=0)  # one member a window, so that it can be cut off behind any of them
        self._file.write(data)
        self._read.add(window.data)
        self._written.add(data)
        self.lines += window.rows
        if not window.is_last:
            self._journal = self._now()
            if time.monotonic() - self._saved_at >= _EVERY:
                self.save()

    def save(self) -> None:
        """Wait for the disk, and then say so in the journal."""
        self._file.flush()
        flush(self._path)
        self._write_journal()
        self._saved_at = time.monotonic()

    def finish(self) -> None:
        """Give the output its name."""
        if self._output.name.endswith(".gz") and not self._written.bytes:
            self._file.write(gzip.compress(b"", mtime=0))  # an empty file is no gzip data
        self._file.flush()
        flush(self._path)
        self._path.replace(self._output)
        flush(self._output.parent)
        self._journal_path.unlink()

    def _now(self) -> _Journal:
        return _Journal(self.lines, self._read.bytes, self._read.sha256, self._written.bytes, self._written.sha256)

    def _write_journal(self) -> _Journal:
        write_json(self._journal_path, {"kind": _FORMAT, "job": self._job, "done": asdict(self._journal)})
        return self._journal
