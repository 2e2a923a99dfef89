"""The graphs of ONNX Runtime and the torch model are one function."""

from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.bundle.weights import weight_shapes
from dragoman.config import RnnConfig
from dragoman.engines.onnx.engine import OnnxEngine
from dragoman.engines.onnx.export import write_graphs
from dragoman.engines.onnx.graph import recurrent_graphs
from dragoman.engines.torch_engine import TorchEngine
from dragoman.errors import CombinationError
from dragoman.models import Model
from dragoman.search.decoding_protocol import DecodingState, Numbers, StepOutput
from dragoman.text import BOS_ID
from testkit.generators import randomised
from testkit.legal_wirings import legal_wirings
from testkit.presets import MODELS, POSITIONS, SOURCE_VOCAB, TARGET_VOCAB, WINDOW, fresh_model, tiny_config

RECURRENT = [
    name for name in MODELS if isinstance(config := tiny_config(name), RnnConfig) and not config.encoder.structured_rows
]
SOURCES = [[5, 9], [], [8, 4, 10, 7, 6, 5], [7], [4, 4, 8, 9], [10], [5, 6, 7, 8, 9], [6, 5, 4]]
"""Of every length up to beyond the window and the positions of a location score."""

STEPS = 2 * WINDOW + 5
"""So many that a monotone window leaves the shorter sources."""


def engines_of(config: RnnConfig, folder: Path, precision: str = "float32") -> tuple[OnnxEngine, TorchEngine]:
    """Both engines on one random model, the reference in float64. Its weights are such that errors do not grow."""
    model = randomised(fresh_model(config), 3)
    for parameter in model.requires_grad_(False).parameters():
        parameter.mul_(0.5)
    write_graphs(config, weights_of(model), folder, precision)
    return OnnxEngine(folder, threads=2), TorchEngine(model)


def weights_of(model: Model[Any, Any]) -> dict[str, Any]:
    return {name: parameter.float().numpy() for name, parameter in model.named_parameters()}


def tokens_of(step: int, rows: int) -> Numbers:
    """Some word for each row."""
    return 4 + (np.arange(rows) * 3 + step * 5) % (TARGET_VOCAB - 4)


def assert_same(found: StepOutput, wanted: StepOutput, tolerance: float = 1e-5) -> None:
    np.testing.assert_allclose(found.log_probs, wanted.log_probs, rtol=0, atol=tolerance)
    assert (found.weights is None) == (wanted.weights is None)
    if found.weights is not None and wanted.weights is not None:
        np.testing.assert_allclose(found.weights, wanted.weights, rtol=0, atol=tolerance)


def walk_together(writings: Sequence[DecodingState]) -> None:
    """Both write the same words; between steps rows are exchanged, repeated as a beam has them, and dropped."""
    rows = len(SOURCES)
    moves: dict[int, tuple[str, Numbers]] = {
        1: ("reorder", np.arange(rows)),
        2: ("select", np.repeat(np.arange(rows), 3)),
        3: ("reorder", np.arange(3 * rows).reshape(-1, 3)[:, [2, 0, 0]].ravel()),
        4: ("select", np.delete(np.arange(3 * rows), [3, 4, 5, 9, 10, 11])),
        5: ("select", np.asarray([17, 0, 1, 8, 3])),
        6: ("select", np.asarray([4, 1])),
    }
    tokens = np.full(rows, BOS_ID)
    for step in range(STEPS):
        found, wanted = (writing.step(tokens) for writing in writings)
        assert_same(found, wanted)
        writings = found.next_state, wanted.next_state
        rows = len(tokens)
        if step in moves:
            move, places = moves[step]
            writings = [getattr(writing, move)(places) for writing in writings]
            rows = len(places)
        tokens = tokens_of(step, rows)


@pytest.mark.parametrize("name", RECURRENT)
def test_steps_are_those_of_the_torch_model(name: str, tmp_path: Path):
    config = tiny_config(name)
    assert isinstance(config, RnnConfig)
    engines = engines_of(config, tmp_path)
    walk_together([engine.start(SOURCES, True) for engine in engines])


@pytest.mark.parametrize("name", RECURRENT)
def test_a_sentence_alone_is_itself_in_a_batch(name: str, tmp_path: Path):
    config = tiny_config(name)
    assert isinstance(config, RnnConfig)
    engine, _ = engines_of(config, tmp_path)
    together = engine.start(SOURCES, True)
    alone = [engine.start([source], True) for source in SOURCES]
    for step in range(STEPS):
        tokens = tokens_of(step, len(SOURCES))
        all_rows = together.step(tokens)
        for row, source in enumerate(SOURCES):
            one = alone[row].step(tokens[row : row + 1])
            np.testing.assert_allclose(one.log_probs[0], all_rows.log_probs[row], atol=2e-6)
            if one.weights is not None and all_rows.weights is not None:
                np.testing.assert_allclose(one.weights[0], all_rows.weights[row, : len(source) + 1], atol=2e-6)
                assert not all_rows.weights[row, len(source) + 1 :].any()
            alone[row] = one.next_state  # type: ignore[call-overload]
        together = all_rows.next_state  # type: ignore[assignment]


def every_combination() -> list[dict[str, Any]]:
    """Every legal way to attend, with cells, layers, directions and the rest taken in turn."""
    shapes = [
        {
            "cell": cell,
            "layers": layers,
            "bidirectional": both,
            "join": join,
            "reverse": reverse,
            "tie": tie,
            "start": start,
        }
        for cell, tie in zip(
            ["rnn", "lstm", "gru-published", "gru-fused"], ["none", "target", "all", "none"], strict=True
        )
        for layers, both, join, reverse, start in [
            (1, True, "concat", False, "project"),
            (2, True, "linear", True, "project"),
            (1, False, "concat", True, "copy"),
            (2, True, "concat", False, "copy"),
            (3, False, "concat", False, "project"),
        ]
    ]
    ways = list(legal_wirings())
    return [
        {"way": way, "shape": shape}
        for number, way in enumerate(ways)
        for shape in islice(cycle(shapes), 7 * number, 7 * number + 5)
    ]


def combined(way: Any, shape: dict[str, Any]) -> RnnConfig:
    wiring, score, alignment, memory = way
    hidden = 6
    attention = {"window": WINDOW, "positions": POSITIONS, "hidden": 5}
    if score is not None:
        attention |= {"score": score, "alignment": alignment, "memory": memory}
    halves = memory == "split" and score in ("dot", "scaled-dot")
    start = "project" if halves else shape["start"]
    return RnnConfig.model_validate(
        {
            "family": "rnn",
            "embedding": hidden,
            "tie": shape["tie"],
            "reverse_source": shape["reverse"],
            "encoder": {
                "cell": shape["cell"],
                "layers": shape["layers"],
                "hidden": 2 * hidden if halves else hidden,
                "bidirectional": shape["bidirectional"],
                "join": shape["join"],
            },
            "decoder": wiring._asdict()
            | {"cell": shape["cell"], "layers": shape["layers"], "hidden": hidden, "start": start},
            "attention": attention,
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize("part", range(7))
def test_every_combination_has_the_steps_of_the_torch_model(part: int, tmp_path: Path):
    for number, case in enumerate(every_combination()[part::7]):
        config = combined(**case)
        folder = tmp_path / str(number)
        folder.mkdir()
        engines = engines_of(config, folder)
        walk_together([engine.start(SOURCES, True) for engine in engines])


@pytest.mark.slow
def test_every_combination_in_int8_is_nearly_the_torch_model(tmp_path: Path):
    for number, case in enumerate(every_combination()[::5]):
        folder = tmp_path / str(number)
        folder.mkdir()
        coarse, exact = engines_of(combined(**case), folder, "int8")
        tokens = tokens_of(0, len(SOURCES))
        found, wanted = (engine.start(SOURCES, True).step(tokens) for engine in (coarse, exact))
        gaps = np.abs(found.log_probs - wanted.log_probs)
        assert 0.0 < np.median(gaps) < 0.05, case


def test_the_weights_of_a_model_are_known_without_it():
    for config in [*map(tiny_config, RECURRENT), *(combined(**case) for case in every_combination()[::7])]:
        assert isinstance(config, RnnConfig)
        source = TARGET_VOCAB if config.tie == "all" else SOURCE_VOCAB
        wanted = {name: tuple(parameter.shape) for name, parameter in fresh_model(config).named_parameters()}
        assert dict(weight_shapes(config, source, TARGET_VOCAB)) == wanted


def query_context(attend: str, **attention: Any) -> RnnConfig:
    """A small model whose query has the previous context."""
    decoder = {"layers": 1, "hidden": 6, "attend": attend, "query_context": True}
    table = {"family": "rnn", "embedding": 4, "encoder": {"layers": 1, "hidden": 8}, "decoder": decoder}
    return RnnConfig.model_validate(table | {"attention": attention})


@pytest.mark.parametrize("attend", ["before", "after"])
@pytest.mark.parametrize("score", ["general", "concat", "location"])
def test_the_weights_of_a_query_with_the_previous_context_are_known(attend: str, score: str):
    for alignment in ("global",) if score == "location" else ("global", "local-p"):
        config = query_context(attend, score=score, alignment=alignment)
        wanted = {name: tuple(parameter.shape) for name, parameter in fresh_model(config).named_parameters()}
        assert dict(weight_shapes(config, SOURCE_VOCAB, TARGET_VOCAB)) == wanted


def test_a_query_with_the_previous_context_is_not_exported(tmp_path: Path):
    config = query_context("after")
    with pytest.raises(CombinationError, match="query_context must be false for a recurrent model on ONNX Runtime"):
        write_graphs(config, weights_of(fresh_model(config).requires_grad_(False)), tmp_path, "float32")


def test_a_score_function_without_operators_is_not_exported_as_another_one(tmp_path: Path):
    config = tiny_config("luong2015-desk")
    assert isinstance(config, RnnConfig)
    weights = weights_of(fresh_model(config).requires_grad_(False))
    unknown = config.attention.model_copy(update={"score": "cosine"})
    with pytest.raises(CombinationError, match=r"score must be one of dot, .*, got cosine; use the engine torch"):
        write_graphs(config.model_copy(update={"attention": unknown}), weights, tmp_path, "float32")


def test_structured_attention_is_not_exported(tmp_path: Path):
    config = tiny_config("lin2017-desk")
    assert isinstance(config, RnnConfig)
    with pytest.raises(
        CombinationError, match="structured_rows must be 0 for a recurrent model on ONNX Runtime, got 3"
    ):
        write_graphs(config, weights_of(fresh_model(config).requires_grad_(False)), tmp_path, "float32")


def test_a_table_of_words_is_their_product(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(recurrent_graphs, "LARGEST_TABLE", 0)
    config = tiny_config("bahdanau2015-desk")
    assert isinstance(config, RnnConfig)
    engines = engines_of(config, tmp_path)
    walk_together([engine.start(SOURCES, True) for engine in engines])
