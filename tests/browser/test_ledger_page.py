"""The committed pages of all claims in a browser: verdicts are hidden until the reader has guessed."""

from pathlib import Path

import pytest

from tests.browser.chromium import Chromium

CLAIMS = Path(__file__).resolve().parents[2] / "claims"
PAGES = [CLAIMS / "ledger.html", CLAIMS / "ledger.zh.html"]


def test_a_guess_reveals_the_verdict_and_is_counted(chromium: Chromium) -> None:
    steps = """
    const tile = page.locator('.tile[data-id="C1"]');
    const seen = [await tile.getAttribute('class')];
    await tile.locator('a').click();
    const dialog = page.locator('dialog');
    seen.push(await dialog.locator('.answer').first().isVisible());
    await dialog.locator('.vote button[value="holds"]').click();
    seen.push(await dialog.locator('.answer').first().isVisible());
    await page.keyboard.press('Escape');
    seen.push(await tile.getAttribute('class'), await page.locator('#score').textContent());
    seen.push(await page.evaluate(() => document.activeElement.closest('.tile')?.dataset.id));
    return seen;
    """
    found = chromium.visit(PAGES[0], steps)
    before, hidden, shown, after, score, focused = found.result
    assert "veiled" in before
    assert (hidden, shown) == (False, True)
    assert "veiled" not in after
    assert "You guessed 1 of 26. Of the 1 decided ones you have 1 right" in score
    assert focused == "C1"
    assert (found.requests, found.complaints) == ([], [])


def test_the_filters_show_what_they_name(chromium: Chromium) -> None:
    steps = """
    const shown = async () => page.locator('.tile:visible').count();
    const counts = [await shown()];
    for (const name of ['surprise', 'undecided']) {
      await page.locator('#filter').selectOption(name);
      counts.push(await shown(), await page.locator(`.tile[data-${name}]`).count());
    }
    return [counts, await page.locator('.cost:visible').count()];
    """
    (every, surprises, marked, undecided, open_), costs = chromium.visit(PAGES[0], steps).result
    assert every == 26
    assert (surprises, undecided) == (marked, open_)
    assert 0 < costs <= undecided


@pytest.mark.parametrize(("page", "dark"), [(PAGES[0], True), (PAGES[1], False)], ids=["en-dark", "zh-light"])
def test_a_phone_shows_tiles_and_dialogs_without_scrolling_sideways(chromium: Chromium, page: Path, dark: bool) -> None:
    steps = """
    await page.locator('#guessing').uncheck();
    const over = () => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    const seen = [await over(), await accessibility(page)];
    await page.locator('.tile[data-id="C4"] a').click();
    return [...seen, await over(), await accessibility(page)];
    """
    found = chromium.visit(page, steps, width=390, height=844, dark=dark)
    assert found.result == [0, [], 0, []]
    assert (found.requests, found.complaints) == ([], [])


def test_without_scripting_everything_is_shown(chromium: Chromium) -> None:
    steps = (
        "return [await page.locator('section.claim:visible').count(), await page.locator('.controls:visible').count()]"
    )
    assert chromium.visit(PAGES[0], steps, scripting=False).result == [26, 0]
