"""Render the search of a translation as text: the beam search tree, and the details of each decoding step.

::

    ● Ein                                         -0.02
    ├─ Eine Mann                               ✗  -6.10
    ● Mann                                        -0.03
    ├─ mit blauem                              ✗  -4.92
    ● in einem blauen Hemd                     ✓  -0.77

A line is a run of tokens without a branch. ``●`` marks the path to the translation, ``✓`` a finished hypothesis and
``✗`` one that left the beam or was unfinished at the end. The number is the log-probability of the hypothesis so far.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len, set_cell_size
from rich.text import Text

from dragoman.inspection.result import END, BeamNode, Candidate, Counterfactual, InspectionResult
from dragoman.reporting.safe_display_text import isolate_line, isolate_word, visible
from dragoman.reporting.terminal import flow, truncate, wrap
from dragoman.text.tokenizers.notation import join_tokens, readable_token

_MIN_WIDTH = 24
_MAX_INDENT = 8  # levels
_MAX_TEXT = 4000  # characters
_NUMBER_WIDTH = 12  # cells of the mark and the log-probability
_MAX_WORD = 20


@dataclass(frozen=True)
class _Run:
    """Consecutive nodes without a branch, and the children of the last one: the main one last."""

    nodes: tuple[int, ...]
    branches: tuple[int, ...]


def render_beam_tree(tree: Sequence[BeamNode], *, width: int = 80, colour: bool) -> Iterator[Text]:
    """Yield the lines of the tree, at most `width` or 24 cells wide."""
    if not tree:
        yield Text("no search tree", style="dim" if colour else "")
        return
    renderer = _TreeRenderer(tree, max(_MIN_WIDTH, width), colour)
    yield from renderer.branches(renderer.children[-1], 0)
    yield from renderer.legend()


class _TreeRenderer:
    """Renders a tree at a given width."""

    def __init__(self, tree: Sequence[BeamNode], width: int, colour: bool) -> None:
        self.tree, self.width, self.colour = tree, width, colour
        found: dict[int, list[int]] = {number: [] for number in range(-1, len(tree))}
        for number, node in enumerate(tree):
            found[node.parent].append(number)
        self.deepest = [node.step for node in tree]
        for number in reversed(range(len(tree))):
            parent = tree[number].parent
            if parent >= 0:
                self.deepest[parent] = max(self.deepest[parent], self.deepest[number])
        self.children = {number: sorted(some, key=self._sort_key) for number, some in found.items()}

    def branches(self, numbers: Sequence[int], depth: int) -> Iterator[Text]:
        """Draw the branches of a run: side branches indented, then the main branch at the same indent."""
        level = [(numbers, depth)]
        while level:  # no recursion: the main path may be as long as a translation
            some, depth = level.pop()
            if not some:
                continue
            *sides, main = some
            for side in sides:
                yield from self._draw(self._run(side), depth, is_side=True)
                yield from self.branches(self._run(side).branches, depth + 1)
            run = self._run(main)
            yield from self._draw(run, depth, is_side=False)
            level.append((run.branches, depth))

    def legend(self) -> Iterator[Text]:
        for line in flow(("● the translation", "✓ ended", "✗ dropped", "numbers: log p so far"), self.width):
            yield Text(line, style="dim" if self.colour else "")

    def _sort_key(self, number: int) -> tuple[bool, bool, int, float]:
        """Sort key: the main branch last; it leads to the translation, or else is the longest."""
        node = self.tree[number]
        return node.is_best, not node.is_end, self.deepest[number], node.log_prob

    def _run(self, first: int) -> _Run:
        nodes = [first]
        while len(following := self.children[nodes[-1]]) == 1:
            nodes.append(following[0])
        return _Run(tuple(nodes), tuple(following))

    def _draw(self, run: _Run, depth: int, *, is_side: bool) -> Iterator[Text]:
        last = self.tree[run.nodes[-1]]
        text = join_tokens(self.tree[each].text for each in run.nodes).strip()
        mark = "✓" if last.is_end else " " if run.branches or last.is_best else "✗"
        bars = "│ " * min(depth, _MAX_INDENT)
        first, later = ("├─ ", "│  ") if is_side else ("● ", "  ") if last.is_best else ("", "")
        number_text = f"{mark} {last.log_prob:8.2f}".rjust(_NUMBER_WIDTH)
        room = self.width - len(bars) - len(first) - _NUMBER_WIDTH - 1
        style = ("bold green" if last.is_best else "dim" if mark == "✗" else "") if self.colour else ""
        lines = wrap(visible(text, _MAX_TEXT) or END, room)
        for number, part in enumerate(lines):
            lead = bars + (later if number else first)
            end = number_text if number == len(lines) - 1 else ""
            gap = " " * (self.width - _NUMBER_WIDTH - cell_len(lead) - cell_len(part)) if end else ""
            yield Text.assemble(lead, (isolate_line(part), style), gap, (end, "dim" if self.colour else ""))


def candidate_lines(result: InspectionResult, *, width: int) -> Iterator[str]:
    """Yield one line per step: the generated token and the most probable tokens.

    A star marks a token that was not the most probable. ``▁`` is the space before a word.
    """
    generated = [*(_token(token) for token in result.tokens), END]
    number = len(str(len(generated)))
    label = max(map(cell_len, generated))
    for step, (token, candidates) in enumerate(zip(generated, result.candidates, strict=True), start=1):
        star = " " if candidates and _token(candidates[0].text) == token else "*"
        lead = f"{step:>{number}} {isolate_word(token)}{' ' * (label - cell_len(token))} {star} "
        room = width - cell_len(lead)
        yield lead + next(flow(_candidates(candidates, room), room), "")


def counterfactual_lines(result: InspectionResult, others: Sequence[Counterfactual], *, width: int) -> Iterator[str]:
    """Yield each forced word, its probability and the resulting translation."""
    for other in others:
        original = result.target_words[other.word] if other.word < len(result.target_words) else END
        forced = isolate_word(truncate(other.forced or END, _MAX_WORD))
        lead = f"{isolate_word(truncate(original, _MAX_WORD))} → {forced}"
        yield from flow(
            [lead, f"p {_percent(other.probability)}", f"then {other.score:.2f} per token"], width, gap=", "
        )
        for line in wrap(visible(other.translation, 4000), width - 2):
            yield f"  {isolate_line(line)}"


def word_value_lines(words: Sequence[str], values: NDArray[np.float64], *, width: int) -> Iterator[str]:
    """Yield words with their values, as many per line as fit."""
    return flow(
        (
            f"{isolate_word(truncate(word, _MAX_WORD))} {value:.1f}"
            for word, value in zip(words, values.tolist(), strict=True)
        ),
        width,
    )


def _candidates(candidates: Iterable[Candidate], room: int) -> Iterator[str]:
    for candidate in candidates:
        part = f"{isolate_word(_token(candidate.text))} {_percent(candidate.probability)}"
        yield part if cell_len(part) <= room else set_cell_size(part, room)


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.1 else f"{share:.1%}" if share >= 0.001 else "<0.1%"


def _token(text: str) -> str:
    return END if text in ("", "</s>") else truncate(readable_token(text), _MAX_WORD)
