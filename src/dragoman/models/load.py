"""Load the model of a bundle (saved model) with its weights."""

from __future__ import annotations

from typing import Any

import torch

from dragoman.bundle import Bundle
from dragoman.errors import BundleError
from dragoman.models.base import Model
from dragoman.models.build import build_model


def load_model(bundle: Bundle) -> Model[Any, Any]:
    """Build the model of a bundle and load its weights; raise a `BundleError` if they do not match."""
    tokenizers = bundle.tokenizers()
    model = build_model(bundle.config.model, tokenizers["source"].size, tokenizers["target"].size)
    weights = {name: torch.from_numpy(array) for name, array in bundle.weights().items()}
    wanted = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    if wanted != {name: tuple(tensor.shape) for name, tensor in weights.items()}:
        raise BundleError(
            f"the weights of {bundle.folder} must be those of the model that its configuration describes, got others; "
            "restore it from its source"
        )
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])
    return model.requires_grad_(False)
