"""M16: multi-head attention, by the equation itself and by torch's fused kernel, under any mask."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from dragoman.nn.attention import MultiHeadAttention
from testkit.generators import Numbers, lengths, many_cases, randomised, seeds, sizes
from tests.equations.comparison import Tensors, as_leaves, assert_agrees, assert_close, evaluate, parameters
from tests.equations.literal_recurrent import Weights
from tests.equations.literal_transformer import SeenFrom, Vectors, multi_head

KERNELS = [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]


@dataclass(frozen=True)
class Case:
    """Queries and what they attend to. Shapes: x [batch, tgt, dim], other [batch, src, dim], lengths of other [batch],
    may_attend [batch, 1, tgt, src]."""

    heads: int
    x: Tensor
    other: Tensor
    lengths: Tensor
    may_attend: Tensor
    seed: int
    bias: bool = False

    def attention(self) -> MultiHeadAttention:
        return randomised(MultiHeadAttention(self.x.size(-1), self.heads, dropout=0.0, bias=self.bias), self.seed)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    heads, seed = draw(sizes(1, 3)), draw(seeds)
    dim = heads * draw(sizes(1, 3))
    drawn = draw(lengths(most_rows=3, longest=5))
    src = int(drawn.max()) + draw(st.integers(0, 2))
    tgt = draw(sizes(1, 4))
    numbers = Numbers(seed + 1)
    x, other = numbers.normal(len(drawn), tgt, dim), numbers.normal(len(drawn), src, dim)
    may_attend = numbers.chance(draw(st.sampled_from([0.0, 0.3, 0.8, 1.0])), len(drawn), 1, tgt, src)
    return Case(heads, x, other, drawn, may_attend, seed, draw(st.booleans()))


def literal(
    case: Case, sees: Callable[[int], SeenFrom], *, to_itself: bool = False, return_attention: bool = False
) -> Callable[[Weights, Tensors], Tensors]:
    """One sentence after the other; `sees` is the attention mask of each."""

    def run(weights: Weights, given: Tensors) -> Tensors:
        rows: list[Tensor] = []
        maps: list[Tensor] = []
        for row, queries in enumerate(given["x"]):
            others: Vectors = list(queries if to_itself else given["other"][row])
            joined, shown = multi_head(weights, case.heads, list(queries), others, sees(row))
            rows.append(torch.stack(joined))
            nothing = torch.zeros((), dtype=torch.float64)
            places = [
                (head, t, s) for head in range(case.heads) for t in range(len(queries)) for s in range(len(others))
            ]
            flat = torch.stack([shown.get(place, nothing) for place in places])
            maps.append(flat.view(case.heads, len(queries), len(others)))
        return {"contexts": torch.stack(rows), **({"weights": torch.stack(maps)} if return_attention else {})}

    return run


def as_drawn(case: Case) -> Callable[[int], SeenFrom]:
    return lambda row: lambda t, s: bool(case.may_attend[row, 0, t, s])


def attend(case: Case, attention: MultiHeadAttention, given: Tensors) -> Tensors:
    """Fused, under the mask as drawn."""
    q, memory = attention.query(given["x"]), attention.make_memory(given["other"], case.lengths)
    y = attention.attend(q, memory.keys, memory.values, may_attend=case.may_attend, is_causal=False, noise=None)
    return {"contexts": y}


@many_cases
@given(case=cases())
def test_heads_are_the_equation_and_show_their_weights(case: Case) -> None:
    def shipped(attention: MultiHeadAttention, given: Tensors) -> Tensors:
        q, memory = attention.query(given["x"]), attention.make_memory(given["other"], case.lengths)
        y, alignment = attention.attend_with_weights(q, memory.keys, memory.values, may_attend=case.may_attend)
        return {"contexts": y, "weights": alignment.weights}

    given = {"x": case.x, "other": case.other}
    assert_agrees(case.attention(), given, shipped, literal(case, as_drawn(case), return_attention=True))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name.lower())
@many_cases
@given(case=cases())
def test_the_fused_kernel_is_the_equation(kernel: SDPBackend, case: Case) -> None:
    def shipped(attention: MultiHeadAttention, given: Tensors) -> Tensors:
        with sdpa_kernel(kernel):
            return attend(case, attention, given)

    assert_agrees(case.attention(), {"x": case.x, "other": case.other}, shipped, literal(case, as_drawn(case)))


@many_cases
@given(case=cases())
def test_a_memory_hides_its_padding(case: Case) -> None:
    def shipped(attention: MultiHeadAttention, given: Tensors) -> Tensors:
        q, memory = attention.query(given["x"]), attention.make_memory(given["other"], case.lengths)
        masked = memory.may_attend
        return {
            "contexts": attention.attend(q, memory.keys, memory.values, may_attend=masked, is_causal=False, noise=None)
        }

    def within_its_length(row: int) -> SeenFrom:
        return lambda t, s: s < int(case.lengths[row])

    assert_agrees(case.attention(), {"x": case.x, "other": case.other}, shipped, literal(case, within_its_length))


@many_cases
@given(case=cases(), is_causal=st.booleans())
def test_self_attention_is_the_equation(case: Case, is_causal: bool) -> None:
    def fused(attention: MultiHeadAttention, given: Tensors) -> Tensors:
        q, k, v = attention.project(given["x"])
        return {"contexts": attention.attend(q, k, v, may_attend=None, is_causal=is_causal, noise=None)}

    def explicit(attention: MultiHeadAttention, given: Tensors) -> Tensors:
        context, _ = attention._explicit(*attention.project(given["x"]), None, is_causal, None)
        return {"contexts": attention._join(context)}

    def sees(row: int) -> SeenFrom:
        return lambda t, s: s <= t or not is_causal

    assert_agrees(case.attention(), {"x": case.x}, fused, literal(case, sees, to_itself=True), also=[explicit])


@many_cases
@given(case=cases(), data=st.data())
def test_a_row_with_nothing_to_attend_to_gives_zeros(case: Case, data: st.DataObject) -> None:
    """And no NaN anywhere, nor any gradient: by either road, in either precision."""
    rows, _, tgt, _ = case.may_attend.shape
    row, step = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, tgt - 1))
    case.may_attend[row, 0, step] = False
    for dtype in (torch.float64, torch.float32):
        attention = case.attention().to(dtype)
        for road in (attend, explicitly):
            given = as_leaves({"x": case.x, "other": case.other}, dtype)
            result = evaluate(road(case, attention, given), {**parameters(attention), **given})
            bias = 0.0 if attention.b_o is None else attention.b_o
            assert torch.equal(result.values["contexts"][row, step], torch.zeros(case.x.size(-1), dtype=dtype) + bias)
            assert not result.gradients["x"][row, step].any()
            assert all(tensor.isfinite().all() for tensor in (*result.values.values(), *result.gradients.values()))


def explicitly(case: Case, attention: MultiHeadAttention, given: Tensors) -> Tensors:
    q, memory = attention.query(given["x"]), attention.make_memory(given["other"], case.lengths)
    y, _ = attention.attend_with_weights(q, memory.keys, memory.values, may_attend=case.may_attend)
    return {"contexts": y}


@pytest.mark.parametrize("d_k", [1, 4, 9])
def test_the_score_is_divided_by_the_root_of_the_key_size(d_k: int) -> None:
    """Two keys, one orthogonal to the query: their weights are as exp(q⊤k / √d_k) to one."""
    attention = MultiHeadAttention(d_k, 1, dropout=0.0).double()
    q = torch.ones(1, 1, 1, d_k, dtype=torch.float64)
    k = torch.stack([torch.ones(d_k), torch.zeros(d_k)]).double().view(1, 1, 2, d_k)
    _, alignment = attention.attend_with_weights(q, k, k, may_attend=None)
    odds = math.exp(d_k / math.sqrt(d_k))
    wanted = torch.tensor([odds, 1.0], dtype=torch.float64) / (odds + 1.0)
    assert_close(alignment.weights.view(2), wanted, 1e-12)


@many_cases
@given(case=cases())
def test_one_head_is_plain_scaled_dot_product_attention(case: Case) -> None:
    """With identities for projections nothing is left but softmax(QK⊤/√d_k)V."""
    dim = case.x.size(-1)
    attention = MultiHeadAttention(dim, 1, dropout=0.0).double()
    with torch.no_grad():
        attention.W_qkv.copy_(torch.eye(dim).repeat(3, 1))
        attention.W_o.copy_(torch.eye(dim))
    scores = torch.einsum("btd,bsd->bts", case.x, case.other) / dim**0.5
    open_mask = torch.ones_like(case.may_attend)
    y, _ = attention.attend_with_weights(
        attention.query(case.x), *heads_of(attention, case.other), may_attend=open_mask
    )
    assert_close(y, torch.einsum("bts,bsd->btd", scores.softmax(-1), case.other), 1e-9)


def heads_of(attention: MultiHeadAttention, other: Tensor) -> tuple[Tensor, Tensor]:
    memory = attention.make_memory(other, torch.full((other.size(0),), other.size(1)))
    return memory.keys, memory.values
