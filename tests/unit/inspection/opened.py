"""Opened translations made by hand: long ones, Chinese, Arabic and Hebrew ones, and one without attention."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.inspection.result import BeamNode, Candidate, Counterfactual, InspectionResult

ENGLISH = ["A", "man", "in", "a", "blue", "shirt", "is", "standing", "on", "a", "ladder", "cleaning", "a", "window."]
GERMAN = [
    "Ein",
    "Mann",
    "in",
    "einem",
    "blauen",
    "Hemd",
    "steht",
    "auf",
    "einer",
    "Leiter",
    "und",
    "putzt",
    "ein",
    "Fenster.",
]
ARABIC = ["يقف", "رجل", "يرتدي", "قميصًا", "أزرق", "على", "سلم", "(وينظف)", "12", "نافذة!"]
HEBREW = ["גבר", "בחולצה", "כחולה", "עומד", "על", "סולם", "ומנקה", "חלון."]
CHINESE = [*"一位穿着蓝色衬衫的男子正站在梯子上用", "Python", *"擦窗户。"]
LONG = [f"{word}{number}" for number in range(6) for word in ("the", "quick", "brown", "fox", "jumps", "over", "a")] + [
    "extraordinarily-long-compound-word",
    *["and", "then", "it", "sleeps", "under", "an", "old", "tree", "until", "the", "sun", "is", "gone", "again", "."],
]

PAIRS = {
    "english": (ENGLISH, GERMAN),
    "long": (LONG, LONG),
    "from chinese": (CHINESE, ENGLISH),
    "to chinese": (ENGLISH, CHINESE),
    "from arabic": (ARABIC, ENGLISH),
    "to arabic": (ENGLISH, ARABIC),
    "hebrew to arabic": (HEBREW, ARABIC),
}


def near_the_diagonal(target: int, source: int) -> NDArray[np.float64]:
    rows, columns = np.arange(target)[:, None] / target, np.arange(source)[None] / source
    weights = np.exp(-(((rows - columns) * max(target, source)) ** 2))
    shares: NDArray[np.float64] = weights / weights.sum(1, keepdims=True)
    return shares


def opened(source: Sequence[str], target: Sequence[str], *, layers: int = 2, heads: int = 2) -> InspectionResult:
    """A translation of a token a word, with a tree of two branches and another word at each place."""
    one = near_the_diagonal(len(target) + 1, len(source) + 1)
    maps = np.broadcast_to(one, (layers, heads, *one.shape)).copy()
    if layers:
        maps[0, 0] = 1 / one.shape[1]  # one head that looks everywhere
    gap = "" if len(target[0]) == 1 and target[0] > "\u3000" else " "
    tokens = tuple(f"▁{word}" if gap else word for word in target)
    return InspectionResult(
        source=" ".join(source),
        translation=gap.join(target),
        source_words=tuple(source),
        target_words=tuple(target),
        tokens=tokens,
        token_words=tuple(range(len(target))),
        candidates=tuple((Candidate(token, 0.75), Candidate("▁else", 0.125)) for token in (*tokens, "</s>")),
        predicted=maps,
        given=maps[:, :, 1:],
        steps=maps,
        default_layer=max(layers - 2, 0),
        score=-0.25,
        tree=grown(tokens),
        counterfactuals=tuple(
            Counterfactual(word, "else", 0.125, f"else {gap.join(target)}", -0.5) for word in range(len(target))
        ),
        flags=("numbers: lost 12",),
        model="transformer, 9.4 MB, torch float32, beam 5",
    )


def grown(tokens: Sequence[str]) -> tuple[BeamNode, ...]:
    """The way to the translation, and at each step another that is dropped two steps later."""
    nodes: list[BeamNode] = []
    last = -1
    for step, token in enumerate(tokens):
        other = BeamNode(last, token, step, 1, -2.0 - step, is_end=False, is_best=False)
        nodes += [BeamNode(last, token, step, 0, -0.25 * step, is_end=False, is_best=True), other]
        last, side = len(nodes) - 2, len(nodes) - 1
        nodes.append(BeamNode(side, tokens[0], step + 1, 1, -3.0 - step, is_end=False, is_best=False))
    nodes.append(BeamNode(last, "</s>", len(tokens), -1, -0.25 * len(tokens), is_end=True, is_best=True))
    return tuple(nodes)
