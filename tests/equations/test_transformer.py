"""M17: the Transformer's layers and stacks, normed either way round, with each kind of positions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dragoman.config.schema import TransformerConfig
from dragoman.models import Model, build_model
from dragoman.nn.batches import is_real
from dragoman.nn.transformer_layers import DecoderLayer, EncoderLayer, FeedForward, LayerSizes, Ssru, SsruDecoderLayer
from testkit.generators import (
    Numbers,
    Padded,
    Sentences,
    many_cases,
    padded_batches,
    randomised,
    seeds,
    sentence_batches,
    sizes,
)
from tests.equations.comparison import Tensors, assert_agrees, assert_close
from tests.equations.literal_recurrent import Weights
from tests.equations.literal_transformer import decode, decoder_layer, encode, encoder_layer, feed_forward, ssru

VOCAB = 5
NORMS = ["post", "pre"]
ACTIVATIONS = ["relu", "gelu", "swish"]
SINUSOIDS = ["sinusoidal", "sinusoidal-halves", "sinusoidal-tensor2tensor"]
Translator = Model[Any, Any]


def dims_of(heads: int) -> st.SearchStrategy[int]:
    """Widths these heads divide; not too small, for the norm of two or three numbers is little but a sign."""
    return st.integers(-(-4 // heads), 8 // heads).map(lambda size: heads * size)


def real(x: Tensor, lengths: Tensor) -> Tensor:
    """The positions that are not padding, one after the other. Shapes: [batch, n, dim] -> [positions, dim]."""
    return torch.cat([x[row, :length] for row, length in enumerate(lengths.tolist())])


# --------------------------------------------------------------------------------------------------------------- layers


@dataclass(frozen=True)
class LayerCase:
    """One layer's sizes, the source it sees and, for a decoder's, the target it writes."""

    sizes: LayerSizes
    source: Padded
    target: Tensor
    seed: int


@st.composite
def layer_cases(draw: st.DrawFn, norm: str) -> LayerCase:
    heads = draw(sizes(1, 2))
    dim = draw(dims_of(heads))
    shape = LayerSizes(dim, heads, draw(sizes(1, 5)), norm == "pre", 0.0, 0.0, 0.0)
    source, seed = draw(padded_batches(dim, most_rows=2, longest=4)), draw(seeds)
    return LayerCase(shape, source, Numbers(seed + 1).normal(len(source.lengths), draw(sizes(1, 4)), dim), seed)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@many_cases
@given(dim=sizes(), hidden=sizes(1, 7), rows=sizes(), seed=seeds)
def test_feed_forward_is_its_equation(activation: str, dim: int, hidden: int, rows: int, seed: int) -> None:
    def literal(weights: Weights, given: Tensors) -> Tensors:
        return {"y": torch.stack([feed_forward(weights, x, activation) for x in given["x"]])}

    layer = randomised(FeedForward(dim, hidden, 0.0, activation), seed)
    x = Numbers(seed + 1).normal(rows, dim)
    assert_agrees(layer, {"x": x}, lambda layer, given: {"y": layer(given["x"], None)}, literal)


@pytest.mark.parametrize("norm", NORMS)
@many_cases
@given(data=st.data())
def test_an_encoder_layer_is_its_equation(norm: str, data: st.DataObject) -> None:
    case = data.draw(layer_cases(norm))
    lengths = case.source.lengths

    def shipped(layer: EncoderLayer, given: Tensors) -> Tensors:
        may_attend = is_real(lengths, given["x"].size(1)).unsqueeze(1).unsqueeze(1)
        return {"y": real(layer(given["x"], may_attend, None), lengths)}

    def literal(weights: Weights, given: Tensors) -> Tensors:
        rows = zip(given["x"], lengths.tolist(), strict=True)
        done = [encoder_layer(weights, case.sizes.heads, norm, list(row[:length])) for row, length in rows]
        return {"y": torch.stack([y for row in done for y in row])}

    layer = randomised(EncoderLayer(case.sizes), case.seed)
    assert_agrees(layer, {"x": case.source.values}, shipped, literal)


@many_cases
@given(rows=sizes(1, 3), length=sizes(1, 40), dim=sizes(1, 5), seed=seeds)
def test_the_parallel_scan_is_the_recurrence(rows: int, length: int, dim: int, seed: int) -> None:
    def literal(weights: Weights, given: Tensors) -> Tensors:
        return {"y": torch.stack([torch.stack(ssru(weights, list(row))) for row in given["x"]])}

    def step_by_step(unit: Ssru, given: Tensors) -> Tensors:
        state, steps = unit.start(given["x"]), []
        for x in given["x"].split(1, dim=1):
            y, state = unit.step(x, state)
            steps.append(y)
        return {"y": torch.cat(steps, 1)}

    unit = randomised(Ssru(dim), seed)
    x = Numbers(seed + 1).normal(rows, length, dim)
    assert_agrees(unit, {"x": x}, lambda unit, given: {"y": unit(given["x"])}, literal, also=[step_by_step])


@pytest.mark.parametrize("kind", [DecoderLayer, SsruDecoderLayer])
@pytest.mark.parametrize("norm", NORMS)
@many_cases
@given(data=st.data())
def test_a_decoder_layer_is_its_equation(kind: type[DecoderLayer], norm: str, data: st.DataObject) -> None:
    case = data.draw(layer_cases(norm))
    lengths = case.source.lengths

    def at_once(layer: DecoderLayer, given: Tensors, *, return_attention: bool = False) -> Tensors:
        y, alignment = layer(
            given["x"],
            layer.source_attention.make_memory(given["source"], lengths),
            None,
            return_attention=return_attention,
        )
        assert (alignment is not None) is return_attention
        return {"y": y}

    def step_by_step(layer: DecoderLayer, given: Tensors) -> Tensors:
        memory = layer.source_attention.make_memory(given["source"], lengths)
        cache, steps = layer.start(given["x"]), []
        for x in given["x"].split(1, dim=1):
            y, cache, _ = layer.step(x, cache, memory)
            steps.append(y)
        return {"y": torch.cat(steps, 1)}

    def literal(weights: Weights, given: Tensors) -> Tensors:
        rows = []
        for x, source, length in zip(given["x"], given["source"], lengths.tolist(), strict=True):
            rows.append(torch.stack(decoder_layer(weights, case.sizes.heads, norm, list(x), list(source[:length]))))
        return {"y": torch.stack(rows)}

    layer = randomised(kind(case.sizes), case.seed)
    given = {"x": case.target, "source": case.source.values}
    assert_agrees(layer, given, at_once, literal, also=[partial(at_once, return_attention=True), step_by_step])


# --------------------------------------------------------------------------------------------------------------- stacks


@dataclass(frozen=True)
class Case:
    """A model's configuration, and sentence pairs for it."""

    config: TransformerConfig
    source: Sentences
    target: Sentences
    seed: int

    def model(self) -> Translator:
        return randomised(build_model(self.config, VOCAB, VOCAB), self.seed)


@st.composite
def cases(draw: st.DrawFn, /, **fixed: Any) -> Case:
    heads = draw(sizes(1, 2))
    settings = {
        "family": "transformer",
        "heads": heads,
        "dim": draw(dims_of(heads)),
        "encoder_layers": draw(sizes(1, 2)),
        "decoder_layers": draw(sizes(1, 2)),
        "feedforward": draw(sizes(1, 5)),
        "decoder": draw(st.sampled_from(["self-attention", "ssru"])),
        "norm_epsilon": draw(st.sampled_from([1e-5, 1e-9, 0.5])),
        "norm_form": draw(st.sampled_from(["variance", "deviation"])),
        "activation": draw(st.sampled_from(ACTIVATIONS)),
        "attention_bias": draw(st.booleans()),
        "positions": draw(st.sampled_from([*SINUSOIDS, "learned", "none"])),
        "max_positions": 8,
        "position_offset": draw(st.integers(0, 3)),
        "scale_embeddings": draw(st.booleans()),
        "source_end": draw(st.booleans()),
        "tie": draw(st.sampled_from(["none", "target", "all"])),
        "dropout": 0.0,
    }
    config = TransformerConfig.model_validate({**settings, **fixed})
    source = draw(sentence_batches(VOCAB, most_rows=2, longest=4))
    target = draw(sentence_batches(VOCAB, rows=len(source.lengths), longest=4))
    return Case(config, source, target, draw(seeds))


def log_probs_of(model: Translator, source: Sentences, target: Sentences) -> Tensor:
    """Shapes: -> [batch, tgt, vocab]."""
    decoded = model(source.tokens, source.lengths, target.tokens, target.lengths)
    log_probs: Tensor = model.decoder.output(decoded.features)
    return log_probs


@pytest.mark.slow
@pytest.mark.parametrize("norm", NORMS)
@many_cases
@given(data=st.data())
def test_the_transformer_is_its_equations(norm: str, data: st.DataObject) -> None:
    case = data.draw(cases(norm=norm))
    config, source, target = case.config, case.source, case.target

    def shipped(model: Translator, given: Tensors) -> Tensors:
        encoded = model.encoder(source.tokens, source.lengths, None)
        log_probs = log_probs_of(model, source, target)
        return {"states": real(encoded.states, encoded.lengths), "log_probs": real(log_probs, target.lengths)}

    def literal(weights: Weights, given: Tensors) -> Tensors:
        states, log_probs = [], []
        for row, (src, tgt) in enumerate(zip(source.lengths.tolist(), target.lengths.tolist(), strict=True)):
            read = encode(config, weights, source.tokens[row, :src].tolist())
            states += read
            log_probs += decode(config, weights, read, target.tokens[row, :tgt].tolist())
        return {"states": torch.stack(states), "log_probs": torch.stack(log_probs)}

    assert_agrees(case.model(), {}, shipped, literal)


@many_cases
@given(case=cases(positions="sinusoidal"), data=st.data())
def test_no_word_sees_a_later_one(case: Case, data: st.DataObject) -> None:
    """What is predicted up to t does not change with the words after t, and does with word t."""
    tokens = case.target.tokens
    place = data.draw(st.integers(0, tokens.size(1) - 1))
    changed = tokens.clone()
    changed[:, place] = (changed[:, place] + 1) % VOCAB
    model = case.model()
    before = log_probs_of(model, case.source, case.target)
    after = log_probs_of(model, case.source, Sentences(changed, case.target.lengths))
    assert_close(after[:, :place], before[:, :place], 1e-12)
    assert not torch.equal(after[:, place], before[:, place])


@many_cases
@given(case=cases(positions="none", source_end=True))
def test_without_positions_a_source_is_a_bag_of_words(case: Case) -> None:
    """Section 3.5's reason for positions: without them, shuffling the source changes no output."""
    tokens = case.source.tokens.clone()
    for row, length in enumerate(case.source.lengths.tolist()):
        tokens[row, :length] = tokens[row, :length].flip(0)
    model = case.model()
    shuffled = Sentences(tokens, case.source.lengths)
    found, wanted = (log_probs_of(model, source, case.target) for source in (shuffled, case.source))
    assert_close(found, wanted, 1e-9)


@many_cases
@given(case=cases(encoder_layers=1, decoder_layers=1, tie="none"))
def test_the_norms_are_in_different_places(case: Case) -> None:
    """Post-norm states are normalised last; pre-norm has one additional norm on each stack."""
    counts = {}
    for norm in NORMS:
        config = TransformerConfig.model_validate({**case.config.model_dump(), "norm": norm})
        model: Any = randomised(build_model(config, VOCAB, VOCAB), case.seed)
        counts[norm] = sum("norm.weight" in name for name, _ in model.named_parameters())
        top = model.encoder.layers[-1].around_feedforward.norm
        with torch.no_grad():
            top.weight.zero_()
        states = model.encoder(case.source.tokens, case.source.lengths, None).states
        assert torch.equal(states, top.bias.expand_as(states)) is (norm == "post")
    assert counts == {"post": 5, "pre": 7}


@many_cases
@given(
    case=cases(norm="pre", norm_form="deviation", norm_epsilon=1e-6, attention_bias=True, tie="none", source_end=True)
)
def test_the_transformer_of_the_notes_is_its_equations(case: Case) -> None:
    """The variants of `annotated-transformer` together: division by the standard deviation, biases, a last norm."""
    words = case.source.tokens[:1, : int(case.source.lengths[0])]
    model = case.model()
    weights = {name: value.detach() for name, value in model.named_parameters()}
    found = model.encoder(words, case.source.lengths[:1], None).states[0]
    assert_close(found, torch.stack(encode(case.config, weights, words[0].tolist())), 1e-9)


def test_normalization_by_the_standard_deviation_has_gradients_for_equal_numbers() -> None:
    norm = LayerSizes(4, 1, 4, True, 0.0, 0.0, 0.0, epsilon=1e-6, norm_form="deviation").normalization()
    x = torch.ones(2, 4, requires_grad=True)
    norm(x).sum().backward()
    assert x.grad is not None
    assert torch.isfinite(x.grad).all()
    assert torch.equal(norm(x), torch.zeros(2, 4))


def test_glorot_draws_every_matrix_and_no_vector() -> None:
    config = TransformerConfig.model_validate(
        {"family": "transformer", "dim": 32, "heads": 4, "tie": "none", "initialization": "glorot"}
    )
    for name, value in build_model(config, 40, 50).named_parameters():
        if value.dim() > 1:
            bound = (6 / sum(value.shape)) ** 0.5
            assert 0.8 * bound < value.abs().max() <= bound, name
        else:
            assert set(value.tolist()) <= {0.0, 1.0}, name
