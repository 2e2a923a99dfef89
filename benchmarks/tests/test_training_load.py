"""Training next to a busy process is nearly as fast as with the better of one and two threads."""

import argparse
from pathlib import Path

import pytest

from benchmarks.training_load import automatic_ratio, measure_speed
from benchmarks.training_loop import make_project


@pytest.mark.measure
@pytest.mark.parametrize("number", [0, 1])
def test_automatic_threads_are_as_fast_as_the_better_number(corpora: Path, tmp_path: Path, number: int):
    make_project(corpora / "multi30k", tmp_path)
    (tmp_path / "model.toml").write_text('extends = "pairs-5k"\n', encoding="utf-8")
    options = argparse.Namespace(work=tmp_path, precisions=["fp32"], busy=[number], rounds=3, threads=2)
    options.seconds, options.settle = 20.0, 10.0
    (figure,) = measure_speed(options)
    assert automatic_ratio(figure) >= 0.9
