"""A model that begins with another: the same function of old text, sensible rows for new tokens, frozen parts."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from dragoman.bundle import Bundle, write_bundle
from dragoman.config import Config, ModelConfig, TrainingConfig
from dragoman.data.batch import Batch
from dragoman.data.preparation.start_bundle import check_same_model
from dragoman.errors import ConfigError
from dragoman.models import Model, build_model
from dragoman.text import (
    Tokenizer,
    extend_tokenizer,
    token_segmenter,
    train_characters,
    train_sentencepiece,
    train_words,
)
from dragoman.training.optimizer import build_optimizer
from dragoman.training.step import train_step
from dragoman.training.warm_start import WarmStartReport, copy_bundle_weights, freeze
from testkit.presets import tiny_config

OLD = ["the old dog sees the house", "a house and a dog", "der alte Hund sieht das Haus"] * 9
NEW = ["the myocardium and the infarction", "инфаркт миокарда", "the old infarction"] * 9
FAMILIES = [
    "luong2015-desk",
    "bahdanau2015-desk",
    "sutskever2014-desk",
    "luong2015-desk + model.tie=target",
    "luong2015-desk + model.encoder.bidirectional=true + model.tie=all",
    "vaswani2017-desk",
    "vaswani2017-desk + model.positions=learned + model.tie=target",
    "pairs-5k + model.tie=none",
]
LEARNT = {
    "unigram": train_sentencepiece(OLD, size=300),
    "bpe": train_sentencepiece(OLD, size=300, model="bpe"),
    "word": train_words(OLD, size=None),
    "character": train_characters(OLD),
}


def numbers(model: nn.Module) -> dict[str, Any]:
    return {name: parameter.detach().numpy() for name, parameter in model.named_parameters()}


def settings(model: ModelConfig, kind: str = "unigram") -> Config:
    tokenizer: dict[str, Any] = {"kind": kind} if kind in ("word", "character") else {"algorithm": kind}
    return Config.model_validate({"model": model.model_dump(), "tokenizer": tokenizer})


def base(folder: Path, name: str, kind: str = "unigram") -> tuple[Bundle, Model[Any, Any]]:
    """A bundle, and the model that it was written from."""
    config, tokenizer = tiny_config(name), LEARNT[kind]
    model = build_model(config, tokenizer.size, tokenizer.size, seed=5)
    with torch.no_grad():
        model.decoder.output.bias.normal_()
    tokenizers = {"source": tokenizer, "target": tokenizer}
    return write_bundle(folder / "base", settings(config, kind), numbers(model), tokenizers, "A model."), model


def started(bundle: Bundle, tokenizer: Tokenizer) -> tuple[Model[Any, Any], WarmStartReport]:
    config = bundle.config.model
    model = build_model(config, tokenizer.size, tokenizer.size, seed=6)
    return model, copy_bundle_weights(bundle, {"source": tokenizer, "target": tokenizer}, model, config)


def old_text(tokenizer: Tokenizer) -> Batch:
    pairs = ((OLD[0], OLD[2]), (OLD[1], OLD[0]))
    return Batch.from_pairs(
        [(tokenizer.encode(source)[:12], tokenizer.encode(target)[:14]) for source, target in pairs]
    )


def features(model: Model[Any, Any], batch: Batch) -> Tensor:
    decoded = model(batch.source, batch.source_lengths, batch.inputs, batch.target_lengths)
    result: Tensor = decoded.features
    return result


@pytest.mark.parametrize("name", FAMILIES)
def test_with_the_same_tokens_it_is_the_same_model(tmp_path: Path, name: str):
    bundle, model = base(tmp_path, name)
    new, report = started(bundle, LEARNT["unigram"])
    assert all(torch.equal(mine, other) for mine, other in zip(model.parameters(), new.parameters(), strict=True))
    assert report == WarmStartReport(sum(each.numel() for each in model.parameters()), {"source": 0, "target": 0})


@torch.no_grad()
@pytest.mark.parametrize("name", FAMILIES)
def test_old_text_has_the_same_scores_before_training(tmp_path: Path, name: str):
    """The features are the same, bit by bit; probabilities of old tokens keep their ratios."""
    bundle, model = base(tmp_path, name)
    old = LEARNT["unigram"]
    tokenizer = extend_tokenizer(old, NEW, max_new_tokens=20)
    new, report = started(bundle, tokenizer)
    added = tokenizer.size - old.size
    assert report.new_tokens == {"source": added, "target": added}
    assert added
    batch = old_text(old)
    assert torch.equal(features(new, batch), features(model, batch))
    before = model.decoder.output(features(model, batch))
    after = new.decoder.output(features(new, batch))
    assert (after[..., old.size :].exp() > 0).all()
    assert (after[..., : old.size] < before).all(), "new tokens take their share"
    torch.testing.assert_close(after[..., : old.size].log_softmax(-1), before, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", LEARNT)
def test_a_new_row_is_the_mean_of_the_old_tokens(tmp_path: Path, kind: str):
    bundle, model = base(tmp_path, "luong2015-desk", kind)
    old = LEARNT[kind]
    tokenizer = extend_tokenizer(old, NEW, max_new_tokens=20)
    new, _ = started(bundle, tokenizer)
    cut = token_segmenter(old)
    mine, other = dict(new.named_parameters()), dict(model.named_parameters())
    for name in (
        "encoder.embedding.weight",
        "decoder.embedding.weight",
        "decoder.output.weight",
        "decoder.output.bias",
    ):
        assert torch.equal(mine[name][: old.size], other[name])
        for number in range(old.size, tokenizer.size):
            expected = other[name][cut(tokenizer.id_to_token(number))].mean(0)
            torch.testing.assert_close(mine[name][number], expected)


def test_sides_are_extended_by_themselves(tmp_path: Path):
    table = {"model": tiny_config("luong2015-desk").model_dump(), "tokenizer": {"kind": "word", "joint": False}}
    config = Config.model_validate(table)
    source, target = train_words(OLD[:2], size=None), train_words(OLD[2:3], size=None)
    model = build_model(config.model, source.size, target.size)
    bundle = write_bundle(tmp_path / "base", config, numbers(model), {"source": source, "target": target}, "A model.")
    wider = extend_tokenizer(target, NEW, max_new_tokens=4)
    new = build_model(config.model, source.size, wider.size)
    report = copy_bundle_weights(bundle, {"source": source, "target": wider}, new, config.model)
    assert report.new_tokens == {"source": 0, "target": 4}
    with pytest.raises(ConfigError, match=r"source tokens must begin with those of .*base, got"):
        copy_bundle_weights(bundle, {"source": target, "target": target}, new, config.model)


def test_other_tokens_are_refused(tmp_path: Path):
    bundle, model = base(tmp_path, "luong2015-desk", "word")
    for other in (LEARNT["unigram"], LEARNT["character"], train_words([*NEW, *OLD], size=None)):
        with pytest.raises(ConfigError, match="run dragoman prepare with this start"):
            copy_bundle_weights(bundle, {"source": other, "target": other}, model, bundle.config.model)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"embedding": 12}, "model.embedding must be 4, as in .*base, got 12; use the"),
        ({"tie": "target"}, "model.tie must be none, as in .*, got target"),
        ({"reverse_source": False}, "model.reverse_source must be true, as in .*, got false"),
        ({"attention": {"hidden": 3}}, "model.attention.hidden must be left out, as in .*, got 3"),
    ],
)
def test_a_setting_that_differs_is_named(tmp_path: Path, change: dict[str, Any], message: str):
    bundle, _ = base(tmp_path, "luong2015-desk")
    table = bundle.config.model.model_dump()
    for name, value in change.items():
        table[name] = table[name] | value if isinstance(value, dict) else value
    with pytest.raises(ConfigError, match=message):
        check_same_model(bundle, type(bundle.config.model).model_validate(table))


def test_another_family_is_named_alone(tmp_path: Path):
    bundle, model = base(tmp_path, "luong2015-desk")
    with pytest.raises(ConfigError, match=r"^model.family must be rnn, as in .*base, got transformer; use the"):
        copy_bundle_weights(bundle, bundle.tokenizers(), model, tiny_config("vaswani2017-desk"))


def test_dropout_may_differ(tmp_path: Path):
    bundle, _ = base(tmp_path, "vaswani2017-desk")
    rates = {"dropout": 0.4, "attention_dropout": 0.3, "activation_dropout": 0.2}
    check_same_model(bundle, bundle.config.model.model_copy(update=rates))


def test_a_model_of_other_make_is_refused(tmp_path: Path):
    bundle, _ = base(tmp_path, "luong2015-desk")
    tokenizers, size = bundle.tokenizers(), LEARNT["unigram"].size
    with pytest.raises(ConfigError, match=r"has the parameter .*, which .* does not have"):
        copy_bundle_weights(bundle, tokenizers, nn.Linear(2, 2), bundle.config.model)
    wrong = build_model(bundle.config.model, size, size + 1)
    with pytest.raises(ConfigError, match=r"decoder\.\w+\.\w+ must have the shape"):
        copy_bundle_weights(bundle, tokenizers, wrong, bundle.config.model)


def test_frozen_parameters_do_not_learn():
    model = build_model(tiny_config("luong2015-desk"), 11, 11)
    frozen = freeze(model, ["encoder.*", "decoder.embedding.weight"])
    assert frozen == [
        name
        for name, _ in model.named_parameters()
        if name.startswith("encoder.") or name == "decoder.embedding.weight"
    ]
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    config = TrainingConfig(learning_rate=0.1)
    optimizer = build_optimizer(model, config)
    train_step(model, optimizer, Batch.from_pairs([([4, 5, 6], [7, 8]), ([5], [9, 10, 4])]), config, 1)
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, before[name]) == (name in frozen), name


@pytest.mark.parametrize("pattern", ["encoder.embedding.weight", "decoder.embedding.*", "decoder.output.weight"])
def test_a_tied_parameter_is_frozen_by_any_of_its_names(pattern: str):
    model = build_model(tiny_config("vaswani2017-desk"), 11, 11)
    assert freeze(model, [pattern]) == ["encoder.embedding.weight"]
    assert not model.decoder.output.weight.requires_grad


def test_patterns_that_cannot_be_meant_are_refused():
    model = build_model(tiny_config("vaswani2017-desk"), 11, 11)
    assert freeze(model, []) == []
    with pytest.raises(ConfigError, match=r"got 'encodr\.\*'; try for instance .*encoder\.\*"):
        freeze(model, ["encodr.*"])
    with pytest.raises(ConfigError, match="freeze must hold patterns that match"):
        freeze(model, ["decoder.*", "§"])
    with pytest.raises(ConfigError, match=r"leave a trainable parameter, got patterns that match all \d+ parameters"):
        freeze(model, ["encoder.*", "decoder.*"])
    assert all(parameter.requires_grad for parameter in model.parameters())
