"""A sentence alone and in a padded batch: the same numbers, the same gradients, the same dropout."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from dragoman.config import TrainingConfig
from dragoman.data.batch import Batch
from dragoman.nn.batches import is_real
from dragoman.nn.stateless_noise import Noise
from testkit.presets import EVERY_LENGTH, MODELS, alone, sentences, tiny_model
from tests.equivalence.decoding_paths import assert_equal, features, gradients, whole

OBJECTIVES = {
    "plain": TrainingConfig(),
    "every-term": TrainingConfig(
        label_smoothing=0.1, coverage_weight=0.7, entropy_weight=0.3, reinforce_weight=0.8, r_drop=0.5
    ),
}


def noise_of(batch: Batch) -> Noise:
    return Noise.of(7, 3, batch.rows)


def assert_same_company(name: str, batch: Batch) -> None:
    """Log-probabilities and alignments of each pair are those it has alone."""
    model = tiny_model(name)
    with torch.no_grad():
        together, alignment = whole(model, batch)
        for row in range(batch.source.size(0)):
            one = alone(batch, row)
            src, tgt = one.source.size(1), one.inputs.size(1)
            log_probs, own = whole(model, one)
            assert_equal(together[row, :tgt], log_probs[0], f"log-probabilities of pair {row}")
            assert alignment.keys() == own.keys()
            for part, wanted in own.items():
                found = alignment[part][row, :tgt]
                if part == "weights":
                    assert not found[..., src:].any(), "there is no weight on padding"
                    found = found[..., :src]
                assert_equal(found.double(), wanted[0].double(), f"{part} of pair {row}")


@pytest.mark.parametrize("name", MODELS)
def test_a_sentence_alone_is_the_sentence_in_a_batch(name: str):
    assert_same_company(name, sentences(EVERY_LENGTH))


@given(
    name=st.sampled_from(MODELS),
    lengths=st.lists(st.tuples(st.integers(1, 7), st.integers(1, 7)), min_size=1, max_size=4),
    seed=st.integers(0, 1000),
)
def test_a_sentence_alone_is_the_sentence_in_any_batch(name: str, lengths: list[tuple[int, int]], seed: int):
    assert_same_company(name, sentences(lengths, seed=seed))


@pytest.mark.parametrize("wanted", OBJECTIVES)
@pytest.mark.parametrize("name", MODELS)
def test_the_gradient_of_a_batch_is_the_sum_of_those_of_its_sentences(name: str, wanted: str):
    model, batch, training = tiny_model(name), sentences(EVERY_LENGTH), OBJECTIVES[wanted]
    together = gradients(model, batch, training, None)
    each = [gradients(model, alone(batch, row), training, None) for row in range(batch.source.size(0))]
    for parameter, found in together.items():
        assert_equal(found, torch.stack([one[parameter] for one in each]).sum(0), f"gradient of {parameter}")


@pytest.mark.parametrize("name", MODELS)
def test_a_sentence_has_the_same_dropout_alone_and_in_company(name: str):
    model, batch = tiny_model(name, dropout=0.3), sentences(EVERY_LENGTH)
    with torch.no_grad():
        together = features(model, batch, noise_of(batch))
        without = features(model, batch, None)
        for row in range(batch.source.size(0)):
            one = alone(batch, row)
            tgt = one.inputs.size(1)
            own = features(model, one, noise_of(one))[0]
            assert_equal(together[row, :tgt], own, f"features of pair {row}")
            assert not torch.allclose(own, without[row, :tgt]), "there was dropout"


@pytest.mark.parametrize("name", MODELS)
def test_with_dropout_too_the_gradient_of_a_batch_is_the_sum(name: str):
    model, batch, training = tiny_model(name, dropout=0.3), sentences(EVERY_LENGTH), OBJECTIVES["every-term"]
    together = gradients(model, batch, training, noise_of(batch))
    ones = [alone(batch, row) for row in range(batch.source.size(0))]
    each = [gradients(model, one, training, noise_of(one)) for one in ones]
    for parameter, found in together.items():
        assert_equal(found, torch.stack([one[parameter] for one in each]).sum(0), f"gradient of {parameter}")


@pytest.mark.parametrize("name", MODELS)
def test_other_padding_changes_nothing(name: str):
    """Neither more of it, nor other words in it."""
    model, batch = tiny_model(name, dropout=0.3), sentences(EVERY_LENGTH)
    training = OBJECTIVES["every-term"]
    wanted = gradients(model, batch, training, noise_of(batch))
    for parameter, found in gradients(model, padded_otherwise(batch), training, noise_of(batch)).items():
        assert_equal(found, wanted[parameter], f"gradient of {parameter}")


def padded_otherwise(batch: Batch) -> Batch:
    """The same sentences with more padding behind them, and words in the padding that could be real."""

    def padded(tokens: Tensor, lengths: Tensor, more: int, word: int) -> Tensor:
        wider = F.pad(tokens, (0, more))
        return wider.masked_fill(~is_real(lengths, wider.size(1)), word)

    return replace(
        batch,
        source=padded(batch.source, batch.source_lengths, 2, 5),
        inputs=padded(batch.inputs, batch.target_lengths, 3, 6),
        labels=padded(batch.labels, batch.target_lengths, 3, 7),
    )
