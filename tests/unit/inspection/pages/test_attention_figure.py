"""Pictures: they are written, are what they say, grow with the words, and tell what they could not draw."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import etree

pytest.importorskip("matplotlib")

from dragoman.errors import ConfigError
from dragoman.inspection.pages import attention_figure as plotting
from dragoman.inspection.pages.attention_figure import save_figure
from tests.unit.inspection.opened import ARABIC, CHINESE, ENGLISH, GERMAN, HEBREW, LONG, near_the_diagonal


def drawn(source: list[str], target: list[str], path: Path) -> tuple[str, ...]:
    return save_figure(source, target, near_the_diagonal(len(target), len(source)), path, title="layer 1 of 1")


def size(path: Path) -> tuple[int, int]:
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    wide, high = struct.unpack(">II", data[16:24])
    return wide, high


def needs_font(text: str) -> None:
    if plotting.find_fonts(text).warnings:
        pytest.skip(f"no installed font has all of {text[:10]}…")


@pytest.mark.slow
def test_png_grows_with_the_words(tmp_path: Path) -> None:
    assert drawn(ENGLISH, GERMAN, tmp_path / "short.png") == ()
    assert drawn(LONG, LONG, tmp_path / "long.png") == ()
    short, long = size(tmp_path / "short.png"), size(tmp_path / "long.png")
    assert long[0] > 2.5 * short[0]
    assert long[1] > 2.5 * short[1]
    assert long[0] > len(LONG) * 40, "a word has room for its name"


def test_svg_is_well_formed_needs_no_font_and_is_the_same_each_time(tmp_path: Path) -> None:
    for name in ("one.svg", "two.SVG"):
        drawn(ENGLISH, GERMAN, tmp_path / name)
    one, two = ((tmp_path / name).read_bytes() for name in ("one.svg", "two.SVG"))
    assert one == two
    tree = etree.fromstring(one)
    assert not tree.findall(".//{http://www.w3.org/2000/svg}text")
    assert tree.find(".//{http://purl.org/dc/elements/1.1/}title").text == "layer 1 of 1"


@pytest.mark.parametrize(
    ("source", "target"), [(CHINESE, ENGLISH), (ENGLISH, CHINESE), (ARABIC, ENGLISH), (HEBREW, GERMAN)]
)
def test_other_scripts(source: list[str], target: list[str], tmp_path: Path) -> None:
    needs_font("".join(source + target))
    assert drawn(source, target, tmp_path / "map.png") == ()
    assert drawn(source, target, tmp_path / "map.svg") == ()


def test_columns_of_a_source_from_right_to_left_are_turned_around(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turned: list[bool] = []
    figure = plotting.import_matplotlib("matplotlib.figure").Figure
    savefig = figure.savefig

    def noted(self: Any, *arguments: Any, **options: Any) -> None:
        turned.append(self.axes[0].xaxis_inverted())
        savefig(self, *arguments, **options)

    monkeypatch.setattr(figure, "savefig", noted)
    drawn(HEBREW, ENGLISH, tmp_path / "map.png")
    drawn(ENGLISH, HEBREW, tmp_path / "map.png")
    assert turned == [True, False]


def test_missing_characters_are_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manager = plotting.import_matplotlib("matplotlib.font_manager")
    monkeypatch.setattr(manager, "findSystemFonts", list)
    (note,) = drawn(["我", "用"], ["I", "use"], tmp_path / "map.png")
    assert note.startswith("no installed font has 我 用; install one")
    assert size(tmp_path / "map.png")[0] > 0


def test_old_matplotlib_tells_that_it_cannot_turn_words(monkeypatch: pytest.MonkeyPatch) -> None:
    ft2font = plotting.import_matplotlib("matplotlib.ft2font")
    monkeypatch.delattr(ft2font, "__libraqm_version__", raising=False)
    assert any("matplotlib must be 3.11" in note for note in plotting.find_fonts("שלום").warnings)


def test_untrusted_words(tmp_path: Path) -> None:
    words = ["$x^2$", "a\nb", "\x1b[31m", "", "w" * 100]
    assert drawn(words, words, tmp_path / "map.png") == ()
    save_figure([], [], np.zeros((0, 0)), tmp_path / "none.png")


def test_another_ending(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"a figure must end in \.png or \.svg, got map.jpg"):
        drawn(ENGLISH, GERMAN, tmp_path / "map.jpg")
