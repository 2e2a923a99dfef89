"""LoRA: a new adapter changes nothing, only the factors are trained, and the sum is the one of the equation."""

from typing import Any

import pytest
import torch
from torch import Tensor

from dragoman.bundle.adapter import split_lora
from dragoman.config import LoraConfig, TrainingConfig
from dragoman.config.config_file import parse_config
from dragoman.errors import ConfigError
from dragoman.models import Model, build_model
from dragoman.training.optimizer import build_optimizer
from dragoman.training.step import train_step
from dragoman.training.warm_start import LoraFactors, add_lora
from testkit.presets import EVERY_LENGTH, MODELS, SOURCE_VOCAB, TARGET_VOCAB, sentences, tiny_config, tiny_model

SSRU = "vaswani2017-desk + model.decoder=ssru"
FEW = ["luong2015-desk", "bahdanau2015-desk", "luong2015-location-desk", "vaswani2017-desk", SSRU]
LORA = LoraConfig(rank=2, alpha=3.0)


def model_of(name: str) -> Model[Any, Any]:
    config = tiny_config(name)
    sizes = (TARGET_VOCAB, TARGET_VOCAB) if config.tie == "all" else (SOURCE_VOCAB, TARGET_VOCAB)
    return build_model(config, *sizes, seed=3)


def log_probs(model: Model[Any, Any]) -> Tensor:
    batch = sentences(EVERY_LENGTH)
    decoded = model(batch.source, batch.source_lengths, batch.inputs, batch.target_lengths)
    found: Tensor = model.decoder.output(decoded.features)
    return found


def weights(model: Model[Any, Any]) -> dict[str, Tensor]:
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


@torch.no_grad()
@pytest.mark.parametrize("name", [*MODELS, SSRU])
def test_a_new_adapter_leaves_log_probabilities_bit_identical(name: str):
    model, plain = model_of(name), model_of(name)
    names = add_lora(model, LORA, seed=1)
    assert names
    assert torch.equal(log_probs(model), log_probs(plain))


@pytest.mark.parametrize("name", FEW)
def test_only_the_factors_are_trained_and_the_merged_model_computes_the_same(name: str):
    model = model_of(name)
    names = add_lora(model, LORA, seed=1)
    before, (base, first) = weights(model), split_lora(weights(model))
    config = TrainingConfig(learning_rate=0.05, optimizer="adamw", weight_decay=0.1)
    optimizer = build_optimizer(model, config)
    for update in range(1, 4):
        train_step(model, optimizer, sentences(EVERY_LENGTH), config, update)
    after = weights(model)
    changed = {key for key in after if not torch.equal(after[key], before[key])}
    assert changed == {key for key in after if key.endswith((".lora_A", ".lora_B"))}
    unchanged, factors = split_lora(after)
    assert factors.keys() == first.keys() == set(names)
    assert all(torch.equal(unchanged[key], base[key]) for key in base)
    plain = model_of(name)
    with torch.no_grad():
        for key, parameter in plain.named_parameters():
            parameter.copy_(unchanged[key])
            if key in factors:
                a, b = factors[key]
                for row in range(len(b)):  # the literal sum
                    for column in range(a.size(1)):
                        parameter[row, column] += 1.5 * sum(float(b[row, k] * a[k, column]) for k in range(2))
        assert not torch.equal(log_probs(plain), log_probs(model_of(name)))
        torch.testing.assert_close(log_probs(model), log_probs(plain), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["luong2015-desk", "vaswani2017-desk"])
def test_a_weight_is_computed_once_per_batch(name: str, monkeypatch: pytest.MonkeyPatch):
    model = model_of(name)
    names = add_lora(model, LORA, seed=1)
    calls: list[LoraFactors] = []
    compute = LoraFactors.forward

    def counted(self: LoraFactors, weight: Tensor) -> Tensor:
        calls.append(self)
        return compute(self, weight)

    monkeypatch.setattr(LoraFactors, "forward", counted)
    config = TrainingConfig(lora=LORA)
    train_step(model, build_optimizer(model, config), sentences(EVERY_LENGTH), config, 1)
    assert 0 < len(calls) <= len(names)


def test_embeddings_and_the_output_layer_are_never_adapted():
    names = add_lora(model_of("vaswani2017-desk + model.positions=learned + model.tie=none"), LORA, seed=1)
    assert not [name for name in names if "embedding" in name or "output" in name or "positions" in name]
    assert {name.split(".")[0] for name in names} == {"encoder", "decoder"}


def test_patterns_choose_the_weights():
    model = model_of("vaswani2017-desk")
    names = add_lora(model, LORA.model_copy(update={"target_modules": ["decoder.*.W_qkv"]}), seed=1)
    assert names
    assert all(name.startswith("decoder.") and name.endswith(".W_qkv") for name in names)
    trained = [name for name, parameter in model.named_parameters() if parameter.requires_grad]
    assert len(trained) == 2 * len(names)


@pytest.mark.parametrize("pattern", ["attention", "*.embedding.weight", "*.b_qkv"])
def test_a_pattern_that_matches_no_matrix_is_refused(pattern: str):
    model = model_of("vaswani2017-desk")
    with pytest.raises(ConfigError, match=r"target_modules must hold patterns that match a weight matrix.*encoder"):
        add_lora(model, LORA.model_copy(update={"target_modules": [pattern]}), seed=1)
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_the_factors_depend_on_the_seed_alone():
    def drawn(seed: int) -> dict[str, Tensor]:
        model = model_of("vaswani2017-desk")
        add_lora(model, LORA, seed=seed)
        return weights(model)

    torch.manual_seed(99)
    one = drawn(1)
    state = torch.random.get_rng_state()
    same, other = drawn(1), drawn(2)
    assert torch.equal(state, torch.random.get_rng_state())
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert any(not torch.equal(one[name], other[name]) for name in one)


def test_adapted_weights_are_float32_under_autocast():
    model = tiny_model("vaswani2017-desk").float()
    (name, *_) = add_lora(model, LORA, seed=1)
    module = model.get_submodule(name.rpartition(".")[0])
    with torch.autocast("cpu", torch.bfloat16):
        assert getattr(module, name.rpartition(".")[2]).dtype == torch.float32


TABLE: dict[str, Any] = {"model": {"family": "rnn"}, "start": {"bundle": "base"}, "training": {"lora": {}}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": None}, r"\[training.lora\] needs a model to adapt"),
        ({"start": {"bundle": "base", "vocabulary": "extend"}}, "start.vocabulary must be same where"),
        ({"training": {"lora": {}, "freeze": ["encoder.*"]}}, "training.freeze must be empty where"),
        ({"training": {"lora": {}, "average_last": 2}}, "training.average_last must be 0 where"),
        ({"training": {"lora": {}, "sharded": True}}, "training.sharded must be false where"),
        ({"training": {"lora": {"rank": 0}}}, "training.lora.rank must be"),
        ({"training": {"lora": {"target_modules": []}}}, "training.lora.target_modules must"),
        ({"training": {"lora": {"lora_alpha": 1}}}, "training.lora.lora_alpha is no known setting.*alpha"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(change: dict[str, Any], message: str):
    assert parse_config(TABLE).training.lora == LoraConfig()
    table = {key: value for key, value in (TABLE | change).items() if value is not None}
    with pytest.raises(ConfigError, match=message):
        parse_config(table)
