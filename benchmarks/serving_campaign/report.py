"""Write the report from stored results."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.reporting import RESULTS, table, write
from benchmarks.serving_campaign.experiment import ExperimentResult

NAME = "serving-campaign"


def keep(result: ExperimentResult, key: str, name: str = NAME) -> None:
    """Store a result."""
    kept = load(name)
    kept[key] = result.to_json()
    (RESULTS / f"{name}.json").write_text(json.dumps(kept, indent=1, default=str) + "\n", encoding="utf-8")


def load(name: str = NAME) -> dict[str, Any]:
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def report(name: str = NAME) -> bool:
    """Write the report; returns whether every target was met."""
    kept = load(name)
    write(name, page(kept), kept)
    return all(_is_passed(result) for result in kept.values())


def _is_passed(result: dict[str, Any]) -> bool:
    return all(target["is_met"] for target in result["targets"]) and result["is_control_found"] is not False


def page(kept: dict[str, Any]) -> str:
    """Return every guarantee, its results, and its planted fault."""
    text = "# Reliability of the server\n\n`python -m benchmarks.serving_campaign run` starts real server processes on "
    text += (
        "127.0.0.1 with a tiny, untrained model unless stated otherwise. Each experiment is repeated with a planted "
    )
    text += "fault, which must be found.\n"
    rows = [
        [
            result["promise"],
            f"{result['trials']:,}" + ("" if result.get("share", 1.0) == 1.0 else f" ({result['share']:.0%} of all)"),
            "met" if _is_passed(result) else "**not met**",
            result["control"] or "–",
            f"{result['seconds']:.0f}",
            result["signature"]["date"],
        ]
        for result in kept.values()
    ]
    text += "\n" + table(["guarantee", "trials", "", "planted fault", "seconds", "measured"], rows)
    machines = sorted({result["signature"]["machine"] for result in kept.values()})
    versions = sorted({result["signature"]["version"] for result in kept.values()})
    text += f"\nOn: {'; '.join(machines)}. dragoman {', '.join(versions)}.\n"
    for result in kept.values():
        text += f"\n## {result['promise'].capitalize() if result['promise'].islower() else result['promise']}\n\n"
        cells = [
            [target["what"], target["goal"], _cell(target["found"]), "met" if target["is_met"] else "**missed**"]
            for target in result["targets"]
        ]
        text += table(["", "goal", "found", ""], cells)
    return text


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
