"""The automatic precision is chosen from the device, and kept by a resumed run."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from dragoman.api.training import training_precision
from dragoman.api.training.training_precision import has_fast_bf16, precision_of_device, with_precision
from dragoman.config import Config, load_config, to_toml
from dragoman.environment import machine_info
from dragoman.training.distributed.process_group import ProcessGroup

ALONE = ProcessGroup(0, 1, torch.device("cpu"), None)


@pytest.fixture
def config() -> Config:
    return load_config("pairs-30k")


@pytest.mark.parametrize(("is_fast", "chosen"), [(True, "bf16"), (False, "fp32")])
def test_it_depends_on_the_device(
    config: Config, is_fast: bool, chosen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(training_precision, "has_fast_bf16", lambda device: is_fast)
    assert config.training.precision == "auto"
    assert with_precision(config, tmp_path, ALONE, resume=False).training.precision == chosen


def test_a_resumed_run_keeps_its_precision_on_another_machine(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(training_precision, "has_fast_bf16", lambda device: True)
    started = with_precision(config, tmp_path, ALONE, resume=False)
    (tmp_path / "dragoman.toml").write_text(to_toml(started), encoding="utf-8")
    monkeypatch.setattr(training_precision, "has_fast_bf16", lambda device: False)
    assert with_precision(config, tmp_path, ALONE, resume=True).training.precision == "bf16"
    assert with_precision(config, tmp_path, ALONE, resume=False).training.precision == "fp32"


def test_a_given_precision_is_kept(tmp_path: Path):
    fixed = load_config("pairs-30k", ['training.precision="bf16"'])
    assert precision_of_device(fixed, torch.device("cpu")) is fixed
    assert with_precision(fixed, tmp_path, ALONE, resume=False) is fixed


def test_this_processor():
    assert has_fast_bf16(torch.device("cpu")) == ("AMX bf16" in machine_info(accelerators=False).features)
    assert not has_fast_bf16(torch.device("meta"))
