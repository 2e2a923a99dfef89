"""Render details of a translation as text: candidates of each step, counterfactuals, values of words."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len, set_cell_size

from dragoman.inspection.result import END, Candidate, Counterfactual, InspectionResult
from dragoman.reporting.safe_display_text import isolate_line, isolate_word, visible
from dragoman.reporting.terminal import flow, truncate, wrap
from dragoman.text.tokenizers.notation import readable_token

_MAX_WORD = 20


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
