"""The shipped presets: which there are, and that those of the papers say what the papers say."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from dragoman.config import Config, load_config, preset_names
from dragoman.errors import ConfigError
from testkit.presets import MOST_LAYERS, POSITIONS, WINDOW, tiny_config

PAPERS = ["bahdanau2015", "cho2014", "luong2015", "sutskever2014", "vaswani2017"]

# Figures of the papers; docs/papers.md names the editions.
FIGURES: dict[str, dict[str, Any]] = {
    "sutskever2014": {
        "model.encoder.layers": 4,
        "model.encoder.hidden": 1000,
        "model.decoder.layers": 4,
        "model.embedding": 1000,
        "model.reverse_source": True,
        "model.decoder.attend": "none",
        "model.decoder.context": "initial",
        "model.decoder.start": "copy",
        "training.clip_norm": 5.0,
        "training.learning_rate": 0.7,
    },
    "cho2014": {
        "model.encoder.cell": "gru-published",
        "model.encoder.hidden": 1000,
        "model.encoder.bidirectional": False,
        "model.decoder.context": "every-step",
        "model.decoder.output": "deep",
    },
    "bahdanau2015": {
        "model.encoder.cell": "gru-published",
        "model.encoder.bidirectional": True,
        "model.encoder.hidden": 2000,
        "model.decoder.hidden": 1000,
        "model.embedding": 620,
        "model.decoder.attend": "before",
        "model.decoder.output": "deep",
        "model.decoder.output_hidden": 500,
        "model.decoder.start": "project",
        "model.attention.score": "concat",
        "model.attention.alignment": "global",
    },
    "luong2015": {
        "model.encoder.layers": 4,
        "model.encoder.hidden": 1000,
        "model.encoder.cell": "lstm",
        "model.reverse_source": True,
        "model.dropout": 0.2,
        "model.decoder.attend": "after",
        "model.decoder.input_feeding": True,
        "training.clip_norm": 5.0,
        "training.optimizer": "sgd",
        "training.learning_rate": 1.0,
    },
    "luong2015-local-p": {"model.attention.alignment": "local-p", "model.attention.window": 10},
    "luong2015-local-m": {"model.attention.alignment": "local-m", "model.attention.window": 10},
    "luong2015-location": {"model.attention.score": "location", "model.attention.alignment": "global"},
    "xu2015": {"model.attention.alignment": "hard"},
    "vaswani2017-base": {
        "model.dim": 512,
        "model.heads": 8,
        "model.encoder_layers": 6,
        "model.decoder_layers": 6,
        "model.feedforward": 2048,
        "model.norm": "post",
        "model.positions": "sinusoidal",
        "model.dropout": 0.1,
        "training.label_smoothing": 0.1,
        "training.beta2": 0.98,
        "training.epsilon": 1e-9,
        "training.warmup_updates": 4000,
        "training.schedule": "inverse-sqrt",
    },
    "vaswani2017-big": {"model.dim": 1024, "model.heads": 16, "model.feedforward": 4096, "model.dropout": 0.3},
}


def setting(config: Config, path: str) -> object:
    value: object = config
    for name in path.split("."):
        value = getattr(value, name)
    return value


@pytest.mark.parametrize("name", FIGURES)
def test_a_preset_has_the_figures_of_its_paper(name: str):
    config = load_config(name)
    assert {path: setting(config, path) for path in FIGURES[name]} == FIGURES[name]


@pytest.mark.parametrize("name", ["vaswani2017-base", "vaswani2017-big"])
def test_the_peak_of_the_rate_is_that_of_the_formula(name: str):
    config = load_config(name)
    dim = setting(config, "model.dim")
    assert isinstance(dim, int)
    assert config.training.learning_rate == pytest.approx(dim**-0.5 * config.training.warmup_updates**-0.5)


def test_each_paper_has_a_desk_sized_sibling_and_there_is_one_by_amount_of_data():
    names = preset_names()
    assert names == sorted(names)
    for paper in PAPERS:
        assert any(name.startswith(paper) and not name.endswith("-desk") for name in names), paper
        assert f"{paper}-desk" in names
    assert {"pairs-5k", "pairs-30k", "pairs-200k", "pairs-5m"} <= set(names)


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_says_what_it_is_for(name: str, root: Path):
    own = tomllib.loads((root / "src/dragoman/config/presets" / f"{name}.toml").read_text(encoding="utf-8"))
    assert own["description"].endswith("."), "its own, not that of the preset it extends"
    assert load_config(name).description == own["description"]


@pytest.mark.parametrize("name", preset_names())
def test_the_tests_shrink_sizes_and_nothing_else(name: str):
    full, tiny = (flat(model.model_dump()) for model in (load_config(name).model, tiny_config(name)))
    sizes = {"embedding", "hidden", "output_hidden", "dim", "heads", "feedforward", "window", "positions"}
    sizes |= {"layers", "encoder_layers", "decoder_layers", "max_positions", "structured_rows", "structured_hidden"}
    for path, value in full.items():
        is_size = path.rpartition(".")[2] in sizes and isinstance(value, int)
        assert tiny[path] <= max(16, WINDOW, POSITIONS) if is_size else tiny[path] == value, path
        if path.endswith("layers"):
            assert tiny[path] == min(MOST_LAYERS, value)


def flat(table: dict[str, Any], path: str = "") -> dict[str, Any]:
    """Settings by their dotted names."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        found |= flat(value, f"{path}{key}.") if isinstance(value, dict) else {f"{path}{key}": value}
    return found


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("pairs-5M", "pairs-5m"),
        ("pairs5m", "pairs-5m"),
        ("5m", "pairs-5m"),
        ("pairs-5", "pairs-5k or pairs-5m"),
        ("annotated", "annotated-transformer"),
    ],
)
def test_the_nearest_presets_are_suggested(name: str, meant: str):
    with pytest.raises(ConfigError, match=f"did you mean {meant}\\?"):
        load_config(name)


def test_a_name_like_no_preset_is_answered_with_all_of_them():
    with pytest.raises(ConfigError, match=r"; presets: annotated-transformer, .*, pairs-5m, "):
        load_config("desk")


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_that_attends_before_the_step_has_the_deep_output(name: str):
    """With the linear output such a model is far worse: claim C13."""
    model = load_config(name).model
    assert model.family != "rnn" or model.decoder.attend != "before" or model.decoder.output == "deep"
