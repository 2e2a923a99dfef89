"""Parallel coordinates: where lines cross the axes."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from dragoman.reporting.parallel_coordinates import Coordinate, parallel_coordinates_svg


def test_numbers_on_linear_and_logarithmic_axes() -> None:
    assert Coordinate("a", [1, 10, 100], is_log=True).shares() == pytest.approx([0.0, 0.5, 1.0])
    assert Coordinate("a", [1.0, 2.0, None]).shares() == [0.0, 1.0, None]
    assert Coordinate("a", [1.0, 2.0], is_reversed=True).shares() == [1.0, 0.0]
    assert Coordinate("a", [1.0, 2.0], is_reversed=True).ticks() == [(1.0, "1"), (0.0, "2")]
    assert Coordinate("a", [3, 3]).shares() == [0.5, 0.5]
    assert Coordinate("a", [3, 3]).ticks() == [(0.5, "3")]
    assert Coordinate("a", [None]).shares() == [None]


def test_other_values_are_categories() -> None:
    assert Coordinate("a", ["sgd", "adam", "sgd"]).shares() == [1.0, 0.0, 1.0]
    assert Coordinate("a", [True, False]).ticks() == [(0.0, "False"), (1.0, "True")]


def test_texts_are_escaped_and_the_best_is_on_top() -> None:
    axes = [Coordinate("<a>", ["<x>", "y"]), Coordinate("loss", [1.0, 2.0], is_reversed=True)]
    svg = parallel_coordinates_svg("Title", axes, ["trial-000", "trial-001"], best=0, name="p")
    root = ET.fromstring(svg)
    lines = root.findall("polyline")
    assert [line.get("class") for line in lines] == ["item other", "item chosen"]
    assert "<x>" in "".join(lines[1].itertext())
    assert lines[1].get("points") == "70,284.0 220,34.0"
