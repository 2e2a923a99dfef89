"""Decoding step by step, the teacher-forced pass, and starting again from the first word at each step: one function."""

import pytest
import torch

from dragoman.nn.batches import is_real
from dragoman.training.step import cross_entropy
from testkit.presets import EVERY_LENGTH, MODELS, sentences, tiny_config, tiny_model
from tests.equivalence.decoding_paths import (
    assert_equal,
    assert_equal_where,
    features,
    gradients_of,
    steps,
    whole,
    written,
)

TRANSFORMERS = [name for name in MODELS if tiny_config(name).family == "transformer"]


@pytest.mark.parametrize("name", MODELS)
def test_step_by_step_is_the_whole_pass(name: str):
    model, batch = tiny_model(name), sentences(EVERY_LENGTH)
    with torch.no_grad():
        slow, slow_alignment = steps(model, batch)
        fast, fast_alignment = whole(model, batch)
    assert slow.isfinite().all()
    assert_equal_where(written(batch), slow, fast, "log-probabilities")
    assert slow_alignment.keys() == fast_alignment.keys()
    for part, wanted in fast_alignment.items():
        assert_equal_where(written(batch), slow_alignment[part].double(), wanted.double(), part)


@pytest.mark.parametrize("name", MODELS)
def test_step_by_step_has_the_gradients_of_the_whole_pass(name: str):
    model, batch = tiny_model(name), sentences(EVERY_LENGTH)
    log_probs, _ = steps(model, batch)
    right = log_probs.gather(-1, batch.labels.unsqueeze(-1)).squeeze(-1)
    slow = gradients_of(model, -(right * written(batch)).sum())
    seen = features(model, batch, None)
    fast = gradients_of(model, cross_entropy(model.decoder.output, seen, batch.labels, batch.target_lengths).total)
    for parameter, wanted in fast.items():
        assert_equal(slow[parameter], wanted, f"gradient of {parameter}")


@pytest.mark.parametrize("name", MODELS)
def test_a_step_is_the_end_of_a_pass_over_the_words_so_far(name: str):
    """For a Transformer: with its cache of keys and values, and without one."""
    model, batch = tiny_model(name), sentences(EVERY_LENGTH)
    with torch.no_grad():
        memory = model.encode(batch.source, batch.source_lengths)
        state = model.decoder.start(memory)
        for written_so_far in range(1, batch.inputs.size(1) + 1):
            prefix = batch.inputs[:, :written_so_far]
            step = model.decoder.step(prefix[:, -1], state, memory)
            again = model.decoder(prefix, torch.full_like(batch.target_lengths, written_so_far), memory)
            assert_equal(step.log_probs, model.decoder.output(again.features[:, -1]), f"step {written_so_far}")
            state = step.state


@pytest.mark.parametrize("name", MODELS)
def test_a_word_sees_no_later_word(name: str):
    model, batch = tiny_model(name), sentences(EVERY_LENGTH)
    changed = batch.inputs.clone()
    changed[:, 3:] = 4 + (changed[:, 3:] + 1) % 7
    with torch.no_grad():
        memory = model.encode(batch.source, batch.source_lengths)
        before, after = (
            model.decoder(inputs, batch.target_lengths, memory).features for inputs in (batch.inputs, changed)
        )
    real = written(batch)
    early = real & is_real(torch.full_like(batch.target_lengths, 3), real.size(1))
    assert_equal_where(early, after, before, "features")
    assert not torch.allclose(after[real & ~early], before[real & ~early])


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_the_fused_attention_is_the_one_that_shows_its_weights(name: str):
    model, batch = tiny_model(name), sentences(EVERY_LENGTH)
    fused, shown = (
        features(model, batch, None, return_attention=return_attention) for return_attention in (False, True)
    )
    assert_equal_where(written(batch), fused, shown, "features")
