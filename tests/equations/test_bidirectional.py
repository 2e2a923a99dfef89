"""M4: reading from both ends, the two ways of joining, and padding that must not leak into either."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from dragoman.config.rnn import RnnConfig
from dragoman.models.base import Encoded
from dragoman.models.rnn_encoder import BiLayer, RnnEncoder
from dragoman.nn.batches import is_real, reverse_real
from dragoman.nn.embedding import Embedding
from dragoman.nn.recurrent import CELLS, CellState, Packing
from testkit.generators import (
    Padded,
    Sentences,
    many_cases,
    padded_batches,
    randomised,
    seeds,
    sentence_batches,
    sizes,
)
from tests.equations.comparison import (
    Evaluated,
    Tensors,
    as_leaves,
    assert_agrees,
    assert_close,
    assert_same,
    evaluate,
    parameters,
)
from tests.equations.literal_recurrent import Encoding, Weights, encode, read_layer

VOCAB = 6
cell_names = st.sampled_from(sorted(CELLS))


@dataclass(frozen=True)
class Case:
    """A layer's settings and the sentences it reads."""

    hidden: int
    bidirectional: bool
    join: str
    batch: Padded
    seed: int

    def layer(self, cell: str) -> BiLayer:
        inputs = self.batch.values.size(-1)
        layer = BiLayer(cell, inputs, self.hidden, bidirectional=self.bidirectional, join=self.join)
        return randomised(layer, self.seed)


@st.composite
def cases(draw: st.DrawFn, *, both_ways: bool = False) -> Case:
    bidirectional, join = draw(st.sampled_from([(True, "concat"), (True, "linear"), (both_ways, "concat")]))
    hidden = 2 * draw(sizes(1, 2))
    return Case(hidden, bidirectional, join, draw(padded_batches(draw(sizes(1, 4)))), draw(seeds))


def outputs(states: Tensor, final: CellState, summary: Tensor, last: Tensor) -> dict[str, Tensor]:
    ends = {f"final {part}": tensor for part, tensor in enumerate(final)}
    return {"states": states, "summary": summary, "last": last, **ends}


def run_layer(layer: BiLayer, x: Tensor, lengths: Tensor) -> dict[str, Tensor]:
    """The output of the layer at real positions; padding may have any value."""
    states, ends = layer(x, Packing.of(lengths, x.size(1), x.device))
    return outputs(states * is_real(lengths, x.size(1)).unsqueeze(-1), *ends)


@pytest.mark.parametrize("cell", CELLS)
@many_cases
@given(case=cases())
def test_a_layer_is_its_equation(cell: str, case: Case) -> None:
    size = case.batch.values.size(1)

    def literal(weights: Weights, given: Tensors) -> Tensors:
        rows = []
        for row, length in enumerate(case.batch.lengths.tolist()):
            done = read_layer(cell, weights, list(given["x"][row, :length]))
            padding = [torch.zeros(case.hidden, dtype=torch.float64)] * (size - length)
            rows.append((torch.stack(done.states + padding), done.final, done.summary, done.last))
        states, finals, summaries, lasts = zip(*rows, strict=True)
        final = tuple(torch.stack(part) for part in zip(*finals, strict=True))
        return outputs(torch.stack(states), final, torch.stack(summaries), torch.stack(lasts))

    def shipped(layer: BiLayer, given: Tensors) -> Tensors:
        return run_layer(layer, given["x"], case.batch.lengths)

    assert_agrees(case.layer(cell), {"x": case.batch.values}, shipped, literal)


def one_by_one(together: Evaluated, alone: list[Evaluated], lengths: Tensor, shared: list[str]) -> None:
    """A batch is its sentences: the same values and input gradients a sentence, parameter gradients that add up."""
    for row, (length, single) in enumerate(zip(lengths.tolist(), alone, strict=True)):
        for name, value in single.values.items():
            here = together.values[name][row]
            here = here[:length] if name == "states" else here
            assert_close(here, value[0], 1e-9, f"{name} of sentence {row}")
        assert_close(
            together.gradients["x"][row, :length], single.gradients["x"][0], 1e-9, f"gradient of sentence {row}"
        )
        assert not together.gradients["x"][row, length:].any(), "padding has no influence, so it has no gradient"
    for name in shared:
        added = sum((single.gradients[name] for single in alone), torch.zeros_like(together.gradients[name]))
        assert_close(together.gradients[name], added, 1e-9, f"gradient of {name}")


def summed(result: Tensors, leaves: Tensors) -> Evaluated:
    """Values, and the gradients of a sum that weights a position by its place in the sentence, not in the batch."""
    total = torch.zeros((), dtype=torch.float64)
    for output in result.values():
        probe = torch.cos(torch.arange(output[0].numel(), dtype=torch.float64) + 1.0).view_as(output[0])
        total = total + (output * probe).sum()
    found = torch.autograd.grad(total, list(leaves.values()))
    return Evaluated(dict(result), dict(zip(leaves, found, strict=True)))


@many_cases
@given(cell=cell_names, case=cases())
def test_a_sentence_alone_is_the_same_in_a_padded_batch(cell: str, case: Case) -> None:
    layer, lengths = case.layer(cell), case.batch.lengths
    weights = parameters(layer)
    given = as_leaves({"x": case.batch.values}, torch.float64)
    together = summed(run_layer(layer, given["x"], lengths), {**weights, **given})
    alone = []
    for row, length in enumerate(lengths.tolist()):
        sentence = as_leaves({"x": case.batch.values[row : row + 1, :length]}, torch.float64)
        alone.append(summed(run_layer(layer, sentence["x"], torch.tensor([length])), {**weights, **sentence}))
    one_by_one(together, alone, lengths, list(weights))


@many_cases
@given(cell=cell_names, case=cases())
def test_what_stands_in_the_padding_is_never_read(cell: str, case: Case) -> None:
    """Not even multiplied by zero, which would let a NaN through."""
    layer, lengths = case.layer(cell), case.batch.lengths
    real = is_real(lengths, case.batch.values.size(1)).unsqueeze(-1)

    def with_padding_of(filling: float) -> Evaluated:
        given = as_leaves({"x": case.batch.values.masked_fill(~real, filling)}, torch.float64)
        packing = Packing.of(lengths, real.size(1), real.device)
        states, ends = layer(given["x"], packing)
        return evaluate(outputs(states, *ends), {**parameters(layer), **given})

    assert_same(with_padding_of(math.nan), with_padding_of(0.0))


@many_cases
@given(cell=cell_names, case=cases(both_ways=True))
def test_the_directions_never_touch_each_other(cell: str, case: Case) -> None:
    layer = case.layer(cell)
    if layer.join is None:
        x = case.batch.values
        states, ends = layer(x, Packing.of(case.batch.lengths, x.size(1), x.device))
        from_left, from_right = zip(*(tensor.chunk(2, dim=-1) for tensor in (states, *ends.final)), strict=True)
    else:  # seen before they are joined
        from_left, from_right = before_the_join(layer, case.batch)
    for half, own, other in ((from_left, layer.left, layer.right), (from_right, layer.right, layer.left)):
        assert own is not None
        assert other is not None
        total = torch.stack([tensor.square().sum() for tensor in half]).sum()
        wanted = [*own.parameters(), *other.parameters()]
        found = torch.autograd.grad(total, wanted, retain_graph=True, allow_unused=True, materialize_grads=True)
        count = len(list(own.parameters()))
        assert any(gradient.any() for gradient in found[:count])
        assert not any(gradient.any() for gradient in found[count:])


def before_the_join(layer: BiLayer, batch: Padded) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """What the linear map sees of each direction."""
    seen: list[Tensor] = []
    assert layer.join is not None
    handle = layer.join.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    layer(batch.values, Packing.of(batch.lengths, batch.values.size(1), batch.values.device))
    handle.remove()
    left, right = seen[0].chunk(2, dim=-1)
    return (left,), (right,)


# ------------------------------------------------------------------------------------------------------- whole encoders


@dataclass(frozen=True)
class EncoderCase:
    """An encoder's configuration and the sentences it reads."""

    config: RnnConfig
    source: Sentences
    seed: int

    def encoder(self) -> RnnEncoder:
        return randomised(
            RnnEncoder(
                self.config, Embedding(nn.Parameter(torch.zeros(VOCAB, self.config.embedding)), 0.0, scaled=False)
            ),
            self.seed,
        )


@st.composite
def encoder_cases(draw: st.DrawFn, /, **fixed: Any) -> EncoderCase:
    shape = {
        "cell": draw(cell_names),
        "layers": draw(sizes(1, 2)),
        "hidden": 2 * draw(sizes(1, 2)),
        "bidirectional": draw(st.booleans()),
        "join": draw(st.sampled_from(["concat", "linear"])),
    }
    settings = {"family": "rnn", "embedding": draw(sizes(1, 4)), "dropout": 0.0, "reverse_source": draw(st.booleans())}
    config = RnnConfig.model_validate({**settings, **fixed, "encoder": {**shape, **fixed.get("encoder", {})}})
    return EncoderCase(config, draw(sentence_batches(VOCAB)), draw(seeds))


def encoded_outputs(encoded: Encoded) -> dict[str, Tensor]:
    real = is_real(encoded.lengths, encoded.states.size(1)).unsqueeze(-1)
    assert encoded.summary is not None
    assert encoded.last is not None
    final = [part for state in encoded.final for part in state]
    return outputs(encoded.states * real, tuple(final), encoded.summary, encoded.last)


@many_cases
@given(case=encoder_cases())
def test_an_encoder_is_its_equations(case: EncoderCase) -> None:
    size = case.source.tokens.size(1)

    def literal(weights: Weights, given: Tensors) -> Tensors:
        named = {f"encoder.{name}": weight for name, weight in weights.items()}
        rows = [encode(case.config, named, words) for words in sentences_of(case.source)]
        states = torch.stack([padded(row, size) for row in rows])
        parts = [[part for state in row.final for part in state] for row in rows]
        final = tuple(torch.stack(part) for part in zip(*parts, strict=True))
        summaries, lasts = ([getattr(row, name) for row in rows] for name in ("summary", "last"))
        return outputs(states, final, torch.stack(summaries), torch.stack(lasts))

    def shipped(encoder: RnnEncoder, given: Tensors) -> Tensors:
        return encoded_outputs(encoder(case.source.tokens, case.source.lengths, None))

    assert_agrees(case.encoder(), {}, shipped, literal)


def sentences_of(source: Sentences) -> list[list[int]]:
    return [source.tokens[row, :length].tolist() for row, length in enumerate(source.lengths.tolist())]


def padded(row: Encoding, size: int) -> Tensor:
    return torch.stack(row.states + [torch.zeros_like(row.states[0])] * (size - len(row.states)))


@many_cases
@given(case=encoder_cases())
def test_an_encoder_reads_a_sentence_the_same_way_alone_and_in_a_batch(case: EncoderCase) -> None:
    encoder, lengths = case.encoder(), case.source.lengths
    together = encoded_outputs(encoder(case.source.tokens, lengths, None))
    for row, words in enumerate(sentences_of(case.source)):
        alone = encoded_outputs(encoder(torch.tensor([words]), torch.tensor([len(words)]), None))
        for name, value in alone.items():
            here = together[name][row]
            assert_close(here[: len(words)] if name == "states" else here, value[0], 1e-9, name)


@many_cases
@given(case=encoder_cases(reverse_source=True))
def test_reversing_turns_real_words_round_and_states_back(case: EncoderCase) -> None:
    """It equals reading a source reversed by hand, with the states reversed afterwards."""
    encoder = case.encoder()
    reversed_states = encoder(case.source.tokens, case.source.lengths, None)
    encoder.reverse = False
    for row, words in enumerate(sentences_of(case.source)):
        by_hand = encoder(torch.tensor([words[::-1]]), torch.tensor([len(words)]), None)
        assert_close(reversed_states.states[row, : len(words)], by_hand.states[0].flip(0), 1e-9)
        for end in ("summary", "last"):
            assert_close(getattr(reversed_states, end)[row], getattr(by_hand, end)[0], 1e-9, end)


@many_cases
@given(case=encoder_cases(encoder={"bidirectional": False}))
def test_a_one_way_state_knows_only_the_words_read_before_it(case: EncoderCase) -> None:
    """From the left: words 0 … s; with the source reversed: words s … the end. Word s itself is always among them."""
    encoder = case.encoder()
    words = torch.zeros(())

    def keep(module: Embedding, inputs: tuple[Tensor, ...], vectors: Tensor) -> Tensor:
        nonlocal words
        words = vectors.detach().requires_grad_()
        return words

    encoder.embedding.register_forward_hook(keep)
    states = encoder(case.source.tokens, case.source.lengths, None).states
    for row, length in enumerate(case.source.lengths.tolist()):
        for place in range(length):
            (influence,) = torch.autograd.grad(states[row, place].sum(), words, retain_graph=True)
            seen = influence.abs().sum(-1)[row].nonzero().flatten().tolist()
            # `words` are in reading order.
            assert seen == list(range(length - place) if case.config.reverse_source else range(place + 1))


@many_cases
@given(source=sentence_batches(VOCAB, most_rows=4))
def test_reverse_real_turns_each_sentence_and_leaves_the_padding(source: Sentences) -> None:
    turned = reverse_real(source.tokens, source.lengths)
    for row, length in enumerate(source.lengths.tolist()):
        assert turned[row, :length].tolist() == source.tokens[row, :length].tolist()[::-1]
        assert torch.equal(turned[row, length:], source.tokens[row, length:])
    assert torch.equal(reverse_real(turned, source.lengths), source.tokens)
