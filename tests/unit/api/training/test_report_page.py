"""The page of a training run: written while it trains, then kept as the report."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.api.training.report_page import ReportPage
from dragoman.run_files import REPORT
from dragoman.training.callbacks.events import CallbackList, StepEvent, ValidationEvent
from testkit.tiny_project import tiny_training, train_tiny

QUICK = ("training.max_updates=6", "training.validate_every=3", "training.log_every=2", "training.checkpoint_every=3")


class Reader(CallbackList):
    """Reads the page from within the training."""

    def __init__(self, run: Path) -> None:
        super().__init__()
        self.run = run
        self.seen: list[str] = []

    def on_update(self, event: StepEvent) -> None:
        self.seen.append((self.run / REPORT).read_text(encoding="utf-8"))

    def on_validation_end(self, event: ValidationEvent) -> None:
        self.seen.append((self.run / REPORT).read_text(encoding="utf-8"))


def test_a_training_shows_itself_and_leaves_its_report(tmp_path: Path):
    run = tmp_path / "run"
    with ReportPage(run) as page:
        reader = Reader(run)
        trained = train_tiny(tiny_training("luong2015-desk", *QUICK), run, callbacks=[page, reader])
        page.finish(trained)
    assert len(reader.seen) == 8
    assert all('data-state="running"' in each for each in reader.seen)
    assert "<b>" not in reader.seen[0]
    assert ">6<small>of 6" in reader.seen[-1]
    assert 'class="map"' in reader.seen[-1]  # the samples of the validation, with their alignment
    report = (run / REPORT).read_text(encoding="utf-8")
    assert 'data-state="ended"' in report
    assert "Training is complete" in report
    assert "Held-out sets" in report


def test_pages_between_validations_take_little_of_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    now = [0.0]
    written: list[float] = []

    def render(*_: object, **__: object) -> str:
        written.append(now[0])
        now[0] += 1.0
        return ""

    monkeypatch.setattr("dragoman.api.training.report_page.render_training_report", render)
    page = ReportPage(tmp_path, clock=lambda: now[0])
    for update in range(1, 2001):
        now[0] += 0.1
        page.on_update(StepEvent(update, 1, 2.0, 500, 1.0, 0.1, 0.1, update))
    assert written == pytest.approx([0.1, 101.2], abs=0.2)


def test_the_page_of_a_failed_training_does_not_renew_itself(tmp_path: Path):
    run = tmp_path / "run"

    class Failing(CallbackList):
        def on_update(self, event: StepEvent) -> None:
            raise ValueError

    with pytest.raises(ValueError), ReportPage(run) as page:  # noqa: PT011 -- the one above
        train_tiny(tiny_training("luong2015-desk", *QUICK), run, callbacks=[page, Failing()])
    assert 'data-state="ended"' in (run / REPORT).read_text(encoding="utf-8")


def test_the_weights_are_the_same_with_a_page(tmp_path: Path):
    config = tiny_training("luong2015-desk", *QUICK)
    plain = train_tiny(config, tmp_path / "plain")
    with ReportPage(tmp_path / "run") as page:
        shown = train_tiny(config, tmp_path / "run", callbacks=[page])
    weights = [each.bundle.weights() for each in (plain, shown) if each.bundle is not None]
    assert len(weights) == 2
    assert all((weights[0][name] == weights[1][name]).all() for name in weights[0])
