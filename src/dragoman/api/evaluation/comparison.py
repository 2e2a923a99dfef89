"""Compare translation systems: scores, training runs, settings, and sentences that they translate differently."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.api.evaluation.run_history import RunHistory, flatten_settings, read_run
from dragoman.api.evaluation.system_arguments import System, bundle_of, run_of
from dragoman.bundle import Bundle
from dragoman.config import to_toml
from dragoman.environment import machine_info, package_versions
from dragoman.errors import ConfigError
from dragoman.evaluation.results import Evaluation, MemberResult
from dragoman.files import sha256_of_file
from dragoman.inspection.comparison.report_types import ComparisonReport, ModelDetails

__all__ = ["ScoredTestSet", "compare_systems"]

_FIRST_MEMBER = "Sentences and attention maps are those of the first member of each system."


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
    """Build a comparison report; without a test set, from the records of runs only.

    The report has `sentences` that are translated most differently, and attention maps of `maps` sentences. `tell`
    receives progress messages.
    """
    if not systems:
        raise ConfigError("systems must be at least one, got none; name runs, bundles or files of translations")
    if test is not None and [system.name for system in systems] != [each.name for each in test.evaluation.systems]:
        raise ConfigError("the test must be of the same systems, in the same order, got others; evaluate these")
    tell("reading the records of runs")
    models = {
        system.name: _members(system, None if test is None else test.evaluation.systems[number].members)
        for number, system in enumerate(systems)
    }
    if test is None:
        return ComparisonReport(models, None, package_versions(), machine_info().signature, command)
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
