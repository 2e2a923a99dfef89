"""The tree of a beam search in a terminal: the way to the translation downwards, and what was left at its sides.

::

    ● Ein                                         -0.02
    ├─ Eine Mann                               ✗  -6.10
    ● Mann                                        -0.03
    ├─ mit blauem                              ✗  -4.92
    ● in einem blauen Hemd                     ✓  -0.77

A line is a run of pieces that nothing leaves; ``●`` marks the way to the translation, ``✓`` what came to its end and
``✗`` what was dropped: it fell out of the beam, or the search was over. Behind each stands log p of all up to there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from dragoman.data.check.visible import visible
from dragoman.inspection.inspected import END, TreeNode
from dragoman.inspection.terminal_direction import settled_line
from dragoman.inspection.wrapped import entries, wrapped
from dragoman.text.notation import join_pieces

__all__ = ["tree_lines"]

_NARROWEST = 24
_DEEPEST = 8  # branches of branches beyond it do not move to the right any more
_LONGEST = 4000
_FIGURE = 12  # cells for the mark and the log-probability


@dataclass(frozen=True)
class _Run:
    """Nodes that follow each other without a branch, and what follows the last of them: the main one last."""

    nodes: tuple[int, ...]
    branches: tuple[int, ...]


def tree_lines(tree: Sequence[TreeNode], *, width: int = 80, colour: bool) -> Iterator[Text]:
    """The tree, line by line; none is wider than `width`, or 24 cells."""
    if not tree:
        yield Text("no search, no tree", style="dim" if colour else "")
        return
    page = _Page(tree, max(_NARROWEST, width), colour)
    yield from page.branches(page.children[-1], 0)
    yield from page.legend()


class _Page:
    """A tree on a page of some width."""

    def __init__(self, tree: Sequence[TreeNode], width: int, colour: bool) -> None:
        self.tree, self.width, self.colour = tree, width, colour
        found: dict[int, list[int]] = {number: [] for number in range(-1, len(tree))}
        for number, node in enumerate(tree):
            found[node.parent].append(number)
        self.deepest = [node.step for node in tree]
        for number in reversed(range(len(tree))):
            parent = tree[number].parent
            if parent >= 0:
                self.deepest[parent] = max(self.deepest[parent], self.deepest[number])
        self.children = {number: sorted(some, key=self._weight) for number, some in found.items()}

    def branches(self, numbers: Sequence[int], depth: int) -> Iterator[Text]:
        """Draw all that follows a run: the sides one step to the right, and then the main one, where the run stood."""
        level = [(numbers, depth)]
        while level:  # the main way may be as long as a translation: no recursion
            some, depth = level.pop()
            if not some:
                continue
            *sides, main = some
            for side in sides:
                yield from self._drawn(self._run(side), depth, is_side=True)
                yield from self.branches(self._run(side).branches, depth + 1)
            run = self._run(main)
            yield from self._drawn(run, depth, is_side=False)
            level.append((run.branches, depth))

    def legend(self) -> Iterator[Text]:
        """What the marks mean."""
        for line in entries(("● the translation", "✓ ended", "✗ dropped", "figures: log p so far"), self.width):
            yield Text(line, style="dim" if self.colour else "")

    def _weight(self, number: int) -> tuple[bool, bool, int, float]:
        """The main way comes last: that to the translation, or that which lived longest."""
        node = self.tree[number]
        return node.is_best, not node.is_end, self.deepest[number], node.log_prob

    def _run(self, first: int) -> _Run:
        nodes = [first]
        while len(following := self.children[nodes[-1]]) == 1:
            nodes.append(following[0])
        return _Run(tuple(nodes), tuple(following))

    def _drawn(self, run: _Run, depth: int, *, is_side: bool) -> Iterator[Text]:
        last = self.tree[run.nodes[-1]]
        spelt = join_pieces(self.tree[each].text for each in run.nodes).strip()
        mark = "✓" if last.is_end else " " if run.branches or last.is_best else "✗"
        bars = "│ " * min(depth, _DEEPEST)
        first, later = ("├─ ", "│  ") if is_side else ("● ", "  ") if last.is_best else ("", "")
        figure = f"{mark} {last.log_prob:8.2f}".rjust(_FIGURE)
        room = self.width - len(bars) - len(first) - _FIGURE - 1
        style = ("bold green" if last.is_best else "dim" if mark == "✗" else "") if self.colour else ""
        lines = wrapped(visible(spelt, _LONGEST) or END, room)
        for number, part in enumerate(lines):
            lead = bars + (later if number else first)
            end = figure if number == len(lines) - 1 else ""
            gap = " " * (self.width - _FIGURE - cell_len(lead) - cell_len(part)) if end else ""
            yield Text.assemble(lead, (settled_line(part), style), gap, (end, "dim" if self.colour else ""))
