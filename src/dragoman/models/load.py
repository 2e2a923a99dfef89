"""Load the model of a bundle (saved model) with its weights."""

from __future__ import annotations

from typing import Any

import torch

from dragoman.bundle import Bundle
from dragoman.models.base import Model
from dragoman.models.build import build_model


def load_model(bundle: Bundle) -> Model[Any, Any]:
    """Build the model of a bundle, whose sizes were checked against its weights, and load the weights."""
    tokenizers = bundle.tokenizers()
    model = build_model(bundle.config.model, tokenizers["source"].size, tokenizers["target"].size)
    weights = {name: torch.from_numpy(array) for name, array in bundle.weights().items()}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])
    return model.requires_grad_(False)
