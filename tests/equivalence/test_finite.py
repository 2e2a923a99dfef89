"""No NaN and no infinity, in values or gradients, for any lengths that a batch can have."""

from itertools import product

import pytest
import torch

from dragoman.config import TrainingConfig
from dragoman.nn.stateless_noise import Noise
from testkit.presets import MODELS, POSITIONS, WINDOW, sentences, tiny_model
from tests.equivalence.decoding_paths import features, gradients, steps

LENGTHS = {
    "every source with every target": list(product(range(1, 8), repeat=2)),
    "ends of sentences only": [(1, 1)],
    "a word each": [(1, 2), (2, 1), (2, 2)],
    "beyond the last window": [(1, WINDOW + 7), (2, WINDOW + 9)],
    "beyond the last position": [(POSITIONS + 1, 3), (POSITIONS + 4, 1), (POSITIONS, 2)],
}
EVERY_TERM = TrainingConfig(label_smoothing=0.1, coverage_weight=0.7, entropy_weight=0.3)


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS.keys())
@pytest.mark.parametrize("name", MODELS)
def test_everything_is_finite(name: str, lengths: list[tuple[int, int]]):
    model, batch = tiny_model(name, dropout=0.3), sentences(lengths)
    for noise in (None, Noise.of(1, 1, batch.rows)):
        assert features(model, batch, noise).isfinite().all()
        for training in (TrainingConfig(), EVERY_TERM):
            for parameter, gradient in gradients(model, batch, training, noise).items():
                assert gradient.isfinite().all(), f"gradient of {parameter}"
    with torch.no_grad():
        log_probs, alignment = steps(model, batch)
    assert log_probs.isfinite().all()
    for part, found in alignment.items():
        assert found.isfinite().all(), part
