"""Compare systems: their scores, their training, their settings, and sentences that set them apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.api.compared_scores import by_length, of_member, of_system
from dragoman.api.compared_sentences import aligned_sentences, differing_sentences, readable_places
from dragoman.api.run_records import RunRecord, read_run, settings_of
from dragoman.api.systems import System, bundle_of, run_of
from dragoman.api.versions import package_versions
from dragoman.bundle import Bundle
from dragoman.config import to_toml
from dragoman.environment import machine
from dragoman.errors import ConfigError
from dragoman.evaluation.report import Evaluation, Member, SystemScores
from dragoman.evaluation.sentence_scores import SENTENCE_METRIC
from dragoman.files import sha256_of_file
from dragoman.inspection.comparison import Compared, ComparedSystem, Comparison, TextFacts
from dragoman.search.settings import SearchSettings

__all__ = ["Scored", "compare"]

_SEARCH = ("beam", "length_penalty", "alpha")  # told even where nobody has set them


@dataclass(frozen=True)
class Scored:
    """An evaluation of the same systems, in the same order, and the texts that it was made on."""

    evaluation: Evaluation
    sources: Sequence[str]
    references: Sequence[str]


def compare(
    systems: Sequence[System],
    test: Scored | None = None,
    *,
    sentences: int = 10,
    maps: int = 2,
    threads: int | None = None,
    command: str = "",
    tell: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """All that a report shows. Without a test, what runs tell about themselves.

    `sentences` are shown where translations differ most, and attention maps of `maps` sentences; `tell` hears what is
    being done.
    """
    if not systems:
        raise ConfigError("systems must be at least one, got none; name runs, bundles or files of translations")
    if test is not None and [system.name for system in systems] != [each.name for each in test.evaluation.systems]:
        raise ConfigError("the test must be of the same systems, in the same order, got others; evaluate these")
    tell("reading the records of runs")
    scored = [None] * len(systems) if test is None else list(test.evaluation.systems)
    baseline = None if test is None else _named(test.evaluation, test.evaluation.baseline)
    compared = tuple(_system(system, scores, baseline) for system, scores in zip(systems, scored, strict=True))
    if test is None:
        return Comparison(compared, None, None, package_versions(), machine().signature, command)
    evaluation, sources, references = test.evaluation, test.sources, test.references
    tell("looking for sentences that differ")
    differing = differing_sentences(evaluation, sources, references, max(sentences, maps))
    tell("drawing attention maps")
    places = readable_places(differing, sources, maps)
    return Comparison(
        systems=compared,
        baseline=evaluation.baseline,
        test=TextFacts(
            evaluation.test,
            evaluation.sentences,
            evaluation.source_digest,
            evaluation.reference_digest,
            _search(evaluation.search),
        ),
        versions=evaluation.versions,
        machine=evaluation.machine,
        command=command or evaluation.command,
        differing=differing[: max(0, sentences)],
        sentence_metric=SENTENCE_METRIC,
        aligned=aligned_sentences(systems, evaluation, sources, references, places, threads=threads),
        notes=_notes(compared),
    )


def _named(evaluation: Evaluation, name: str | None) -> SystemScores | None:
    return next((system for system in evaluation.systems if system.name == name), None)


def _search(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those settings of the search that are not as they always are, and those that are always told."""
    usual = SearchSettings().model_dump()
    return {name: value for name, value in settings.items() if name in _SEARCH or value != usual.get(name)}


def _notes(systems: Sequence[ComparedSystem]) -> tuple[str, ...]:
    if any(len(system.members) > 1 for system in systems):
        return ("Single sentences and maps are those of the first member of each system.",)
    return ()


def _system(system: System, scores: SystemScores | None, baseline: SystemScores | None) -> ComparedSystem:
    scored: Sequence[Member | None] = [None] * len(system.members) if scores is None else scores.members
    names = [system.name] if len(scored) == 1 else [f"{system.name} {number}" for number in range(1, len(scored) + 1)]
    members = tuple(map(_member, names, system.members, scored))
    if scores is None:
        return ComparedSystem(system.name, members)
    return ComparedSystem(system.name, members, of_system(scores, baseline), by_length(scores.members))


def _member(name: str, path: Path, scored: Member | None) -> Compared:
    """A run, a bundle or a file, with what it reached in the test, if there was one."""
    run = run_of(path)
    record = None if run is None else read_run(run)
    bundle = _bundle(path, record)
    if bundle is None and record is None:
        return Compared(name, "translations", digest=sha256_of_file(path), **of_member(scored))
    config = bundle.config if bundle is not None else record.config if record else None
    return Compared(
        name,
        "bundle" if record is None else "run",
        digest=bundle.digest if bundle else "",
        seed=config.training.seed if config else None,
        parameters=_parameters(scored, record, bundle),
        size_bytes=_size(bundle),
        settings=settings_of(config) if config else {},
        config=to_toml(config) if config else "",
        curves=record.curves if record else (),
        training=record.facts if record else None,
        **of_member(scored),
    )


def _bundle(path: Path, record: RunRecord | None) -> Bundle | None:
    """The bundle of a member; a run that goes on need not have one yet."""
    if record is not None and not path.is_file() and not (path / "bundle").is_dir() and path.name != "bundle":
        return None
    place = bundle_of(path)
    return None if place is None else Bundle.open(place)


def _parameters(scored: Member | None, record: RunRecord | None, bundle: Bundle | None) -> int | None:
    """As many as the run or the test counted; else they are counted here."""
    if record is not None and record.parameters is not None:
        return record.parameters
    if scored is not None and scored.parameters is not None:
        return scored.parameters
    return None if bundle is None else sum(array.size for array in bundle.weights().values())


def _size(bundle: Bundle | None) -> int | None:
    return None if bundle is None else sum(int(facts["size"]) for facts in bundle.manifest["files"].values())
