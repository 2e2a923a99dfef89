"""The report of a comparison in Chromium: quick, small, without a network, at any width, by keyboard."""

from pathlib import Path

import pytest

from dragoman.inspection.comparison_page import comparison_page
from tests.browser.chromium import Chromium
from tests.unit.inspection.comparisons import comparison

MOST_BYTES = 5_000_000
MOST_MILLISECONDS = 2_000


def written(folder: Path, page: str) -> Path:
    path = folder / "report.html"
    path.write_text(page, encoding="utf-8")
    return path


@pytest.mark.slow
def test_eight_long_runs_open_in_two_seconds(chromium: Chromium, tmp_path: Path) -> None:
    names = [f"run-{number}" for number in range(8)]
    path = written(tmp_path, comparison_page(comparison(*names, members=3, points=2000, sentences=30)))
    assert path.stat().st_size < MOST_BYTES
    seen = min((chromium.visit(path) for _ in range(2)), key=lambda each: each.milliseconds)
    assert seen.milliseconds < MOST_MILLISECONDS
    assert seen.requests == []
    assert seen.complaints == []


def test_nothing_is_wider_than_a_phone(chromium: Chromium, tmp_path: Path) -> None:
    names = ["a-system-with-quite-a-long-name", "rnn", "transformer", "W" * 80]
    path = written(tmp_path, comparison_page(comparison(*names)))
    steps = "return await page.evaluate(() => document.documentElement.scrollWidth)"
    for width in (360, 768, 1400):
        assert chromium.visit(path, steps, width=width).result <= width


def test_the_keyboard_chooses_the_axis_and_opens_what_is_folded(chromium: Chromium, tmp_path: Path) -> None:
    path = written(tmp_path, comparison_page(comparison("rnn", "transformer")))
    steps = """
        const isShown = all => all.map(one => getComputedStyle(one).display !== 'none');
        const visible = () => page.$$eval('.axis-panel', isShown);
        const before = await visible();
        await page.focus('#over-updates');
        await page.keyboard.press('ArrowRight');
        const after = await visible();
        await page.focus('#settings ~ .card summary');
        await page.keyboard.press('Enter');
        return [before, after, await page.$eval('#settings ~ .card details', one => one.open)];
    """
    for scripting in (True, False):
        seen = chromium.visit(path, steps if scripting else "", scripting=scripting)
        if scripting:
            assert seen.result == [[True, False, False], [False, True, False], True]
        assert seen.complaints == []


def test_hostile_names_and_texts_run_nothing(chromium: Chromium, tmp_path: Path) -> None:
    text = '"><img src=x onerror=alert(1)><script>alert(2)</script>'
    path = written(tmp_path, comparison_page(comparison(text, f"{text}2", text=text), title=text))
    seen = chromium.visit(path, "return await page.$$eval('script, img', found => found.length)")
    assert seen.result == 0
    assert seen.requests == []
    assert seen.complaints == []


def test_dark_and_light_have_their_own_colours(chromium: Chromium, tmp_path: Path) -> None:
    path = written(tmp_path, comparison_page(comparison("rnn", "transformer")))
    steps = "return await page.$eval('.line.c0', one => getComputedStyle(one).stroke)"
    assert chromium.visit(path, steps).result != chromium.visit(path, steps, dark=True).result
