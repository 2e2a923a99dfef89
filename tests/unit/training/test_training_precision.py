"""The automatic precision is measured, the same on all processes, and kept by a resumed run."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.config import Config, load_config, to_toml
from dragoman.environment import machine_info
from dragoman.errors import ConfigError
from dragoman.training import dry_run
from dragoman.training.distributed.process_group import ProcessGroup
from dragoman.training.dry_run import faster_precision, measured_precision, with_precision
from dragoman.training.step import LossModule
from testkit.tiny_project import tiny_training

CPU = torch.device("cpu")
ALONE = ProcessGroup(0, 1, CPU, None)
SIZES = (1000, 1000)


@pytest.fixture
def config() -> Config:
    return load_config("pairs-30k")


@pytest.mark.parametrize(("slower", "chosen"), [("fp32", "bf16"), ("bf16", "fp32")])
@pytest.mark.parametrize("preset", ["vaswani2017-base", "luong2015-desk"])
def test_the_faster_is_chosen(preset: str, slower: str, chosen: str, monkeypatch: pytest.MonkeyPatch):
    class Slow(LossModule):
        def forward(self, *given: Any) -> Any:
            end = time.thread_time() + (0.2 if self.config.precision == slower else 0.0)
            while time.thread_time() < end:
                pass
            return super().forward(*given)

    monkeypatch.setattr(dry_run, "LossModule", Slow)
    monkeypatch.setattr(dry_run, "_PRECISION_TOKENS", (16, 16))
    monkeypatch.setattr(dry_run, "_PRECISION_TRIALS", 1)
    assert faster_precision(tiny_training(preset), SIZES, CPU) == chosen


def test_an_error_of_the_measurement_is_that_of_all_processes(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    sent: list[object] = []

    def fail(*given: object) -> str:
        raise ConfigError("no")

    monkeypatch.setattr(dry_run, "faster_precision", fail)
    monkeypatch.setattr(ProcessGroup, "broadcast", lambda _, value: sent.append(value))
    with pytest.raises(ConfigError, match="no"):
        with_precision(config, SIZES, tmp_path, ALONE, resume=False)
    assert sent == ["no"], "the others wait for it"


def test_measuring_changes_nothing_else():
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    faster_precision(tiny_training("luong2015-desk"), SIZES, CPU)
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.skipif(
    "AMX bf16" not in machine_info(accelerators=False).features, reason="the processor has no AMX, so fp32 may be right"
)
@pytest.mark.slow
def test_a_processor_that_multiplies_bf16(config: Config):
    assert faster_precision(config, SIZES, CPU) == "bf16"


def test_a_resumed_run_keeps_its_precision_on_another_machine(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(dry_run, "faster_precision", lambda *given: "bf16")
    started = with_precision(config, SIZES, tmp_path, ALONE, resume=False)
    (tmp_path / "dragoman.toml").write_text(to_toml(started), encoding="utf-8")
    monkeypatch.setattr(dry_run, "faster_precision", lambda *given: "fp32")
    assert with_precision(config, SIZES, tmp_path, ALONE, resume=True).training.precision == "bf16"
    assert with_precision(config, SIZES, tmp_path, ALONE, resume=False).training.precision == "fp32"


def test_a_given_precision_is_kept(tmp_path: Path):
    fixed = load_config("pairs-30k", ['training.precision="bf16"'])
    assert measured_precision(fixed, SIZES, CPU) is fixed
    assert with_precision(fixed, SIZES, tmp_path, ALONE, resume=False) is fixed
