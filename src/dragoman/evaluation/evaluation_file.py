"""Read the results of an evaluation from ``evaluation.json``; convert files written by version 0.1."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dragoman.errors import DataError
from dragoman.evaluation.aggregate_members import combine_members
from dragoman.evaluation.results import (
    FORMAT_VERSION,
    Evaluation,
    Interval,
    LengthBin,
    MemberResult,
    Perturbation,
    Score,
    SignificanceTest,
    SystemResult,
    TestSet,
    Throughput,
)
from dragoman.files import read_json

__all__ = ["migrate_evaluation", "read_evaluation"]


def read_evaluation(path: Path) -> Evaluation:
    """Read an evaluation; translations are included only if the file has them."""
    value = read_json(path)
    if not isinstance(value, dict) or "systems" not in value:
        raise DataError(f"{path} must be an evaluation, got something else; name an evaluation.json")
    try:
        return _evaluation(migrate_evaluation(value))
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path} must be a complete evaluation, got one without {error}; evaluate again") from None


def migrate_evaluation(value: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the content of a file of version 0.1, which has no format version, to the current format."""
    version = value.get("format_version", 1)
    if version == FORMAT_VERSION:
        return dict(value)
    if version != 1:
        raise DataError(f"format_version must be 1 or {FORMAT_VERSION}, got {version}; install a newer dragoman")
    sentences = value["sentences"]
    members = {
        system["name"]: [_member(_migrate_member(member, sentences)) for member in system["members"]]
        for system in value["systems"]
    }
    baseline = members.get(value["baseline"])
    systems = [combine_members(name, found, None if found is baseline else baseline) for name, found in members.items()]
    digests = {name: value[name] for name in ("source_digest", "reference_digest")}
    test_set = TestSet(value["test"], sentences, **digests, languages=tuple(value["languages"]))
    kept = ("baseline", "search", "versions", "machine", "command", "resamples", "seconds")
    return Evaluation(test_set, tuple(systems), **{name: value[name] for name in kept}).to_json()


def _migrate_member(member: Mapping[str, Any], sentences: int) -> dict[str, Any]:
    renamed = {"probes": "perturbations", "speed": "throughput", "against_baseline": "tests"}
    current = {renamed.get(name, name): value for name, value in member.items()}
    current["scores"] = [_migrate_score(score, sentences) for score in member["scores"]]
    current["by_length"] = [
        row | {"scores": [_migrate_score(score, row["sentences"]) for score in row["scores"]]}
        for row in member["by_length"]
    ]
    current["perturbations"] = [
        probe | {"scores": [_migrate_score(score, probe["changed"]) for score in probe["scores"]]}
        for probe in member["probes"]
    ]
    return current


def _migrate_score(score: Mapping[str, Any], sentences: int) -> dict[str, Any]:
    """A score of one sentence has no interval."""
    interval = None if sentences == 1 else score["interval"]
    return {"metric": score["name"], "value": score["value"], "signature": score["signature"], "interval": interval}


def _evaluation(value: Mapping[str, Any]) -> Evaluation:
    test_set = value["test_set"]
    fields = {name: each for name, each in value.items() if name != "format_version"}
    fields |= {
        "test_set": TestSet(**test_set | {"languages": tuple(test_set["languages"])}),
        "systems": tuple(map(_system, value["systems"])),
        "notes": tuple(value.get("notes", ())),
    }
    return Evaluation(**fields)


def _system(value: Mapping[str, Any]) -> SystemResult:
    return SystemResult(
        name=value["name"],
        members=tuple(map(_member, value["members"])),
        scores=_scores(value),
        deviations=value["deviations"],
        tests=_tests(value),
        by_length=_by_length(value),
    )


def _member(value: Mapping[str, Any]) -> MemberResult:
    perturbations = (each | {"scores": _scores(each)} for each in value["perturbations"])
    fields = dict(value) | {
        "scores": _scores(value),
        "tests": _tests(value),
        "by_length": _by_length(value),
        "hypotheses": tuple(value.get("hypotheses", ())),
        "perturbations": tuple(Perturbation(**each) for each in perturbations),
        "throughput": None if value["throughput"] is None else Throughput(**value["throughput"]),
    }
    return MemberResult(**fields)


def _scores(value: Mapping[str, Any]) -> tuple[Score, ...]:
    return tuple(
        Score(**score | {"interval": None if score["interval"] is None else Interval(**score["interval"])})
        for score in value["scores"]
    )


def _tests(value: Mapping[str, Any]) -> tuple[SignificanceTest, ...]:
    return tuple(SignificanceTest(**test) for test in value["tests"])


def _by_length(value: Mapping[str, Any]) -> tuple[LengthBin, ...]:
    return tuple(LengthBin(**row | {"scores": _scores(row)}) for row in value["by_length"])
