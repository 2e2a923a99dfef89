"""An operand's mark changes how its gradient is put together, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dragoman.nn import deferred_gradient
from testkit.generators import Numbers, many_cases, seeds, sizes
from tests.equations.comparison import assert_close

EXACT = 1e-12
"""Marked and unmarked operands differ by the order of a sum at most."""

BATCH, SRC, DIM, TGT = 2, 3, 4, 2

Mark = Callable[[Tensor], Tensor]


def plain(w: Tensor) -> Tensor:
    return w


BOTH: dict[str, Mark] = {"marked": deferred_gradient.defer, "unmarked": plain}


def leaf(seed: int, *shape: int) -> Tensor:
    return Numbers(seed).normal(*shape).requires_grad_()


def weighted(*outputs: Tensor) -> Tensor:
    """A sum in which no two elements weigh the same."""
    total = torch.zeros((), dtype=torch.float64)
    for output in outputs:
        probe = torch.arange(1.0, output.numel() + 1, dtype=output.dtype).cos().view(output.shape)
        total = total + (output * probe).sum()
    return total


def gradients(total: Tensor, *leaves: Tensor, keep: bool = False) -> list[Tensor | None]:
    return list(torch.autograd.grad(total, leaves, allow_unused=True, retain_graph=keep))


def assert_alike(first: list[Tensor | None], second: list[Tensor | None]) -> None:
    """The same gradients, with None in the same places."""
    for ours, theirs in zip(first, second, strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None and theirs is not None:
            assert_close(ours, theirs, EXACT)


# ----------------------------------------------------------------------------------------------------- one kind of use


@dataclass(frozen=True)
class Use:
    """One product: the operand's shape, the shapes of what it is combined with, and the product itself."""

    operand: tuple[int, ...]
    others: tuple[tuple[int, ...], ...]
    product: Callable[..., Tensor]


INDEX = torch.tensor([[[0, 2, 2], [1, 1, 0]], [[2, 2, 2], [0, 1, 2]]])  # [batch, tgt, 3]

USES = {
    "linear": Use((SRC, DIM), ((BATCH, DIM),), lambda w, x: deferred_gradient.linear(x, w)),
    "linear, a bias": Use((SRC, DIM), ((BATCH, DIM), (SRC,)), lambda w, x, b: deferred_gradient.linear(x, w, b)),
    "linear, a bias a row": Use(
        (SRC, DIM), ((BATCH, DIM), (BATCH, SRC)), lambda w, x, b: deferred_gradient.linear(x, w, b)
    ),
    "linear, one weight for all rows": Use(
        (SRC, DIM), ((BATCH, TGT, DIM),), lambda w, x: deferred_gradient.linear(x, w)
    ),
    "linear, that and a bias": Use(
        (SRC, DIM), ((BATCH, TGT, DIM), (SRC,)), lambda w, x, b: deferred_gradient.linear(x, w, b)
    ),
    "linear, keys": Use((BATCH, SRC, DIM), ((BATCH, TGT, DIM),), lambda w, x: deferred_gradient.linear(x, w)),
    "linear, keys and a bias": Use(
        (BATCH, SRC, DIM), ((BATCH, TGT, DIM), (BATCH, 1, SRC)), lambda w, x, b: deferred_gradient.linear(x, w, b)
    ),
    "mix": Use((SRC, DIM), ((BATCH, SRC),), lambda w, a: deferred_gradient.weighted_sum(a, w)),
    "mix, one operand for all rows": Use(
        (SRC, DIM), ((BATCH, TGT, SRC),), lambda w, a: deferred_gradient.weighted_sum(a, w)
    ),
    "mix, values": Use((BATCH, SRC, DIM), ((BATCH, TGT, SRC),), lambda w, a: deferred_gradient.weighted_sum(a, w)),
    "take": Use((BATCH, SRC, DIM), (), lambda w: deferred_gradient.take(w, INDEX)),
}


@pytest.mark.parametrize("name", USES)
def test_the_mark_changes_neither_values_nor_gradients(name: str):
    use = USES[name]
    values, found = [], []
    for mark in BOTH.values():
        w = leaf(1, *use.operand)
        others = [leaf(2 + number, *shape) for number, shape in enumerate(use.others)]
        y = use.product(mark(w), *others)
        values.append(y.detach())
        found.append(gradients(weighted(y), w, *others))
    assert_close(values[0], values[1], EXACT)
    assert_alike(found[0], found[1])
    assert all(gradient is not None and gradient.abs().max() > 0 for gradient in found[0])


@pytest.mark.parametrize("mark", BOTH.values(), ids=BOTH)
def test_known_products(mark: Mark):
    w = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=torch.float64, requires_grad=True)  # [src, dim]
    x = torch.tensor([[1.0, -1.0]], dtype=torch.float64)
    assert deferred_gradient.linear(x, mark(w)).tolist() == [[-1.0, -1.0, -1.0]]
    assert deferred_gradient.linear(x, mark(w), torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)).tolist() == [
        [0.0, 1.0, 2.0]
    ]
    assert deferred_gradient.weighted_sum(torch.tensor([[1.0, 0.0, 2.0]], dtype=torch.float64), mark(w)).tolist() == [
        [11.0, 14.0]
    ]
    rows = mark(torch.stack([w, 10 * w]))  # [2, src, dim]
    assert deferred_gradient.take(rows, torch.tensor([[[2, 0]], [[1, 1]]])).tolist() == [
        [[[5, 6], [1, 2]]],
        [[[30, 40], [30, 40]]],
    ]


@pytest.mark.parametrize("name", USES)
def test_only_the_operand_wants_a_gradient(name: str):
    use = USES[name]
    found = []
    for mark in BOTH.values():
        w = leaf(1, *use.operand)
        others = [leaf(2 + number, *shape).detach() for number, shape in enumerate(use.others)]
        found.append(gradients(weighted(use.product(mark(w), *others)), w))
    assert_alike(found[0], found[1])


@pytest.mark.parametrize("name", [name for name, use in USES.items() if use.others])
def test_the_operand_wants_no_gradient(name: str):
    use = USES[name]
    found = []
    for mark in BOTH.values():
        w = leaf(1, *use.operand).detach()
        others = [leaf(2 + number, *shape) for number, shape in enumerate(use.others)]
        found.append(gradients(weighted(use.product(mark(w), *others)), *others))
    assert_alike(found[0], found[1])


@pytest.mark.parametrize("name", USES)
@pytest.mark.parametrize("quiet", [torch.no_grad, torch.inference_mode])
def test_without_gradients(name: str, quiet: Callable[[], torch.no_grad | torch.inference_mode]):
    use = USES[name]
    w = leaf(1, *use.operand)
    others = [leaf(2 + number, *shape) for number, shape in enumerate(use.others)]
    marked_before = deferred_gradient.defer(w)
    with quiet():
        wanted = use.product(w, *others)
        assert deferred_gradient.defer(w) is w
        for operand in (deferred_gradient.defer(w), marked_before):
            y = use.product(operand, *others)
            assert not y.requires_grad
            assert torch.equal(y, wanted)


@pytest.mark.parametrize("name", USES)
def test_an_operand_laid_out_across_memory(name: str):
    use = USES[name]
    found = []
    for mark in BOTH.values():
        w = leaf(1, *use.operand[:-2], use.operand[-1], use.operand[-2])
        others = [leaf(2 + number, *shape) for number, shape in enumerate(use.others)]
        found.append(gradients(weighted(use.product(mark(w.transpose(-1, -2)), *others)), w, *others))
    assert_alike(found[0], found[1])


def test_halves_of_one_tensor_are_operands_of_their_own():
    found = []
    for mark in BOTH.values():
        states, queries = leaf(1, BATCH, SRC, 2 * DIM), leaf(2, BATCH, TGT, DIM)
        keys, values = (mark(half) for half in states.chunk(2, dim=-1))
        taken = deferred_gradient.take(values, INDEX)
        y = deferred_gradient.weighted_sum(deferred_gradient.linear(queries, keys).softmax(-1), values)
        found.append(gradients(weighted(y, taken, deferred_gradient.take(keys, INDEX)), states, queries))
    assert_alike(found[0], found[1])


# ---------------------------------------------------------------------------------------------------------- many uses


KINDS = ("linear", "mix", "take", "ordinary", "view")


def run_program(mark: Mark, w: Tensor, x: Tensor, kinds: list[str], indices: list[Tensor]) -> list[Tensor]:
    """Steps that each use the operand in one way, and each take the step before as their input, as a loop does.

    Shapes: w [batch, src, dim], x [batch, 1, dim], indices each [batch, 1, 1] -> each [batch, 1, dim].
    """
    operand = mark(w)
    outputs = []
    for kind, index in zip(kinds, indices, strict=True):
        if kind == "linear":
            x = x + deferred_gradient.linear(x, operand).tanh().mean(-1, keepdim=True)
        elif kind == "mix":
            x = (
                deferred_gradient.weighted_sum(
                    (x.mean(-1, keepdim=True) * torch.arange(operand.size(1))).softmax(-1), operand
                )
                + x
            )
        elif kind == "take":
            x = x.tanh() + deferred_gradient.take(operand, index).squeeze(2)
        elif kind == "ordinary":
            x = x * operand.mean(1, keepdim=True).cos()
        else:
            x = x + deferred_gradient.linear(x, operand[:, :1])  # a view carries no mark: autograd's ordinary road
        outputs.append(x)
    return outputs


@many_cases
@given(
    kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=8),
    batch=sizes(1, 3),
    src=sizes(1, 4),
    dim=sizes(1, 3),
    seed=seeds,
    data=st.data(),
)
def test_any_mixture_of_uses(kinds: list[str], batch: int, src: int, dim: int, seed: int, data: st.DataObject):
    """Also if the loss depends on some of the steps, so that some uses get a gradient and some do not."""
    steps = st.integers(0, len(kinds) - 1)
    wanted = data.draw(st.lists(steps, min_size=1, max_size=3, unique=True), "steps in the loss")
    indices = [Numbers(seed + number).tokens(src, batch, 1, 1) for number in range(len(kinds))]
    values, found = [], []
    for mark in BOTH.values():
        w, x = leaf(seed, batch, src, dim), leaf(seed + 1, batch, 1, dim)
        outputs = run_program(mark, w, x, kinds, indices)
        values.append(torch.stack([output.detach() for output in outputs]))
        found.append(gradients(weighted(*(outputs[step] for step in wanted)), w, x))
    scale = max(1.0, float(values[1].abs().max()), *(float(g.abs().max()) for g in found[1] if g is not None))
    assert_close(values[0], values[1], EXACT * scale)
    assert_alike([g if g is None else g / scale for g in found[0]], [g if g is None else g / scale for g in found[1]])


@dataclass(frozen=True)
class Graph:
    """Leaves and three uses of one operand, of three kinds."""

    w: Tensor
    x: Tensor
    a: Tensor
    scores: Tensor
    context: Tensor
    taken: Tensor


def build(mark: Mark) -> Graph:
    w, x, a = leaf(1, BATCH, SRC, DIM), leaf(2, BATCH, TGT, DIM), leaf(3, BATCH, TGT, SRC)
    operand = mark(w)
    return Graph(
        w,
        x,
        a,
        deferred_gradient.linear(x, operand),
        deferred_gradient.weighted_sum(a, operand),
        deferred_gradient.take(operand, INDEX),
    )


LOSSES: dict[str, Callable[[Graph], Tensor]] = {
    "all": lambda g: weighted(g.scores, g.context, g.taken),
    "linear": lambda g: weighted(g.scores),
    "mix": lambda g: weighted(g.context),
    "take": lambda g: weighted(g.taken),
    "linear and take": lambda g: weighted(g.scores, g.taken),
    "all, one detached": lambda g: weighted(g.scores, g.context.detach(), g.taken),
    "none": lambda g: weighted(g.x),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_only_some_uses_get_a_gradient(loss: str):
    found = []
    for mark in BOTH.values():
        graph = build(mark)
        found.append(gradients(LOSSES[loss](graph), graph.w, graph.x, graph.a))
    assert_alike(found[0], found[1])
    assert (found[0][0] is None) == (loss == "none")


@pytest.mark.parametrize("loss", [name for name in LOSSES if name != "none"])
def test_backward_twice(loss: str):
    graph, other = build(deferred_gradient.defer), build(plain)
    total, wanted = LOSSES[loss](graph), LOSSES[loss](other)
    for _ in range(2):
        total.backward(retain_graph=True)
        wanted.backward(retain_graph=True)
    total.backward()
    wanted.backward()
    assert_alike([graph.w.grad, graph.x.grad, graph.a.grad], [other.w.grad, other.x.grad, other.a.grad])


def test_two_losses_of_one_operand_one_after_the_other():
    graph, other = build(deferred_gradient.defer), build(plain)
    for name in ("linear", "take", "mix", "all"):
        LOSSES[name](graph).backward(retain_graph=True)
        LOSSES[name](other).backward(retain_graph=True)
        assert_alike([graph.w.grad], [other.w.grad])


@pytest.mark.parametrize("asked", ["x", "a"])
def test_asking_for_another_inputs_gradient_leaves_nothing_behind(asked: str):
    graph, other = build(deferred_gradient.defer), build(plain)
    total, wanted = LOSSES["all"](graph), LOSSES["all"](other)
    for _ in range(2):
        found = gradients(total, getattr(graph, asked), keep=True)
        assert_alike(found, gradients(wanted, getattr(other, asked), keep=True))
    assert_alike(
        gradients(total, graph.w, graph.x, graph.a, keep=True), gradients(wanted, other.w, other.x, other.a, keep=True)
    )
    assert_alike(gradients(total, graph.w), gradients(wanted, other.w))


def test_asking_for_the_operands_gradient_alone():
    graph, other = build(deferred_gradient.defer), build(plain)
    assert_alike(gradients(LOSSES["all"](graph), graph.w), gradients(LOSSES["all"](other), other.w))


def test_an_operand_made_from_others_passes_its_gradient_on():
    found = []
    for mark in BOTH.values():
        parameter, keys, x = leaf(1, DIM, DIM), leaf(2, BATCH, SRC, DIM), leaf(3, BATCH, TGT, DIM)
        operand = mark(keys @ parameter)
        scores = deferred_gradient.linear(x, operand)
        found.append(gradients(weighted(scores, deferred_gradient.weighted_sum(scores, operand)), parameter, keys))
    assert_alike(found[0], found[1])


def test_notes_of_a_pass_that_did_not_ask_do_not_reach_the_next():
    """The backward pass of y_1 records uses of w without its gradient; that of y_2 then needs it."""
    w, x = leaf(1, SRC, DIM), leaf(2, BATCH, DIM)
    found = []
    for mark in BOTH.values():
        operand = mark(w)
        first, second = (
            weighted(deferred_gradient.linear(x, operand)),
            weighted(deferred_gradient.take(operand.unsqueeze(0), torch.zeros(1, 1, 1).long())),
        )
        gradients(first, x)
        found.append(gradients(second, w))
    assert_alike(found[0], found[1])


def test_autocast_decides_the_type_of_products():
    w, x = leaf(1, SRC, DIM).detach().float().requires_grad_(), leaf(2, BATCH, DIM).detach().float().requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        operand = deferred_gradient.defer(w)
        y = deferred_gradient.linear(x, operand)
    assert operand.dtype == y.dtype == torch.bfloat16
    found = gradients(weighted(y.double()), w, x)
    wanted = gradients(weighted((x @ w.t()).double()), w, x)
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours is not None
        assert theirs is not None
        assert ours.dtype == torch.float32
        assert_close(ours, theirs, 0.05 * float(theirs.abs().max()))
    assert deferred_gradient.defer(w).dtype == torch.float32
