"""A configuration with a start bundle takes its model."""

from pathlib import Path

import pytest

from dragoman.config import RnnConfig, load_config, parse_config, to_toml
from dragoman.errors import ConfigError


def test_fine_tuning_takes_the_model_of_its_bundle(tmp_path: Path):
    (tmp_path / "base").mkdir()
    base = parse_config({"model": {"family": "transformer", "dim": 24, "heads": 3, "dropout": 0.3}})
    (tmp_path / "base" / "dragoman.toml").write_text(to_toml(base), encoding="utf-8")
    path = tmp_path / "c.toml"
    path.write_text('[start]\nbundle = "base"\n', encoding="utf-8")
    assert load_config(path).model == base.model
    changed = load_config(path, ["model.dropout=0.1"]).model
    assert changed == base.model.model_copy(update={"dropout": 0.1}), "a setting of the file is kept"
    whole = load_config(path, ["model.family=rnn"]).model
    assert isinstance(whole, RnnConfig), "a family of the file is its own model, compared with the bundle's later"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing", "start.bundle must be a bundle, got .*missing; there is no .*dragoman.toml"),
        ("archive.zip", "start.bundle must be the folder of a bundle, got the file .*archive.zip; unpack an archive"),
        ("empty", "has no section .model. with a family"),
    ],
)
def test_a_bundle_without_a_model_is_named(tmp_path: Path, name: str, message: str):
    (tmp_path / "archive.zip").write_bytes(b"PK")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "dragoman.toml").write_text("", encoding="utf-8")
    path = tmp_path / "c.toml"
    path.write_text(f'[start]\nbundle = "{name}"\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        load_config(path)
