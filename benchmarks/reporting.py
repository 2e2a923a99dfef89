"""What every benchmark's result carries: when, where, with what."""

from __future__ import annotations

import argparse
import datetime as dt
import json
from pathlib import Path
from typing import Any

from dragoman import __version__
from dragoman.environment import machine_info
from dragoman.evaluation.results import Evaluation

RESULTS = Path(__file__).parent / "results"


def heading(title: str, command: str, threads: int) -> str:
    """The first lines of a result page."""
    today = dt.datetime.now(dt.UTC).date().isoformat()
    return (
        f"# {title}\n\n"
        f"Measured {today} with `{command}`, {threads} thread{'s' if threads > 1 else ''}, dragoman {__version__}, on: "
        f"{machine_info().signature}.\n"
    )


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table; all columns but the first are flush right."""
    rule = ["---", *["--:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, rule, *rows)) + "\n"


def write(name: str, text: str, figures: object) -> None:
    """Write the page and its data."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")
    (RESULTS / f"{name}.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print(text)


def evaluated(found: Evaluation, folder: Path) -> dict[str, Any]:
    """Values of an evaluation, with paths relative to the folder of the runs."""
    value = found.to_json()
    for system in value["systems"]:
        for member in system["members"]:
            member["path"] = Path(member["path"]).relative_to(folder).as_posix()
    return value


def parser(description: str | None) -> argparse.ArgumentParser:
    """The options all benchmarks share."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--threads", type=int, default=2)
    return options
