"""Two roads to the same numbers: how they are walked and how what they give is compared."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import Tensor

from dragoman.config import TrainingConfig
from dragoman.data.batch import Batch
from dragoman.models import Decoded, Model, Step
from dragoman.nn.attention import Alignment
from dragoman.nn.batches import Rows, is_real
from dragoman.nn.stateless_noise import Noise
from dragoman.training.step import RewardBaseline, objective
from tests.equations.comparison import assert_close, magnitude

TOLERANCE = 1e-9

ALIGNMENT_FIELDS = [field.name for field in dataclasses.fields(Alignment)]


def assert_equal(actual: Tensor, wanted: Tensor, what: str = "values") -> None:
    """Equal to 1e-9 of the largest value."""
    assert_close(actual, wanted, TOLERANCE * magnitude(wanted), what)


def assert_equal_where(is_wanted: Tensor, actual: Tensor, wanted: Tensor, what: str) -> None:
    """Equal in the rows of the first dimensions that `is_wanted` names."""
    assert_equal(actual[is_wanted], wanted[is_wanted], what)


def written(batch: Batch) -> Tensor:
    """True where a target position is real. Shapes: -> [batch, tgt]."""
    return is_real(batch.target_lengths, batch.inputs.size(1))


def by_step(alignment: Alignment | None, src: int) -> dict[str, Tensor]:
    """Each part of an alignment with the step as its second dimension. Shapes: -> [batch, tgt, *]."""
    if alignment is None:
        return {}
    parts = {name: getattr(alignment, name) for name in ALIGNMENT_FIELDS[1:]}
    found = {name: part for name, part in parts.items() if part is not None}
    return {"weights": alignment.dense(src).movedim(-2, 1), **found}


def steps(model: Model[Any, Any], batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
    """Decode step by step, teacher-forced. Shapes: -> log_probs [batch, tgt, vocab], the alignment `by_step`."""
    memory = model.encode(batch.source, batch.source_lengths)
    state = model.decoder.start(memory)
    taken: list[Step[Any]] = []
    for tokens in batch.inputs.unbind(1):
        taken.append(model.decoder.step(tokens, state, memory))
        state = taken[-1].state
    alignments = [by_step(step.alignment, batch.source.size(1)) for step in taken]
    joined = {name: torch.cat([each[name] for each in alignments], 1) for name in alignments[0]}
    return torch.stack([step.log_probs for step in taken], 1), joined


def whole(model: Model[Any, Any], batch: Batch, noise: Noise | None = None) -> tuple[Tensor, dict[str, Tensor]]:
    """The same in one pass."""
    decoded = model(
        batch.source, batch.source_lengths, batch.inputs, batch.target_lengths, noise, return_attention=True
    )
    return model.decoder.output(decoded.features), by_step(decoded.alignment, batch.source.size(1))


def features(model: Model[Any, Any], batch: Batch, noise: Noise | None, *, return_attention: bool = False) -> Tensor:
    """What the output layer sees. Shapes: -> [batch, tgt, dim]."""
    given = (batch.source, batch.source_lengths, batch.inputs, batch.target_lengths)
    decoded: Decoded = model(*given, noise, return_attention=return_attention)
    return decoded.features


def gradients(model: Model[Any, Any], batch: Batch, training: TrainingConfig, noise: Noise | None) -> dict[str, Tensor]:
    """Of the training objective, by parameter; a parameter that no road leads to has zeros."""
    baseline = RewardBaseline(training.baseline_decay, mean=-2.0)
    return gradients_of(model, objective(model, batch, training, noise, baseline).total)


def gradients_of(model: Model[Any, Any], total: Tensor) -> dict[str, Tensor]:
    """The gradient of a scalar, by parameter."""
    named = dict(model.named_parameters())
    found = torch.autograd.grad(total, list(named.values()), allow_unused=True, materialize_grads=True)
    return dict(zip(named, found, strict=True))


def tensors(value: object, name: str = "") -> dict[str, Tensor]:
    """Every tensor in a row-wise value, by its place in it."""
    if isinstance(value, Tensor):
        return {name: value}
    if isinstance(value, tuple):
        parts = {f"{name}.{number}": item for number, item in enumerate(value)}
    elif isinstance(value, Rows):
        fields = dataclasses.fields(value)  # type: ignore[arg-type]
        parts = {f"{name}.{field.name}": getattr(value, field.name) for field in fields}
    else:
        assert value is None, f"{name} is a {type(value).__name__}"
        return {}
    return {place: tensor for part, item in parts.items() for place, tensor in tensors(item, part).items()}


def assert_same_tensors(actual: object, wanted: object) -> None:
    """Equal row-wise values."""
    ours, theirs = tensors(actual), tensors(wanted)
    assert ours.keys() == theirs.keys()
    for name, tensor in theirs.items():
        assert_equal(ours[name].double(), tensor.double(), name)
