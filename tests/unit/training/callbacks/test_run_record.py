"""What a run leaves behind: log.jsonl, run.json and curves."""

from __future__ import annotations

import hashlib
import json
import math
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import dragoman
from dragoman.config import Config, load_config, to_toml
from dragoman.errors import TrainingError
from dragoman.training.callbacks.events import (
    StepEvent,
    TrainerCallback,
    TrainingEnded,
    TrainingStarted,
    ValidationEvent,
    ValidationSample,
    ValidationScores,
)
from dragoman.training.callbacks.run_record import RunRecord

EVERY = 10


@pytest.fixture
def config() -> Config:
    return load_config("pairs-30k", [f"training.log_every={EVERY}"])


def begin(
    folder: Path, update: int = 0, *, last_validated: int | None = None, drawn: int | None = None
) -> TrainingStarted:
    """All is validated, and each update has drawn a batch, by default."""
    last_validated, drawn = (update if number is None else number for number in (last_validated, drawn))
    return TrainingStarted(folder, 1234, 2, "cpu", update, 100, last_validated, drawn)


def moment(update: int, **changes: Any) -> StepEvent:
    values = {"loss": 100 / update, "tokens": 50, "gradient_norm": 0.5, "learning_rate": 0.001, "seconds": 0.1}
    values["drawn"] = update
    return StepEvent(update=update, epoch=1 + update // 40, **(values | changes))


def validation(update: int, chrf: float, *, is_best: bool = True, translation: str = "ein Haus") -> ValidationEvent:
    samples = (ValidationSample("a house", "ein Haus", translation),)
    scored = ValidationScores({"chrf": chrf}, {"chrf": "nrefs:1|case:mixed"}, samples)
    return ValidationEvent(update, 2.5, scored, is_best, update, chrf, "chrf", 1.5)


def end(update: int, why: str = "finished") -> TrainingEnded:
    return TrainingEnded(why, update, 12.0, 5000, 20, 40.0, "chrf")


def entries(folder: Path, kind: str | None = None) -> list[dict[str, Any]]:
    lines = (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()
    found = [json.loads(line, parse_constant=pytest.fail) for line in lines]
    return [entry for entry in found if kind in {None, entry["kind"]}]


def run_json(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "run.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    return found


def record(folder: Path, config: Config, **options: Any) -> TrainerCallback:
    return RunRecord(folder, config, facts={"fingerprint": "abc", "pairs": 29_000}, **options)


def updates(observer: TrainerCallback, numbers: range) -> None:
    for number in numbers:
        observer.on_update(moment(number))


def test_an_entry_sums_up_the_updates_since_the_last_one(tmp_path: Path, config: Config):
    observer = record(tmp_path, config)
    observer.on_start(begin(tmp_path))
    for number in range(1, 11):
        observer.on_update(moment(number, loss=float(number), tokens=number, gradient_norm=number / 10))
    (entry,) = entries(tmp_path, "update")
    assert entry["loss"] == pytest.approx(sum(n * n for n in range(1, 11)) / 55)
    assert entry["gradient_norm"] == pytest.approx(0.55)
    assert (entry["update"], entry["epoch"], entry["updates"], entry["tokens"]) == (10, 1, 10, 55)
    assert entry["tokens_per_second"] == pytest.approx(55)
    assert entry["learning_rate"] == 0.001
    assert entry["time"].endswith("+00:00")


def test_a_skipped_update_has_its_own_entry_and_no_part_in_the_mean(tmp_path: Path, config: Config):
    observer = record(tmp_path, config)
    observer.on_start(begin(tmp_path))
    updates(observer, range(1, 5))
    observer.on_update(moment(5, loss=math.nan, gradient_norm=math.inf, skipped="its loss is not finite"))
    updates(observer, range(6, 11))
    (skipped,) = entries(tmp_path, "skipped")
    assert (skipped["update"], skipped["why"], skipped["loss"]) == (5, "its loss is not finite", None)
    (entry,) = entries(tmp_path, "update")
    assert (entry["updates"], entry["tokens"]) == (9, 450)
    assert entry["loss"] == pytest.approx(sum(100 / n for n in range(1, 11) if n != 5) / 9)
    assert entry["tokens_per_second"] == pytest.approx(450)  # the time of the skipped one was spent


def test_ordinary_updates_write_nothing_and_cost_nothing(tmp_path: Path):
    observer = record(tmp_path, load_config("pairs-30k", ["training.log_every=10000"]))
    observer.on_start(begin(tmp_path))
    observer.on_message("begun")
    before = (tmp_path / "log.jsonl").read_bytes()
    moments = [moment(number) for number in range(1, 10_000)]
    began = time.process_time()
    for one in moments:
        observer.on_update(one)
    assert time.process_time() - began < 0.5  # 50 µs each; it takes about 1
    assert (tmp_path / "log.jsonl").read_bytes() == before


def test_the_log_tells_everything_in_order(tmp_path: Path, config: Config):
    observer = record(tmp_path, config)
    observer.on_message("step_40 is damaged")  # before it began
    observer.on_start(begin(tmp_path))
    updates(observer, range(1, 14))
    observer.on_validation_start(13)
    observer.on_validation_end(validation(13, 30.0, translation="\udcffein\n\x1b[2J\u2028Haus"))
    observer.on_checkpoint_start(13)
    observer.on_checkpoint_end(13, tmp_path / "checkpoints" / "step_13")
    observer.on_message("memory is short")
    observer.on_update(moment(14))
    observer.on_end(end(14))
    found = [(entry["kind"], entry["update"]) for entry in entries(tmp_path)]
    assert found[0] == ("note", 0)
    assert found[1:] == [
        ("update", 10),
        ("validation", 13),
        ("update", 13),
        ("checkpoint", 13),
        ("note", 13),
        ("update", 14),
        ("end", 14),
    ]
    (seen,) = entries(tmp_path, "validation")
    assert seen["samples"][0]["translation"] == "\udcffein\n\x1b[2J\u2028Haus"
    assert (seen["is_best"], seen["best_value"], seen["metric"]) == (True, 30.0, "chrf")
    assert seen["scores"] == {"chrf": 30.0}
    assert sum(entry["updates"] for entry in entries(tmp_path, "update")) == 14


def test_a_run_that_goes_on_takes_back_what_came_after(tmp_path: Path, config: Config):
    first = record(tmp_path, config)
    first.on_start(begin(tmp_path))
    updates(first, range(1, 31))
    first.on_validation_end(validation(20, 30.0))
    first.on_validation_end(validation(30, 40.0))
    with (tmp_path / "log.jsonl").open("ab") as log:
        log.write(b'{"kind": "update", "upd')  # killed while it wrote
    again = record(tmp_path, config)
    again.on_start(begin(tmp_path, 20))
    assert [entry["update"] for entry in entries(tmp_path, "update")] == [10, 20]
    assert run_json(tmp_path)["best"]["update"] == 20
    assert not any("cannot be read" in entry["text"] for entry in entries(tmp_path, "note"))
    updates(again, range(21, 31))
    assert [entry["update"] for entry in entries(tmp_path, "update")] == [10, 20, 30]
    assert not list(tmp_path.glob("*.tmp"))


def test_a_run_that_goes_back_by_itself_keeps_what_it_said_of_it(tmp_path: Path, config: Config):
    observer = record(tmp_path, config)
    observer.on_start(begin(tmp_path))
    updates(observer, range(1, 34))
    observer.on_update(moment(34, loss=math.inf, skipped="its loss is not finite"))
    observer.on_message("rolled back to update 20")
    updates(observer, range(21, 31))
    assert [entry["update"] for entry in entries(tmp_path, "update")] == [10, 20, 30]
    assert [entry["updates"] for entry in entries(tmp_path, "update")] == [10, 10, 10]
    for kind in ("skipped", "note"):
        last = entries(tmp_path, kind)[-1]
        assert (last["update"], last["at_update"]) == (20, 34)
    record(tmp_path, config).on_start(begin(tmp_path, 25, drawn=39))
    assert entries(tmp_path, "skipped")
    record(tmp_path, config).on_start(begin(tmp_path, 20))  # killed before the next checkpoint
    assert not entries(tmp_path, "skipped")
    assert not any("rolled back" in entry["text"] for entry in entries(tmp_path, "note"))


def test_a_validation_that_no_checkpoint_knows_of_is_taken_back(tmp_path: Path, config: Config):
    first = record(tmp_path, config)
    first.on_start(begin(tmp_path))
    updates(first, range(1, 21))
    first.on_validation_end(validation(10, 30.0))
    first.on_validation_end(validation(20, 40.0))
    record(tmp_path, config).on_start(begin(tmp_path, 20, last_validated=10))
    assert [entry["update"] for entry in entries(tmp_path, "validation")] == [10]
    assert [entry["update"] for entry in entries(tmp_path, "update")] == [10, 20]
    assert run_json(tmp_path)["best"]["update"] == 10


def test_all_updates_are_written_before_their_checkpoint_is(tmp_path: Path, config: Config):
    observer = record(tmp_path, config)
    observer.on_start(begin(tmp_path))
    updates(observer, range(1, 14))
    observer.on_checkpoint_start(13)
    assert [entry["update"] for entry in entries(tmp_path, "update")] == [10, 13]


def test_lines_that_are_damaged_are_left_out_and_noted(tmp_path: Path, config: Config):
    (tmp_path / "log.jsonl").write_bytes(
        b'\x00\x00\x00\n[1]\n{"kind": "note", "update": 3, "text": "x"}\n{}\n{"update": 1, "drawn": ""}\n'
    )
    told: list[str] = []
    record(tmp_path, config, report=told.append).on_start(begin(tmp_path, 5))
    assert entries(tmp_path)[0] == {"kind": "note", "update": 3, "text": "x"}
    assert "log.jsonl had 4 invalid lines" in told[0]


@given(cut=st.integers(min_value=0), update=st.integers(min_value=0, max_value=40))
def test_wherever_the_log_was_torn_it_is_a_log_again(tmp_path_factory: pytest.TempPathFactory, cut: int, update: int):
    folder = tmp_path_factory.mktemp("run")
    config = load_config("pairs-30k", ["training.log_every=4"])
    first = record(folder, config)
    first.on_start(begin(folder))
    updates(first, range(1, 41))
    log = folder / "log.jsonl"
    content = log.read_bytes()
    log.write_bytes(content[: cut % (len(content) + 1)])
    record(folder, config).on_start(begin(folder, update))
    found = [entry["update"] for entry in entries(folder, "update")]
    assert found == [4 * (n + 1) for n in range(len(found))]
    assert all(number <= update for number in found)


def test_run_json_says_what_ran_and_how_it_ended(tmp_path: Path, config: Config):
    first = record(tmp_path, config)
    first.on_start(begin(tmp_path))
    begun = run_json(tmp_path)
    assert begun["dragoman"] == dragoman.__version__
    assert begun["torch"] == torch.__version__
    assert "cores" in begun["machine"]
    assert (begun["processes"], begun["device"], begun["parameters"]) == (2, "cpu", 1234)
    assert begun["config_sha256"] == hashlib.sha256(to_toml(config).encode()).hexdigest()
    assert begun["data"] == {"fingerprint": "abc", "pairs": 29_000}
    assert (begun["best"], begun["ended"], begun["starts"][0]["ended"]) == (None, None, None)
    first.on_validation_end(validation(20, 40.0))
    first.on_validation_end(validation(30, 35.0, is_best=False))
    second = record(tmp_path, config)
    second.on_start(begin(tmp_path, 30))
    second.on_end(end(100))
    found = run_json(tmp_path)
    assert found["ended"] == "finished"
    assert [(s["from_update"], s["update"], s["ended"]) for s in found["starts"]] == [
        (0, 30, "cut off"),
        (30, 100, "finished"),
    ]
    assert found["seconds"] == pytest.approx(sum(start["seconds"] for start in found["starts"]))
    assert found["starts"][1]["seconds"] == 12.0
    assert (found["best"]["update"], found["last"]["update"]) == (20, 30)
    assert found["best"]["scores"] == {"chrf": 40.0}
    assert found["best"]["signatures"] == {"chrf": "nrefs:1|case:mixed"}


def test_a_log_that_cannot_be_written_ends_training_with_a_reason(tmp_path: Path, config: Config):
    observer = record(tmp_path, config)
    observer.on_start(begin(tmp_path))
    (tmp_path / "log.jsonl").unlink(missing_ok=True)
    (tmp_path / "log.jsonl").mkdir()
    with pytest.raises(TrainingError, match=r"log\.jsonl cannot be written"):
        updates(observer, range(1, 11))
