"""The report of a comparison in Chromium: quick, small, without a network, at any width, by keyboard."""

from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.inspection.comparison.page import render_comparison_page
from tests.browser.chromium import Chromium, plain_page
from tests.unit.inspection.comparisons import comparison, with_systems

MOST_BYTES = 5_000_000


def written(folder: Path, page: str) -> Path:
    path = folder / "report.html"
    path.write_text(page, encoding="utf-8")
    return path


def long_runs(folder: Path) -> Path:
    """The page of eight systems with three members and 2,000 points each."""
    names = [f"run-{number}" for number in range(8)]
    return written(folder, render_comparison_page(comparison(*names, members=3, points=2000, sentences=30)))


@pytest.mark.slow
def test_the_page_of_eight_long_runs_stays_small_and_complete(chromium: Chromium, tmp_path: Path) -> None:
    path = long_runs(tmp_path)
    assert path.stat().st_size < MOST_BYTES
    seen = chromium.visit(path)
    assert seen.requests == []
    assert seen.complaints == []


@pytest.mark.measure
def test_eight_long_runs_open_sooner_than_as_much_plain_text(chromium: Chromium, tmp_path: Path) -> None:
    path = long_runs(tmp_path)
    assert chromium.opening(path) < chromium.opening(plain_page(tmp_path, path.stat().st_size)) / 2


def test_nothing_is_wider_than_a_phone(chromium: Chromium, tmp_path: Path) -> None:
    names = ["a-system-with-quite-a-long-name", "rnn", "transformer", "W" * 80]
    path = written(tmp_path, render_comparison_page(comparison(*names)))
    steps = "return await page.evaluate(() => document.documentElement.scrollWidth)"
    for width in (360, 768, 1400):
        assert chromium.visit(path, steps, width=width).result <= width


def test_the_keyboard_chooses_the_axis_and_opens_what_is_folded(chromium: Chromium, tmp_path: Path) -> None:
    path = written(tmp_path, render_comparison_page(comparison("rnn", "transformer")))
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
    seen = chromium.visit(path, steps)
    assert seen.result == [[True, False, False], [False, True, False], True]
    assert seen.complaints == []


def test_without_scripting_the_axis_is_chosen_too(chromium: Chromium, tmp_path: Path) -> None:
    path = written(tmp_path, render_comparison_page(comparison("rnn", "transformer")))
    steps = """
        const panels = page.locator('.axis-panel');
        const visible = async () => Promise.all((await panels.all()).map(one => one.isVisible()));
        const before = await visible();
        await page.locator('label[for=over-time]').click();
        return [before, await visible()];
    """
    seen = chromium.visit(path, steps, scripting=False)
    assert seen.result == [[True, False, False], [False, False, True]]
    assert seen.complaints == []


def test_a_browser_that_cannot_choose_shows_one_axis(chromium: Chromium, tmp_path: Path) -> None:
    page = render_comparison_page(comparison("rnn", "transformer"))
    assert "@supports not selector(:has(*))" in page
    # A selector that no browser supports replaces one that an old browser does not.
    path = written(tmp_path, page.replace(":has(", ":not-known("))
    steps = """
        const isShown = all => all.map(one => getComputedStyle(one).display !== 'none');
        return [await page.$$eval('.axis-panel', isShown), await page.$$eval('.switch', isShown)];
    """
    assert chromium.visit(path, steps).result == [[True, False, False], [False]]


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1200])
def test_axe_finds_nothing_that_shuts_people_out(chromium: Chromium, tmp_path: Path, dark: bool, width: int) -> None:
    path = written(tmp_path, render_comparison_page(comparison("rnn", "transformer", "wide", members=2)))
    steps = """
        await page.addStyleTag({ content: 'section { content-visibility: visible !important; }' });
        await page.$$eval('details', all => all.forEach(one => { one.open = true; }));
        return await accessibility(page);
    """
    assert chromium.visit(path, steps, dark=dark, width=width).result == []


def test_scores_fit_a_phone_and_names_stand_beside_their_lines(chromium: Chromium, tmp_path: Path) -> None:
    page = comparison("rnn", "transformer")
    assert page.evaluation is not None
    third = [
        replace(system, scores=(*system.scores, replace(system.scores[0], metric="chrf++")))
        for system in page.evaluation.systems
    ]
    path = written(tmp_path, render_comparison_page(with_systems(page, *third)))
    steps = """
        const room = await page.$eval('#scores ~ .card .scroll', one => [one.scrollWidth, one.clientWidth]);
        const rows = await page.$$eval('.named', all => all.map(one => {
          const [line, name] = ['.swatch', 'bdi'].map(each => one.querySelector(each).getBoundingClientRect());
          return line.right <= name.left && line.top < name.bottom && line.bottom > name.top;
        }));
        return [room, rows];
    """
    (wide, room), rows = chromium.visit(path, steps, width=390).result
    assert wide <= room
    assert rows == [True, True]


def test_translations_line_up_from_card_to_card(chromium: Chromium, tmp_path: Path) -> None:
    whole = comparison("rnn", "transformer")
    first, *rest = whole.sentences
    longer = replace(
        first,
        translations=tuple(replace(each, system=f"{each.system} by another name") for each in rest[0].translations),
    )
    path = written(tmp_path, render_comparison_page(replace(whole, sentences=(longer, *rest))))
    steps = """return await page.$$eval('.outputs', all => all.map(one =>
        one.querySelector('.text.source').getBoundingClientRect().left));"""
    assert len(set(chromium.visit(path, steps).result)) == 1


def test_hostile_names_and_texts_run_nothing(chromium: Chromium, tmp_path: Path) -> None:
    text = '"><img src=x onerror=alert(1)><script>alert(2)</script>'
    path = written(tmp_path, render_comparison_page(comparison(text, f"{text}2", text=text), title=text))
    seen = chromium.visit(path, "return await page.$$eval('script, img', found => found.length)")
    assert seen.result == 0
    assert seen.requests == []
    assert seen.complaints == []


def test_dark_and_light_have_their_own_colours(chromium: Chromium, tmp_path: Path) -> None:
    path = written(tmp_path, render_comparison_page(comparison("rnn", "transformer")))
    steps = "return await page.$eval('.line.c0', one => getComputedStyle(one).stroke)"
    assert chromium.visit(path, steps).result != chromium.visit(path, steps, dark=True).result
