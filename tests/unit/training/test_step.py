"""One update: what it changes, what it leaves alone, and that it is a function of its inputs."""

import copy
import math
from collections.abc import Iterable
from typing import Any

import pytest
import torch
from torch import Tensor

from dragoman.config import TrainingConfig
from dragoman.data.batch import Batch
from dragoman.models import Model
from dragoman.nn.batches import is_real
from dragoman.nn.stateless_noise import Noise
from dragoman.training.optimizer import OPTIMIZERS, build_optimizer
from dragoman.training.step import RewardBaseline, UpdateResult, objective, train_step
from testkit.presets import EVERY_LENGTH, fresh_model, sentences, tiny_config

MODELS = ["luong2015-local-p-desk", "bahdanau2015-desk", "xu2015-desk", "sutskever2014-desk", "pairs-5k"]


def start(name: str, config: TrainingConfig) -> tuple[Model[Any, Any], torch.optim.Optimizer, Batch]:
    torch.manual_seed(3)
    model = fresh_model(tiny_config(name))
    return model, build_optimizer(model, config), sentences(EVERY_LENGTH)


def weights(model: Model[Any, Any]) -> dict[str, Tensor]:
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def norm(tensors: Iterable[Tensor]) -> float:
    return math.sqrt(sum(float(tensor.double().square().sum()) for tensor in tensors))


def train(name: str, config: TrainingConfig, updates: int) -> tuple[list[UpdateResult], dict[str, Tensor]]:
    """Some updates on one batch, from the same start every time."""
    model, optimizer, batch = start(name, config)
    done: list[UpdateResult] = []
    for number in range(1, updates + 1):
        done.append(train_step(model, optimizer, batch, config, number, done[-1].baseline if done else None))
    return done, weights(model)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("name", MODELS)
def test_an_update_changes_every_weight(name: str, precision: Any):
    config = TrainingConfig(precision=precision, learning_rate=0.1)
    model, optimizer, batch = start(name, config)
    before = weights(model)
    update = train_step(model, optimizer, batch, config, 1)
    for parameter, after in weights(model).items():
        assert after.dtype == torch.float32, parameter
        assert after.isfinite().all(), parameter
        assert not torch.equal(after, before[parameter]), parameter
    assert update.tokens == batch.target_tokens
    assert update.learning_rate == 0.1
    assert math.isfinite(update.loss)
    assert update.gradient_norm > 0


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("name", MODELS)
def test_the_loss_falls(name: str, precision: Any):
    config = TrainingConfig(precision=precision, learning_rate=0.02, clip_norm=1.0)
    done, _ = train(name, config, 60)
    assert done[-1].loss < 0.75 * done[0].loss


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_optimizer_lowers_the_loss(optimizer: Any):
    rate = {"sgd": 0.5, "adadelta": 1.0}.get(optimizer, 0.02)
    config = TrainingConfig(optimizer=optimizer, learning_rate=rate, epsilon=1e-6, clip_norm=0.0)
    done, _ = train("luong2015-desk", config, 40)
    assert done[-1].loss < done[0].loss - 0.05


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("name", MODELS)
def test_the_same_start_gives_the_same_bits(name: str, precision: Any):
    config = TrainingConfig(precision=precision, coverage_weight=0.1, label_smoothing=0.1)
    first, first_weights = train(name, config, 3)
    again, again_weights = train(name, config, 3)
    assert first == again
    for parameter, found in again_weights.items():
        assert torch.equal(found, first_weights[parameter]), parameter


@pytest.mark.parametrize("name", MODELS)
def test_a_copy_of_the_state_goes_on_as_the_original(name: str):
    """The update's number is all the randomness there is: no generator has to be saved."""
    config = TrainingConfig()
    model, optimizer, batch = start(name, config)
    baseline = train_step(model, optimizer, batch, config, 1).baseline
    saved = copy.deepcopy((model.state_dict(), optimizer.state_dict()))
    torch.manual_seed(99)
    straight_on = train_step(model, optimizer, batch, config, 2, baseline)
    resumed_model, resumed_optimizer, _ = start(name, config)
    resumed_model.load_state_dict(saved[0])
    resumed_optimizer.load_state_dict(saved[1])
    resumed = train_step(resumed_model, resumed_optimizer, batch, config, 2, baseline)
    assert resumed == straight_on
    for parameter, found in weights(resumed_model).items():
        assert torch.equal(found, weights(model)[parameter]), parameter


@pytest.mark.parametrize("change", [{"seed": 2}, {"update": 2}, {"rows": 100}])
def test_dropout_depends_on_seed_update_and_sentence(change: dict[str, int]):
    def loss(seed: int = 1, update: int = 1, rows: int = 0) -> float:
        config = TrainingConfig(seed=seed)
        model, optimizer, batch = start("pairs-5k", config)
        moved = Batch(**{**vars(batch), "rows": batch.rows + rows})
        return train_step(model, optimizer, moved, config, update).loss

    assert loss() == loss()
    assert loss() != loss(**change)


def test_a_gradient_beyond_the_limit_is_scaled_to_it():
    free, clipped = (TrainingConfig(optimizer="sgd", learning_rate=1.0, clip_norm=limit) for limit in (0.0, 0.01))
    steps = []
    for config in (free, clipped):
        model, optimizer, batch = start("luong2015-desk", config)
        before = weights(model)
        update = train_step(model, optimizer, batch, config, 1)
        steps.append({name: after - before[name] for name, after in weights(model).items()})
        assert update.gradient_norm > 0.01, "reported is the norm before clipping"
    assert norm(steps[0].values()) > 0.02
    assert norm(steps[1].values()) == pytest.approx(0.01, rel=1e-3)
    ratio = norm(steps[1].values()) / norm(steps[0].values())
    for name, step in steps[1].items():
        torch.testing.assert_close(step, steps[0][name] * ratio, rtol=1e-3, atol=1e-6)


def test_a_gradient_within_the_limit_is_left_alone():
    results = [
        train("luong2015-desk", TrainingConfig(optimizer="sgd", learning_rate=1.0, clip_norm=limit), 1)
        for limit in (0.0, 1e6)
    ]
    (free, free_weights), (limited, limited_weights) = results
    assert free[0].gradient_norm == limited[0].gradient_norm
    for name, found in limited_weights.items():
        torch.testing.assert_close(found, free_weights[name], rtol=0.0, atol=1e-7)


def test_the_gradient_is_that_of_the_mean_loss_of_a_token():
    """So that a rate means the same for any batch_tokens."""
    config = TrainingConfig(optimizer="sgd", learning_rate=1.0, clip_norm=0.0)
    model, optimizer, batch = start("sutskever2014-desk", config)
    noise = Noise.of(config.seed, 1, batch.rows)
    result = objective(model, batch, config, noise, RewardBaseline(0.9))
    wanted = torch.autograd.grad(result.total / batch.target_tokens, list(model.parameters()))
    before = weights(model)
    update = train_step(model, optimizer, batch, config, 1)
    assert update.loss == pytest.approx(float(result.total.detach()) / batch.target_tokens)
    assert update.gradient_norm == pytest.approx(norm(wanted))
    for (name, after), gradient in zip(weights(model).items(), wanted, strict=True):
        torch.testing.assert_close(before[name] - after, gradient)


def test_no_gradient_of_the_last_update_is_left():
    config = TrainingConfig(optimizer="sgd", learning_rate=1e-30, clip_norm=0.0)
    model, optimizer, batch = start("sutskever2014-desk", config)
    norms = [train_step(model, optimizer, batch, config, 1).gradient_norm for _ in range(3)]
    assert norms == [norms[0]] * 3


def test_the_rate_follows_the_schedule():
    config = TrainingConfig(learning_rate=0.1, warmup_updates=4, schedule="inverse-sqrt")
    done, _ = train("sutskever2014-desk", config, 5)
    assert [update.learning_rate for update in done] == pytest.approx([0.025, 0.05, 0.075, 0.1, 0.1 * math.sqrt(0.8)])


@pytest.mark.parametrize("name", ["pairs-5k", "luong2015-desk", "xu2015-desk"])
def test_r_drop_compares_two_masks_of_each_pair(name: str):
    """Its objective is the mean of those of both masks, and half the weight times their divergence."""
    model, _, batch = start(name, TrainingConfig())
    noise = Noise.of(1, 1, batch.rows)
    other = Noise(noise.twice().key[len(batch.rows) :])
    assert not torch.equal(noise.key, other.key)
    plain = [objective(model, batch, TrainingConfig(), each, RewardBaseline(0.9)) for each in (noise, other)]
    both = objective(model, batch, TrainingConfig(r_drop=3.0), noise, RewardBaseline(0.9))
    none = objective(model, batch, TrainingConfig(r_drop=1e-9), noise, RewardBaseline(0.9))
    mean = sum(float(each.total.detach()) for each in plain) / 2
    assert float(none.total.detach()) == pytest.approx(mean, rel=1e-5)
    assert both.tokens == batch.target_tokens
    assert float(both.nll) == pytest.approx(sum(float(each.nll) for each in plain) / 2, rel=1e-5)
    rows = []
    for each in (noise, other):
        decoded = model(batch.source, batch.source_lengths, batch.inputs, batch.target_lengths, each)
        rows.append(model.decoder.output(decoded.features)[is_real(batch.target_lengths, batch.labels.size(1))])
    first, second = rows
    divergence = float(((first.exp() - second.exp()) * (first - second)).sum().detach()) / 2
    assert divergence > 0
    assert float(both.total.detach()) - mean == pytest.approx(3.0 / 2 * divergence, rel=1e-3)


def test_r_drop_has_no_second_mask_without_noise():
    model, _, batch = start("pairs-5k", TrainingConfig())
    totals = [objective(model, batch, TrainingConfig(r_drop=weight), None, RewardBaseline(0.9)) for weight in (0, 5)]
    assert torch.equal(totals[0].total, totals[1].total)


@pytest.mark.parametrize(
    "setting", ["coverage_weight", "entropy_weight", "reinforce_weight", "label_smoothing", "r_drop"]
)
def test_every_weight_of_a_term_counts(setting: str):
    totals = []
    for value in (0.0, 0.5):
        config = TrainingConfig.model_validate({"entropy_weight": 0.0, "reinforce_weight": 0.0, setting: value})
        model, _, batch = start("xu2015-desk", config)
        noise = Noise.of(1, 1, batch.rows)
        totals.append(float(objective(model, batch, config, noise, RewardBaseline(0.9)).total.detach()))
    assert totals[0] != pytest.approx(totals[1])


# ------------------------------------------------------------------------------------------------------------ baseline


def test_the_baseline_is_a_moving_average_of_the_mean_log_probability():
    losses, lengths = torch.tensor([[1.0, 2.0, 0.0], [3.0, 4.0, 5.0]]), torch.tensor([2, 3])
    first = RewardBaseline(0.9).after(float(losses.sum()), int(lengths.sum()))
    assert first.mean == pytest.approx(-15 / 5), "the first batch is all there is to average"
    second = first.after(10.0, 1)
    assert second.mean == pytest.approx(0.9 * -3 + 0.1 * -10)
    assert second.after(10.0, 1).mean == pytest.approx(0.9 * -3.7 + 0.1 * -10)
    assert first.mean == pytest.approx(-3), "a value: the old one is as it was"


def test_without_memory_the_baseline_is_the_last_batch():
    baseline = RewardBaseline(0.0).after(2.0, 1)
    assert baseline.after(7.0, 1).mean == pytest.approx(-7)


def test_hard_attention_hands_on_its_baseline():
    config = TrainingConfig(baseline_decay=0.8, learning_rate=1e-30)
    model, optimizer, batch = start("xu2015-desk", config)
    first = train_step(model, optimizer, batch, config, 1)
    assert first.baseline.decay == 0.8
    assert first.baseline.mean == pytest.approx(-first.loss)
    second = train_step(model, optimizer, batch, config, 2, first.baseline)
    assert second.baseline.mean == pytest.approx(-(0.8 * first.loss + 0.2 * second.loss))
