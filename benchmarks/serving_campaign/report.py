"""The page, made from the rows that were kept."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.reporting import RESULTS, table, write
from benchmarks.serving_campaign.rows import Row

__all__ = ["keep", "page", "report"]

NAME = "serving-campaign"


def keep(row: Row, key: str, name: str = NAME) -> None:
    """Put a row beside the others."""
    kept = load(name)
    kept[key] = row.to_json()
    (RESULTS / f"{name}.json").write_text(json.dumps(kept, indent=1, default=str) + "\n", encoding="utf-8")


def load(name: str = NAME) -> dict[str, Any]:
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def report(name: str = NAME) -> bool:
    """Write the page from what was kept; whether every promise was."""
    kept = load(name)
    write(name, page(kept), kept)
    return all(_is_kept(row) for row in kept.values())


def _is_kept(row: dict[str, Any]) -> bool:
    return all(target["is_met"] for target in row["targets"]) and row["is_control_found"] is not False


def page(kept: dict[str, Any]) -> str:
    """Every promise, what was found, and the fault that was planted."""
    text = (
        "# The service, disturbed\n\nWith `python -m benchmarks.serving_campaign run`: real servers, each a process of "
    )
    text += "its own on 127.0.0.1, with a tiny model that was never trained unless it says otherwise. Each promise is "
    text += "tried again with a fault planted, which must be found.\n"
    rows = [
        [
            row["promise"],
            f"{row['trials']:,}",
            "kept" if _is_kept(row) else "**broken**",
            row["control"] or "–",
            f"{row['seconds']:.0f}",
            row["signature"]["date"],
        ]
        for row in kept.values()
    ]
    text += "\n" + table(["promise", "trials", "", "planted fault", "seconds", "measured"], rows)
    machines = sorted({row["signature"]["machine"] for row in kept.values()})
    versions = sorted({row["signature"]["version"] for row in kept.values()})
    text += f"\nOn: {'; '.join(machines)}. dragoman {', '.join(versions)}.\n"
    for row in kept.values():
        text += f"\n## {row['promise'].capitalize() if row['promise'].islower() else row['promise']}\n\n"
        cells = [
            [target["what"], target["goal"], _cell(target["found"]), "met" if target["is_met"] else "**missed**"]
            for target in row["targets"]
        ]
        text += table(["", "goal", "found", ""], cells)
    return text


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
