"""The processes that train together, seen from one; several are tested in tests/equivalence/test_world_size.py."""

import pytest
import torch
from torch import distributed

from dragoman.config import TrainingConfig
from dragoman.errors import ConfigError
from dragoman.training.distributed import process_group
from dragoman.training.distributed.process_group import ProcessGroup, join_process_group
from dragoman.training.trainer import Trainer
from testkit.presets import fresh_model, tiny_config

LAUNCHERS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID")


@pytest.fixture(autouse=True)
def _nobody_launched_us(monkeypatch: pytest.MonkeyPatch):
    for name in LAUNCHERS:
        monkeypatch.delenv(name, raising=False)


def test_alone_there_is_nobody_to_ask():
    with join_process_group() as world:
        assert (world.rank, world.size, world.is_main) == (0, 1, True)
        assert not distributed.is_initialized()
        assert world.all_gather([1, 2.5]) == [[1, 2.5]]
        assert world.broadcast({"a": [1]}) == {"a": [1]}


def test_one_task_of_slurm_is_alone(monkeypatch: pytest.MonkeyPatch):
    for name, value in (("MASTER_ADDR", "localhost"), ("SLURM_PROCID", "0"), ("SLURM_NTASKS", "1")):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    with join_process_group() as world:
        assert world.size == 1


def test_a_group_that_is_there_already_is_used_and_left_alone(tmp_path):
    distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/meet", rank=0, world_size=1)
    try:
        with join_process_group() as world:
            assert (world.rank, world.size, world.device) == (0, 1, torch.device("cpu"))
        assert distributed.is_initialized()
    finally:
        distributed.destroy_process_group()


def test_restarts_on_several_machines_need_a_new_store(monkeypatch: pytest.MonkeyPatch):
    launched = {"RANK": "0", "WORLD_SIZE": "2", "GROUP_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
    launched |= {"TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_MAX_RESTARTS": "3"}
    for name, value in launched.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match="TORCH_DISABLE_SHARE_RDZV_TCP_STORE is not set"), join_process_group("cpu"):
        pass
    monkeypatch.setenv("TORCHELASTIC_MAX_RESTARTS", "0")
    assert process_group._fresh_store() is None


@pytest.mark.parametrize(("batches", "processes", "mend"), [(1, 2, 2), (3, 2, 4), (6, 4, 8)])
def test_batches_must_divide_among_the_processes(batches: int, processes: int, mend: int):
    config = type("Whole", (), {"training": TrainingConfig(micro_batches=batches)})()
    model = fresh_model(tiny_config("luong2015-desk"))
    loader = type("Nothing", (), {"state": lambda self: {}})()
    with pytest.raises(ConfigError, match=f"multiple of the number of processes = {processes}, got {batches}.*={mend}"):
        Trainer(config, model, loader, None, None, group=ProcessGroup(0, processes))  # type: ignore[arg-type]
