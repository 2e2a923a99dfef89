"""Samples and curves of a training run as coloured terminal lines."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from dragoman.reporting.safe_display_text import visible
from dragoman.training.callbacks.events import ValidationSample

_HEIGHTS = "▁▂▃▄▅▆▇█"
_LABEL = 13
_LEAST = 8  # minimum width of the text in columns
_MOST_LINES = 2  # of a source, a reference or a translation
_MOST_ROWS = 3  # of words with their aligned source words
_HEAT = (
    (0.8, "#000000 on #fde725"),
    (0.6, "#000000 on #7ad151"),
    (0.4, "#ffffff on #22848d"),
    (0.0, "#ffffff on #414487"),
)


def sparkline(values: Sequence[float], width: int) -> str:
    """Return a sparkline from the minimum to the maximum of the values, in at most `width` cells."""
    count = min(len(values), width)
    edges = [cell * len(values) // count for cell in range(count + 1)] if count > 0 else []
    cells = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    if not cells:
        return ""
    lowest, range_ = min(cells), max(cells) - min(cells)
    return "".join(_HEIGHTS[round(7 * (cell - lowest) / range_) if range_ else 0] for cell in cells)


def sample_lines(
    sample: ValidationSample, before: ValidationSample | None, width: int, *, attention: bool, colour: bool
) -> list[Text]:
    """Return the lines of a sample; new words are coloured, and each may show its aligned source word."""
    lines = list(_labelled("source", Text(visible(sample.source), style="dim"), width))
    lines += _labelled("reference", Text(visible(sample.reference), style="dim"), width)
    if attention and sample.weights and sample.source_words and sample.target_words:
        return lines + list(_looking(sample, before, width, colour=colour))
    old = _words(visible(before.translation)) if before else None
    return lines + list(_labelled("translation", _changed(_words(visible(sample.translation)), old), width))


def _labelled(label: str, text: Text, width: int) -> Iterator[Text]:
    """Return a label and wrapped text, cut after the maximum number of lines."""
    room = max(_LEAST, width - _LABEL)
    lines = list(text.wrap(Console(width=room), room)) or [Text()]
    if len(lines) > _MOST_LINES:
        rest = Text("").join([*lines[_MOST_LINES - 1 :]])
        rest.truncate(room, overflow="ellipsis")
        lines = [*lines[: _MOST_LINES - 1], rest]
    for number, line in enumerate(lines):
        line.rstrip()
        yield Text.assemble((f"{'' if number else label:<{_LABEL}}", "dim"), line)


def _words(text: str) -> list[str]:
    """Split text into words with their trailing space; characters in scripts without spaces."""
    return re.findall(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uff60]\s*|[^\s\u2e80-\u9fff]+\s*|\s+", text)


def _changed(words: Sequence[str], before: Sequence[str] | None) -> Text:
    """Join words; words that are new since `before` are coloured."""
    text = Text()
    for word, is_new in zip(words, _is_new(words, before), strict=True):
        text.append(word.rstrip(), style="bold green" if is_new else "").append(word[len(word.rstrip()) :])
    return text


def _is_new(words: Sequence[str], before: Sequence[str] | None) -> list[bool]:
    """Return for each word whether it is new since `before`."""
    is_new = [before is not None] * len(words)
    if before is not None:
        old, now = [[word.strip() for word in side] for side in (before, words)]
        for block in SequenceMatcher(None, old, now, autojunk=False).get_matching_blocks():
            is_new[block.b : block.b + block.size] = [False] * block.size
    return is_new


def _looking(sample: ValidationSample, before: ValidationSample | None, width: int, *, colour: bool) -> Iterator[Text]:
    """Return each target word above the source word with its largest attention weight, coloured by the weight."""
    room, rows = max(_LEAST, width - _LABEL), 0
    above, below = Text(), Text()
    words, sources = ([_fitted(word, room - 2) for word in side] for side in (sample.target_words, sample.source_words))
    is_new = _is_new(words, [_fitted(word, room - 2) for word in before.target_words] if before else None)
    for word, is_it, weights in zip(words, is_new, sample.weights or (), strict=False):
        source, style = _looked_at(sources, weights, colour=colour)
        cells = max(cell_len(word), cell_len(source)) + 1
        if above.cell_len and above.cell_len + cells > room:
            rows += 1
            yield from _rows(above, below, is_first=rows == 1)
            if rows == _MOST_ROWS:
                return
            above, below = Text(), Text()
        above.append(word, style="bold green" if is_it else "").append(" " * (cells - cell_len(word)))
        below.append(source, style=style).append(" " * (cells - cell_len(source)))
    yield from _rows(above, below, is_first=rows == 0)


def _rows(above: Text, below: Text, *, is_first: bool) -> Iterator[Text]:
    for label, line in (("translation", above), ("aligned to", below)):
        yield Text.assemble((f"{label if is_first else '':<{_LABEL}}", "dim"), line)


def _looked_at(source_words: Sequence[str], weights: Sequence[float], *, colour: bool) -> tuple[str, str]:
    """Return the source word with the largest weight and its style; without colours a bar shows the weight."""
    weight, word = max(zip(weights, source_words, strict=False), default=(0.0, ""), key=lambda pair: pair[0])
    if colour:
        return word, next((style for least, style in _HEAT if weight >= least), "")
    return f"{_HEIGHTS[min(7, int(8 * min(1.0, max(0.0, weight))))]}{word}", ""


def _fitted(word: str, cells: int) -> str:
    """Return a printable word, cut to the maximum width."""
    shown = Text(visible(word.strip()) or "·")
    shown.truncate(cells, overflow="ellipsis")
    return shown.plain
