"""Translate a test set with one model of a system, and measure its time and memory."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dragoman.api.evaluation.system_arguments import bundle_of
from dragoman.api.files.input_lines import read_lines
from dragoman.api.translation.translation import Translation
from dragoman.api.translation.translator import Translator
from dragoman.bundle import Bundle
from dragoman.config.corpus import Direction
from dragoman.environment import peak_memory
from dragoman.errors import DataError
from dragoman.evaluation.results import Throughput
from dragoman.evaluation.robustness import (
    PERTURBATIONS,
    SINGLE_WORDS,
    PerturbedOutput,
    PerturbedTexts,
    sample_positions,
)
from dragoman.files import sha256_of_file
from dragoman.progress import Progress
from dragoman.reporting.number_format import format_count
from dragoman.text.words import count_words

_FIELDS, _WITH_FIELDS = "|||", 0.5  # separator of the fields of a line, and the share of lines that have it
_BLOCK = 512  # sentences per call and progress update
_MAX_PERTURBED = 500  # sentences
_WARM_UP = 4  # sentences translated before the measurement


@dataclass(frozen=True)
class EvaluatedMember:
    """A member before translation: a verified bundle, or the lines of a file of translations."""

    name: str
    path: Path
    digest: str
    bundle: Bundle | None = None
    lines: tuple[str, ...] | None = None

    @property
    def directions(self) -> tuple[Direction, ...]:
        """Source and target languages of a bundle; most have one direction."""
        data = None if self.bundle is None else self.bundle.config.data
        return () if data is None else tuple(data.all_directions())

    @property
    def seed(self) -> int | None:
        return None if self.bundle is None else self.bundle.config.training.seed

    def parameters(self) -> int | None:
        return None if self.bundle is None else self.bundle.parameter_count()


@dataclass(frozen=True)
class PerturbedRun:
    """Positions of the perturbed sentences in the test set, the perturbed texts and their translations."""

    positions: list[int]
    texts: PerturbedTexts
    outputs: list[PerturbedOutput]


@dataclass
class TestOutput:
    """Translations of the test set, flag counts, perturbed translations and throughput."""

    __test__ = False  # not a test class

    hypotheses: list[str] = field(default_factory=list)
    flags: Counter[str] | None = None
    perturbed: dict[str, PerturbedRun] = field(default_factory=dict)
    throughput: Throughput | None = None


def open_member(path: Path, name: str, sentences: int) -> EvaluatedMember:
    """Verify a bundle, or read a file of translations, which must have one line per test sentence."""
    bundle = bundle_of(path)
    if bundle is not None:
        opened = Bundle.open(bundle)
        return EvaluatedMember(name, path, opened.digest, bundle=opened)
    lines = read_lines(path)
    if lines and sum(_FIELDS in line for line in lines) > _WITH_FIELDS * len(lines):
        raise DataError(
            f"{path} has lines with fields ({_FIELDS}) instead of translations; translate without --flags, "
            "--alignments and --nbest"
        )
    if len(lines) != sentences:
        raise DataError(
            f"{path} must have one translation per test sentence, {sentences:,}, got "
            f"{format_count(len(lines), 'line')}; translate the sources of this test set"
        )
    return EvaluatedMember(name, path, sha256_of_file(path), lines=tuple(lines))


def translate_test_set(
    translator: Translator, sources: Sequence[str], *, flags: bool, perturb: bool, progress: Progress
) -> TestOutput:
    """Translate a test set; with `perturb`, also perturbed sentences."""
    result = TestOutput(flags=Counter() if flags else None)
    translator.translate(sources[:_WARM_UP], flags=flags, split_sentences=False)
    _reset_peak_memory()
    began, computed = time.perf_counter(), time.process_time()

    def take(found: Sequence[Translation]) -> None:
        result.hypotheses += map(_line, found)
        if result.flags is not None:
            result.flags.update(name for each in found for name in {flag.name for flag in each.flags or ()})

    _translate_blocks(translator, sources, take, flags=flags, progress=progress)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - computed
    result.throughput = Throughput(
        sentences=len(sources),
        source_words=sum(map(count_words, sources)),
        seconds=seconds,
        cpu_seconds=cpu_seconds,
        peak_bytes=peak_memory(),
        engine=translator.engine_reason,
    )
    if perturb:
        result.perturbed = {name: _perturbed(translator, name, sources, progress) for name in PERTURBATIONS}
    return result


def _line(translation: Translation) -> str:
    return " ".join(translation.text.splitlines())


def _reset_peak_memory() -> None:
    """Reset the peak memory of this process, if the system supports it."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return


def _perturbed(translator: Translator, name: str, sources: Sequence[str], progress: Progress) -> PerturbedRun:
    positions = sample_positions(len(sources), _MAX_PERTURBED)
    texts = PERTURBATIONS[name]([sources[position] for position in positions])
    outputs: list[PerturbedOutput] = []

    def take(found: Sequence[Translation]) -> None:
        outputs.extend(
            PerturbedOutput(_line(each), frozenset(flag.name for flag in each.flags or ()), each.is_truncated)
            for each in found
        )

    progress.begin(f"perturbing: {name}")
    _translate_blocks(translator, texts.texts, take, flags=name == SINGLE_WORDS, progress=progress)
    return PerturbedRun(positions, texts, outputs)


def _translate_blocks(
    translator: Translator,
    texts: Sequence[str],
    take: Callable[[Sequence[Translation]], None],
    *,
    flags: bool,
    progress: Progress,
) -> None:
    for first in range(0, len(texts), _BLOCK):
        take(translator.translate(texts[first : first + _BLOCK], flags=flags, first=first, split_sentences=False))
        done = min(first + _BLOCK, len(texts))
        progress.advance(done / len(texts), done)
