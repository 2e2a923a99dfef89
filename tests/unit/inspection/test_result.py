"""Which map is shown, and what it is called."""

import json

import numpy as np
import pytest

from dragoman.errors import ConfigError
from dragoman.inspection.result import select_map
from tests.unit.inspection.opened import opened

ONE = opened(["a", "b"], ["c", "d", "e"], layers=3, heads=2)


def test_the_usual_map_is_the_mean_of_the_default_layer() -> None:
    chosen = select_map(ONE)
    assert (chosen.columns, chosen.rows) == (("a", "b", "⟨end⟩"), ("c", "d", "e", "⟨end⟩"))
    assert chosen.name == "layer 2 of 3, mean of 2 heads, when each word is generated"
    np.testing.assert_array_equal(chosen.weights, ONE.predicted[1].mean(0))


def test_a_layer_a_head_and_the_other_reading() -> None:
    chosen = select_map(ONE, layer=1, head=1, reading="input")
    assert chosen.rows == ("c", "d", "e")
    assert chosen.name == "layer 1 of 3, head 1 of 2, when each word is the input"
    np.testing.assert_array_equal(chosen.weights, ONE.given[0, 0])
    assert select_map(opened(["a"], ["b"], layers=1, heads=1)).name == "when each word is generated"


@pytest.mark.parametrize("layer", [0, 4])
def test_what_is_not_there(layer: int) -> None:
    with pytest.raises(ConfigError, match=f"layer must be from 1 to 3 in this model, got {layer}"):
        select_map(ONE, layer=layer)
    with pytest.raises(ConfigError, match="head must be from 1 to 2"):
        select_map(ONE, head=3)
    with pytest.raises(ConfigError, match="this model has no attention"):
        select_map(opened(["a"], ["b"], layers=0, heads=0))


def test_json_has_all_of_it() -> None:
    value = json.loads(json.dumps(ONE.to_json(), allow_nan=False))
    assert np.shape(value["predicted"]) == (3, 2, 4, 3)
    assert np.shape(value["given"]) == (3, 2, 3, 3)
    assert np.shape(value["entropy"]) == (3, 2, 3)
    assert np.shape(value["coverage"]) == (3, 2, 2)
    assert value["target_words"] == ["c", "d", "e"]
    assert value["candidates"][0][0] == {"text": "▁c", "probability": 0.75}
    assert value["tree"][0]["is_best"] is True
    assert value["counterfactuals"][0]["forced"] == "else"


def test_json_of_a_model_without_attention_and_of_no_score() -> None:
    nothing = opened(["a"], ["b"], layers=0, heads=0)
    object.__setattr__(nothing, "score", float("-inf"))
    value = json.loads(json.dumps(nothing.to_json(), allow_nan=False))
    assert value["predicted"] == value["entropy"] == []
    assert value["score"] is None
