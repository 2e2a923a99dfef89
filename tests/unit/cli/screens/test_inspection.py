"""The screen of ``dragoman inspect``: long sentences, wide characters, words from right to left; colour or none."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from dragoman.cli.screens.inspection import check_console, print_inspection
from dragoman.config.alignment import AttentionChoice
from dragoman.errors import ConfigError
from tests.unit.inspection.opened import PAIRS, opened


class _Ascii(io.StringIO):
    encoding = "ascii"


def printed(name: str, width: int = 80, *, colour: bool = False) -> str:
    file = io.StringIO()
    system = "truecolor" if colour else None
    console = Console(file=file, width=width, force_terminal=colour, color_system=system, highlight=False)  # type: ignore[arg-type]
    print_inspection(console, [opened(*PAIRS[name])], AttentionChoice())
    return file.getvalue()


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("name", PAIRS)
def test_no_line_is_wider_than_it_may_be(name: str, width: int):
    lines = printed(name, width).splitlines()
    assert "\x1b" not in "".join(lines)
    assert max(map(cell_len, lines)) <= width


@pytest.mark.parametrize("name", PAIRS)
def test_colour_changes_no_column(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    from rich.text import Text

    coloured, plain = printed(name, colour=True), printed(name)
    assert "\x1b[48;2;" in coloured
    lines = [Text.from_ansi(line).plain.rstrip() for line in coloured.splitlines()]
    shades = str.maketrans("░▒▓█", "    ")
    assert lines == [line.translate(shades).rstrip() for line in plain.splitlines()]


def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NO_COLOR", "1")
    text = printed("english", colour=True)
    assert "\x1b[48" not in text
    assert "\x1b[38" not in text
    assert "█" in text


def test_words_from_right_to_left_are_numbered_and_settled():
    text = printed("hebrew to arabic")
    source = next(line for line in text.splitlines() if line.startswith("source"))
    assert source.startswith("source       \u200e\u2067גבר")
    assert source.endswith("\u2069\u200e")
    assert " 1  2  3  4  5  6  7  8  9" in text
    assert "1 \u200e\u200fגבר\u200f\u200e  2 \u200e\u200fבחולצה\u200f\u200e" in text


def test_a_model_without_attention():
    file = io.StringIO()
    print_inspection(Console(file=file, width=80), [opened(["a"], ["b"], layers=0, heads=0)], AttentionChoice())
    assert "No attention map: the model has no attention." in file.getvalue()


def test_an_output_that_cannot_show_it():
    with pytest.raises(ConfigError, match="standard output must be UTF-8 to draw on, got ascii"):
        check_console(Console(file=_Ascii()))
