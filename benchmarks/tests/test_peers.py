"""The comparison with other toolkits: how their logs are read, and how batches are made. Nothing is installed."""

import gzip
import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.peers.contenders import Contender, Place, contenders
from benchmarks.peers.corpus import bucket, prepare
from benchmarks.peers.drivers.batches import Corpus, cut, learning_rate, padded, target_tokens
from benchmarks.peers.environments import last_line
from benchmarks.peers.running import Job, Measured, RunError, complaint, measure
from benchmarks.peers.speed import Side, compare
from benchmarks.peers.windows import (
    Speed,
    Window,
    driver_window,
    joey_window,
    marian_window,
    opennmt_window,
)
from dragoman.config import TrainingConfig
from dragoman.training import learning_rate as our_learning_rate

OPENNMT_LINE = (
    "[2026-11-15 08:25:24,200 INFO] Step  4/100000; acc: 8.1; ppl: 2798.8; xent: 7.9; lr: 0.00100; "
    "sents:     548; bsz: 3654/3760/274; 532/548 tok/s;     34 sec;"
)
JOEY_LINE = (
    "2026-11-15 08:33:26,040 - INFO - joeynmt.training - Epoch   1, Step:        4, Batch Loss:     8.822022, "
    "Batch Acc: 0.060295, Tokens per Sec:      403, Lr: 0.000100"
)
MARIAN_LINE = (
    "[2026-11-15 08:29:09] Ep. 1 : Up. 1,002 : Sen. 293 : Cost 8.99854469 * 4,102 @ 4,102 after 4,102 : "
    "Time 17.32s : 236.78 words/s : gNorm 0.3112"
)


def test_logs_are_read():
    assert opennmt_window(OPENNMT_LINE, 9.0) == Window(2, 7520, 7520 / 548)
    assert joey_window(JOEY_LINE, 10.0) == Window(2, 4030, 10.0)
    assert marian_window(MARIAN_LINE, 9.0) == Window(1, 4102, 17.32)
    assert driver_window('{"updates": 1, "tokens": 4110, "seconds": 2.5}', 9.0) == Window(1, 4110, 2.5)


@pytest.mark.parametrize("read", [opennmt_window, joey_window, marian_window, driver_window])
def test_other_lines_say_nothing(read):
    for line in ("", "Traceback (most recent call last):", "[config] disp-freq: 1u", "{}"):
        assert read(line, 1.0) is None


def test_a_speed_weighs_windows_by_their_time():
    speed = Speed.of([Window(1, 100, 1.0), Window(3, 900, 1.0)])
    assert (speed.tokens_per_second, speed.tokens_per_update, speed.seconds) == (500.0, 250.0, 2.0)


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), min_size=1, max_size=200), st.integers(60, 500))
def test_every_pair_is_in_one_batch_of_about_the_budget(lengths: list[tuple[int, int]], tokens: int):
    batches = bucket(lengths, tokens)
    assert sorted(row for rows in batches for row in rows) == list(range(len(lengths)))
    for rows in batches:
        assert (len(rows) - 1) * (max(lengths[row][1] for row in rows) + 1) < tokens + len(rows) * 61
    for rows in batches[:-1]:
        assert len(rows) * (max(lengths[row][1] for row in rows) + 1) >= tokens


def test_drivers_read_what_was_prepared(tmp_path: Path):
    words = ["ein", "Haus", "mit", "roter", "Tür", "und", "Fenster", "am", "See"]
    for name in ("train", "val", "test_2016_flickr"):
        for side in ("en", "de"):
            lines = [" ".join(words[: 1 + row % 9]) + "\u00a0.\n" for row in range(90)]
            with gzip.open(tmp_path / f"{name}.{side}.gz", "wt", encoding="utf-8") as out:
                out.write("".join(lines))
    tokenizer = prepare(tmp_path, tmp_path / "data", [64])
    corpus = Corpus.read(tmp_path / "data", 64)
    assert [tokenizer.decode(target) for _, target in corpus.train[:2]] == ["ein .", "ein Haus ."]
    assert len(corpus.subwords) == tokenizer.size
    rows, again = corpus.rows(), corpus.rows()
    epochs = [[next(rows) for _ in corpus.batches] for _ in range(2)]
    assert epochs == [[next(again) for _ in corpus.batches] for _ in range(2)]
    assert all(sorted(epoch) == sorted(corpus.batches) for epoch in epochs)
    first = json.loads((tmp_path / "data" / "vocab.marian.yml").read_text(encoding="utf-8").splitlines()[0][:-3])
    assert first == "</s>"


def test_batches_are_padded_and_counted():
    assert padded([[5, 6], [7]]).tolist() == [[5, 6], [7, 0]]
    assert target_tokens([([5], [6, 7]), ([5], [6])]) == 5
    assert cut([8, 9, 3, 8]) == [8, 9]
    assert cut([0, 8, 1, 9]) == [8, 9]


def test_all_sides_learn_at_the_same_rate():
    config = TrainingConfig(learning_rate=2e-3, schedule="inverse-sqrt", warmup_updates=40)
    for update in (1, 20, 40, 41, 1000):
        assert learning_rate(update, 2e-3, 40) == pytest.approx(our_learning_rate(config, update))


def test_errors_are_told_by_their_line():
    assert last_line("a\nb \n\n") == "b"
    assert complaint("ModuleNotFoundError: No module named 'x'\nbye") == "ModuleNotFoundError: No module named 'x'"


def _job(code: str, folder: Path) -> Job:
    return Job([sys.executable, "-c", code], driver_window, 1, folder)


def test_a_process_is_measured_and_ended(tmp_path: Path):
    code = 'import time\nwhile True:\n    time.sleep(0.01)\n    print(\'{"updates": 1, "tokens": 10, "seconds": 0.1}\')'
    found = measure(_job(code, tmp_path), seconds=0.5, warmup=0.05)
    assert found.speed.tokens_per_second == pytest.approx(100)


def test_a_crash_is_reported(tmp_path: Path):
    with pytest.raises(RunError, match="ValueError: no such option"):
        measure(_job("raise ValueError('no such option')", tmp_path), seconds=1, warmup=0)


def test_every_job_can_be_described(tmp_path: Path):
    place = Place(tmp_path, tmp_path, Path(sys.executable), 2)
    for how in ("step", "train"):
        for contender in contenders(["R", "T"], how):
            assert contender.job(place, contender.model).command


def test_the_table_names_the_fastest_and_the_failed():
    def side(name: str, environment: str | None, rate: float, error: str = "") -> Side:
        measured = [Measured(Speed(rate, 4000, 60), 2**30)] if rate else []
        return Side(Contender(name, "T", environment, lambda place, model: _job("", place.scratch)), measured, error)

    sides = [
        side("Dragoman, bf16", None, 5000),
        side("A", "a", 2000),
        side("B", "b", 1000),
        side("C", "c", 0, "it: no"),
    ]
    text = compare(sides)
    assert "Beside the fastest, A:" in text
    assert "**2.50** times as fast" in text
    assert "C did not run: `it: no`" in text
