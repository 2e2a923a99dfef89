"""Recurrent cells, and a loop that runs them over a batch of sentences of unequal length.

Four cells, as in the papers:

================  ==============================================================================================
``rnn``           plain tanh recurrence
``lstm``          long short-term memory with a forget gate
``gru-published`` the gated unit of [cho2014]: the reset gate acts on the state *before* the matrix product
``gru-fused``     what cuDNN and ``nn.GRU`` compute: the reset gate acts *after* it, and z means what 1 - z means there
================  ==============================================================================================

A cell's input product ``W x + b`` does not depend on the state, so callers compute it for all steps at once (`project`)
and pass the result to `step`.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from dragoman.nn import deferred_gradient

CellState = tuple[Tensor, ...]
"""The state of a cell between steps, batch first; the first tensor is the hidden state h [batch, hidden]."""


class Cell(nn.Module, ABC):
    """A recurrent cell: ``step(W x_t + b, state) -> state``.

    Parameters: W [gates * hidden, inputs], U [gates * hidden, hidden], b [gates * hidden]; blocks in the order `order`.
    """

    order: ClassVar[str]
    """The gate blocks of W, U and b, one letter each."""
    parts: ClassVar[int] = 1
    """Number of tensors in a state."""
    kernel: ClassVar[str | None] = None
    """The name of torch's fused kernel for the same function, if any."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.inputs = inputs
        self.hidden = hidden
        gates = len(self.order)
        self.W = nn.Parameter(torch.empty(gates * hidden, inputs))
        self.U = nn.Parameter(torch.empty(gates * hidden, hidden))
        self.b = nn.Parameter(torch.empty(gates * hidden))
        bound = 1.0 / math.sqrt(hidden)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    def project(self, x: Tensor) -> Tensor:
        """``W x + b`` for any number of steps at once. Shapes: [*, inputs] -> [*, gates * hidden]."""
        return F.linear(x, self.W, self.b)

    def start(self, batch: int) -> CellState:
        """The state before the first step: zeros. Shapes: each [batch, hidden]."""
        return tuple(self.b.new_zeros(batch, self.hidden) for _ in range(self.parts))

    def recurrent(self) -> CellState:
        """The recurrent weights, prepared for a loop: the argument `weights` of `step`."""
        return (deferred_gradient.defer(self.U),)

    @abstractmethod
    def step(self, projected: Tensor, state: CellState, weights: CellState) -> CellState:
        """One step. Shapes: projected [batch, gates * hidden], state each [batch, hidden] -> state."""

    def kernel_weights(self) -> list[Tensor]:
        """The parameters for torch's kernel: W, U and its two biases."""
        return [self.W, self.U, self.b, torch.zeros_like(self.b)]

    def extra_repr(self) -> str:
        return f"inputs={self.inputs}, hidden={self.hidden}"


class RnnCell(Cell):
    """Plain recurrence, h_t = tanh(W x_t + U h_{t-1} + b). Paper: [schuster1997] (section II.A); equals ``nn.RNN``."""

    order = "h"
    kernel = "rnn_tanh"

    def step(self, projected: Tensor, state: CellState, weights: CellState) -> CellState:
        return (_wide(deferred_gradient.linear(state[0], weights[0], projected), state[0]).tanh(),)


class LstmCell(Cell):
    """LSTM with a forget gate; equals ``nn.LSTM``. Paper: [gers2000] (section 3).

    i, f, o = σ(W x_t + U h_{t-1} + b);  C̃ = tanh(W_C x_t + U_C h_{t-1} + b_C);  C_t = f ∗ C_{t-1} + i ∗ C̃;
    h_t = o ∗ tanh(C_t). The state is (h, C).
    """

    order = "ifgo"
    parts = 2
    kernel = "lstm"

    def step(self, projected: Tensor, state: CellState, weights: CellState) -> CellState:
        gates = deferred_gradient.linear(state[0], weights[0], projected)  # [batch, 4 * hidden]
        return cast("CellState", _LstmGates.apply(gates, state[1]))  # type: ignore[no-untyped-call]


class GruPublishedCell(Cell):
    """GRU as published. Papers: [cho2014] (5)-(8), [bahdanau2015] (appendix A.1.1).

    z, r = σ(W x_t + U h_{t-1} + b);  h̃ = tanh(W x_t + U (r ∗ h_{t-1}) + b);  h_t = (1 − z) ∗ h_{t-1} + z ∗ h̃.
    This is [bahdanau2015]'s z; what [cho2014] (7) calls z is 1 − z here. The cell can learn the same functions.
    """

    order = "zrh"

    def recurrent(self) -> CellState:
        gates, candidate = self.U.split([2 * self.hidden, self.hidden])
        return deferred_gradient.defer(gates), deferred_gradient.defer(candidate)

    def step(self, projected: Tensor, state: CellState, weights: CellState) -> CellState:
        (h,) = state
        for_gates, for_candidate = projected.split([2 * self.hidden, self.hidden], dim=-1)
        z, r = _wide(deferred_gradient.linear(h, weights[0], for_gates), h).sigmoid().chunk(2, dim=-1)
        candidate = _wide(deferred_gradient.linear(r * h, weights[1], for_candidate), h).tanh()
        return (torch.lerp(h, candidate, z),)


class GruFusedCell(Cell):
    """GRU as cuDNN and ``nn.GRU`` compute it: the reset gate acts on ``U h + b_U``, after the product.

    r, z = σ(W x_t + U h_{t-1} + b);  n = tanh(W x_t + b + r ∗ (U h_{t-1} + b_U));  h_t = (1 − z) ∗ n + z ∗ h_{t-1}.
    It has one bias more than the published cell, and computes a different function.
    """

    order = "rzn"
    kernel = "gru"

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__(inputs, hidden)
        self.b_U = nn.Parameter(torch.empty(hidden))
        nn.init.uniform_(self.b_U, -1.0 / math.sqrt(hidden), 1.0 / math.sqrt(hidden))

    def recurrent(self) -> CellState:
        return deferred_gradient.defer(self.U), self.b_U

    def step(self, projected: Tensor, state: CellState, weights: CellState) -> CellState:
        (h,) = state
        split = [2 * self.hidden, self.hidden]
        from_x, candidate_x = _wide(projected, h).split(split, dim=-1)
        from_h, candidate_h = _wide(deferred_gradient.linear(h, weights[0]), h).split(split, dim=-1)
        r, z = (from_x + from_h).sigmoid().chunk(2, dim=-1)
        candidate = (candidate_x + r * (candidate_h + _wide(weights[1], h))).tanh()
        return (torch.lerp(candidate, h, z),)

    def kernel_weights(self) -> list[Tensor]:
        nothing = self.b_U.new_zeros(2 * self.hidden)
        return [self.W, self.U, self.b, torch.cat([nothing, self.b_U])]


class _LstmGates(torch.autograd.Function):
    """The pointwise half of an LSTM step: (gates, C_{t-1}) -> (h_t, C_t), in the state's precision."""

    @staticmethod
    def forward(ctx: Any, gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        hidden = cell.size(-1)
        active = gates.to(cell.dtype, copy=True)  # [batch, 4 * hidden]
        active[:, : 2 * hidden].sigmoid_()
        active[:, 2 * hidden : 3 * hidden].tanh_()
        active[:, 3 * hidden :].sigmoid_()
        i, f, g, o = active.chunk(4, dim=-1)
        new_cell = (f * cell).addcmul_(i, g)
        squashed = new_cell.tanh()
        ctx.save_for_backward(active, cell, squashed)
        ctx.gates_dtype = gates.dtype
        ctx.set_materialize_grads(False)
        return o * squashed, new_cell

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_h: Tensor | None, d_cell: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
        active, cell, squashed = ctx.saved_tensors
        if d_h is None and d_cell is None:
            return None, None
        i, f, g, o = active.chunk(4, dim=-1)
        d_gates = torch.empty_like(active)
        d_i, d_f, d_g, d_o = d_gates.chunk(4, dim=-1)
        d_new = torch.zeros_like(cell) if d_cell is None else d_cell
        if d_h is None:
            d_o.zero_()
        else:
            torch.mul(d_h, squashed, out=d_o)
            d_new = d_new + torch.ops.aten.tanh_backward(d_h * o, squashed)
        torch.mul(d_new, g, out=d_i)
        torch.mul(d_new, cell, out=d_f)
        torch.mul(d_new, i, out=d_g)
        sigmoid_backward, tanh_backward = torch.ops.aten.sigmoid_backward, torch.ops.aten.tanh_backward
        hidden = cell.size(-1)
        two = slice(0, 2 * hidden)
        sigmoid_backward.grad_input(d_gates[:, two], active[:, two], grad_input=d_gates[:, two])
        tanh_backward.grad_input(d_g, g, grad_input=d_g)
        sigmoid_backward.grad_input(d_o, o, grad_input=d_o)
        return d_gates.to(ctx.gates_dtype), d_new * f


def _wide(x: Tensor, like: Tensor) -> Tensor:
    """Pointwise operations run in the precision of the state even if products run in bfloat16. Shapes: unchanged."""
    return x.to(like.dtype)


CELLS: dict[str, type[Cell]] = {
    "rnn": RnnCell,
    "lstm": LstmCell,
    "gru-published": GruPublishedCell,
    "gru-fused": GruFusedCell,
}


@dataclass(frozen=True)
class Packing:
    """Time-major layout of the real positions of a padded batch, without padding, as torch's kernels require it.

    Rows are sorted by length, longest first, so that step t concerns the first ``sizes[t]`` of them. No time is
    spent on padding, and padding cannot change a state. Computed once per batch, used by every layer.

    Shapes: order [batch]; forward_index, backward_index [tokens]: positions in the flat [batch * src] layout, in
    reading order from the left and from the right.
    """

    sizes: tuple[int, ...]
    order: Tensor
    forward_index: Tensor
    backward_index: Tensor

    @classmethod
    def of(cls, lengths: Tensor, src: int, device: torch.device) -> Packing:
        """The layout for sentences of these lengths, padded to `src`. Shapes: lengths [batch]."""
        on_host = lengths.cpu()
        ordered, order = on_host.sort(descending=True, stable=True)
        steps = torch.arange(int(ordered[0]))
        active = steps.unsqueeze(1) < ordered  # [steps, batch]
        step, slot = active.nonzero(as_tuple=True)  # time-major
        row = order[slot]
        from_right = on_host[row] - 1 - step
        return cls(
            sizes=tuple(active.sum(1).tolist()),
            order=order.to(device),
            forward_index=(row * src + step).to(device),
            backward_index=(row * src + from_right).to(device),
        )

    def index(self, backwards: bool) -> Tensor:
        return self.backward_index if backwards else self.forward_index

    def pack(self, x: Tensor, backwards: bool) -> Tensor:
        """Shapes: [batch, src, dim] -> [tokens, dim]."""
        return x.reshape(-1, x.size(-1)).index_select(0, self.index(backwards))

    def unpack(self, packed: Tensor, like: Tensor, backwards: bool) -> Tensor:
        """Back to the padded layout of `like`, zeros in the padding. Shapes: [tokens, dim] -> [batch, src, dim]."""
        flat = packed.new_zeros(like.size(0) * like.size(1), packed.size(-1))
        return flat.index_copy(0, self.index(backwards), packed).view(like.size(0), like.size(1), -1)


def run(
    cell: Cell, x: Tensor, packing: Packing, start: CellState | None = None, *, backwards: bool = False
) -> tuple[Tensor, CellState]:
    """Run a cell over complete sentences, from the left or (`backwards`) from the end of each sentence.

    Shapes: x [batch, src, inputs], start each [batch, hidden] -> states [batch, src, hidden], the final state, each
    [batch, hidden]. In both directions a state is at the position of its token; padding is zero.
    """
    start = cell.start(x.size(0)) if start is None else start
    start = tuple(part.index_select(0, packing.order) for part in start)
    packed = packing.pack(x, backwards)
    advance = _run_kernel if x.is_cuda and cell.kernel is not None else _run_steps
    states, final = advance(cell, packed, packing.sizes, start)
    back = packing.order.argsort()
    return packing.unpack(states, x, backwards), tuple(part.index_select(0, back) for part in final)


def _run_steps(cell: Cell, packed: Tensor, sizes: tuple[int, ...], state: CellState) -> tuple[Tensor, CellState]:
    """Step by step; rows of ended sentences are removed. Shapes: [tokens, inputs] -> [tokens, hidden]."""
    weights = cell.recurrent()
    outputs: list[Tensor] = []
    finished: list[CellState] = []
    for size, projected in zip(sizes, cell.project(packed).split(sizes), strict=True):
        if size < state[0].size(0):
            finished.append(tuple(part[size:] for part in state))
            state = tuple(part[:size] for part in state)
        state = cell.step(projected, state, weights)
        outputs.append(state[0])
    finished.append(state)
    final = tuple(torch.cat([state[part] for state in reversed(finished)]) for part in range(cell.parts))
    return torch.cat(outputs), final


def _run_kernel(cell: Cell, packed: Tensor, sizes: tuple[int, ...], state: CellState) -> tuple[Tensor, CellState]:
    """The same by torch's fused kernel (cuDNN on a GPU), in the state's precision. Shapes as `_run_steps`.

    Autocast is off inside: cuDNN's recurrent kernels would use float16 with any autocast dtype.
    """
    assert cell.kernel is not None
    kernel = getattr(torch._VF, cell.kernel)  # noqa: SLF001 -- nn.LSTM calls it too
    hidden = tuple(part.unsqueeze(0) for part in state)
    initial = hidden if cell.parts > 1 else hidden[0]
    packed = packed.to(state[0].dtype)
    with torch.autocast(packed.device.type, enabled=False), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="RNN module weights are not part of single contiguous chunk")
        states, *final = kernel(
            packed, torch.tensor(sizes), initial, cell.kernel_weights(), True, 1, 0.0, torch.is_grad_enabled(), False
        )
    return states, tuple(part.squeeze(0) for part in final)
