"""Forest plots: everything is on the axis, or has an arrow."""

from __future__ import annotations

import re
from math import inf
from xml.etree import ElementTree as ET

from claims.report.forest_plot import ForestPanel, ForestRow, forest_plot_svg

LEGEND = ("95 %", "corrected", "smallest", "holds")
SVG = "{http://www.w3.org/2000/svg}"


def row(value: float, low: float, high: float, label: str = "new minus old") -> ForestRow:
    return ForestRow(label, value, (low, high), (low - 0.1, high + 0.1), (0.5, inf), "holds", "holds here")


def drawn(*rows: ForestRow, limits: tuple[float, float] = (-inf, inf)) -> ET.Element:
    return ET.fromstring(forest_plot_svg("A title", [ForestPanel("BLEU", rows, limits)], legend=LEGEND))


def texts(figure: ET.Element) -> list[str]:
    return [element.text or "" for element in figure.iter(f"{SVG}text")]


def test_a_row_has_its_label_verdict_unit_and_ticks():
    figure = drawn(row(1.0, 0.8, 1.2))
    assert {"A title", "new minus old", "holds here", "BLEU", "0.5", "1"} <= set(texts(figure))
    assert len(list(figure.iter(f"{SVG}circle"))) == 1


def test_values_are_on_the_axis_in_their_order():
    circles = [
        float(each.attrib["cx"]) for each in drawn(row(-1.0, -2, 0), row(0, -1, 1), row(3, 2, 4)).iter(f"{SVG}circle")
    ]
    assert circles == sorted(circles)
    assert 356 < circles[0] < circles[-1] < 722


def test_what_is_outside_the_limits_has_an_arrow_and_no_point():
    def arrows(figure: ET.Element) -> int:
        return sum(each.attrib["d"].endswith("z") for each in figure.iter(f"{SVG}path"))

    assert arrows(drawn(row(1, 0, 2))) == 0
    assert arrows(drawn(row(1, -9, 20), limits=(-6, 10))) == 2
    outside = drawn(row(1, 0, 2), row(15, 14, 16), limits=(-6, 10))
    assert arrows(outside) == 1
    assert len(list(outside.iter(f"{SVG}circle"))) == 1


def test_long_labels_are_wrapped_and_escaped():
    english = drawn(row(1, 0, 2, "a < b & " + "several words of a label " * 4))
    chinese = drawn(row(1, 0, 2, "循环模型：只保留最大的三个权重时的得分减去全部权重时的得分，贪心搜索（测试集）。"))
    assert [len(text) <= 55 for text in texts(english)] == [True] * len(texts(english))
    lines = [text for text in texts(chinese) if re.search("[\u4e00-\u9fff]", text)]
    assert len(lines) == 2
    assert "".join(lines).startswith("循环模型：只保留")
    assert not lines[1].startswith(("，", "。", "）"))
