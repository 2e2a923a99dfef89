from math import log
from xml.etree import ElementTree as ET

import pytest

from dragoman.reporting.histogram import (
    Axis,
    HistogramBar,
    bar_svg,
    histogram_svg,
    linear_bars,
    log_bars,
    quantile,
    waterfall_svg,
)


def test_an_even_spread_over_a_logarithmic_axis_is_flat():
    edges = [1.0, 2.0, 8.0, 10.0]
    ends = [2.0, 8.0, 10.0, 12.5]
    counts = [round(1000 * log(end / edge)) for edge, end in zip(edges, ends, strict=True)]
    columns, _, _ = log_bars(counts, edges, "characters")
    assert all(column.height == pytest.approx(1000, rel=0.01) for column in columns)
    assert columns[0].left == 0
    assert columns[-1].right == pytest.approx(1)
    assert columns[1].label == "2 to 8 characters: 1,386 pairs"
    assert columns[-1].label.startswith("10 and more")


def test_many_numbers_share_columns_and_none_is_lost():
    columns, line = linear_bars([1] * 257, 5, "tokens")
    assert len(columns) == 87
    assert columns[0].label == "0 to 2 tokens: 3 pairs"
    assert columns[-2].label == "255 to 256 tokens: 2 pairs"
    assert columns[-1].label == "more than 256 tokens: 5 pairs"
    assert columns[-2].right < line < columns[-1].left + 0.01
    assert {column.height for column in columns[:-1]} == {3.0}


def test_quantiles():
    assert quantile([5, 5, 10], [1.0, 2.0, 3.0], 0.25) == 2.0
    assert quantile([5, 5, 10], [1.0, 2.0, 3.0], 0.5) == 3.0
    assert quantile([0, 0, 10], [1.0, 2.0, 3.0], 0.5) == 3.0


def test_a_chart_is_described_and_escaped():
    drawn = histogram_svg(
        "<b>",
        'a "description" & more',
        [HistogramBar(0, 0.5, 3, "<one>"), HistogramBar(0.5, 1, 0, "none")],
        Axis([(0.0, "0")], [(0.5, "<mark>", "limit")]),
        name="lengths",
        kind="source",
    )
    tree = ET.fromstring(drawn)
    assert tree.get("role") == "img"
    assert tree.get("aria-labelledby") == "lengths-title lengths-desc"
    assert [tree.findtext("title"), tree.findtext("desc")] == ["<b>", 'a "description" & more']
    assert [rect.findtext("title") for rect in tree.iter("rect")] == ["<one>"]


def test_bars_are_hidden_from_those_who_read_the_numbers():
    for drawn in (bar_svg(0.25, "source"), waterfall_svg(70, 10, 100)):
        assert ET.fromstring(drawn).get("aria-hidden") == "true"
    assert 'x="70.00%" y="6" width="10.00%"' in waterfall_svg(70, 10, 100)
