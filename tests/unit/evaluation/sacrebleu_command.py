"""sacreBLEU's own command, run as a user would run it, and texts to run it on."""

import gzip
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dragoman.evaluation.results import Score

DIGITS = 17  # after the point: all that a number of double precision has


def sacrebleu(folder: Path, references: Sequence[str], systems: Sequence[Sequence[str]], *options: str) -> Any:
    """What the command prints about systems, as values: every metric, chrF as chrF++."""
    return json.loads(printed(folder, references, systems, "-f", "json", *options))


def paired(
    folder: Path, references: Sequence[str], systems: Sequence[Sequence[str]], *options: str
) -> tuple[list[dict[str, tuple[float, str]]], str]:
    """What the command prints about a baseline and others: for each, score and p-value by metric; and the signatures.

    Not as JSON, which fails where NumPy is of version 2; so the p-value, to four digits, is a text.
    """
    table, signatures = printed(folder, references, systems, "-f", "latex", *options).split("Metric signatures")
    rows = [line.split("&")[1:] for line in table.splitlines() if line.count("&") == 3 and "system" in line]
    found = []
    for row in rows[1:]:
        cells = [re.fullmatch(r" *(\S+)(?: \(.*±.*\))? \(p = (\S+)\)\*? *(?:\\\\)?", cell) for cell in row]
        values = [(float(cell[1]), cell[2]) for cell in cells if cell is not None]
        found.append(dict(zip(("bleu", "chrf++", "ter"), values, strict=True)))
    return found, signatures


def printed(folder: Path, references: Sequence[str], systems: Sequence[Sequence[str]], *options: str) -> str:
    """The output of the command."""
    for name, lines in [("ref", references), *((f"system{number}", system) for number, system in enumerate(systems))]:
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    inputs = [f"system{number}" for number in range(len(systems))]
    command = ["ref", "-m", "bleu", "chrf", "ter", "--chrf-word-order", "2", "-w", str(DIGITS), *options, "-i", *inputs]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SACREBLEU")}
    done = subprocess.run(
        [sys.executable, "-m", "sacrebleu", *command],
        cwd=folder,
        env=environment | {"NO_COLOR": "1"},
        check=True,
        capture_output=True,
        encoding="utf-8",
    )
    return done.stdout


def as_printed(score: Score) -> dict[str, Any]:
    """A score of ours, as the command prints it."""
    found: dict[str, Any] = {"score": rounded(score.value), "signature": score.signature}
    if score.interval is not None:
        found["confidence_mean"] = rounded(score.interval.mean)
        found["confidence_var"] = rounded(score.interval.half_width)
    return found


def rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}f}")


def lines_of(corpora: Path, name: str) -> list[str]:
    """The lines of a set, or a skip where it is missing."""
    path = corpora / f"{name}.gz"
    if not path.is_file():
        pytest.skip(f"no {name} here")
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip() for line in file]


def spoilt(references: Sequence[str], seed: str = "") -> list[str]:
    """References with words, or in scripts without spaces characters, lost, replaced and moved: what systems do."""
    vocabulary = sorted({word for line in references for word in _parts(line)[0]})
    return [_spoilt(line, vocabulary, random.Random(f"{seed}{line}")) for line in references]


def _spoilt(line: str, vocabulary: Sequence[str], chance: random.Random) -> str:
    parts, joint = _parts(line)
    kept = [chance.choice(vocabulary) if chance.random() < 0.2 else part for part in parts if chance.random() > 0.1]
    for _ in range(len(kept) // 6):
        kept.insert(chance.randrange(len(kept)), kept.pop(chance.randrange(len(kept))))
    return joint.join(kept).rstrip()


def _parts(line: str) -> tuple[list[str], str]:
    words = line.split()
    return (words, " ") if len(words) > len(line) // 12 else (list(line), "")
