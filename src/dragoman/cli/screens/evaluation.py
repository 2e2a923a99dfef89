"""Print the Markdown of an evaluation as plain text, with padded columns."""

import re
import sys
from collections.abc import Iterator
from itertools import groupby

from rich.text import Text

from dragoman.evaluation.markdown import evaluation_markdown
from dragoman.evaluation.results import Evaluation
from dragoman.reporting.number_format import format_count
from dragoman.reporting.safe_display_text import visible
from dragoman.reporting.terminal import print_lines, text_table, wrap_paragraph

_ESCAPED = re.compile(r"\\([\\|*_`<>\[\]#])|\*\*|`")
_MAX_NAME, _MAX_TEXT = 24, 1000  # characters on a terminal, and elsewhere: programs read the output of a pipe


def print_evaluation(evaluation: Evaluation) -> None:
    """Print all results to stdout."""
    test_set = evaluation.test_set
    arrow = f", {' → '.join(test_set.languages)}" if all(test_set.languages) else ""
    name = f"{visible(test_set.name)}: " if test_set.name else ""
    beam = ""
    if any(member.throughput for member in evaluation.members) and "beam" in evaluation.search:
        beam = f", beam {evaluation.search['beam']}"
    print_lines([Text(f"{name}{format_count(test_set.sentences, 'sentence')}{arrow}{beam}", style="bold"), Text()])
    print_markdown(evaluation_markdown(evaluation))


def print_markdown(text: str) -> None:
    """Print tables and paragraphs without marks."""
    print_lines(_lines(text))


def _lines(text: str) -> Iterator[Text]:
    for is_table, lines in groupby(text.splitlines(), key=lambda line: line.startswith("|")):
        if is_table:
            header, rule, *rows = (line[2:-2].split(" | ") for line in lines)
            cells = [[*map(_name, header)], *([_name(row[0]), *map(_plain, row[1:])] for row in rows)]
            yield from text_table(cells, left=[n for n, each in enumerate(rule) if each == "---"])
            continue
        for line in lines:
            bullet, style = "- " * line.startswith("- "), "bold yellow" if line.startswith("**") else ""
            yield from wrap_paragraph(_plain(line[len(bullet) :]), bullet=bullet, style=style) if line else [Text()]


def _name(text: str) -> str:
    return _plain(text, _MAX_NAME if sys.stdout.isatty() else _MAX_TEXT)


def _plain(text: str, most: int = _MAX_TEXT) -> str:
    """Remove escapes and marks of emphasis and code."""
    return visible(_ESCAPED.sub(lambda found: found[1] or "", text), most)
