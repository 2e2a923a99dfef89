"""Reordering hypotheses before or after a step gives the same result."""

import pytest
import torch

from testkit.presets import EVERY_LENGTH, MODELS, sentences, tiny_model
from tests.equivalence.decoding_paths import assert_equal, assert_same_tensors

ROWS = {
    "permuted": [3, 0, 7, 1, 6, 5, 2, 4],
    "repeated": [2, 2, 2, 5, 5, 0, 0, 0],
    "dropped": [1, 4, 6],
    "one": [7],
    "none": [],
    "more than there were": [7, 7, 0, 1, 2, 3, 4, 5, 6, 6, 6],
}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS.keys())
@pytest.mark.parametrize("name", MODELS)
def test_select_then_step_is_step_then_select(name: str, rows: list[int]):
    model, batch = tiny_model(name), sentences(EVERY_LENGTH)
    chosen = torch.tensor(rows, dtype=torch.long)
    with torch.no_grad():
        memory = model.encode(batch.source, batch.source_lengths)
        state = model.decoder.start(memory)
        chosen_memory, chosen_state = memory.select(chosen), state.select(chosen)
        assert_same_tensors(model.decoder.start(chosen_memory), chosen_state)
        for tokens in batch.inputs.unbind(1)[:4]:
            step = model.decoder.step(tokens, state, memory)
            chosen_step = model.decoder.step(tokens[chosen], chosen_state, chosen_memory)
            assert_equal(chosen_step.log_probs, step.log_probs[chosen], "log-probabilities")
            assert_same_tensors(
                chosen_step.alignment, None if step.alignment is None else step.alignment.select(chosen)
            )
            assert_same_tensors(chosen_step.state, step.state.select(chosen))
            state, chosen_state = step.state, step.state.select(chosen)


@pytest.mark.parametrize("name", MODELS)
def test_a_step_leaves_its_state_as_it_was(name: str):
    """Two hypotheses may grow from one state."""
    model, batch = tiny_model(name), sentences(EVERY_LENGTH)
    with torch.no_grad():
        memory = model.encode(batch.source, batch.source_lengths)
        state = model.decoder.step(batch.inputs[:, 0], model.decoder.start(memory), memory).state
        first = model.decoder.step(batch.labels[:, 0], state, memory).log_probs
        other = model.decoder.step(batch.inputs[:, 0], state, memory).log_probs
        assert not torch.allclose(first, other)
        assert torch.equal(first, model.decoder.step(batch.labels[:, 0], state, memory).log_probs)
