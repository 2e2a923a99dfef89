"""The text that models and the statistical aligner learn from: cut into words as the hand-made links count them."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

LONGEST = 25
"""The most words of a sentence of Europarl that is learnt from: the hand-aligned ones are short, and time is too."""

_EUROPARL = {split: (f"europarl/{split}.{{side}}.gz",) for split in ("train", "dev", "test")}
_NEWS = [f"newstest/newstest{year}.zh-en.{{side}}.gz" for year in range(2017, 2022)]
_NEWS += [f"newstest/newstest{year}.en-zh.{{side}}.gz" for year in (2019, 2020)]
_CHINESE = {
    "train": (*_NEWS, "tico19/test.en-zh.{side}.gz", "tatoeba/train.en-zh.{side}.gz", "3am/train.{side}.gz"),
    "dev": ("tatoeba/dev.en-zh.{side}.gz",),
    "test": ("tatoeba/test.en-zh.{side}.gz",),
}


@dataclass(frozen=True)
class Pair:
    """Two languages, and the hand-aligned sentences between them; `whole` are those whose hyphens stay in words.

    `text` are the files of each split, and `longest` the most words of a sentence that models learn from; a Chinese
    character counts as a word. `is_swapped`: the links count the words of the target first.
    """

    name: str
    gold: str
    whole: bool
    text: Mapping[str, Sequence[str]] = field(default_factory=lambda: _EUROPARL)
    longest: int = LONGEST
    is_swapped: bool = False

    @property
    def sides(self) -> tuple[str, str]:
        source, target = self.name.split("-")
        return source, target


PAIRS = {
    "de-en": Pair("de-en", "europarl-de-en", whole=True),
    "en-fr": Pair("en-fr", "hansards-en-fr", whole=False),
}
"""The pairs of the report on word alignment."""

CORPORA = PAIRS | {"en-zh": Pair("en-zh", "tsinghua-zh-en", whole=True, text=_CHINESE, longest=60, is_swapped=True)}

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
    if language == "zh":
        return text.strip()
    if language == "fr":
        text = _ELISION.sub(lambda found: _ELIDED.get(found[1], f"{found[1]}'") + " ", text)
    return " ".join((_WHOLE_WORD if whole else _WORD).findall(text))


def joined(words: Sequence[str], language: str) -> str:
    """The text of words: with a space between two of them, in Chinese only between two of Latin letters."""
    if language != "zh":
        return " ".join(words)
    text = ""
    for word in words:
        text += f" {word}" if text[-1:].isascii() and text[-1:].isalnum() and word[0].isascii() else word
    return text


def write_corpus(data: Path, folder: Path, pair: Pair) -> None:
    """Write train, dev, test and gold of both sides; training holds the hand-aligned sentences, without their links."""
    folder.mkdir(parents=True, exist_ok=True)
    for side in pair.sides:
        gold = [joined(line.lower().split(), side) for line in read(data / "alignment-gold" / f"{pair.gold}.{side}.gz")]
        _write(folder / f"gold.{side}", gold)
        for split, files in pair.text.items():
            texts = (line for name in files for line in read(data / name.format(side=side)))
            lines = [words_of(line, side, whole=pair.whole) for line in texts]
            _write(folder / f"{split}.{side}", lines + gold if split == "train" else lines)
    links = read(data / "alignment-gold" / f"{pair.gold}.align.gz")
    _write(folder / "gold.links", links)


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
