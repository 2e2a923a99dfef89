"""Files of search spaces."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.api.tuning.search_space import NumberRange, load_tuning
from dragoman.errors import ConfigError

SPACE = """
trials = 5
[space]
training.learning_rate = { low = 1e-4, high = 1e-2, log = true }
model.dropout = [0.0, 0.1]
"model.decoder.layers" = { low = 1, high = 3 }
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "tune.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_settings_by_dotted_names(tmp_path: Path) -> None:
    found = load_tuning(write(tmp_path, SPACE))
    assert (found.trials, found.factor, found.min_updates, found.seed) == (5, 3, None, 1)
    assert found.space == {
        "training.learning_rate": NumberRange(low=1e-4, high=1e-2, log=True),
        "model.dropout": [0.0, 0.1],
        "model.decoder.layers": NumberRange(low=1, high=3),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("trials = 3", r"tune\.toml: space is missing"),
        ("[space]", r"tune\.toml: space must"),
        ("[space]\ntokenizer.size = [1, 2]", r"space must have settings of model and training, got tokenizer\.size"),
        ("[space]\ntraining.max_updates = [1, 2]", r"training\.max_updates cannot be searched"),
        ("trials = 0\n[space]\nmodel.dropout = [0.1]", r"tune\.toml: trials must be"),
        ("trial = 1\n[space]\nmodel.dropout = [0.1]", r"tune\.toml: trial is no known setting"),
        ("[space]\nmodel.dropout = { low = 1.0, high = 0.1 }", r"low must be below high, got 1\.0 and 0\.1"),
        ("[space]\nmodel.dropout = { low = 0.0, high = 0.1, log = true }", "low must be above 0 on a logarithmic"),
        ("[space]\nmodel.dropout = { low = 0.0 }", r"tune\.toml: space"),
        ("[space", "must be valid TOML"),
    ],
)
def test_errors_name_the_file_and_the_setting(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        load_tuning(write(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"tune\.toml does not exist; write"):
        load_tuning(tmp_path / "tune.toml")
