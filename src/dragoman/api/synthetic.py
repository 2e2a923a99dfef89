"""Write synthetic corpora: translated pairs, noise and filters. Paper: [edunov2018] (section 3).

The folder has the translated lines with their scores (``lines.jsonl.gz``), the kept pairs as one text file per
language, and ``record.json``. The translated lines do not depend on filters, noise or tag: these can be changed without
translating again.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.config.synthetic import BLANK, NoiseSettings, PairFilters
from dragoman.files import atomic_write, remove_temporary_files, sha256_of_file, write_json
from dragoman.text.characters import is_spaceless
from dragoman.text.words import word_spans

LINES = "lines.jsonl.gz"
"""File name of the translated lines: one JSON object per input line, as `dragoman translate --json` writes it."""
RECORD = "record.json"
"""File name of the record."""

_NAME = "synthetic"
_FORMAT = {"format": "dragoman-synthetic-corpus", "version": 1}

Pair = tuple[str, str]
"""Source and target."""

MakePair = Callable[[int, Mapping[str, Any]], Pair | str]
"""Returns the pair of a translated line, given its index and its JSON, or the reason for removing it."""


def noisy(text: str, settings: NoiseSettings, number: int) -> str:
    """Return a text with noise, as a function of the text, the settings and its number; at least one word stays.

    A word is dropped, then replaced by a blank, with their probabilities; then word i is sorted by i + u, with u
    uniform in [0, swap + 1), so that no word moves by more than `swap` places.
    """
    words = [text[start:end] for start, end in word_spans(text)]
    generator = np.random.Generator(np.random.Philox(np.random.SeedSequence([settings.noise_seed, number])))
    drops, blanks, moves = generator.random((3, len(words)))
    kept = np.flatnonzero(drops >= settings.noise_drop)
    if not len(kept):
        return text
    order = kept[np.argsort(np.arange(len(kept)) + moves[kept] * (settings.noise_swap + 1), kind="stable")]
    return _join([BLANK if blanks[place] < settings.noise_blank else words[place] for place in order.tolist()])


def _join(words: list[str]) -> str:
    """Join words with spaces, except next to characters of scripts without spaces."""
    parts: list[str] = []
    for word in words:
        if parts and not (is_spaceless(parts[-1][-1]) or is_spaceless(word[0])):
            parts.append(" ")
        parts.append(word)
    return "".join(parts)


@dataclass(frozen=True)
class SyntheticCorpus:
    """The files of a corpus, source first, and the number of lines read, kept, and removed by reason."""

    files: tuple[Path, Path]
    read: int
    kept: int
    removed: Mapping[str, int] = field(default_factory=dict)


def write_corpus(
    folder: Path, languages: tuple[str, str], make_pair: MakePair, facts: Mapping[str, Any]
) -> SyntheticCorpus:
    """Write the pairs of the translated lines of a folder, and last the record, which contains `facts`.

    Files are named by the languages of the pairs.
    """
    names = languages if all(languages) else ("source", "target")
    files = (folder / f"{_NAME}.{names[0]}", folder / f"{_NAME}.{names[1]}")
    (folder / RECORD).unlink(missing_ok=True)
    for path in (*files, folder / RECORD):
        remove_temporary_files(path)
    read = kept = 0
    removed: Counter[str] = Counter()
    with ExitStack() as stack:
        drafts = [stack.enter_context(atomic_write(path)) for path in files]
        sides = [stack.enter_context(draft.open("w", encoding="utf-8", newline="\n")) for draft in drafts]
        for number, line in enumerate(_translated_lines(folder / LINES)):
            read += 1
            pair = make_pair(number, line)
            if isinstance(pair, str):
                removed[pair] += 1
                continue
            kept += 1
            for side, text in zip(sides, pair, strict=True):
                side.write(f"{text}\n")
    record = {
        **_FORMAT,
        **facts,
        "pairs": {"read": read, "kept": kept, "removed": dict(sorted(removed.items()))},
        "files": {path.name: {"bytes": path.stat().st_size, "sha256": sha256_of_file(path)} for path in files},
    }
    write_json(folder / RECORD, record)
    return SyntheticCorpus(files, read, kept, removed)


def removal_reason(line: Mapping[str, Any], filters: PairFilters) -> str | None:
    """Return why a translated line is no pair of the corpus, or None if it is one."""
    if not line["source"].strip() or not line["text"]:
        return "empty"
    if not line["tokens"]:  # a text without letters is returned unchanged
        return "not translated"
    if line["is_truncated"]:
        return "translation without an end"
    if filters.min_score is not None and _mean_log_prob(line) < filters.min_score:
        return "score"
    return None


def _mean_log_prob(line: Mapping[str, Any]) -> float:
    """Return log p per token, the end included; infinite values are null in JSON."""
    log_prob = line["log_prob"]
    return -float("inf") if log_prob is None else float(log_prob) / (len(line["tokens"]) + 1)


def _translated_lines(path: Path) -> Iterator[Mapping[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        yield from map(json.loads, lines)
