"""The alignment page in a browser: words and maps highlight each other."""

from pathlib import Path

from dragoman.inspection.pages.alignment import render_alignment_page
from dragoman.training.callbacks.events import ValidationSample
from tests.browser.chromium import Chromium

WEIGHTS = ((0.9, 0.1), (0.02, 0.75))
SAMPLES = [
    ValidationSample("the dog", "", "der Hund", ("the", "dog"), ("der", "Hund"), weights) for weights in (WEIGHTS, None)
]


def written(folder: Path) -> Path:
    page = folder / "page.html"
    page.write_text(render_alignment_page(SAMPLES, title="Alignments"), encoding="utf-8")
    return page


def test_words_and_map_highlight_each_other(chromium: Chromium, tmp_path: Path) -> None:
    steps = """
    const sample = page.locator('.sample').first();
    const seen = async () => [await sample.locator('.says').textContent(),
      await sample.locator('.word.chosen').allTextContents(), await sample.locator('.map .lit').allTextContents()];
    await sample.locator('.target .word').first().focus();
    await page.keyboard.press('ArrowRight');
    const focused = await seen();
    await page.locator('.sample').last().locator('.word').first().focus();
    const ground = await sample.locator('.ground').boundingBox();
    await page.mouse.move(ground.x + 5, ground.y + 30);
    const pointed = await seen();
    return [focused, pointed, await page.locator('.cell').count(), await accessibility(page)];
    """
    seen = chromium.visit(written(tmp_path), steps)
    focused, pointed, cells, faults = seen.result
    assert focused == pointed == ["Hund attends to dog 75\u00a0%", ["Hund"], ["Hund"]]
    assert (cells, faults) == (4, [])
    assert (seen.requests, seen.complaints) == ([], [])


def test_without_scripting_there_is_a_map(chromium: Chromium, tmp_path: Path) -> None:
    steps = "return await page.locator('svg.map').count()"
    assert chromium.visit(written(tmp_path), steps, scripting=False).result == 1
