"""Compare translation systems: scores, settings, training runs, and sentences that they translate differently."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.api.evaluation.system_arguments import System, bundle_of, run_of
from dragoman.bundle import Bundle
from dragoman.bundle.bundle_config import shared_config
from dragoman.config import Config, load_config, to_toml
from dragoman.environment import machine_info, package_versions
from dragoman.errors import ConfigError, DataError
from dragoman.evaluation.results import Evaluation, MemberResult
from dragoman.files import finite_number, read_json, read_json_lines, sha256_of_file
from dragoman.inspection.comparison.report_types import (
    OTHER_QUANTITIES,
    TRAINING_LOSS,
    VALIDATION_LOSS,
    AttentionComparison,
    ComparisonReport,
    Curve,
    ModelDetails,
    SystemAttention,
    TrainingSummary,
)
from dragoman.run_files import LOG, PROJECT, RECORD

_FIRST_MEMBER = "Sentences and attention maps are those of the first member of each system."


@dataclass(frozen=True)
class RunHistory:
    """The record of a run; missing parts are empty. The configuration has no paths."""

    curves: tuple[Curve, ...]
    summary: TrainingSummary | None
    config: Config | None
    parameters: int | None


@dataclass
class _LogReader:
    """Accumulates progress and values over the entries of a log."""

    update: float = 0.0
    tokens: float = 0.0
    seconds: float = 0.0
    points: dict[str, list[tuple[float, float, float, float]]] = field(default_factory=dict)

    def add(self, entry: Mapping[str, Any]) -> None:
        kind, update = entry.get("kind"), finite_number(entry.get("update"))
        if update is None or kind not in ("update", "validation"):
            return
        self.update = max(self.update, update)
        if kind == "update":
            tokens, speed = finite_number(entry.get("tokens")), finite_number(entry.get("tokens_per_second"))
            self.tokens += tokens or 0.0
            self.seconds += tokens / speed if tokens and speed else 0.0
            self._add(TRAINING_LOSS, update, entry.get("loss"))
            for name in OTHER_QUANTITIES:
                self._add(name, update, entry.get(name.replace(" ", "_")))
            return
        self.seconds += finite_number(entry.get("seconds")) or 0.0
        self._add(VALIDATION_LOSS, update, entry.get("loss"))
        scores = entry.get("scores")
        for name, value in scores.items() if isinstance(scores, dict) else ():
            self._add(name, update, value)

    def _add(self, quantity: str, update: float, value: object) -> None:
        number = finite_number(value)
        if number is not None:
            self.points.setdefault(quantity, []).append((update, self.tokens, self.seconds, number))

    def curves(self) -> tuple[Curve, ...]:
        return tuple(Curve(name, *zip(*points, strict=True)) for name, points in self.points.items())


def read_run(folder: Path) -> RunHistory:
    """Read the record of a finished or running training."""
    reader = _LogReader()
    for entry in read_json_lines(folder / LOG):
        reader.add(entry)
    facts = read_json(folder / RECORD)
    if facts is not None and not isinstance(facts, dict):
        raise DataError(f"{folder / RECORD} is no record of a run; name another folder")
    config = shared_config(load_config(folder / PROJECT)) if (folder / PROJECT).is_file() else None
    parameters = facts.get("parameters") if facts else None
    return RunHistory(
        reader.curves(),
        None if facts is None else _summary(facts, reader),
        config,
        parameters if isinstance(parameters, int) else None,
    )


def flatten_settings(config: Config) -> dict[str, str]:
    """Return settings by dotted name, with values as TOML; tables in a list are numbered from 1."""
    found: dict[str, str] = {}

    def walk(value: object, name: str) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                walk(inner, f"{name}.{key}" if name else str(key))
        elif isinstance(value, list | tuple) and any(isinstance(inner, dict) for inner in value):
            for number, inner in enumerate(value, start=1):
                walk(inner, f"{name}[{number}]")
        else:
            found[name] = json.dumps(value, ensure_ascii=False)

    walk(config.model_dump(exclude_none=True), "")
    return found


def _summary(facts: Mapping[str, Any], course: _LogReader) -> TrainingSummary:
    data = facts.get("data")
    pairs = data.get("pairs") if isinstance(data, dict) else None
    pairs = pairs if isinstance(pairs, dict) else {}
    update, seconds = finite_number(facts.get("update")) or 0.0, finite_number(facts.get("seconds")) or 0.0
    if not facts.get("ended"):  # the record is from the last validation; the log is newer
        update, seconds = max(update, course.update), course.seconds
    best = facts.get("best")
    return TrainingSummary(
        updates=int(update),
        tokens=int(course.tokens),
        seconds=seconds,
        tokens_per_second=course.tokens / seconds if seconds and course.tokens else None,
        pairs={str(name): int(number) for name, count in pairs.items() if (number := finite_number(count)) is not None},
        ended=str(facts.get("ended") or "not yet"),
        best=_best_scores(best),
        best_update=int(finite_number(best.get("update")) or 0) if isinstance(best, dict) else None,
        machine=str(facts.get("machine") or ""),
        versions={name: str(facts[name]) for name in ("dragoman", "torch") if facts.get(name)},
        data_fingerprint=_text(data.get("fingerprint")) if isinstance(data, dict) else "",
        config_digest=_text(facts.get("config_sha256")),
    )


def _best_scores(best: object) -> dict[str, float]:
    if not isinstance(best, dict):
        return {}
    scores = best.get("scores")
    values = {**(scores if isinstance(scores, dict) else {}), "loss": best.get("loss")}
    return {name: number for name, value in values.items() if (number := finite_number(value)) is not None}


def _text(value: object) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


@dataclass(frozen=True)
class ScoredTestSet:
    """An evaluation of the same systems, in the same order, and its texts."""

    evaluation: Evaluation
    sources: Sequence[str]
    references: Sequence[str]


def compare_systems(
    systems: Sequence[System],
    test: ScoredTestSet | None = None,
    *,
    sentences: int = 10,
    maps: int = 2,
    threads: int | None = None,
    command: str = "",
    tell: Callable[[str], None] = lambda _: None,
) -> ComparisonReport:
    """Build a comparison report; without a test set, from the records of runs only, with their validation samples.

    The report has `sentences` that are translated most differently, and attention maps of `maps` sentences. `tell`
    receives progress messages.
    """
    if not systems:
        raise ConfigError("no system is given; name runs, bundles or files of translations")
    if test is not None and [system.name for system in systems] != [each.name for each in test.evaluation.systems]:
        raise ConfigError("the evaluation is of other systems, or in another order; evaluate these")
    tell("reading the records of runs")
    models = {
        system.name: _members(system, None if test is None else test.evaluation.systems[number].members)
        for number, system in enumerate(systems)
    }
    if test is None:
        samples = validation_samples(systems)
        return ComparisonReport(models, None, package_versions(), machine_info().signature, command, attention=samples)
    from dragoman.api.evaluation.comparison_examples import (  # noqa: PLC0415 -- needs sacrebleu, which records do not
        attention_examples,
        select_readable,
        sentence_examples,
    )

    evaluation, sources, references = test.evaluation, test.sources, test.references
    tell("selecting sentences that differ")
    differing = sentence_examples(evaluation, sources, references, max(sentences, maps))
    tell("drawing attention maps")
    positions = select_readable(differing, sources, maps)
    return ComparisonReport(
        models=models,
        evaluation=evaluation,
        versions=evaluation.versions,
        machine=evaluation.machine,
        command=command or evaluation.command,
        sentences=differing[: max(0, sentences)],
        attention=attention_examples(systems, evaluation, sources, references, positions, threads=threads),
        notes=(_FIRST_MEMBER,) if any(len(members) > 1 for members in models.values()) else (),
    )


def validation_samples(systems: Sequence[System]) -> tuple[AttentionComparison, ...]:
    """Return the samples of the last validation of the first run of each system, with their attention."""
    found: dict[tuple[str, str], list[SystemAttention]] = {}
    for system in systems:
        run = run_of(system.members[0])
        samples: list[dict[str, Any]] = []
        for entry in read_json_lines(run / LOG) if run else ():
            samples = entry.get("samples") or samples
        for sample in samples:
            source, reference, text = (_text(sample.get(name)) for name in ("source", "reference", "translation"))
            found.setdefault((source, reference), []).append(_sample_attention(system.name, text, sample))
    return tuple(AttentionComparison(number, *key, tuple(maps)) for number, (key, maps) in enumerate(found.items(), 1))


def _sample_attention(system: str, translation: str, sample: Mapping[str, Any]) -> SystemAttention:
    source, target = (tuple(map(str, sample.get(f"{side}_words") or ())) for side in ("source", "target"))
    weights = np.array(sample.get("weights") or [], dtype=np.float64)
    if not weights.size or weights.shape != (len(target), len(source)):
        return SystemAttention(system, translation, note="no map: this model has no attention")
    return SystemAttention(system, translation, source, target, weights)


def _members(system: System, results: Sequence[MemberResult] | None) -> tuple[ModelDetails, ...]:
    count = len(system.members)
    names = [system.name] if count == 1 else [f"{system.name} {number}" for number in range(1, count + 1)]
    found: Sequence[MemberResult | None] = [None] * count if results is None else results
    return tuple(map(_member, names, system.members, found))


def _member(name: str, path: Path, result: MemberResult | None) -> ModelDetails:
    run = run_of(path)
    record = None if run is None else read_run(run)
    bundle = _bundle(path, record)
    if bundle is None and record is None:
        return ModelDetails(name, "translations", digest=sha256_of_file(path))
    config = bundle.config if bundle is not None else record.config if record else None
    return ModelDetails(
        name,
        "bundle" if record is None else "run",
        digest=bundle.digest if bundle else "",
        seed=config.training.seed if config else None,
        parameters=_parameters(result, record, bundle),
        size_bytes=_size(bundle),
        settings=flatten_settings(config) if config else {},
        config=to_toml(config) if config else "",
        curves=record.curves if record else (),
        training=record.summary if record else None,
    )


def _bundle(path: Path, record: RunHistory | None) -> Bundle | None:
    """Return the bundle of a member; an unfinished run may have none."""
    if record is not None and not path.is_file() and not (path / "bundle").is_dir() and path.name != "bundle":
        return None
    found = bundle_of(path)
    return None if found is None else Bundle.open(found)


def _parameters(result: MemberResult | None, record: RunHistory | None, bundle: Bundle | None) -> int | None:
    """Return the number of parameters from the run or the evaluation, else count them."""
    if record is not None and record.parameters is not None:
        return record.parameters
    if result is not None and result.parameters is not None:
        return result.parameters
    return None if bundle is None else bundle.parameter_count()


def _size(bundle: Bundle | None) -> int | None:
    return None if bundle is None else sum(int(file["size"]) for file in bundle.manifest["files"].values())
