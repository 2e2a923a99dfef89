"""What the script of the inspection page is given: the values of each translation, in the fewest signs that will do.

Every text in them has been made visible (`data.check.visible`), so that none can turn the words around it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.data.check.visible import visible
from dragoman.errors import DataError
from dragoman.inspection.direction import direction
from dragoman.inspection.inspected import Candidate, Inspected, TreeNode, WhatIf
from dragoman.inspection.word_differences import split_words

__all__ = ["END", "checked_maps", "page_values"]

END = "⟨end⟩"
"""How an end is shown: that of the source as a column, that of the translation as a row, a step and a node."""

_WORD = 60
_SENTENCE = 4000
_UNIT = 1000  # weights are sent as thousandths

Marked = list[tuple[str, bool]]
"""A text in parts, each with whether it is another than in the text beside it."""


def page_values(inspected: Sequence[Inspected]) -> str:
    """All of them as JSON that may stand in a ``script`` element: it has no sign that HTML knows, and only ASCII."""
    text = json.dumps([_values(one) for one in inspected], separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def checked_maps(one: Inspected) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The maps of both readings, from 0 to 1 and of the shapes that `Inspected` promises."""
    if not one.has_attention:
        return one.predicted, one.given
    layers, heads = one.predicted.shape[:2]
    source, target = len(one.source_words) + 1, len(one.target_words)
    wanted = ((layers, heads, target + 1, source), (layers, heads, target, source))
    found = (one.predicted.shape, one.given.shape)
    if found != wanted or not 0 <= one.default_layer < layers:
        raise DataError(
            f"maps must have the shapes {wanted[0]} and {wanted[1]} and the default layer must be one of theirs, "
            f"got {found[0]}, {found[1]} and layer {one.default_layer}; give a row and a column for each word and end"
        )
    predicted, given = (np.clip(np.nan_to_num(maps), 0.0, 1.0) for maps in (one.predicted, one.given))
    return predicted, given


def _values(one: Inspected) -> dict[str, Any]:
    predicted, given = checked_maps(one)
    return {
        "source": visible(one.source, _SENTENCE),
        "translation": visible(one.translation, _SENTENCE),
        "sourceWords": _words(one.source_words),
        "targetWords": _words(one.target_words),
        "sourceDirection": direction(one.source),
        "targetDirection": direction(one.translation),
        "pieces": _words(one.pieces),
        "pieceWords": list(one.piece_words),
        "candidates": [_candidates(step, one, number) for number, step in enumerate(one.candidates)],
        "layers": int(predicted.shape[0]),
        "heads": int(predicted.shape[1]) if one.has_attention else 0,
        "defaultLayer": one.default_layer,
        "predicted": _thousandths(predicted),
        "given": _thousandths(given),
        "score": _number(one.score),
        "tree": _tree(one.tree),
        "whatIfs": [_what_if(other, one.translation) for other in one.what_ifs],
        "flags": _words(one.flags),
        "model": visible(one.model),
    }


def _words(words: Sequence[str]) -> list[str]:
    return [visible(word, _WORD) for word in words]


def _number(value: float) -> float | None:
    """A number that JSON knows, with as many digits as anyone reads."""
    return round(value, 4) if math.isfinite(value) else None


def _thousandths(weights: NDArray[np.float64]) -> list[int]:
    whole: list[int] = np.rint(weights * _UNIT).astype(np.int64).ravel().tolist()
    return whole


def _candidates(step: Sequence[Candidate], one: Inspected, number: int) -> list[list[Any]]:
    """For each its text, its probability, whether it is an end, and whether it was the one that was written."""
    is_last = number >= len(one.pieces)
    written = "" if is_last else one.pieces[number]
    values = []
    for candidate in step:
        is_end = candidate.text in ("", "</s>")
        is_written = is_end if is_last else candidate.text == written
        values.append([visible(candidate.text, _WORD), _number(candidate.probability), is_end, is_written])
    return values


def _tree(tree: Sequence[TreeNode]) -> list[list[Any]]:
    """For each node parent, text, step, rank, log-probability, whether it is an end, and whether it is on the way."""
    return [
        [
            node.parent,
            visible(node.text, _WORD),
            node.step,
            node.rank,
            _number(node.log_prob),
            node.is_end,
            node.is_best,
        ]
        for node in tree
    ]


def _what_if(other: WhatIf, translation: str) -> dict[str, Any]:
    before, after = _marked(translation, other.translation)
    return {
        "word": other.word,
        "forced": visible(other.forced, _WORD),
        "probability": _number(other.probability),
        "score": _number(other.score),
        "before": before,
        "after": after,
    }


def _marked(before: str, after: str) -> tuple[Marked, Marked]:
    """Both texts, with what only one of them has marked, word by word."""
    first, second = split_words(before), split_words(after)
    marks = ([True] * len(first), [True] * len(second))
    for match in SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks():
        marks[0][match.a : match.a + match.size] = [False] * match.size
        marks[1][match.b : match.b + match.size] = [False] * match.size
    return _joined(first, marks[0]), _joined(second, marks[1])


def _joined(words: Sequence[str], marks: Sequence[bool]) -> Marked:
    """In as few parts as there can be; a space is marked only between two words that are."""
    around = [False, *marks, False]
    told = [
        is_marked if not word.isspace() else around[place] and around[place + 2]
        for place, (word, is_marked) in enumerate(zip(words, marks, strict=True))
    ]
    runs = groupby(zip(words, told, strict=True), lambda pair: pair[1])
    return [(visible("".join(word for word, _ in run), _SENTENCE), is_marked) for is_marked, run in runs]
