"""Every desk preset learns: what it writes for sentences it has never seen is right to the last symbol.

With attention, it must also have learnt it *by* attending: without, a state can carry a few symbols across, and does
(`test_controls_do_not_learn`).
"""

import pytest
import torch

from dragoman.config import preset_names
from dragoman.data.batch import Batch
from testkit.toy_tasks import COPY, EXERCISES, REVERSE, Budget, Exercise, Learned, Task, learn
from tests.learning.small_models import small

BY_PRESET = {exercise.preset: exercise for exercise in EXERCISES}

# About twice what each needs, so that another processor's rounding does not decide.
BUDGETS = {
    "sutskever2014-desk": Budget(700, enough=0.97),
    "cho2014-desk": Budget(900, batch=128, enough=0.97),
    "bahdanau2015-desk": Budget(350),
    "luong2015-desk": Budget(500),
    "lin2017-desk": Budget(350),
    "luong2015-location-desk": Budget(700),
    "luong2015-local-p-desk": Budget(600),
    "luong2015-local-m-desk": Budget(800),
    "xu2015-desk": Budget(800, batch=128, enough=0.97),
    "vaswani2017-desk": Budget(400, batch=128),
    "kim2019-ssru-desk": Budget(400, batch=128),
    "pairs-30k": Budget(400, batch=128),
}


def train(preset: str) -> tuple[Exercise, Learned]:
    exercise = BY_PRESET[preset]
    learned = learn(small(preset, *exercise.settings), exercise.task, BUDGETS[preset])
    return exercise, learned


def test_every_desk_preset_is_tried() -> None:
    assert {name for name in preset_names() if name.endswith("-desk")} <= BY_PRESET.keys()


@pytest.mark.parametrize("preset", ["sutskever2014-desk", pytest.param("cho2014-desk", marks=pytest.mark.long)])
def test_one_vector_is_enough_for_short_copies(preset: str) -> None:
    exercise, learned = train(preset)
    assert learned.exact >= exercise.goal
    assert learned.aligned is None


@pytest.mark.parametrize(
    "preset",
    [
        "bahdanau2015-desk",
        pytest.param("luong2015-desk", marks=pytest.mark.slow),
        pytest.param("lin2017-desk", marks=pytest.mark.long),
        pytest.param("luong2015-location-desk", marks=pytest.mark.long),
    ],
)
def test_attention_reverses(preset: str) -> None:
    exercise, learned = train(preset)
    assert learned.exact >= exercise.goal
    assert learned.aligned is not None
    assert learned.aligned >= 0.9


@pytest.mark.long
def test_predictive_local_attention_reverses() -> None:
    exercise, learned = train("luong2015-local-p-desk")
    assert learned.exact >= exercise.goal
    assert learned.aligned is not None
    assert learned.aligned >= 0.9
    assert error_of_centres(learned, exercise.task) < 1.0  # the middle of the sentence would be 1.6 off


def error_of_centres(learned: Learned, task: Task) -> float:
    """How far predicted places are from the right ones, on average, in words."""
    batch = Batch.from_pairs(task.held_out)
    with torch.no_grad():
        decoded = learned.model(batch.source, batch.source_lengths, batch.inputs, batch.target_lengths)
    assert decoded.alignment is not None
    assert decoded.alignment.centre is not None
    errors = [
        abs(predicted - task.origin(step, len(source)))
        for centres, (source, _) in zip(decoded.alignment.centre.tolist(), task.held_out, strict=True)
        for step, predicted in enumerate(centres[: len(source)])
    ]
    return float(sum(errors) / len(errors))


@pytest.mark.long
def test_monotone_local_attention_rewrites() -> None:
    exercise, learned = train("luong2015-local-m-desk")
    assert learned.exact >= exercise.goal


@pytest.mark.long
def test_hard_attention_reverses() -> None:
    exercise, learned = train("xu2015-desk")
    assert learned.exact >= exercise.goal
    assert learned.aligned is not None
    assert learned.aligned >= 0.8  # a place drawn blindly is right for 0.15 of the words


@pytest.mark.slow
@pytest.mark.parametrize(
    "preset",
    ["vaswani2017-desk", *(pytest.param(name, marks=pytest.mark.long) for name in ("kim2019-ssru-desk", "pairs-30k"))],
)
def test_transformer_reverses(preset: str) -> None:
    exercise, learned = train(preset)
    assert learned.exact >= exercise.goal


# lstm and gru-published are in the presets above.
@pytest.mark.long
@pytest.mark.parametrize(("cell", "task"), [("gru-fused", REVERSE), ("rnn", COPY)])
def test_other_cells_learn(cell: str, task: Task) -> None:
    config = small("bahdanau2015-desk", f"model.encoder.cell={cell}", f"model.decoder.cell={cell}")
    learned = learn(config, task, Budget(400))
    assert learned.exact >= 0.95
