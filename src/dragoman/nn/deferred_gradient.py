"""Compute the gradient of a tensor that every step of a loop uses once after the loop, instead of in every step.

For a weight that every target step multiplies by, autograd computes one full-size gradient per step and adds them. The
products are thin, and each addition moves the complete weight through memory. Here each use records its two small
factors; after the backward pass of the last step, one large product gives the complete gradient. For a window gathered
from a long source, the backward pass of a step also does not touch the rest of the source.

``w = defer(w)`` marks a tensor; `linear`, `weighted_sum` and `take` use the mark. For an operand without a mark (or a
view of a marked one) autograd computes the same result, only slower.
"""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from dragoman.nn.batches import compute_dtype


class _Tape:
    """Factors recorded in the current backward pass, by kind of product."""

    def __init__(self) -> None:
        self.task: int | None = None
        self._clear()

    def _clear(self) -> None:
        self.outer: list[tuple[Tensor, Tensor]] = []  # y = x @ w^T        -> (dy, x)
        self.inner: list[tuple[Tensor, Tensor]] = []  # y = a @ w          -> (a, dy)
        self.taken: list[tuple[Tensor, Tensor]] = []  # y = w[index]       -> (index, dy)

    def record(self, kind: str, pair: tuple[Tensor, Tensor]) -> None:
        """Record a use. Records of an earlier pass that did not need this gradient are dropped first."""
        task = torch._C._current_graph_task_id()  # noqa: SLF001 -- the only identifier of a backward pass
        if task != self.task:
            self._clear()
            self.task = task
        getattr(self, kind).append(pair)

    def gradient(self, like: Tensor) -> Tensor | None:
        if self.task != torch._C._current_graph_task_id():  # noqa: SLF001
            return None
        total: Tensor | None = None
        for pairs in (self.outer, self.inner):
            if pairs:
                left = torch.cat([_as_steps(a, like.dim()) for a, _ in pairs], dim=-2)  # [*, steps, rows]
                right = torch.cat([_as_steps(b, like.dim()) for _, b in pairs], dim=-2)  # [*, steps, dim]
                part = left.transpose(-1, -2) @ right  # [*, rows, dim]
                total = part if total is None else total.add_(part)
        if self.taken:
            total = like.new_zeros(like.shape) if total is None else total
            index = torch.cat([i for i, _ in self.taken])
            total.view(-1, like.size(-1)).index_add_(0, index, torch.cat([d for _, d in self.taken]))
        self._clear()
        return total


def _as_steps(x: Tensor, dims: int) -> Tensor:
    """Fold leading dimensions into the step dimension where the operand has none. Shapes: -> [*, steps, dim]."""
    return x.reshape(-1, x.size(-1)) if dims == 2 else x


class _Collect(torch.autograd.Function):
    """The identity; its backward runs after that of every use and computes the gradient from the records."""

    @staticmethod
    def forward(ctx: Any, operand: Tensor, tape: _Tape) -> Tensor:
        ctx.set_materialize_grads(False)
        ctx.tape = tape
        ctx.save_for_backward(operand)
        return operand.view_as(operand)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor | None) -> tuple[Tensor | None, None]:
        (operand,) = ctx.saved_tensors
        recorded = ctx.tape.gradient(operand)
        if grad is None or recorded is None:
            return grad if recorded is None else recorded, None
        return grad + recorded, None


class _Outer(torch.autograd.Function):
    """y = x @ w^T (+ bias); the gradient of w is only recorded."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, bias: Tensor | None, tape: _Tape) -> Tensor:
        ctx.save_for_backward(x, w)
        ctx.tape = tape
        ctx.bias_shape = None if bias is None else bias.shape
        if x.dim() == 2 and w.dim() == 2:
            return x @ w.t() if bias is None else torch.addmm(bias, x, w.t())
        y = x @ w.transpose(-1, -2)
        return y if bias is None else y.add_(bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, None, Tensor | None, None]:
        x, w = ctx.saved_tensors
        if ctx.needs_input_grad[1]:
            ctx.tape.record("outer", (dy, x))
        d_bias = dy.sum_to_size(ctx.bias_shape) if ctx.needs_input_grad[2] else None
        return dy @ w if ctx.needs_input_grad[0] else None, None, d_bias, None


class _Inner(torch.autograd.Function):
    """y = a @ w; the gradient of w is only recorded."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, w: Tensor, tape: _Tape) -> Tensor:
        ctx.save_for_backward(a, w)
        ctx.tape = tape
        return a @ w

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, None, None]:
        a, w = ctx.saved_tensors
        if ctx.needs_input_grad[1]:
            ctx.tape.record("inner", (a, dy))
        return dy @ w.transpose(-1, -2) if ctx.needs_input_grad[0] else None, None, None


class _Take(torch.autograd.Function):
    """y = rows of w; the gradient of w is only recorded."""

    @staticmethod
    def forward(ctx: Any, w: Tensor, index: Tensor, tape: _Tape) -> Tensor:
        ctx.save_for_backward(index)
        ctx.tape = tape
        return w.reshape(-1, w.size(-1)).index_select(0, index)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[None, None, None]:
        (index,) = ctx.saved_tensors
        ctx.tape.record("taken", (index, dy))
        return None, None, None


def defer(operand: Tensor) -> Tensor:
    """Mark an operand that a loop uses at every step; under autocast it is cast here, once. Shapes: unchanged."""
    operand = operand.to(compute_dtype(operand))
    if not (torch.is_grad_enabled() and operand.requires_grad):
        return operand
    tape = _Tape()
    marked = cast("Tensor", _Collect.apply(operand, tape))  # type: ignore[no-untyped-call]
    marked.tape = tape  # type: ignore[attr-defined]
    return marked


def linear(x: Tensor, w: Tensor, bias: Tensor | None = None) -> Tensor:
    """x @ w^T + bias. Shapes: x [*, tgt, dim], w [*, rows, dim] or [rows, dim], bias broadcastable."""
    tape = _tape(w)
    if tape is not None:
        return _apply(_Outer, x.to(w.dtype), w, bias if bias is None else bias.to(w.dtype), tape)
    if w.dim() == 2:
        y = F.linear(x, w)
    else:
        y = x @ w.transpose(-1, -2)
    return y if bias is None else y + bias


def weighted_sum(weights: Tensor, w: Tensor) -> Tensor:
    """weights @ w. Shapes: weights [*, tgt, src], w [*, src, dim] -> [*, tgt, dim]."""
    tape = _tape(w)
    weights = weights.to(w.dtype)
    return weights @ w if tape is None else _apply(_Inner, weights, w, tape)


def take(w: Tensor, index: Tensor) -> Tensor:
    """Rows of w by source position. Shapes: w [batch, src, dim], index [batch, tgt, n] -> [batch, tgt, n, dim]."""
    first = torch.arange(w.size(0), device=index.device).mul_(w.size(1)).view(-1, 1, 1)
    flat = (index + first).reshape(-1)  # positions in [batch * src]
    tape = _tape(w)
    rows = w.reshape(-1, w.size(-1)).index_select(0, flat) if tape is None else _apply(_Take, w, flat, tape)
    return rows.view(*index.shape, w.size(-1))


def _tape(w: Tensor) -> _Tape | None:
    return cast("_Tape | None", getattr(w, "tape", None)) if torch.is_grad_enabled() else None


def _apply(function: type[torch.autograd.Function], *args: Any) -> Tensor:
    apply = cast("Callable[..., Tensor]", function.apply)
    return apply(*args)
