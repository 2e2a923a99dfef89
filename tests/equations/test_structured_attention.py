"""M18: structured self-attention, its penalty, and the decoders that attend to its rows."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dragoman.config.rnn import RnnConfig
from dragoman.config.training import TrainingConfig
from dragoman.data.batch import Batch
from dragoman.models import build_model
from dragoman.models.rnn_encoder import StructuredAttention, redundancy_penalty
from dragoman.nn.recurrent import CELLS
from dragoman.training.step import RewardBaseline, objective
from testkit.generators import Numbers, Sentences, lengths, many_cases, randomised, seeds, sizes
from tests.equations.comparison import Tensors, assert_agrees, assert_close, assert_same, evaluate, parameters
from tests.equations.generators_attention import VOCAB, Translating, small_config
from tests.equations.literal_recurrent import Weights, decode_plain, encode, structured_rows
from tests.equations.test_plain_decoders import Case, assert_is_its_equations

PAIRS = (
    Sentences(Numbers(1).tokens(VOCAB, 3, 5), torch.tensor([3, 1, 5])),
    Sentences(Numbers(2).tokens(VOCAB, 3, 4), torch.tensor([4, 2, 1])),
)


def structured(config: RnnConfig, rows: int, hidden: int = 3, **model: Any) -> RnnConfig:
    """The same model with structured self-attention."""
    table = config.model_dump(exclude_none=True) | model
    table["encoder"] |= {"structured_rows": rows, "structured_hidden": hidden}
    return RnnConfig.model_validate(table)


def literal_penalty(A: list[list[Tensor]]) -> Tensor:
    """‖A Aᵀ − I‖²_F of one sentence. [lin2017] (8)."""
    total = torch.zeros((), dtype=torch.float64)
    for r, one in enumerate(A):
        for q, other in enumerate(A):
            product = torch.zeros((), dtype=torch.float64)
            for a, b in zip(one, other, strict=True):
                product = product + a * b
            total = total + (product - (1.0 if r == q else 0.0)) ** 2
    return total


@many_cases
@given(drawn=lengths(most_rows=3, longest=5), spare=st.integers(0, 2), sizes_=st.tuples(*[sizes(1, 4)] * 3), seed=seeds)
def test_rows_and_penalty_are_their_equations(drawn: Tensor, spare: int, sizes_: tuple[int, int, int], seed: int):
    dim, hidden, rows = sizes_
    src = int(drawn.max()) + spare
    module = randomised(StructuredAttention(dim, hidden, rows), seed)

    def shipped(module: StructuredAttention, given: Tensors) -> Tensors:
        found, weights = module(given["states"], drawn)
        return {"rows": found, "weights": weights, "penalty": redundancy_penalty(weights)}

    def literal(weights: Weights, given: Tensors) -> Tensors:
        found, padded, penalties = [], [], []
        for row, length in enumerate(drawn.tolist()):
            M, A = structured_rows(weights, list(given["states"][row, :length]))
            found.append(torch.stack(M))
            padded.append(torch.nn.functional.pad(torch.stack([torch.stack(a) for a in A]), (0, src - length)))
            penalties.append(literal_penalty(A))
        mean = torch.stack(penalties).sum() / len(penalties)
        return {"rows": torch.stack(found), "weights": torch.stack(padded), "penalty": mean}

    assert_agrees(module, {"states": Numbers(seed).normal(len(drawn), src, dim)}, shipped, literal)


def test_known_penalties():
    """Rows on different words cost nothing; two equal rows on one word cost 2."""
    apart = torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    equal = torch.tensor([[[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]])
    assert float(redundancy_penalty(apart)) == 0.0
    assert float(redundancy_penalty(equal)) == 2.0
    assert float(redundancy_penalty(torch.cat([apart, equal]))) == 1.0


# --------------------------------------------------------------------------------------------------------- whole models


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize(
    "decoder",
    [
        {"attend": "before"},
        {"attend": "before", "output": "deep"},
        {"attend": "after"},
        {"attend": "after", "input_feeding": True},
        {"attend": "after", "query_context": True},
    ],
    ids=str,
)
def test_decoders_that_attend_to_rows(cell: str, decoder: dict[str, Any]):
    config = small_config(cell, layers=1, hidden=3, attention={"score": "concat"}, **decoder)
    Translating(structured(config, 4), *PAIRS, seed=3).assert_is_its_equations()


@pytest.mark.parametrize("attend", ["before", "after"])
@pytest.mark.parametrize(
    "attention",
    [
        {"score": "dot"},
        {"score": "scaled-dot", "memory": "split"},
        {"score": "general"},
        {"score": "general", "memory": "split"},
        {"score": "location", "positions": 3},
        {"score": "general", "alignment": "hard"},
        {"score": "location", "alignment": "hard", "positions": 6},
    ],
    ids=str,
)
def test_every_attention_to_rows(attend: str, attention: dict[str, Any]):
    config = small_config("gru-fused", hidden=4, attention=attention, attend=attend)
    Translating(structured(config, 4), *PAIRS, seed=3).assert_is_its_equations()


def test_rows_of_a_reversed_source_are_over_its_words_in_order():
    config = small_config("lstm", hidden=3, attention={"score": "general"}, attend="after")
    Translating(structured(config, 2, reverse_source=True), *PAIRS, seed=3).assert_is_its_equations()


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize(
    "decoder", [{}, {"context": "every-step"}, {"context": "every-step", "output": "deep"}], ids=str
)
def test_one_row_without_attention_is_the_source_vector(cell: str, decoder: dict[str, Any]):
    config = structured(small_config(cell, hidden=3, attention={}, attend="none", **decoder), 1)
    assert_is_its_equations(Case(config, *PAIRS, seed=4), decode_plain)


def test_the_memory_has_as_many_rows_for_every_length():
    config = structured(small_config(attention={"score": "general"}, attend="after"), 7)
    memory = build_model(config, VOCAB, VOCAB).encode(PAIRS[0].tokens, PAIRS[0].lengths)
    assert memory.attended.values.shape[:2] == (3, 7)
    assert memory.attended.may_attend.all()


@pytest.mark.parametrize("attend", ["none", "before", "after"])
def test_the_penalty_of_what_training_minimises(attend: str):
    """The mean over sentences, times the tokens by which the total is divided."""
    config = structured(small_config(attention={}, attend=attend), 1 if attend == "none" else 3)
    batch = Batch.from_pairs([([4, 5, 6], [5, 4]), ([6], [4, 4, 5])])
    model = randomised(build_model(config, VOCAB + 4, VOCAB + 4), 1)
    weights = parameters(model)
    plain, penalised = (
        objective(model, batch, TrainingConfig(structured_penalty=weight), None, RewardBaseline(0.9)).total
        for weight in (0.0, 0.75)
    )
    penalties = []
    for row, length in enumerate(batch.source_lengths.tolist()):
        encoding = encode(config, weights, batch.source[row, :length].tolist())
        assert encoding.structured is not None
        penalties.append(literal_penalty(encoding.structured))
    term = batch.target_tokens * (penalties[0] + penalties[1]) / 2
    assert float(term.detach()) > 0.1
    assert_same(evaluate({"loss": penalised}, weights), evaluate({"loss": plain + 0.75 * term}, weights))


def test_the_weights_of_words_give_the_context_of_the_rows():
    """c_t = Σ_r a_t(r) M_r = Σ_s ā_t(s) h̄_s: the alignment that is returned explains the context."""
    config = structured(small_config(attention={"score": "general"}, attend="after"), 3)
    model = randomised(build_model(config, VOCAB, VOCAB), 2)
    source, target = PAIRS
    memory = model.encode(source.tokens, source.lengths)
    decoder: Any = model.decoder
    states = decoder.stack.run(decoder.embedding(target.tokens, None), target.lengths, memory.first, None)
    context, _ = decoder.attention(states, memory.attended, torch.arange(target.tokens.size(1)))
    words = decoder(target.tokens, target.lengths, memory).alignment.weights  # [batch, tgt, src]
    h = model.encoder(source.tokens, source.lengths, None).words.states  # [batch, src, dim]
    assert_close(words @ h, context, 1e-12)
    assert_close(words.sum(-1), torch.ones_like(words[..., 0]), 1e-12)
