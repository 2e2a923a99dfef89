"""Inspected translations made by hand; the weights are not from a model."""

import math
import random
from collections.abc import Sequence

import numpy as np

from dragoman.inspection.result import BeamNode, Candidate, Counterfactual, InspectionResult

HOSTILE = (
    "<script>document.title='run'</script>",
    '"><img src=x onerror="document.title=1">',
    "</script><b>bold</b>",
    "a\u202eb\u2066c\x00\x1b[2J",
    "' onfocus='alert(1)",
    "<!-- <script> &amp; ]]>",
)


def drawn(
    source: Sequence[str],
    target: Sequence[str],
    links: Sequence[int],
    *,
    space: str = " ",
    layers: int = 3,
    heads: int = 4,
    others: Sequence[tuple[int, str, str]] = (),
) -> InspectionResult:
    """A translation whose word `number` looks mostly at source word `links[number]`; higher layers see more sharply.

    `others` are counterfactuals: the replaced word, its replacement and the resulting translation.
    """
    chance = np.random.default_rng(6)
    ends = [*links, len(source)]
    shape = (layers, heads, len(target) + 1, len(source) + 1)
    distance = np.abs(np.arange(shape[3])[None, :] - np.array(ends)[:, None])  # [tgt + 1, src + 1]
    sharpness = np.linspace(0.2, 2.0, layers)[:, None, None, None] * chance.uniform(0.4, 1.4, (1, heads, 1, 1))
    weights = np.exp(-sharpness * distance + chance.normal(0, 0.4, shape))
    weights /= weights.sum(-1, keepdims=True)
    tokens = tuple(f"▁{word}" if space else word for word in target)
    return InspectionResult(
        source=space.join(source),
        translation=space.join(target),
        source_words=tuple(source),
        target_words=tuple(target),
        tokens=tokens,
        token_words=tuple(range(len(target))),
        candidates=tuple(_candidates(token, tokens) for token in (*tokens, "</s>")),
        predicted=weights,
        given=np.roll(weights, -1, axis=2)[:, :, :-1],
        steps=weights,
        default_layer=max(layers - 2, 0),
        score=-0.31,
        tree=_tree(tokens, beam=4),
        counterfactuals=tuple(
            Counterfactual(word, forced, 0.18 / (1 + word), text, -0.52) for word, forced, text in others
        ),
        model="made by hand",
    )


def _candidates(token: str, tokens: Sequence[str]) -> tuple[Candidate, ...]:
    chance = random.Random(token)
    sure = chance.uniform(0.4, 0.95)
    rest = [other for other in tokens if other != token][:4]
    return (Candidate(token, sure), *(Candidate(other, (1 - sure) * 0.5**n) for n, other in enumerate(rest, start=1)))


def _tree(tokens: Sequence[str], *, beam: int) -> tuple[BeamNode, ...]:
    nodes: list[BeamNode] = []
    chance = random.Random(0)
    before = [-1]
    for step, token in enumerate((*tokens, "</s>")):
        level: list[int] = []
        for rank in range(beam):
            parent = before[0] if rank < 2 else before[min(1, len(before) - 1)]
            so_far = nodes[parent].log_prob if parent >= 0 else 0.0
            text = token if rank == 0 else chance.choice(tokens or ("</s>",))
            is_end = token == "</s>" and rank == 0
            likely = so_far + math.log(0.7 * 0.5**rank)
            level.append(len(nodes))
            nodes.append(BeamNode(parent, text, step, -1 if is_end else rank, likely, is_end, rank == 0))
        before = level
    return tuple(nodes)


ENGLISH = drawn(
    ["The", "old", "man", "sleeps", "."],
    ["Der", "alte", "Mann", "schläft", "."],
    [0, 1, 2, 3, 4],
    others=[(2, "Herr", "Der alte Herr schläft ."), (3, "ruht", "Der alte Mann ruht sich aus .")],
)
CHINESE = drawn(
    [*"我们明天早上坐火车去北京看长城。"],
    [
        "Tomorrow",
        "morning",
        "we",
        "will",
        "take",
        "the",
        "train",
        "to",
        "Beijing",
        "to",
        "see",
        "the",
        "Great",
        "Wall",
        ".",
    ],
    [2, 4, 0, 2, 6, 7, 7, 9, 10, 12, 12, 13, 13, 14, 15],
    others=[
        (4, "go", "Tomorrow morning we will go to Beijing by train to see the Great Wall ."),
        (6, "bus", "Tomorrow morning we will take the bus to Beijing to see the Great Wall ."),
    ],
)
ARABIC = drawn(
    ["ذهب", "الطلاب", "إلى", "المكتبة", "القديمة", "لقراءة", "الكتب", "قبل", "الامتحان", "."],
    ["The", "students", "went", "to", "the", "old", "library", "to", "read", "books", "before", "the", "exam", "."],
    [1, 1, 0, 2, 3, 4, 3, 5, 5, 6, 7, 8, 8, 9],
    others=[(2, "walked", "The students walked to the old library to read books before the exam .")],
)
HEBREW = drawn(
    ["The", "children", "play", "in", "the", "garden", "every", "evening", "."],
    ["הילדים", "משחקים", "בגינה", "בכל", "ערב", "."],
    [1, 2, 5, 6, 7, 8],
    others=[(2, "בפארק", "הילדים משחקים בפארק בכל ערב .")],
)
PLAIN = InspectionResult(
    source="no map",
    translation="keine Karte",
    source_words=("no", "map"),
    target_words=("keine", "Karte"),
    tokens=("▁keine", "▁Kar", "te"),
    token_words=(0, 1, 1),
    candidates=(
        (Candidate("▁keine", 0.8),),
        (Candidate("▁Kar", 0.6),),
        (Candidate("te", 0.9),),
        (Candidate("</s>", 1.0),),
    ),
    predicted=np.zeros((0, 0, 3, 3)),
    given=np.zeros((0, 0, 2, 3)),
    steps=np.zeros((0, 0, 4, 3)),
    default_layer=0,
    score=-0.7,
    counterfactuals=(Counterfactual(1, "Mappe", 0.1, "keine Mappe", -0.9),),
)
