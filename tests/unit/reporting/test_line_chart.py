"""Line charts: positions of points, bands, and descriptions for screen readers."""

import math
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from dragoman.reporting.line_chart import Scale, Series, legend_html, line_chart_svg

ACROSS, UP = Scale("updates", lambda value: f"{value:g}"), Scale("loss", lambda value: f"{value:g}")


def drawn(*lines: Series, across: Scale = ACROSS, up: Scale = UP) -> etree._Element:
    return etree.fromstring(line_chart_svg("Loss", lines, across=across, up=up, name="chart"))


def places(picture: etree._Element, kind: str = "line") -> list[list[tuple[float, float]]]:
    found = [each for each in picture.iter() if (each.get("class") or "").startswith(kind) and each.get("points")]
    return [[(float(x), float(y)) for x, y in (pair.split(",") for pair in one.get("points").split())] for one in found]


def test_points_lie_in_order_and_inside() -> None:
    ((first, second, third),) = places(drawn(Series("a", 0, [(0, 4.0), (50, 2.0), (100, 1.0)])))
    assert first[0] < second[0] < third[0]
    assert first[1] < second[1] < third[1]  # down the page
    assert second[0] - first[0] == pytest.approx(third[0] - second[0], abs=0.2)
    assert all(0 <= x <= 430 and 0 <= y <= 240 for x, y in (first, second, third))


def test_a_logarithmic_scale_makes_halving_equal_steps() -> None:
    up = Scale("loss", lambda value: f"{value:g}", is_log=True)
    ((one, two, three),) = places(drawn(Series("a", 0, [(0, 8.0), (1, 4.0), (2, 2.0)]), up=up))
    assert two[1] - one[1] == pytest.approx(three[1] - two[1], abs=0.2)


@pytest.mark.parametrize(("first", "last"), [(8.0, 0.0004), (8.0, 1.8), (1e9, 1e-9), (0.5, 0.02)])
def test_a_logarithmic_scale_has_few_ticks_that_all_read_otherwise(first: float, last: float) -> None:
    up = Scale("loss", lambda value: f"{value:g}", is_log=True)
    picture = drawn(Series("a", 0, [(0, first), (1, last)]), up=up)
    ticks = [text for text in picture.iterfind("text") if text.get("text-anchor") == "end" and text.get("x") == "39"]
    assert 4 <= len(ticks) <= 9
    assert len({text.text for text in ticks}) == len(ticks)
    places = [float(text.get("y")) for text in ticks]
    assert min(abs(one - other) for one, other in pairwise(places)) >= 10


@pytest.mark.parametrize("last", range(2, 40))
def test_ticks_of_counts_are_read_as_what_they_are(last: int) -> None:
    across = Scale("updates", lambda value: f"{value:.0f}", from_zero=True, is_whole=True)
    picture = drawn(Series("a", 0, [(1, 2.0), (last, 1.0)]), across=across)
    labels = [each for each in picture.iter("{*}text") if each.get("y") == "217" and (each.text or "").isdigit()]
    read = {float(each.get("x") or 0): int(each.text or 0) for each in labels}
    (start, first), *_, (end, highest) = sorted(read.items())
    for x, value in read.items():
        assert first + (x - start) / (end - start) * (highest - first) == pytest.approx(value, abs=0.02)


def test_points_tell_their_value() -> None:
    across = Scale("words", str, [(0.0, "1–9"), (1.0, "10+")])
    picture = drawn(Series("rnn", 0, [(0.0, 30.5), (1.0, 20.0)]), across=across)
    titles = [title.text for title in picture.iterfind(".//circle/title")]
    assert titles == ["rnn: 30.5 at 1–9 words", "rnn: 20 at 10+ words"]


def test_it_says_in_words_what_is_to_be_seen() -> None:
    picture = drawn(Series("rnn", 0, [(50, 8.4), (100, 2.0)]), Series("other", 1, [(50, 7.5)]))
    assert (
        picture.findtext("desc")
        == "loss by updates. rnn: 8.4 at 50 updates, 2 at 100 updates; other: 7.5 at 50 updates."
    )
    assert picture.get("aria-labelledby") == "chart-title chart-desc"


def test_a_long_line_is_thinned_and_keeps_its_ends() -> None:
    picture = drawn(Series("a", 0, [(float(x), 1.0 + x) for x in range(10_000)]))
    (line,) = places(picture)
    assert len(line) == 240
    assert line[0][0] == 44
    assert line[-1][0] == 420
    assert len(picture.findall(".//circle")) == 32


def test_what_is_no_number_is_left_out_and_nothing_is_no_chart() -> None:
    (line,) = places(drawn(Series("a", 0, [(0, math.nan), (1, 2.0), (2, math.inf), (3, 4.0)])))
    assert len(line) == 2
    assert line_chart_svg("t", [Series("a", 0, [])], across=ACROSS, up=UP, name="c") == ""
    assert line_chart_svg("t", [Series("a", 0, [(0, math.nan)])], across=ACROSS, up=UP, name="c") == ""


def test_lines_are_told_apart_by_dashes_where_colours_come_again() -> None:
    picture = drawn(*(Series(f"{n}", n, [(0, 1.0 + n), (1, 2.0 + n)]) for n in range(9)))
    looks = [line.get("class") for line in picture.iterfind("./polyline")]
    assert len(set(looks)) == 9


def test_names_are_only_text() -> None:
    name = "<b>\u202e&"
    picture = drawn(Series(name, 0, [(0, 1.0), (1, 2.0)]))
    assert picture.findtext("polyline/title") == "<b>\\u202e&"
    assert re.search(r"<bdi>&lt;b&gt;\\u202e&amp;</bdi>", legend_html([name]))


finite = st.floats(-1e12, 1e12, allow_nan=False)


@given(st.lists(st.tuples(finite, finite), min_size=1, max_size=20), st.booleans())
def test_any_numbers_make_a_chart(points: list[tuple[float, float]], is_log: bool) -> None:
    up = Scale("loss", lambda value: f"{value:g}", is_log=is_log)
    for line in places(drawn(Series("a", 0, sorted(points)), up=up)):
        assert all(math.isfinite(x) and -1 <= x <= 431 and -1 <= y <= 241 for x, y in line)
