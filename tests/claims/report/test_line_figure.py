"""Line charts as files: title, unit, legend, and the chart within the figure."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from claims.report.line_figure import line_figure_svg
from dragoman.reporting.html import read_asset
from dragoman.reporting.line_chart import Scale, Series

SVG = "{http://www.w3.org/2000/svg}"
ACROSS = Scale("beam", "{:g}".format, [(0.0, "1"), (1.0, "2")])
UP = Scale("BLEU", "{:.2f}".format)


def test_a_figure_has_its_title_unit_legend_and_note():
    lines = [
        Series("new < old", 0, [(0.0, 1.0), (1.0, 2.0)], has_dots=False),
        Series("new < old", 0, [(0.0, 1.5)]),
    ]
    figure = ET.fromstring(line_figure_svg("A title", lines, across=ACROSS, up=UP, legend=["new < old"], note="a note"))
    texts = {each.text for each in figure.iter(f"{SVG}text")}
    assert {"A title", "BLEU", "new < old", "a note", "1", "2", "beam"} <= texts
    kinds = [each.attrib["class"].split()[0] for each in figure.iter(f"{SVG}circle")]
    assert kinds == ["spot", "spot", "dot"]
    assert next(figure.iter(f"{SVG}desc")).text == "new < old: 1.00 (1), 2.00 (2)"


def test_lines_without_points_give_no_figure():
    assert line_figure_svg("A title", [Series("new", 0, [])], across=ACROSS, up=UP, legend=["new"]) == ""


def test_lines_have_the_light_colours_of_the_pages():
    light = read_asset("palette.css").split("@media")[0]
    lines = [Series(str(colour), colour, [(0.0, 1.0), (1.0, 2.0)]) for colour in range(8)]
    figure = line_figure_svg("A title", lines, across=ACROSS, up=UP, legend=[each.name for each in lines])
    colours = re.findall(r"--c\d: (#\w{6})", light)
    assert len(colours) == 8
    assert all(colour in figure for colour in colours)
