"""A parallel corpus of any size in two generated languages, with known numbers of duplicates and faults.

Words are drawn by Zipf's law, lengths are log-normal, and the second language translates the first word for word, with
swaps and free choices. Everything about a pair is a hash of the seed and its number, so that any pair can be generated
without the others: a copy of a distant pair costs nothing, and memory does not grow with the corpus.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIDES = ("en", "de")
HELD_OUT = 2000  # pairs of the validation set, and of the test set
DUPLICATES, NEAR_DUPLICATES, FAULTS = 0.15, 0.03, 0.02
WORDS = 100_000  # of a language
NUMBERS, ADDRESSES = 9999, 500

# What the hash of a pair is mixed with, so that its properties do not depend on each other.
KIND, FAULT, ORIGIN, LENGTH, RATIO, SLOT, CHANGE, SOURCE, TARGET, END = range(10)
# Numbers of held-out pairs: no training pair has one of them.
TEST, VALIDATION = 1 << 40, 1 << 41

Hashes = NDArray[np.uint64]
Integers = NDArray[np.int64]
Pair = tuple[bytes, bytes]


def mix(values: Hashes) -> Hashes:
    """A permutation of 64-bit numbers that looks random (the finaliser of SplitMix64)."""
    values = values ^ (values >> np.uint64(30))
    values *= np.uint64(0xBF58476D1CE4E5B9)
    values ^= values >> np.uint64(27)
    values *= np.uint64(0x94D049BB133111EB)
    values ^= values >> np.uint64(31)
    return values


def step(numbers: Integers) -> Hashes:
    """Where the hash of the n-th thing starts."""
    return (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)


def below(hashes: Hashes, bounds: int | Integers) -> Integers:
    """Hashes as numbers from 0 to below the bounds."""
    return (hashes % np.asarray(bounds, dtype=np.uint64)).astype(np.int64)


# ----------------------------------------------------------------------------------------------------------- languages


# What words are made of: onsets, nuclei, codas, endings (a hyphen is none); the share of words with a capital.
SOUNDS = {
    "en": (
        "b c d f g h l m n p r s t w br ch cl fl gr pl sh st th tr wh",
        "a e i o u ea ee oo ou ai",
        "- - - n r s t l nd st ck ng",
        "- - - s ed ing er ly tion ment",
        0.03,
    ),
    "de": (
        "b d f g h k l m n p r s t w z br fr gr kl pf sch schl st tr zw",
        "a e i o u ä ö ü au ei ie eu",
        "- - - n r s t l nd st ch cht ß",
        "- - en er es em ung lich keit heit",
        0.35,
    ),
}


@cache
def make_words(language: str, seed: int) -> list[str]:
    """Words that differ in more than case, the most frequent first; those are the shortest."""
    *sounds, capitals = SOUNDS[language]
    *syllable, endings = [[sound.strip("-") for sound in str(each).split()] for each in sounds]
    draw = random.Random(f"{language} {seed}")
    words: dict[str, str] = {}
    while len(words) < WORDS:
        rank = len(words)
        syllables = draw.choice((1,) if rank < 1000 else (1, 1, 2) if rank < 10_000 else (1, 2, 2, 3))
        parts = [*syllable * syllables, endings]
        word = "".join(map(draw.choice, parts[:2] if rank < 100 else parts))
        words.setdefault(word, word.capitalize() if draw.random() < float(capitals) else word)
    return list(words.values())


@cache
def make_tokens(language: str, seed: int) -> NDArray[np.object_]:
    """All that a sentence is made of: " word", ", word" and "Word" for each word; numbers and addresses; ends."""
    words = make_words(language, seed)
    tokens = [before + word for before in (" ", ", ") for word in words] + [w[0].upper() + w[1:] for w in words]
    tokens += [f" {number}" for number in range(1, NUMBERS + 1)]
    tokens += [f" www.{word.lower()}.org" for word in make_words("en", seed)[-ADDRESSES:]]
    tokens += [".\n"] * 13 + ["?\n"] * 2 + ["!\n"]
    return np.array([token.encode() for token in tokens], dtype=np.object_)


PLAIN, COMMA, FIRST, SLOTS = 0, WORDS, 2 * WORDS, 3 * WORDS
ENDS = SLOTS + NUMBERS + ADDRESSES


@cache
def zipf_table(bits: int = 20) -> Integers:
    """The word for each of 2^bits equally likely draws (Zipf and Mandelbrot's law)."""
    shares = np.cumsum((np.arange(WORDS) + 2.7) ** -1.05)
    return np.searchsorted(shares / shares[-1], (np.arange(1 << bits) + 0.5) / (1 << bits)).astype(np.int64)


@cache
def log_normal_table(median: float, sigma: float, bits: int = 12) -> NDArray[np.float64]:
    """The value for each of 2^bits equally likely draws."""
    normal = NormalDist()
    return np.array([median * np.exp(sigma * normal.inv_cdf((n + 0.5) / (1 << bits))) for n in range(1 << bits)])


# ----------------------------------------------------------------------------------------------------------- sentences


@dataclass(frozen=True)
class Corpus:
    """Pairs by number."""

    seed: int

    def hashes(self, numbers: Integers, about: int) -> Hashes:
        return mix(mix(step(numbers)) + step(np.array([self.seed * 64 + about])))

    def kinds(self, rows: Integers) -> tuple[Integers, Integers]:
        """What each row is (original, duplicate, near-duplicate, fault), and the number of the pair it shows."""
        kinds = self._meant(rows)
        origins = rows.copy()
        copies = np.flatnonzero((kinds == 1) | (kinds == 2))
        for attempt in range(12):  # only an original is copied, so that the first of its kind is always a good pair
            found = below(self.hashes(rows[copies] * 16 + attempt, ORIGIN), np.maximum(rows[copies], 1))
            good = (self._meant(found) == 0) & (found < rows[copies])
            origins[copies[good]] = found[good]
            copies = copies[~good]
        kinds[copies] = 0
        return kinds, origins

    def _meant(self, rows: Integers) -> Integers:
        limits = np.cumsum([1 - DUPLICATES - NEAR_DUPLICATES - FAULTS, DUPLICATES, NEAR_DUPLICATES])
        drawn = (self.hashes(rows, KIND) >> np.uint64(11)) / 2.0**53
        return np.searchsorted(limits, drawn, side="right").astype(np.int64)

    def lines(self, numbers: Integers, changed: Integers) -> tuple[list[bytes], list[bytes]]:
        """The text of both sides. Where `changed` is not negative, one word is another one; which, it decides."""
        lengths, target_lengths = self._lengths(numbers)
        slot_places = 1 + below(mix(self.hashes(numbers, SLOT)), lengths - 1)
        rows, places, starts = ragged(lengths)
        drawn = mix(self.hashes(numbers, SOURCE)[rows] + step(places))
        words = zipf_table()[drawn >> np.uint64(44)]
        near = np.flatnonzero(changed >= 0)
        hashes = self.hashes(changed[near], CHANGE)
        change_places = 1 + below(hashes, lengths[near] - 1)
        change_places[change_places == slot_places[near]] = 0  # a number there would hide the change
        words[starts[near] + change_places] += 1 + below(hashes >> np.uint64(20), WORDS - 1)
        words %= WORDS
        source = self._join("en", numbers, words, drawn, starts, slot_places)

        rows, places, target_starts = ragged(target_lengths)
        hashes = self.hashes(numbers, TARGET)[rows]
        drawn = mix(hashes + step(places))
        aligned = places * lengths[rows] // target_lengths[rows]
        # One word in eight has nothing to do with the source, nor has the second one where a word would have two.
        free = ((drawn & np.uint64(0xE)) == 0) | (np.append(-1, aligned[:-1]) == aligned)
        swaps = (hashes >> (aligned >> 1 & 63).astype(np.uint64) & np.uint64(1)).astype(np.int64)
        aligned = np.minimum(aligned ^ swaps, lengths[rows] - 1)
        words = np.where(free, zipf_table()[drawn >> np.uint64(44)], words[starts[rows] + aligned])
        slot_places = np.maximum(slot_places * target_lengths // lengths, 1)
        return source, self._join("de", numbers, words, drawn, target_starts, slot_places)

    def _lengths(self, numbers: Integers) -> tuple[Integers, Integers]:
        """Words of both sides."""
        lengths = log_normal_table(20, 0.55)[self.hashes(numbers, LENGTH) >> np.uint64(52)]
        ratios = log_normal_table(1.0, 0.12)[self.hashes(numbers, RATIO) >> np.uint64(52)]
        source = np.clip(lengths, 4, 120).astype(np.int64)
        return source, np.clip(source * ratios + 0.5, 4, 120).astype(np.int64)

    def _join(
        self,
        language: str,
        numbers: Integers,
        words: Integers,
        drawn: Hashes,
        starts: Integers,
        slot_places: Integers,
    ) -> list[bytes]:
        """Words with commas, a capital, a number or an address in one pair of eight, and an end, as lines."""
        tokens = words + np.where((drawn & np.uint64(0xF00)) == 0, COMMA, PLAIN)
        tokens[starts] = words[starts] + FIRST
        slots = below(self.hashes(numbers, SLOT), 8 * (NUMBERS + ADDRESSES))
        has_slot = slots < NUMBERS + ADDRESSES
        tokens[(starts + slot_places)[has_slot]] = SLOTS + slots[has_slot]
        ends = np.append(starts[1:], len(words))
        tokens = np.insert(tokens, ends, ENDS + below(self.hashes(numbers, END), 16))
        return b"".join(make_tokens(language, self.seed)[tokens].tolist()).split(b"\n")[:-1]


def ragged(lengths: Integers) -> tuple[Integers, Integers, Integers]:
    """For rows of these lengths laid end to end: the row and the place in it of each element; the start of each row."""
    starts = np.cumsum(lengths) - lengths
    return np.repeat(np.arange(len(lengths)), lengths), np.arange(lengths.sum()) - np.repeat(starts, lengths), starts


# -------------------------------------------------------------------------------------------------------------- faults

CYRILLIC = str.maketrans("abcdefghiklmnoprstuwzäöü", "абцдефгхиклмнопрстувзэёю")
ADDRESS = rb"www\.\w+\.org"


def to_cyrillic(text: bytes) -> bytes:
    return text.decode().lower().translate(CYRILLIC).encode()


def digest(text: bytes) -> bytes:
    return b" " + hashlib.sha512(text).hexdigest().encode()


def without(text: bytes, pattern: bytes) -> bytes:
    return re.sub(b" " + pattern, b"", text)


FAULT_KINDS: dict[str, Callable[[bytes, bytes], Pair]] = {
    "empty side": lambda s, t: (s, b""),
    "copied source": lambda s, t: (s, s),
    "nearly copied source": lambda s, t: (s, s[:-1] + b"s" + s[-1:]),
    "length ratio": lambda s, t: (b" ".join([s] * (1 + 100 // len(s))), t.decode()[:3].strip().encode()),
    "long word": lambda s, t: (s + digest(s), t + digest(s)),
    "few letters": lambda s, t: (re.sub(rb"[b-z]", b"*", without(s, ADDRESS)), without(t, ADDRESS)),
    "wrong script": lambda s, t: (without(s, ADDRESS), to_cyrillic(without(t, ADDRESS))),
    "repeated words": lambda s, t: (s + b" la" * 12, t + b" da" * 12),
    "number mismatch": lambda s, t: (s + b" 24680", without(t, rb"\d+") + b" 13579"),
    "URL mismatch": lambda s, t: (s + b" https://en.example.org/a", t + b" https://de.example.org/b"),
    "HTML tag mismatch": lambda s, t: (b"<b>" + s + b"</b>", t),
    "HTML entities": lambda s, t: (s.replace(b" ", b" &amp; ", 1), t.replace(b" ", b" &amp; ", 1)),
    "mojibake": lambda s, t: (s, (t + " schön größer".encode()).decode("cp1252").encode()),
    "control characters": lambda s, t: (s.replace(b" ", b" \x07\x1b", 1), t),
    "U+2028 inside": lambda s, t: (s, t.replace(b" ", "\u2028".encode(), 1)),
    "U+0085 inside": lambda s, t: (s, t.replace(b" ", "\u0085".encode(), 1)),
    "CRLF ending": lambda s, t: (s + b"\r", t),
    "NUL": lambda s, t: (s.replace(b" ", b" \0", 1), t),
    "invalid UTF-8": lambda s, t: (s, t.replace(b" ", b" \xc3\x28\xff", 1)),
    "test-set leak": lambda s, t: (s, t),  # it is the number of the pair that makes it one
}


def make_rows(corpus: Corpus, rows: Integers, counts: Counter[str]) -> tuple[list[bytes], list[bytes]]:
    """The lines of these rows of the training corpus."""
    kinds, origins = corpus.kinds(rows)
    names = list(FAULT_KINDS)
    faults = below(corpus.hashes(rows, FAULT), len(names))
    leaks = (kinds == 3) & (faults == names.index("test-set leak"))
    origins[leaks] = TEST + below(corpus.hashes(rows, ORIGIN), HELD_OUT)[leaks]
    source, target = corpus.lines(origins, np.where(kinds == 2, rows, -1))
    for row in np.flatnonzero(kinds == 3):
        name = names[faults[row]]
        source[row], target[row] = FAULT_KINDS[name](source[row], target[row])
        counts[name] += 1
    for kind, name in enumerate(("original", "duplicate", "near-duplicate")):
        counts[name] += int((kinds == kind).sum())
    return source, target


def generate(folder: Path, pairs: int, seed: int = 1, block: int = 16_384) -> dict[str, Any]:
    """Write train, validation and test, a file a side, and truth.json; return what that holds."""
    folder.mkdir(parents=True, exist_ok=True)
    corpus, counts = Corpus(seed), Counter[str]()
    for name, first in (("validation", VALIDATION), ("test", TEST)):
        numbers = first + np.arange(HELD_OUT)
        for side, lines in zip(SIDES, corpus.lines(numbers, np.full(HELD_OUT, -1)), strict=True):
            (folder / f"{name}.{side}").write_bytes(b"\n".join(lines) + b"\n")
    with (folder / "train.en").open("wb") as source, (folder / "train.de").open("wb") as target:
        for first in range(0, pairs, block):
            made = make_rows(corpus, np.arange(first, min(first + block, pairs)), counts)
            for file, lines in zip((source, target), made, strict=True):
                file.write(b"\n".join(lines) + b"\n")
        size = source.tell() + target.tell()
    plain = {name: counts.pop(name, 0) for name in ("original", "duplicate", "near-duplicate")}
    faults = {name: counts[name] for name in FAULT_KINDS}
    truth = {"pairs": pairs, "seed": seed, "bytes": size, "counts": plain, "faults": faults}
    (folder / "truth.json").write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")
    return truth


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--pairs", type=int, default=10_000_000)
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    began = time.perf_counter()
    truth = generate(chosen.folder, chosen.pairs, chosen.seed)
    print(json.dumps(truth, indent=1))
    print(f"{chosen.pairs / (time.perf_counter() - began):,.0f} pairs a second")


if __name__ == "__main__":
    main()
