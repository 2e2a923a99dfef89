"""A small corpus to prepare, and helpers for its files and settings."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path
from typing import Any

from dragoman.config import Config, parse_config

SUBJECTS = ("The old captain", "A young farmer", "My neighbour", "The tired teacher", "Our doctor", "A clever girl")
VERBS = ("buys", "paints", "repairs", "sells", "carries", "forgets", "describes", "washes")
OBJECTS = ("the green boat", "a broken chair", "seven red apples", "an old map", "the heavy door", "two small dogs")
PLACES = ("in the harbour", "behind the church", "at the market", "on the hill", "near the river", "in the morning")
GERMAN = {
    "The old captain": "Der alte Kapitän",
    "A young farmer": "Ein junger Bauer",
    "My neighbour": "Mein Nachbar",
    "The tired teacher": "Die müde Lehrerin",
    "Our doctor": "Unser Arzt",
    "A clever girl": "Ein kluges Mädchen",
    "buys": "kauft",
    "paints": "malt",
    "repairs": "flickt",
    "sells": "verkauft",
    "carries": "trägt",
    "forgets": "vergisst",
    "describes": "beschreibt",
    "washes": "wäscht",
    "the green boat": "das grüne Boot",
    "a broken chair": "einen kaputten Stuhl",
    "seven red apples": "sieben rote Äpfel",
    "an old map": "eine alte Karte",
    "the heavy door": "die schwere Tür",
    "two small dogs": "zwei kleine Hunde",
    "in the harbour": "im Hafen",
    "behind the church": "hinter der Kirche",
    "at the market": "auf dem Markt",
    "on the hill": "auf dem Hügel",
    "near the river": "am Fluss",
    "in the morning": "am Morgen",
}


def pairs(count: int, seed: int = 1) -> list[tuple[str, str]]:
    """Different pairs of sentences, at random."""
    every = [(s, v, o, p) for s in SUBJECTS for v in VERBS for o in OBJECTS for p in PLACES]
    chosen = random.Random(seed).sample(every, count)
    return [(" ".join(words) + ".", " ".join(GERMAN[word] for word in words) + ".") for words in chosen]


def write_pairs(folder: Path, name: str, rows: list[tuple[str, str]]) -> list[str]:
    """Two files, one a side; their names."""
    folder.mkdir(parents=True, exist_ok=True)
    for side, language in enumerate(("en", "de")):
        (folder / f"{name}.{language}").write_bytes("".join(f"{row[side]}\n" for row in rows).encode())
    return [f"{name}.en", f"{name}.de"]


def config(train: list[dict[str, Any]], tokenizer: dict[str, Any] | None = None, **data: Any) -> Config:
    """A configuration with these corpora and a small vocabulary."""
    return parse_config(
        {
            "data": {"source": "en", "target": "de", "train": train, "validation_pairs": 20} | data,
            "tokenizer": {"size": 400} | (tokenizer or {}),
            "model": {"family": "transformer", "tie": "none"},
        }
    )


def contents(folder: Path) -> dict[str, str]:
    """The hash of every file that is not for the preparation's own use."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if path.relative_to(folder).parts[0] != "work"
    }
