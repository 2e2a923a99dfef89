"""The statistical aligner eflomal, from its package, on the text that the models learn from.

`python -m benchmarks.alignment.eflomal FOLDER` aligns each pair of `corpus.py` in FOLDER, keeps the links of the
hand-aligned sentences, and prints the error rates of both directions and of what is made of the two.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.alignment.corpus import PAIRS
from benchmarks.peers.environments import Environment, default_folder, install
from dragoman.evaluation.word_alignment import (
    SYMMETRIZATIONS,
    AlignmentScores,
    GoldLinks,
    Links,
    parse_gold_links,
    pharaoh_line,
    score_alignment,
)

# Built from source without isolation: its package does not declare these two build requirements.
EFLOMAL = Environment(
    "eflomal",
    "eflomal",
    alone=("numpy", "cython", "setuptools>=75"),
    packages=("--no-build-isolation", "eflomal==2.0.0"),
    torch=False,
)
_DIRECTIONS = ("forward", "reverse")
_DIGITS = 12


def gold_of(folder: Path, pair: str) -> list[GoldLinks]:
    """The hand-made links of a pair of `corpus.py`, every one of them within its sentences."""
    texts = [(folder / pair / f"gold.{side}").read_text(encoding="utf-8").splitlines() for side in PAIRS[pair].sides]
    lengths = [(len(source.split()), len(target.split())) for source, target in zip(*texts, strict=True)]
    path = folder / pair / "gold.links"
    return parse_gold_links(path.read_text(encoding="utf-8").splitlines(), name=str(path), first=1, lengths=lengths)


def eflomal_links(folder: Path, pair: str, *, keep: Path | None = None) -> dict[str, list[Links]]:
    """Links of the hand-aligned sentences, the last of the training text: `forward`, `reverse`, and both together.

    Links once found are read from the folder `keep`, or written there; see `kept_files`.
    """
    files = {} if keep is None else kept_files(keep, folder, pair)
    if files and all(path.is_file() for path in files.values()):
        found = {
            name: _read_links(path.read_text(encoding="utf-8").splitlines(), name=str(path))
            for name, path in files.items()
        }
    else:
        found = _align(folder, pair)
        for name, path in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{pharaoh_line(links)}\n" for links in found[name]), encoding="utf-8")
    both = list(zip(found["forward"], found["reverse"], strict=True))
    return found | {name: [function(*pair) for pair in both] for name, function in SYMMETRIZATIONS.items()}


def kept_files(keep: Path, folder: Path, pair: str) -> dict[str, Path]:
    """Where links of a pair are kept: ``PAIR.TEXT.DIRECTION.links``, so that those of another text are not taken.

    TEXT is the beginning of the SHA-256 of the training text, source and then target.
    """
    digest = hashlib.sha256()
    for path in _texts(folder, pair):
        digest.update(path.read_bytes())
    return {name: keep / f"{pair}.{digest.hexdigest()[:_DIGITS]}.{name}.links" for name in _DIRECTIONS}


def eflomal_errors(found: Mapping[str, list[Links]], gold: list[GoldLinks]) -> dict[str, AlignmentScores]:
    """The error of each direction, and of each way to put them together."""
    return {name: score_alignment(links, gold) for name, links in found.items()}


def _read_links(lines: list[str], *, name: str) -> list[Links]:
    return [tuple(sorted(each.possible)) for each in parse_gold_links(lines, name=name, form="pharaoh")]


def _align(folder: Path, pair: str) -> dict[str, list[Links]]:
    python = install(EFLOMAL, default_folder())
    count = len(gold_of(folder, pair))
    source, target = _texts(folder, pair)
    with tempfile.TemporaryDirectory() as work:
        files = {name: Path(work) / name for name in _DIRECTIONS}
        command: list[str | Path] = [python.parent / "eflomal-align", "-s", source, "-t", target]
        subprocess.run([*command, "-f", files["forward"], "-r", files["reverse"]], check=True)
        return {
            name: _read_links(path.read_text(encoding="utf-8").splitlines()[-count:], name=name)
            for name, path in files.items()
        }


def _texts(folder: Path, pair: str) -> list[Path]:
    return [(folder / pair / f"train.{side}").resolve() for side in PAIRS[pair].sides]


def main() -> None:
    """Align every pair, and print a table of errors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="what benchmarks.alignment.corpus wrote: a folder for each pair")
    parser.add_argument("--pairs", nargs="+", default=list(PAIRS), choices=list(PAIRS))
    parser.add_argument("--keep", type=Path, help="a folder for the links that were found")
    given = parser.parse_args()
    for pair in given.pairs:
        errors = eflomal_errors(eflomal_links(given.folder, pair, keep=given.keep), gold_of(given.folder, pair))
        for name, error in errors.items():
            figures = f"AER {error.aer:.3f}  precision {error.precision:.3f}  recall {error.recall:.3f}"
            print(f"{pair}  {name:20}  {figures}  F1 {error.f1:.3f}", flush=True)


if __name__ == "__main__":
    main()
