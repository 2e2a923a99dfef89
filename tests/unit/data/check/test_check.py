"""The whole check of real files: what is wrong is named, and what prepare would do is what it then does."""

from pathlib import Path
from typing import Any

import pytest

from dragoman.api import check_corpora, prepare_corpora
from dragoman.data.check.report import Report
from tests.unit.data.preparation.corpus import config, pairs, write_pairs


def check(folder: Path, train: list[dict[str, Any]], **data: Any) -> Report:
    return check_corpora(config(train, **data), folder, measure=False)


def test_a_good_corpus(tmp_path: Path):
    settings = config([{"files": write_pairs(tmp_path, "train", pairs(300))}])
    report = check_corpora(settings, tmp_path, measure=False)
    assert report.fatal == []
    assert report.selection.kept == 280
    assert report.corpora[0].languages["source"]["en"] > 0.9
    assert report.pieces is not None
    assert report.batches is not None
    prepared = prepare_corpora(settings, tmp_path)
    assert prepared.manifest["splits"]["train"]["rows"] == report.selection.kept
    assert sum(report.pieces.histograms["target"]) == 280
    pieces = prepared.manifest["splits"]["train"]["pieces"]
    assert report.batches.target_pieces == pieces["target"] + 280, "with the ends of sentences"
    planned = list(_first_epoch(prepared.plan(settings)))
    assert report.batches.batches == len(planned)


def _first_epoch(plan: Any) -> Any:
    for batch in plan.batches():
        if batch.epoch:
            return
        yield batch


def test_all_faults_are_listed_and_nothing_stops_it(tmp_path: Path):
    files = write_pairs(tmp_path, "train", pairs(300))
    lines = (tmp_path / "train.de").read_bytes().split(b"\n")
    for number in (10, 20, 30):
        lines[number] = b"\xff" + lines[number]
    (tmp_path / "train.de").write_bytes(b"\n".join(lines))
    report = check(tmp_path, [{"files": files}])
    faults = report.corpora[0].summary.faults
    assert faults.counts == {"not UTF-8": 3}
    assert [example.line for example in faults.examples["not UTF-8"]] == [11, 21, 31]
    assert report.fatal == ["3 bad lines must be mended, or left out with --on-bad-line skip"]
    assert any("3 bad lines" in advice for advice in report.advice)
    assert check(tmp_path, [{"files": files}], on_bad_line="skip").fatal == []


def test_a_bad_file_is_named_and_the_others_are_looked_at(tmp_path: Path):
    good, short = write_pairs(tmp_path, "a", pairs(200)), write_pairs(tmp_path, "b", pairs(100, seed=2))
    (tmp_path / "b.de").write_bytes((tmp_path / "b.de").read_bytes().split(b"\n", 1)[1])
    report = check(tmp_path, [{"files": good}, {"files": short}, {"files": ["c.en", "c.de"]}])
    assert len(report.corpora) == 1
    assert report.selection.kept == 180
    assert any("b.en" in line and "100" in line and "99" in line for line in report.fatal)
    assert any("c.en must be a file" in line for line in report.fatal)


def test_nothing_at_all_is_still_a_report(tmp_path: Path):
    report = check(tmp_path, [{"files": ["c.en", "c.de"]}])
    assert report.corpora == []
    assert report.fatal


@pytest.mark.parametrize(
    ("rows", "advice"),
    [
        ([(target, source) for source, target in pairs(300)], "look swapped: exchange its files"),
        ([(source, source) for source, _ in pairs(300)] + pairs(60), "Cleaning would drop 83.3 %"),
        (pairs(200) * 3, "are duplicates; is a file named twice?"),
    ],
)
def test_advice(tmp_path: Path, rows: list[tuple[str, str]], advice: str):
    report = check(tmp_path, [{"files": write_pairs(tmp_path, "train", rows)}])
    assert any(advice in line for line in report.advice), report.advice


def test_leaks_are_told(tmp_path: Path):
    rows = pairs(300)
    train, test = write_pairs(tmp_path, "train", rows), write_pairs(tmp_path, "test", rows[:15])
    report = check(tmp_path, [{"files": train}], test=[{"files": test}])
    assert report.selection.drops.counts["pair also in test set test.en"] == 15
    assert any(line.startswith("15 training pairs share text with a held-out set") for line in report.advice)


def test_pairs_longer_than_a_batch_are_no_plan(tmp_path: Path):
    settings = config([{"files": write_pairs(tmp_path, "train", pairs(300))}])
    small = settings.model_copy(update={"training": settings.training.model_copy(update={"batch_tokens": 8})})
    assert check_corpora(small, tmp_path, measure=False).batches is None


@pytest.mark.slow
def test_the_cost_is_measured(tmp_path: Path):
    settings = config([{"files": write_pairs(tmp_path, "train", pairs(300))}])
    cost = check_corpora(settings, tmp_path).cost
    assert cost is not None
    assert cost.pieces_per_second > 0
    assert cost.memory_bytes > 4 * cost.parameters
    assert cost.updates == settings.training.max_updates
