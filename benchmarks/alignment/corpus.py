"""The text that models and the statistical aligner learn from: cut into words as the hand-made links count them."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PAIRS", "Pair", "read", "words_of", "write_corpus"]


@dataclass(frozen=True)
class Pair:
    """Two languages, and the hand-aligned sentences between them; `whole` are those whose hyphens stay in words."""

    name: str
    gold: str
    whole: bool

    @property
    def sides(self) -> tuple[str, str]:
        source, target = self.name.split("-")
        return source, target


PAIRS = {
    "de-en": Pair("de-en", "europarl-de-en", whole=True),
    "en-fr": Pair("en-fr", "hansards-en-fr", whole=False),
}

# The hand-aligned French is written without elisions: "le heure", "que il", but "aujourd' hui".
_ELIDED = {"qu": "que", "lorsqu": "lorsque", "puisqu": "puisque", "quoiqu": "quoique", "jusqu": "jusque", "l": "le"}
_ELIDED |= {letter: letter + "e" for letter in "cdjmnst"}
_ELISION = re.compile(r"\b(\w+)'(?=\w)")
_WHOLE_WORD = re.compile(r"\w+(?:-\w+)*|[^\w\s]")
_WORD = re.compile(r"aujourd'|\w+|[^\w\s]")


def read(path: Path) -> list[str]:
    """The lines of a packed file."""
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        return [line.rstrip("\n") for line in lines]


def words_of(text: str, language: str, *, whole: bool) -> str:
    """Small letters, words and punctuation apart, as in the hand-aligned sentences."""
    text = text.lower().replace("’", "'")
    if language == "fr":
        text = _ELISION.sub(lambda found: _ELIDED.get(found[1], f"{found[1]}'") + " ", text)
    return " ".join((_WHOLE_WORD if whole else _WORD).findall(text))


def write_corpus(data: Path, folder: Path, pair: Pair) -> None:
    """Write train, dev, test and gold of both sides; training holds the hand-aligned sentences, without their links."""
    folder.mkdir(parents=True, exist_ok=True)
    for side in pair.sides:
        gold = [line.lower() for line in read(data / "alignment-gold" / f"{pair.gold}.{side}.gz")]
        _write(folder / f"gold.{side}", gold)
        for split in ("train", "dev", "test"):
            lines = [words_of(line, side, whole=pair.whole) for line in read(data / "europarl" / f"{split}.{side}.gz")]
            _write(folder / f"{split}.{side}", lines + gold if split == "train" else lines)
    links = read(data / "alignment-gold" / f"{pair.gold}.align.gz")
    _write(folder / "gold.links", links)


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
