"""Heat maps in the terminal: positions, widths, and untrusted text that must not move the cursor."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from dragoman.errors import DataError
from dragoman.inspection.terminal.heatmap import render_heatmap

SOURCE = ["the", "third", "of", "May,", "1998"]
TARGET = ["1998", "-", "05", "-", "03"]
WEIGHTS = np.array(
    [[0, 0, 0, 0, 1], [0, 0.2, 0, 0, 0.6], [0, 0, 0, 0.9, 0.02], [0, 0.3, 0, 0.3, 0], [0.05, 0.95, 0, 0, 0]]
)


def plain(source: list[str], target: list[str], weights: object, width: int = 80) -> list[str]:
    return render_heatmap(source, target, np.asarray(weights), width=width, colour=False).plain.split("\n")


def test_a_map_by_hand() -> None:
    assert plain(SOURCE, TARGET, WEIGHTS) == [
        "      the third of May, 1998",
        "1998                    ████",
        "-         ░░░░░         ▓▓▓▓",
        "05                 ████",
        "-         ▒▒▒▒▒    ▒▒▒▒",
        "03    ░░░ █████",
        "attention: low ░░░▒▒▒▓▓▓███ high",
    ]


def test_wide_characters_take_two_cells() -> None:
    lines = plain(["我", "用", "Python"], ["私は", "I"], [[1, 0, 0], [0, 0, 1]])
    assert lines[:3] == ["      我 用 Python", "私は  ██", "I           ██████"]
    assert [cell_len(line) for line in lines[:3]] == [18, 8, 18]


def test_a_longer_source_gets_numbers_and_a_legend() -> None:
    words = [f"longer{number}" for number in range(1, 21)]
    lines = plain(words, ["a"], np.eye(1, 20, 19))
    assert lines[0].startswith("    1  2  3")
    assert lines[1] == "a" + " " * 59 + "██"
    assert any("20 longer20" in line for line in lines)


def test_what_is_wider_still_is_folded() -> None:
    weights = np.zeros((1, 120))
    weights[0, 0] = weights[0, 119] = 1
    lines = plain([f"word{number}" for number in range(1, 121)], ["a"], weights)
    assert lines[1] == "a  ██"
    assert sum(line.endswith("███") for line in lines[2:-1]) == 1
    assert all(cell_len(line) <= 80 for line in lines)


def test_words_from_right_to_left_stand_in_the_legend_and_move_nothing() -> None:
    lines = plain(["שלום", "עולם!"], ["سلام", "b"], np.eye(2))
    assert lines[0] == "       1  2"
    assert lines[1] == "\u200e\u200fسلام\u200f\u200e  ██"
    assert lines[3] == "1 \u200e\u200fשלום\u200f\u200e  2 \u200e\u200fעולם!\u200f\u200e"
    assert [cell_len(line) for line in lines[:4]] == [11, 8, 11, 15]


def test_long_words_are_cut() -> None:
    lines = plain(["x" * 100, "y"], ["z" * 100], [[1, 0]])
    assert f"{'x' * 19}…" in lines[0]
    assert lines[1].startswith(f"{'z' * 15}…  ")


def test_no_word_moves_the_cursor() -> None:
    lines = plain(["a\x1b[31mb", "c\nd", "\u202ee"], ["\x07", ""], np.ones((2, 3)) / 3)
    assert len(lines) == 4
    assert r"a\x1b[31mb" in lines[0]
    assert all(line.isprintable() for line in lines)


def test_colours_are_backgrounds_and_faint_cells_have_none() -> None:
    drawn = render_heatmap(SOURCE, TARGET, WEIGHTS, colour=True)
    assert not set("░▒▓█") & set(drawn.plain)
    console = Console(width=80, force_terminal=True, color_system="truecolor", no_color=False, record=True)
    with console.capture() as captured:
        console.print(drawn)
    lines = captured.get().split("\n")
    assert "48;2;253;231;37m" in lines[1], "a weight of 1 has the last colour"
    assert lines[3].count("\x1b[48;2;") == 1, "0.02 is not drawn"


def test_what_is_no_number_is_drawn_as_nothing() -> None:
    assert plain(["a", "b"], ["c"], [[float("nan"), 7.0]])[1] == "c    █"


def test_nothing_to_draw() -> None:
    assert plain([], [], np.zeros((0, 0))) == ["no words to show"]


def test_weights_must_fit_the_words() -> None:
    with pytest.raises(DataError, match=r"weights must be \[1 target words, 2 source words\]"):
        render_heatmap(["a", "b"], ["c"], [[1.0]], colour=False)


@given(
    source=st.lists(st.text(max_size=30), min_size=1, max_size=60),
    target=st.lists(st.text(max_size=30), min_size=1, max_size=5),
    width=st.integers(24, 120),
    colour=st.booleans(),
)
def test_any_words_fit_the_width(source: list[str], target: list[str], width: int, colour: bool) -> None:
    drawn = render_heatmap(source, target, np.full((len(target), len(source)), 0.5), width=width, colour=colour)
    lines = drawn.plain.split("\n")
    assert all(cell_len(line) <= max(width, 34) for line in lines)
