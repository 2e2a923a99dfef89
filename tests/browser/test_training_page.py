"""The page of ``dragoman train --page`` in a browser: it follows the run, and is its report."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from dragoman.api.training.report_page import ReportPage
from dragoman.inspection.pages.training_report import render_training_report
from dragoman.run_files import REPORT
from dragoman.training.callbacks.events import TrainingEnded, TrainingStarted
from tests.browser.chromium import Chromium
from tests.unit.inspection.pages.training_runs import write_run


def test_the_page_follows_the_run(chromium: Chromium, tmp_path: Path):
    folder = write_run(tmp_path / "run", updates=200)
    page = ReportPage(folder)
    page.on_start(TrainingStarted(folder, 2_000_000, 1, "cpu", 200, 1000, 200, 200))

    def train_on() -> None:
        write_run(folder, updates=400, ended="finished")
        page.on_end(TrainingEnded("interrupted", 400, 10.0, 1000, 400, 31.4, "bleu"))

    steps = """
    const heading = () => page.locator('#samples').textContent();
    const before = [await heading(), await page.locator('.plot').count()];
    await page.locator('#earlier-1 summary').click();
    await page.locator('#map-1 summary').click();
    await page.waitForFunction(() => document.querySelector('#samples').textContent.includes('400'));
    const open = await page.evaluate(
      () => ['earlier-1', 'map-1', 'map-2'].map(id => document.getElementById(id).open));
    const state = await page.locator('#report').getAttribute('data-state');
    return [before, await heading(), open, state, await accessibility(page)];
    """
    timer = threading.Timer(4.0, train_on)
    timer.start()
    seen = chromium.visit(folder / REPORT, steps)
    timer.join()
    assert seen.requests == []
    assert seen.complaints == []
    before, after, opened, state, faults = seen.result
    assert before == ["Samples of the validation at update 200", 6]
    assert after == "Samples of the validation at update 400"
    assert opened == [True, False, False]
    assert (state, faults) == ("ended", [])


@pytest.mark.parametrize("width", [320, 390, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_the_report_is_one_file_that_fits_any_screen(chromium: Chromium, tmp_path: Path, width: int, dark: bool):
    path = tmp_path / REPORT
    path.write_text(render_training_report(write_run(tmp_path / "run", ended="finished")), encoding="utf-8")
    steps = """
    await page.locator('#map-2 summary').click();
    return [await page.evaluate(() => document.documentElement.scrollWidth), await accessibility(page)];
    """
    seen = chromium.visit(path, steps, width=width, dark=dark)
    assert seen.result == [width, []]
    assert (seen.requests, seen.complaints) == ([], [])
