"""Compute the number of parameters and the cost of a model without allocating its weights."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.flop_counter import FlopCounterMode

from dragoman.config.schema import Config
from dragoman.models.build import build_model
from dragoman.nn.stateless_noise import Noise


@dataclass(frozen=True)
class Cost:
    """The number of parameters, and the cost of a target token in a sentence pair.

    FLOPs are those of matrix products only; a multiplication and an addition count as two. Bytes in fp32: activations
    for the backward pass, without the output layer, which is processed in chunks.
    """

    parameters: int
    forward_flops: int
    training_flops: int
    training_bytes: int


def model_cost(config: Config, length: int = 25) -> Cost:
    """Compute the cost of a model with the configured vocabulary size, for pairs of `length` tokens per side."""
    vocab, masks = config.tokenizer.size, 2 if config.training.r_drop else 1
    with torch.device("meta"):
        model = build_model(config.model, vocab, vocab)
    tokens = torch.zeros(1, length, dtype=torch.long, device="meta")
    lengths = torch.tensor([length])
    noise = Noise.of(1, 1, torch.zeros(1, dtype=torch.long, device="meta"))
    own = {_storage(parameter) for parameter in model.parameters()}
    kept: dict[int, int] = {}

    def keep(x: Tensor) -> Tensor:
        if _storage(x) not in own:
            kept[_storage(x)] = x.untyped_storage().nbytes()
        return x

    with FlopCounterMode(display=False) as forward, saved_tensors_hooks(keep, lambda x: x):
        decoded = model(tokens, lengths, tokens, lengths, noise)
        scores = model.decoder.output.weight @ decoded.features.mT  # [1, vocab, length]
    with FlopCounterMode(display=False) as backward:
        scores.sum().backward()
    flops = forward.get_total_flops()
    return Cost(
        sum(parameter.numel() for parameter in model.parameters()),
        flops // length,
        masks * (flops + backward.get_total_flops()) // length,
        masks * sum(kept.values()) // length,
    )


def _storage(x: Tensor) -> int:
    """Identifier of the storage of a tensor; views have the same."""
    return x.untyped_storage()._cdata  # noqa: SLF001 -- on the meta device there is no address
