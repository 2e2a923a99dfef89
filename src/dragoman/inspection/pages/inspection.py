"""Render inspected translations as one self-contained HTML page.

For each translation: attention as a heat map and as links, by layer, head and reading; the decoding steps with their
candidates; counterfactuals; the search tree. Without scripting the page shows each translation and one map of it.

The texts in it have passed `reporting.safe_display_text.visible`, so none can reorder the text around it.
"""

import math
from collections.abc import Sequence
from difflib import SequenceMatcher
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.config.alignment import AttentionReading
from dragoman.errors import DataError
from dragoman.files import atomic_write, write_json
from dragoman.inspection.result import (
    END,
    AttentionMap,
    BeamNode,
    Candidate,
    Counterfactual,
    InspectionResult,
    select_map,
)
from dragoman.reporting.heatmap import heatmap_svg
from dragoman.reporting.html import json_for_script, render_page
from dragoman.reporting.safe_display_text import reading_order, text_direction, visible
from dragoman.text.tokenizers.notation import readable_token
from dragoman.text.words import split_words

_MAX_WORD = 60  # characters
_MAX_SENTENCE = 4000
_UNIT = 1000  # weights are integers in thousandths

MarkedText = list[tuple[str, bool]]
"""A text in parts, each with whether it is absent from the other text."""

INSPECTION_SUFFIXES = (".html", ".svg", ".json")

# Sandboxed: the page runs its own script, and reads nothing of the notebook. Its height can be dragged.
_FRAME = (
    '<iframe srcdoc="{page}" title="{title}" sandbox="allow-scripts" loading="lazy" '
    'style="width:100%;height:44em;border:1px solid #8884;border-radius:6px;resize:vertical"></iframe>'
)


def page_data(results: Sequence[InspectionResult]) -> dict[str, Any]:
    """Return the values of all translations."""
    return {"end": END, "translations": [_translation(result) for result in results]}


class AttentionArrays(NamedTuple):
    """The three attention arrays of an `InspectionResult`."""

    predicted: NDArray[np.float64]
    given: NDArray[np.float64]
    steps: NDArray[np.float64]


def check_maps(one: InspectionResult) -> AttentionArrays:
    """Return the attention arrays, clipped to 0–1; raise `DataError` if a shape is wrong."""
    maps = AttentionArrays(one.predicted, one.given, one.steps)
    if not one.has_attention:
        return maps
    layers, heads = one.predicted.shape[:2]
    rows = (len(one.target_words) + 1, len(one.target_words), len(one.tokens) + 1)
    wanted = [(layers, heads, each, len(one.source_words) + 1) for each in rows]
    found = [each.shape for each in maps]
    if found != wanted or not 0 <= one.default_layer < layers:
        raise DataError(
            f"maps must have the shapes {', '.join(map(str, wanted))} and the default layer must be one of theirs, "
            f"got {', '.join(map(str, found))} and layer {one.default_layer}; give a row for each word or token, a "
            "column for each word, and one for each end"
        )
    return AttentionArrays(*(np.clip(np.nan_to_num(each), 0.0, 1.0) for each in maps))


def _translation(one: InspectionResult) -> dict[str, Any]:
    maps = check_maps(one)
    return {
        "source": visible(one.source, _MAX_SENTENCE),
        "translation": visible(one.translation, _MAX_SENTENCE),
        "sourceWords": _words(one.source_words),
        "targetWords": _words(one.target_words),
        "sourceDirection": text_direction(one.source),
        "targetDirection": text_direction(one.translation),
        "tokens": _tokens(one.tokens),
        "tokenWords": list(one.token_words),
        "candidates": [_candidates(step, one, number) for number, step in enumerate(one.candidates)],
        "layers": int(maps.predicted.shape[0]),
        "heads": int(maps.predicted.shape[1]) if one.has_attention else 0,
        "defaultLayer": one.default_layer,
        **{name: np.rint(each * _UNIT).astype(np.int64).ravel().tolist() for name, each in maps._asdict().items()},
        "score": _number(one.score),
        "tree": _tree(one.tree),
        "counterfactuals": [_counterfactual(other, one.translation) for other in one.counterfactuals],
        "flags": _words(one.flags),
        "model": visible(one.model),
    }


def _words(words: Sequence[str]) -> list[str]:
    return [visible(word, _MAX_WORD) for word in words]


def _tokens(tokens: Sequence[str]) -> list[str]:
    return _words([readable_token(token) for token in tokens])


def _number(value: float) -> float | None:
    """Round to four decimals; None for a number that JSON does not have."""
    return round(value, 4) if math.isfinite(value) else None


def _candidates(step: Sequence[Candidate], one: InspectionResult, number: int) -> list[list[Any]]:
    """For each candidate: text, probability, whether it is an end token, whether it was generated."""
    is_last = number >= len(one.tokens)
    written = "" if is_last else one.tokens[number]
    values = []
    for candidate in step:
        is_end = candidate.text in ("", "</s>")
        is_written = is_end if is_last else candidate.text == written
        values.append([*_tokens([candidate.text]), _number(candidate.probability), is_end, is_written])
    return values


def _tree(tree: Sequence[BeamNode]) -> list[list[Any]]:
    """For each node: parent, text, step, rank, log-probability, whether it is an end, and on the best path."""
    return [
        [node.parent, *_tokens([node.text]), node.step, node.rank, _number(node.log_prob), node.is_end, node.is_best]
        for node in tree
    ]


def _counterfactual(other: Counterfactual, translation: str) -> dict[str, Any]:
    before, after = _marked(translation, other.translation)
    return {
        "word": other.word,
        "forced": visible(other.forced, _MAX_WORD),
        "probability": _number(other.probability),
        "score": _number(other.score),
        "before": before,
        "after": after,
    }


def _marked(before: str, after: str) -> tuple[MarkedText, MarkedText]:
    """Mark words that only one of two texts has, in one match: two could keep different words of a swapped pair."""
    first, second = split_words(before), split_words(after)
    marks = ([True] * len(first), [True] * len(second))
    for match in SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks():
        marks[0][match.a : match.a + match.size] = [False] * match.size
        marks[1][match.b : match.b + match.size] = [False] * match.size
    return _joined(first, marks[0]), _joined(second, marks[1])


def _joined(words: Sequence[str], marks: Sequence[bool]) -> MarkedText:
    """Join words into runs; a space is marked only between two marked words."""
    around = [False, *marks, False]
    is_run = [
        is_marked if not word.isspace() else around[place] and around[place + 2]
        for place, (word, is_marked) in enumerate(zip(words, marks, strict=True))
    ]
    runs = groupby(zip(words, is_run, strict=True), lambda pair: pair[1])
    return [(visible("".join(word for word, _ in run), _MAX_SENTENCE), is_marked) for is_marked, run in runs]


def render_inspection_page(results: Sequence[InspectionResult], *, title: str) -> str:
    """Render the page, to be written as UTF-8. All texts are escaped."""
    return render_page(
        "inspection.html",
        title=title,
        styles=("palette.css", "page.css", "samples.css", "inspection.css"),
        script="inspection.js",
        samples=[(result, _static_map(result)) for result in results],
        values=json_for_script(page_data(results)),
    )


def write_inspection(
    results: Sequence[InspectionResult],
    path: Path,
    *,
    title: str,
    layer: int | None = None,
    head: int | None = None,
    reading: AttentionReading = "predicted",
) -> list[Path]:
    """Write a page, the data, or a numbered figure of each attention map, by the ending; return the files."""
    suffix, files = path.suffix.lower(), [path]
    if suffix == ".json":
        write_json(path, [one.to_json() for one in results])
        return files
    texts = [render_inspection_page(results, title=title)] if suffix == ".html" else []
    if suffix == ".svg":
        if len(results) > 1:
            files = [path.with_stem(f"{path.stem}-{number}") for number in range(1, len(results) + 1)]
        texts = [_figure(select_map(one, layer=layer, head=head, reading=reading), one.source) for one in results]
    for file, text in zip(files, texts, strict=True):
        with atomic_write(file) as draft:
            draft.write_text(text, encoding="utf-8")
    return files


def _figure(chosen: AttentionMap, source: str) -> str:
    columns, weights = reading_order(source, chosen.columns, chosen.weights)
    return heatmap_svg(columns, chosen.rows, weights, title=chosen.name, is_file=True)


def render_inspection_frame(result: InspectionResult) -> str:
    """Render the page of one result as an iframe that contains it, for a notebook."""
    page = render_inspection_page([result], title=result.source)
    return _FRAME.format(page=escape(page), title=escape(f"Inspection: {result.source}"))


def _static_map(result: InspectionResult) -> str:
    """Draw the mean over the heads of the default layer, with columns in the reading order of the source."""
    if not result.has_attention:
        return ""
    weights = check_maps(result).predicted[result.default_layer].mean(0)
    columns, weights = reading_order(result.source, (*result.source_words, END), weights)
    title = f"Attention map: {result.translation}, from {result.source}"
    return heatmap_svg(columns, (*result.target_words, END), weights, title=title)
