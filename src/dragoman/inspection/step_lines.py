"""Steps, other words, entropy and coverage of a translation, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len, set_cell_size

from dragoman.data.check.visible import visible
from dragoman.inspection.inspected import END, Candidate, Inspected, WhatIf
from dragoman.inspection.piece_text import readable_piece
from dragoman.inspection.terminal_direction import settled, settled_line
from dragoman.inspection.wrapped import entries, shortened, wrapped

__all__ = ["candidate_lines", "figure_lines", "what_if_lines"]

_LONGEST = 20


def candidate_lines(inspected: Inspected, *, width: int) -> Iterator[str]:
    """A line for each step: the piece that was written, and the likeliest with their probabilities.

    A piece that was not the likeliest has a star. ``▁`` is the space before a word.
    """
    written = [*(_piece(piece) for piece in inspected.pieces), END]
    number = len(str(len(written)))
    label = max(map(cell_len, written))
    for step, (piece, candidates) in enumerate(zip(written, inspected.candidates, strict=True), start=1):
        star = " " if candidates and _piece(candidates[0].text) == piece else "*"
        lead = f"{step:>{number}} {settled(piece)}{' ' * (label - cell_len(piece))} {star} "
        room = width - cell_len(lead)
        yield lead + next(entries(_some(candidates, room), room), "")


def what_if_lines(inspected: Inspected, others: Sequence[WhatIf], *, width: int) -> Iterator[str]:
    """Each of these other words, how likely it was, and the translation that comes of it."""
    for other in others:
        stood = inspected.target_words[other.word] if other.word < len(inspected.target_words) else END
        forced = settled(shortened(other.forced or END, _LONGEST))
        lead = f"{settled(shortened(stood, _LONGEST))} → {forced}"
        yield from entries(
            [lead, f"p {_percent(other.probability)}", f"then {other.score:.2f} a piece"], width, gap=", "
        )
        for line in wrapped(visible(other.translation, 4000), width - 2):
            yield f"  {settled_line(line)}"


def figure_lines(words: Sequence[str], values: NDArray[np.float64], *, width: int) -> Iterator[str]:
    """Words with a figure behind each, as many a line as fit."""
    return entries(
        (
            f"{settled(shortened(word, _LONGEST))} {value:.1f}"
            for word, value in zip(words, values.tolist(), strict=True)
        ),
        width,
    )


def _some(candidates: Iterable[Candidate], room: int) -> Iterator[str]:
    for candidate in candidates:
        part = f"{settled(_piece(candidate.text))} {_percent(candidate.probability)}"
        yield part if cell_len(part) <= room else set_cell_size(part, room)


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.1 else f"{share:.1%}" if share >= 0.001 else "<0.1%"


def _piece(text: str) -> str:
    return END if text in ("", "</s>") else shortened(readable_piece(text), _LONGEST)
