"""Translating large files in constant memory, so that a crash costs what was done in the last second.

What is translated goes to ``OUT.part``. Beside it ``OUT.part.json``, the journal, says how much of the input, and how
much of the output, is done for good: it is written whole, and only after those bytes are on the disk. Going on means to
verify all that the journal says, to cut off what came after it, and to translate the rest. At the end ``OUT.part``
becomes ``OUT``.

The journal only ever speaks of windows that were full. They depend on the text alone (`text_lines`), so the batches are
the same as in a run that was never stopped, and so is every byte of the output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.api.text_lines import LineSource, Window
from dragoman.api.translation_draft import ANEW, Draft, journal_of, part_of
from dragoman.errors import ConfigError, DataError
from dragoman.stopping import Stopped, StopSignal

__all__ = ["Done", "Outcome", "Tell", "Work", "check_output", "translate_file", "translate_lines"]

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
    """How it ended: "finished", "terminated", "interrupted", or "was there", where the output was left as it is.

    `lines` are those of the output, `before` how many of them an earlier run had translated.
    """

    why: str
    lines: int = 0
    before: int = 0


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
    With `resume` an output that has its name already is left as it is, and not compared with anything. SIGTERM and
    Ctrl-C end it where it is: the window at hand is dropped, and done again by the run that goes on.
    """
    if not check_output(output, source, resume=resume, force=force):
        return Outcome("was there")
    tell = tell or _nobody
    with StopSignal() as stop, Draft(output, job) as draft:
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


def check_output(output: Path, source: LineSource, *, resume: bool, force: bool) -> bool:
    """Whether there is something to do: False where the output is there and may stay.

    A `ConfigError` where what is there would be lost. A journal that a crash left beside an output is taken away.
    """
    if output.exists() and not output.is_file():
        raise ConfigError(f"the output must be a file, got {output}; without -o it goes to standard output")
    if not output.parent.is_dir():
        raise ConfigError(f"the output must be in a folder that is there, got {output}; make {output.parent} first")
    for path in (output, part_of(output), journal_of(output)):
        if source.is_at(path):
            raise ConfigError(
                f"the input must not be what is written to, got {source.name}, which is {path}; give the output "
                "another name"
            )
    if force:
        return True
    if part_of(output).exists():
        if not resume:
            raise ConfigError(f"{output} must be new, got {part_of(output)}; go on with --resume, or {ANEW}")
        return True
    if not output.exists():
        return True
    if not resume:
        raise ConfigError(f"{output} must be new, got a file that is there; name another, or {ANEW}")
    journal_of(output).unlink(missing_ok=True)
    return False


def _bytes(lines: Sequence[str]) -> bytes:
    # What cannot be encoded, half of a surrogate pair, could only come from a tokenizer's table.
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
