"""The dry run of `check` trains what the training will train."""

import time

import pytest
import torch
from torch import nn
from torch.optim import Optimizer

from dragoman.config import LoraConfig, TrainingConfig
from dragoman.training.dry_run import measure_updates
from dragoman.training.optimizer import build_optimizer
from testkit.presets import EVERY_LENGTH, TARGET_VOCAB, sentences
from testkit.tiny_project import tiny_training


@pytest.mark.parametrize("change", [{}, {"freeze": ["encoder.*"]}, {"lora": LoraConfig(rank=2)}])
def test_only_what_is_trained_has_optimizer_state(change: dict[str, object], monkeypatch: pytest.MonkeyPatch):
    built: list[tuple[nn.Module, Optimizer]] = []

    def watched(model: nn.Module, config: TrainingConfig) -> Optimizer:
        optimizer = build_optimizer(model, config)
        built.append((model, optimizer))
        return optimizer

    monkeypatch.setattr("dragoman.training.dry_run.build_optimizer", watched)
    monkeypatch.setattr("dragoman.training.dry_run._SECONDS", 0.0)
    config = tiny_training("vaswani2017-desk")
    config = config.model_copy(update={"training": config.training.model_copy(update=change)})
    found = measure_updates(config, (TARGET_VOCAB, TARGET_VOCAB), [sentences(EVERY_LENGTH)])
    ((model, optimizer),) = built
    trained = [name for name, parameter in model.named_parameters() if parameter in optimizer.state]
    assert found.parameters == sum(parameter.numel() for parameter in model.parameters())
    assert (len(trained) == len(list(model.parameters()))) == (change == {})
    if "lora" in change:
        assert all(name.endswith((".lora_A", ".lora_B")) for name in trained)


def test_threads_that_wait_for_each_other_are_not_used(monkeypatch: pytest.MonkeyPatch):
    used: list[int] = []

    def update(*_: object) -> None:
        used.append(torch.get_num_threads())
        time.sleep(0.05 if used[-1] > 1 else 0.001)

    monkeypatch.setattr("dragoman.training.dry_run.train_step", update)
    monkeypatch.setattr("dragoman.training.dry_run._SECONDS", 0.01)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        config = tiny_training("vaswani2017-desk", "training.threads=0")
        measure_updates(config, (TARGET_VOCAB, TARGET_VOCAB), [sentences(EVERY_LENGTH)])
        assert used[:4] == [1, 1, 2, 1]
        assert set(used[3:]) == {1}
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
