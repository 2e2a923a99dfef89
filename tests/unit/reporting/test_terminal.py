"""Lines for a screen: bars, sections, and what an encoding lacks."""

import io
import sys

import pytest
from rich.cells import cell_len
from rich.text import Text

from dragoman.reporting.terminal import WIDTH, bar, flow, join_sections, print_lines, wrap, wrap_paragraph


def test_a_bar_is_as_long_as_its_share():
    assert bar(1, 4) == "████"
    assert bar(0.5, 4) == "██"
    assert bar(0.28125, 4) == "█▏"
    assert bar(0, 4) == "▏", "the smallest can still be seen"


def test_sections_without_lines_leave_no_gap():
    sections = [[], [Text("a")], [], [Text("b"), Text("c")], []]
    assert [line.plain for line in join_sections(sections)] == ["a", "", "b", "c"]


def test_nothing_is_cut_in_a_pipe(capsys: pytest.CaptureFixture[str]):
    print_lines([Text("字" * 100)])
    assert capsys.readouterr().out == "字" * 100 + "\n"


def test_no_line_is_wider_than_the_width(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_lines([Text("字" * 100), Text("short  ")])
    first, second = capsys.readouterr().out.splitlines()
    assert cell_len(first) <= WIDTH
    assert first.endswith("…")
    assert second == "short"


def test_a_paragraph_is_indented_under_its_bullet():
    first, second = (line.plain for line in wrap_paragraph("word " * 20, bullet="✗ "))
    assert first.startswith("✗ word")
    assert second.startswith("  word")


def test_an_encoding_that_lacks_bars_has_ascii(monkeypatch: pytest.MonkeyPatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    print_lines([Text(f"{bar(0.3, 4)} 1 ± 2 字")])
    sys.stdout.flush()
    assert written.getvalue() == b"#| 1 +- 2 \\u5b57\n"


def test_words_are_wrapped_and_flow():
    assert wrap("", 10) == [""]
    assert wrap("a bc def", 4) == ["a bc", "def"]
    assert wrap("我用Python写", 6) == ["我用Py", "thon写"]
    assert wrap("xxxxxxxx y", 3) == ["xxx", "xxx", "xx", "y"]
    assert list(flow(["a", "bb", "c"], 5)) == ["a  bb", "c"]
    assert list(flow([], 5)) == []
