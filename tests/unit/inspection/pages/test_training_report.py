"""The page of a training run: what it has, and that no text of a run becomes code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dragoman.evaluation.results import Interval, Score, SetScore
from dragoman.inspection.pages.training_report import render_training_report
from dragoman.training.callbacks.events import StepEvent, TrainingStarted
from dragoman.training.callbacks.status import TrainingStatus
from tests.unit.inspection.pages.training_runs import write_run


def text(page: str) -> str:
    """The words of a page, without tags."""
    body = page.partition("<main>")[2].partition("</main>")[0]
    return " ".join(re.sub(r"<[^>]*>", " ", body).split())


def test_a_running_training_shows_progress_curves_samples_and_the_time_left(tmp_path: Path):
    run = write_run(tmp_path / "mine" / "run")
    status = TrainingStatus(TrainingStarted(run, 2_034_176, 1, "cpu", 0, 1000, 0, 0, stops_early=True), 0.0)
    for update in range(1, 431):
        status.add(StepEvent(update, 3, 1.654, 9_800, 1.0, 0.001, 1.0, update))
    page = render_training_report(run, status, is_running=True, now=430.0)
    shown = text(page)
    assert 'data-state="running"' in page
    assert "update 430 of 1,000, epoch 3" in shown
    assert "training loss 1.654 moving mean" in shown
    assert "best BLEU 31.4 at update 400" in shown
    assert "time left 9 min 30 s at most" in shown
    assert "Training" in shown
    status.validating_since = 430.0
    assert "Validating" in text(render_training_report(run, status, is_running=True, now=430.0))
    assert re.findall(r"<figcaption>(.*?)</figcaption>", page) == [
        "Loss",
        "BLEU in validation",
        "chrF++ in validation",
        "Target tokens per second",
        "Learning rate",
        "Gradient norm",
    ]
    assert "Samples of the validation at update 400" in shown
    assert page.count('class="map"') == 2
    assert "Zwei Hunde spielen im Schnee" in shown
    assert "update 100 Zwei Hunde spielen im Schnee" in shown  # an earlier translation
    assert 'value="0.4300"' in page


@pytest.mark.parametrize(
    ("ended", "verdict", "level"),
    [
        ("finished", "Training is complete", "ok"),
        ("no better", "it stopped early, without improvement", "ok"),
        ("interrupted", "Training was interrupted", "warning"),
        (None, "Training was cut off", "warning"),
    ],
)
def test_the_report_of_an_ended_run_says_how_it_ended(tmp_path: Path, ended: str | None, verdict: str, level: str):
    scores = (Score("bleu", 33.333, "nrefs:1", Interval(33.3, 1.2)), Score("chrf", 57.0, "chars"))
    results = [SetScore("test_2016", "trained", 1000, scores)]
    page = render_training_report(write_run(tmp_path / "run", ended=ended), results=results)
    shown = text(page)
    assert verdict in shown
    assert f"verdict {level}" in page
    assert 'data-state="ended"' in page
    assert "<progress" not in page
    assert "time left" not in shown
    assert "test_2016 trained 1,000 33.33 ± 1.20 57.00" in shown


def test_the_page_loads_nothing_and_no_text_becomes_code(tmp_path: Path):
    hostile = "</script><img src=x onerror=alert(1)>\u202e'\""
    page = render_training_report(write_run(tmp_path / "run", hostile=hostile), is_running=True)
    assert "<img" not in page
    assert "\u202e" not in page
    assert not re.findall(r"""(?:src|href)\s*=\s*["']?(?:http|//)""", page)
    assert "connect-src" not in page
    assert page.count("<script>") == 1


def test_a_run_without_a_log_or_without_weights_has_a_page(tmp_path: Path):
    empty = render_training_report(tmp_path, is_running=True)
    assert "Starting" in text(empty)
    run = write_run(tmp_path / "run")
    lines = (run / "log.jsonl").read_text(encoding="utf-8").splitlines()
    changed = []
    for line in lines[:-1]:
        entry = json.loads(line)
        for sample in entry.get("samples", ()):
            del sample["weights"]
        changed.append(json.dumps(entry))
    (run / "log.jsonl").write_text("\n".join([*changed, "[]", '{"kind": "update"}']), encoding="utf-8")
    page = render_training_report(run)
    assert 'class="map"' not in page
    assert "Zwei Hunde" in page


def test_the_loss_of_a_finished_training_is_the_mean_of_its_last_entry(tmp_path: Path):
    run = write_run(tmp_path / "run", ended="finished")
    assert "training loss 1.800 mean of the last 20 updates" in text(render_training_report(run))
