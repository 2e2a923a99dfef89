"""bfloat16 products: results are finite and close to float32."""

import statistics

import pytest
import torch

from dragoman.config import TrainingConfig
from dragoman.nn.stateless_noise import Noise
from testkit.presets import EVERY_LENGTH, MODELS, fresh_model, sentences, tiny_config
from tests.equivalence.decoding_paths import gradients, steps, written

TRAINING = TrainingConfig(label_smoothing=0.1, coverage_weight=0.1)


@pytest.mark.parametrize("name", MODELS)
def test_training_in_bfloat16_is_near_to_float32(name: str):
    model, batch = fresh_model(tiny_config(name)), sentences(EVERY_LENGTH)
    alike = []
    for update in (1, 2, 3):
        noise = Noise.of(1, update, batch.rows)
        wide = gradients(model, batch, TRAINING, noise)
        with torch.autocast("cpu", torch.bfloat16):
            narrow = gradients(model, batch, TRAINING, noise)
        for parameter, gradient in narrow.items():
            assert gradient.dtype == torch.float32, parameter
            assert gradient.isfinite().all(), parameter
        alike.append(float(torch.nn.functional.cosine_similarity(flat(narrow), flat(wide), dim=0)))
    # Eight numbers of which dropout left two nearly equal ones: their layer norm magnifies any rounding. That is rare.
    assert statistics.median(alike) > 0.98
    assert min(alike) > 0.8


@pytest.mark.parametrize("name", MODELS)
def test_steps_in_bfloat16_are_near_to_float32(name: str):
    model, batch = fresh_model(tiny_config(name)), sentences(EVERY_LENGTH)
    with torch.no_grad():
        wide, _ = steps(model, batch)
        with torch.autocast("cpu", torch.bfloat16):
            narrow, alignment = steps(model, batch)
    assert narrow.dtype == torch.float32
    for part, found in alignment.items():
        assert found.isfinite().all(), part
    torch.testing.assert_close(narrow[written(batch)], wide[written(batch)], atol=0.05, rtol=0.05)


@pytest.mark.parametrize("name", MODELS)
def test_weights_cast_to_bfloat16_decode(name: str):
    """The way of inference: cast once, no autocast."""
    model, batch = fresh_model(tiny_config(name)), sentences(EVERY_LENGTH)
    with torch.no_grad():
        wide, _ = steps(model, batch)
        narrow, _ = steps(model.bfloat16(), batch)
    assert narrow.isfinite().all()
    torch.testing.assert_close(narrow[written(batch)].float(), wide[written(batch)], atol=0.1, rtol=0.1)


def flat(gradients: dict[str, torch.Tensor]) -> torch.Tensor:
    """All gradients as one vector."""
    return torch.cat([gradient.flatten() for gradient in gradients.values()])
