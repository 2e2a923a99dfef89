"""M1, M2, M3: the recurrent cells, against their equations and against torch's own layers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from dragoman.nn import recurrent
from dragoman.nn.recurrent import CELLS, Cell, CellState, GruFusedCell, GruPublishedCell, Packing
from testkit.generators import Numbers, Padded, many_cases, padded_batches, randomised, seeds, sizes
from tests.equations.comparison import (
    Tensors,
    as_leaves,
    assert_agrees,
    assert_close,
    assert_same,
    evaluate,
    parameters,
)
from tests.equations.literal_recurrent import Weights, read

TORCH_LAYERS: dict[str, Callable[..., nn.RNNBase]] = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru-fused": nn.GRU}
FUSED = sorted(TORCH_LAYERS)


@dataclass(frozen=True)
class Case:
    """Sentences for a cell of this size, and the state it starts from. Shapes: h and (LSTM) C, each [batch, hidden]."""

    hidden: int
    batch: Padded
    h: Tensor
    C: Tensor
    seed: int

    def cell(self, name: str) -> Cell:
        return randomised(CELLS[name](self.batch.values.size(-1), self.hidden), self.seed)

    def given(self, cell: Cell) -> dict[str, Tensor]:
        start = {"h": self.h, "C": self.C} if cell.parts == 2 else {"h": self.h}
        return {"x": self.batch.values, **start}

    def packing(self) -> Packing:
        return Packing.of(self.batch.lengths, self.batch.values.size(1), torch.device("cpu"))


@st.composite
def cases(draw: st.DrawFn, *, least_hidden: int = 1, starts_at_zero: bool = False) -> Case:
    hidden, seed = draw(sizes(least_hidden)), draw(seeds)
    batch = draw(padded_batches(draw(sizes())))
    numbers = Numbers(seed + 1)
    shape = (len(batch.lengths), hidden)
    scale = 0.0 if starts_at_zero else 1.0
    return Case(hidden, batch, numbers.normal(*shape, scale=scale), numbers.normal(*shape, scale=scale), seed)


def start_of(given: Tensors) -> CellState:
    return tuple(given[name] for name in ("h", "C") if name in given)


def as_outputs(states: Tensor, final: CellState) -> dict[str, Tensor]:
    return {"states": states, **{f"final {part}": tensor for part, tensor in enumerate(final)}}


def shipped(case: Case, *, backwards: bool = False) -> Callable[[Cell, Tensors], Tensors]:
    def run(cell: Cell, given: Tensors) -> Tensors:
        states, final = recurrent.run(cell, given["x"], case.packing(), start_of(given), backwards=backwards)
        return as_outputs(states, final)

    return run


def literal(name: str, case: Case, *, backwards: bool = False) -> Callable[[Weights, Tensors], Tensors]:
    """Each sentence for itself; zeros in the padding."""

    def run(weights: Weights, given: Tensors) -> Tensors:
        rows, finals = [], []
        for row, length in enumerate(case.batch.lengths.tolist()):
            words = list(given["x"][row, :length])
            start = tuple(part[row] for part in start_of(given))
            states = read(name, weights, words[::-1] if backwards else words, start)
            finals.append(states[-1])
            in_place = [state[0] for state in (states[::-1] if backwards else states)]
            padding = [torch.zeros_like(in_place[0])] * (given["x"].size(1) - length)
            rows.append(torch.stack(in_place + padding))
        return as_outputs(torch.stack(rows), tuple(torch.stack(part) for part in zip(*finals, strict=True)))

    return run


@pytest.mark.parametrize("name", CELLS)
@many_cases
@given(case=cases(), backwards=st.booleans())
def test_a_cell_is_its_equation(name: str, case: Case, backwards: bool) -> None:
    cell = case.cell(name)
    assert_agrees(cell, case.given(cell), shipped(case, backwards=backwards), literal(name, case, backwards=backwards))


@pytest.mark.parametrize("name", CELLS)
@given(case=cases(starts_at_zero=True))
def test_a_cell_starts_from_zeros_unless_told_otherwise(name: str, case: Case) -> None:
    cell = case.cell(name)
    unspoken, _ = recurrent.run(cell, case.batch.values, case.packing())
    said, _ = recurrent.run(cell, case.batch.values, case.packing(), start_of(case.given(cell)))
    assert torch.equal(unspoken, said)


@pytest.mark.parametrize("name", FUSED)
@many_cases
@given(case=cases())
def test_a_cell_equals_torchs_layer_of_the_same_weights(name: str, case: Case) -> None:
    cell = case.cell(name)
    given = as_leaves(case.given(cell), torch.float64)
    weights = parameters(cell)
    ours = evaluate(shipped(case)(cell, given), {**weights, **given})

    layer = TORCH_LAYERS[name](cell.inputs, cell.hidden, batch_first=True).double()
    names = {"weight_ih_l0": "W", "weight_hh_l0": "U", "bias_ih_l0": "b", "bias_hh_l0": "b_U"}
    copies = {**weights, "b_U": second_bias(cell)}
    layer.load_state_dict({theirs: copies[ours] for theirs, ours in names.items()})
    packed = pack_padded_sequence(given["x"], case.batch.lengths, batch_first=True, enforce_sorted=False)
    start = tuple(part.unsqueeze(0) for part in start_of(given))
    states, final = layer(packed, start if len(start) == 2 else start[0])
    padded, _ = pad_packed_sequence(states, batch_first=True, total_length=given["x"].size(1))
    final = final if isinstance(final, tuple) else (final,)
    leaves = {names[name]: parameter for name, parameter in layer.named_parameters()}
    theirs = evaluate(as_outputs(padded, tuple(part.squeeze(0) for part in final)), {**leaves, **given})
    own_bias = theirs.gradients.pop("b_U")[2 * cell.hidden :]
    if isinstance(cell, GruFusedCell):
        theirs.gradients["b_U"] = own_bias
    assert_same(ours, theirs)


def second_bias(cell: Cell) -> Tensor:
    """torch adds a bias to W x and one to U h; only within the fused GRU's reset gate do they differ."""
    bias = torch.zeros_like(cell.b)
    if isinstance(cell, GruFusedCell):
        bias[2 * cell.hidden :] = cell.b_U
    return bias.detach()


@pytest.mark.parametrize("name", FUSED)
@many_cases
@given(case=cases())
def test_torchs_kernel_and_the_steps_are_the_same_function(name: str, case: Case) -> None:
    cell = case.cell(name)
    packing = case.packing()

    def by(road: Callable[..., tuple[Tensor, CellState]]) -> Callable[[Cell, Tensors], Tensors]:
        def run(cell: Cell, given: Tensors) -> Tensors:
            start = tuple(part[packing.order] for part in start_of(given))
            return as_outputs(*road(cell, packing.pack(given["x"], backwards=False), packing.sizes, start))

        return run

    given = case.given(cell)
    in_float64 = by(recurrent._run_steps)
    assert_agrees(cell, given, by(recurrent._run_kernel), lambda _, given: in_float64(cell, given))


@pytest.mark.parametrize("name", CELLS)
@given(case=cases())
def test_gradients_asked_for_in_several_passes_are_those_of_one(name: str, case: Case) -> None:
    """A pass that needs only the gradient of the inputs must not change that of the weights in the next pass."""
    cell = case.cell(name)
    given = as_leaves(case.given(cell), torch.float64)
    states, _ = recurrent.run(cell, given["x"], case.packing(), start_of(given))
    total = states.square().sum()
    wanted = torch.autograd.grad(total, list(cell.parameters()), retain_graph=True)
    torch.autograd.grad(total, given["x"], retain_graph=True)
    for found, once in zip(torch.autograd.grad(total, list(cell.parameters())), wanted, strict=True):
        assert_close(found, once, 1e-9)


# ------------------------------------------------------------------ the two gated units called GRU, and what parts them


def as_published(fused: GruFusedCell) -> GruPublishedCell:
    """The published cell with the fused one's weights: its z is the other's 1 − z, so those weights change sign."""
    published = GruPublishedCell(fused.inputs, fused.hidden).double()
    with torch.no_grad():
        for ours, theirs in ((published.W, fused.W), (published.U, fused.U), (published.b, fused.b)):
            r, z, n = theirs.chunk(3)
            ours.copy_(torch.cat([-z, r, n]))
    return published


def states_of(cell: Cell, case: Case) -> Tensor:
    states, _ = recurrent.run(cell, case.batch.values, case.packing(), (case.h,))
    return states.detach()


def fused_without_its_extra_bias(case: Case) -> GruFusedCell:
    fused = case.cell("gru-fused")
    assert isinstance(fused, GruFusedCell)
    nn.init.zeros_(fused.b_U)
    return fused


@many_cases
@given(case=cases(least_hidden=2))
def test_the_two_grus_differ_on_the_same_weights(case: Case) -> None:
    fused = fused_without_its_extra_bias(case)
    assert float((states_of(fused, case) - states_of(as_published(fused), case)).abs().max()) > 1e-6


@many_cases
@given(case=cases())
def test_the_two_grus_agree_where_the_reset_gate_is_open(case: Case) -> None:
    """With r = 1 it does not matter what r multiplies: the rest of the two is the same."""
    fused = fused_without_its_extra_bias(case)
    with torch.no_grad():
        fused.b[: case.hidden] = 1000.0
    assert_close(states_of(fused, case), states_of(as_published(fused), case), 1e-9)


@many_cases
@given(case=cases())
def test_the_two_grus_agree_where_the_reset_gate_commutes_with_the_product(case: Case) -> None:
    """U (r ∗ h) = r ∗ (U h) if U is diagonal: which side of the product the gate is on is the whole difference."""
    fused = fused_without_its_extra_bias(case)
    with torch.no_grad():
        candidate = fused.U[2 * case.hidden :]
        candidate.copy_(candidate.diag().diag())
    assert_close(states_of(fused, case), states_of(as_published(fused), case), 1e-9)


@many_cases
@given(case=cases())
def test_z_of_one_gru_is_one_minus_z_of_the_other(case: Case) -> None:
    """The published cell keeps its state for ever with z = 0, the fused one with z = 1."""
    published, fused = case.cell("gru-published"), case.cell("gru-fused")
    with torch.no_grad():
        published.b[: case.hidden] = -1000.0
        fused.b[case.hidden : 2 * case.hidden] = 1000.0
    for cell in (published, fused):
        _, (final,) = recurrent.run(cell, case.batch.values, case.packing(), (case.h,))
        assert_close(final, case.h, 1e-9)
