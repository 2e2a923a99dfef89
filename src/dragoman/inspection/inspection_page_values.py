"""What the script of the inspection page is given: the values of each translation, in the fewest signs that will do.

Every text in them has been made visible (`data.check.visible`), so that none can turn the words around it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.data.check.visible import visible
from dragoman.errors import DataError
from dragoman.inspection.direction import direction
from dragoman.inspection.inspected import END, Candidate, Inspected, TreeNode, WhatIf
from dragoman.inspection.piece_text import readable_piece
from dragoman.inspection.word_differences import split_words

__all__ = ["Maps", "checked_maps", "page_values"]

_WORD = 60
_SENTENCE = 4000
_UNIT = 1000  # weights are sent as thousandths

Marked = list[tuple[str, bool]]
"""A text in parts, each with whether it is another than in the text beside it."""


def page_values(inspected: Sequence[Inspected]) -> str:
    """All of them as JSON that may stand in a ``script`` element: it has no sign that HTML knows, and only ASCII."""
    values = {"end": END, "translations": [_values(one) for one in inspected]}
    text = json.dumps(values, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


class Maps(NamedTuple):
    """The maps of an `Inspected`."""

    predicted: NDArray[np.float64]
    given: NDArray[np.float64]
    steps: NDArray[np.float64]


def checked_maps(one: Inspected) -> Maps:
    """All maps, from 0 to 1 and of the shapes that `Inspected` promises."""
    maps = Maps(one.predicted, one.given, one.steps)
    if not one.has_attention:
        return maps
    layers, heads = one.predicted.shape[:2]
    rows = (len(one.target_words) + 1, len(one.target_words), len(one.pieces) + 1)
    wanted = [(layers, heads, each, len(one.source_words) + 1) for each in rows]
    found = [each.shape for each in maps]
    if found != wanted or not 0 <= one.default_layer < layers:
        raise DataError(
            f"maps must have the shapes {', '.join(map(str, wanted))} and the default layer must be one of theirs, "
            f"got {', '.join(map(str, found))} and layer {one.default_layer}; give a row for each word or piece, a "
            "column for each word, and one for each end"
        )
    return Maps(*(np.clip(np.nan_to_num(each), 0.0, 1.0) for each in maps))


def _values(one: Inspected) -> dict[str, Any]:
    maps = checked_maps(one)
    return {
        "source": visible(one.source, _SENTENCE),
        "translation": visible(one.translation, _SENTENCE),
        "sourceWords": _words(one.source_words),
        "targetWords": _words(one.target_words),
        "sourceDirection": direction(one.source),
        "targetDirection": direction(one.translation),
        "pieces": _pieces(one.pieces),
        "pieceWords": list(one.piece_words),
        "candidates": [_candidates(step, one, number) for number, step in enumerate(one.candidates)],
        "layers": int(maps.predicted.shape[0]),
        "heads": int(maps.predicted.shape[1]) if one.has_attention else 0,
        "defaultLayer": one.default_layer,
        **{name: _thousandths(weights) for name, weights in maps._asdict().items()},
        "score": _number(one.score),
        "tree": _tree(one.tree),
        "whatIfs": [_what_if(other, one.translation) for other in one.what_ifs],
        "flags": _words(one.flags),
        "model": visible(one.model),
    }


def _words(words: Sequence[str]) -> list[str]:
    return [visible(word, _WORD) for word in words]


def _pieces(pieces: Sequence[str]) -> list[str]:
    return _words([readable_piece(piece) for piece in pieces])


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
        values.append([*_pieces([candidate.text]), _number(candidate.probability), is_end, is_written])
    return values


def _tree(tree: Sequence[TreeNode]) -> list[list[Any]]:
    """For each node parent, text, step, rank, log-probability, whether it is an end, and whether it is on the way."""
    return [
        [
            node.parent,
            *_pieces([node.text]),
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
    """Both texts, with what only one of them has marked, word by word.

    Both from one match: each by itself (`marked_words`) might keep another one of two words that changed places.
    """
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
