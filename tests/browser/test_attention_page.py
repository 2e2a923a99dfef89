"""The committed page on attention weights in a browser: sliders move the figures, and every value has a table."""

from pathlib import Path

import pytest

from tests.browser.chromium import Chromium

CLAIMS = Path(__file__).resolve().parents[2] / "claims"
PAGES = [CLAIMS / "attention.html", CLAIMS / "attention.zh.html"]


def test_the_sliders_move_the_figures(chromium: Chromium) -> None:
    steps = """
    const read = async name => await page.locator(`[data-readout="${name}"]`).textContent();
    const seen = [await read('models'), await read('interventions'), await read('training'), await read('gold')];
    await page.locator('#k').focus();
    await page.keyboard.press('Home');
    await page.locator('#update').focus();
    await page.keyboard.press('Home');
    await page.locator('#gold-update').focus();
    await page.keyboard.press('Home');
    const moved = [await read('models'), await read('interventions'), await read('training'), await read('gold')];
    return [seen, moved];
    """
    found = chromium.visit(PAGES[0], steps)
    seen, moved = found.result
    assert "mass of the 3 largest weights" in seen[0]
    assert "mass of the largest weight" in moved[0]
    assert "only the 3 largest weights" in seen[1]
    assert "only the largest weight" in moved[1]
    assert "after 0 updates" in moved[2]
    assert "After 0 updates" in moved[3]
    assert all(before != after for before, after in zip(seen, moved, strict=True))
    assert (found.requests, found.complaints) == ([], [])


@pytest.mark.parametrize(("page", "dark"), [(PAGES[0], False), (PAGES[1], True)], ids=["en-light", "zh-dark"])
def test_every_model_is_drawn_and_accessible(chromium: Chromium, page: Path, dark: bool) -> None:
    steps = """
    const counts = [];
    for (const option of await page.locator('#model option').all()) {
      await page.locator('#model').selectOption(await option.getAttribute('value'));
      counts.push(await page.locator('.chart svg').count());
    }
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    return [counts, over, await accessibility(page)];
    """
    found = chromium.visit(page, steps, width=390, height=844, dark=dark)
    counts, over, faults = found.result
    assert counts == [8] * 7
    assert over == 0
    assert faults == []
    assert (found.requests, found.complaints) == ([], [])


def test_without_scripting_there_are_tables(chromium: Chromium) -> None:
    steps = "return [await page.locator('table').count(), await page.locator('noscript').innerText()]"
    tables, note = chromium.visit(PAGES[0], steps, scripting=False).result
    assert tables == 8
    assert "the tables below" in note
