"""One member of a system that is evaluated: its translations of the test set, and what they took."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from safetensors import safe_open

from dragoman.api.counting import Counting
from dragoman.api.systems import bundle_of, read_lines
from dragoman.api.translation import Translation
from dragoman.api.translator import Translator
from dragoman.bundle import Bundle
from dragoman.bundle.bundle import WEIGHTS
from dragoman.data.check.figures import counted
from dragoman.data.progress import Progress
from dragoman.environment import peak_memory
from dragoman.errors import DataError
from dragoman.evaluation.by_length import source_length
from dragoman.evaluation.probes import PROBES, SINGLE_WORDS, Answer, Spoilt, sampled
from dragoman.evaluation.report import Speed
from dragoman.files import sha256_of_file

__all__ = ["Probed", "Subject", "Translated", "open_subject", "translated"]

_WINDOW = 512  # sentences between two looks at the clock: many batches, sorted by length
_MOST_PROBED = 500
_WARM_UP = 4  # sentences that are translated before the clocks start


@dataclass(frozen=True)
class Subject:
    """A member before anything is translated: a verified bundle, or the lines of a file of translations."""

    name: str
    path: Path
    digest: str
    bundle: Bundle | None = None
    lines: tuple[str, ...] | None = None

    @property
    def languages(self) -> tuple[str, str] | None:
        """Source and target, where a bundle says so."""
        data = None if self.bundle is None else self.bundle.config.data
        return None if data is None else (data.source, data.target)

    @property
    def seed(self) -> int | None:
        """The seed that a bundle was trained with."""
        return None if self.bundle is None else self.bundle.config.training.seed

    def parameters(self) -> int | None:
        """How many numbers a bundle's weights are; their file's header says it."""
        if self.bundle is None:
            return None
        with safe_open(self.bundle.folder / WEIGHTS, framework="numpy") as file:
            return sum(int(math.prod(file.get_slice(name).get_shape())) for name in file.keys())  # noqa: SIM118


@dataclass(frozen=True)
class Probed:
    """A probe: the places of the test set that it looked at, what it made of them, and what came out."""

    places: list[int]
    spoilt: Spoilt
    answers: list[Answer]


@dataclass
class Translated:
    """The translations of a member, and what is known about how they came about."""

    hypotheses: list[str] = field(default_factory=list)
    flags: Counter[str] | None = None
    probes: dict[str, Probed] = field(default_factory=dict)
    speed: Speed | None = None


def open_subject(path: Path, name: str, sentences: int) -> Subject:
    """Verify a bundle, or read translations, of which there must be as many as test sentences."""
    bundle = bundle_of(path)
    if bundle is not None:
        opened = Bundle.open(bundle)
        return Subject(name, path, opened.digest, bundle=opened)
    lines = read_lines(path)
    if len(lines) != sentences:
        raise DataError(
            f"{path} must hold as many translations as the test set has sentences, {sentences:,}, got "
            f"{counted(len(lines), 'line')}; see which of them lacks some"
        )
    return Subject(name, path, sha256_of_file(path), lines=tuple(lines))


def translated(
    translator: Translator,
    sources: Sequence[str],
    *,
    flags: bool,
    probes: bool,
    progress: Progress,
    counting: Counting,
) -> Translated:
    """Translate a test set, counted for scores meanwhile; with `probes` a part of it again as each has spoilt it."""
    result = Translated(flags=Counter() if flags else None)
    translator.translate_batch(sources[:_WARM_UP], flags=flags)
    _forget_peak()
    began, computed = time.perf_counter(), time.process_time()

    def take(found: Sequence[Translation]) -> None:
        lines = [_line(each) for each in found]
        result.hypotheses += lines
        counting.add(lines)
        if result.flags is not None:
            result.flags.update(name for each in found for name in {flag.name for flag in each.flags or ()})

    _in_windows(translator, sources, take, flags=flags, progress=progress)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - computed - counting.cpu_seconds()
    result.speed = Speed(
        sentences=len(sources),
        source_words=sum(map(source_length, sources)),
        seconds=seconds,
        cpu_seconds=cpu_seconds,
        peak_bytes=peak_memory(),
        engine=translator.why,
    )
    if probes:
        result.probes = {name: _probed(translator, name, sources, progress) for name in PROBES}
    return result


def _line(translation: Translation) -> str:
    """A translation is one line of a file, whatever the model wrote."""
    return " ".join(translation.text.splitlines())


def _forget_peak() -> None:
    """Let the most memory that this process has had be counted anew, where the system can."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return


def _probed(translator: Translator, name: str, sources: Sequence[str], progress: Progress) -> Probed:
    places = sampled(len(sources), _MOST_PROBED)
    spoilt = PROBES[name]([sources[place] for place in places])
    answers: list[Answer] = []

    def take(found: Sequence[Translation]) -> None:
        answers.extend(
            Answer(_line(each), frozenset(flag.name for flag in each.flags or ()), each.is_truncated) for each in found
        )

    progress.begin(f"probing {name}")
    _in_windows(translator, spoilt.texts, take, flags=name == SINGLE_WORDS, progress=progress)
    return Probed(places, spoilt, answers)


def _in_windows(
    translator: Translator,
    texts: Sequence[str],
    take: Callable[[Sequence[Translation]], None],
    *,
    flags: bool,
    progress: Progress,
) -> None:
    for first in range(0, len(texts), _WINDOW):
        take(translator.translate_batch(texts[first : first + _WINDOW], flags=flags, first=first))
        done = min(first + _WINDOW, len(texts))
        progress.advance(done / len(texts), done)
