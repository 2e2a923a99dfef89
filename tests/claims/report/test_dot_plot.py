"""Dot plots: a point per value, the mean, and an axis per panel."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from claims.report.dot_plot import DotPanel, DotRow, dot_plot_svg

SVG = "{http://www.w3.org/2000/svg}"


def drawn(*panels: DotPanel) -> ET.Element:
    return ET.fromstring(dot_plot_svg("A title", panels, legend=["one seed", "mean"]))


def test_every_value_is_a_point_on_the_axis():
    figure = drawn(DotPanel("BLEU", [DotRow("new", [34.0, 33.0, 33.5], 33.5, "33.50")]))
    places = [float(each.attrib["cx"]) for each in figure.iter(f"{SVG}circle")][:3]
    assert places[1] < places[2] < places[0]
    assert all(356 < place < 722 for place in places)
    assert {"A title", "new", "33.50", "BLEU", "one seed", "mean"} <= {each.text for each in figure.iter(f"{SVG}text")}


def test_the_axis_need_not_contain_zero():
    texts = {each.text for each in drawn(DotPanel("BLEU", [DotRow("new", [34.0, 33.0], 33.5)])).iter(f"{SVG}text")}
    assert "33" in texts
    assert "0" not in texts


def test_panels_follow_each_other_and_equal_values_have_an_axis():
    figure = drawn(DotPanel("BLEU", [DotRow("a", [1.0], 1.0)]), DotPanel("share", [DotRow("b", [0.5, 0.5], 0.5)]))
    heights = [float(each.attrib["cy"]) for each in figure.iter(f"{SVG}circle")]
    assert heights == sorted(heights)
    assert heights[-1] < float(figure.attrib["height"])
