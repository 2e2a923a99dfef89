"""A new project: a configuration that loads, names the right files and fits the size of the corpus."""

import gzip
from pathlib import Path

import pytest

from dragoman.config import load_config
from dragoman.data import project_template as project
from dragoman.data.project_template import new_project
from dragoman.errors import ConfigError, DataError
from tests.unit.data.preparation.corpus import pairs, write_pairs


def test_the_configuration_loads_and_names_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    write_pairs(tmp_path, "train", pairs(100))
    write_pairs(tmp_path / "p", "val", pairs(10))
    made = new_project(
        Path("p"),
        source="en",
        target="de",
        train=["train.en", "train.de"],
        validation=["p/val.en", "p/val.de"],
        test=["p/val.en", "p/val.de"],
    )
    assert (made.pairs, made.preset, made.is_exact) == (100, "pairs-5k", True)
    data = load_config(made.config).data
    assert data is not None
    assert data.train[0].files == [str(tmp_path / "train.en"), str(tmp_path / "train.de")], "outside: by its full path"
    assert data.validation is not None
    assert data.validation.files == ["val.en", "val.de"], "inside: so that the folder can be moved"
    assert data.test[0].files == ["val.en", "val.de"]
    assert "every setting" in made.config.read_text(encoding="utf-8").lower()


def test_without_a_validation_set_some_pairs_are_taken(tmp_path: Path):
    files = [str(tmp_path / name) for name in write_pairs(tmp_path, "train", pairs(400))]
    made = new_project(tmp_path / "p", source="en", target="de", train=files)
    data = load_config(made.config).data
    assert data is not None
    assert data.validation_pairs == 20


@pytest.mark.parametrize(
    ("count", "preset"),
    [(14_999, "pairs-5k"), (15_000, "pairs-30k"), (80_000, "pairs-200k"), (1_500_000, "pairs-5m")],
)
def test_the_preset_fits_the_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, preset: str):
    files = [str(tmp_path / name) for name in write_pairs(tmp_path, "train", pairs(10))]
    monkeypatch.setattr(project, "_count", lambda *_: count)
    assert new_project(tmp_path / "p", source="en", target="de", train=files).preset == preset


def test_very_large_corpora_are_not_counted_to_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(project, "_COUNT_AT_MOST", 50)
    files = [str(tmp_path / name) for name in write_pairs(tmp_path, "train", pairs(100))]
    assert not new_project(tmp_path / "p", source="en", target="de", train=files).is_exact


def test_one_file_of_both_sides(tmp_path: Path):
    path = tmp_path / "train.tsv.gz"
    path.write_bytes(gzip.compress("".join(f"{source}\t{target}\n" for source, target in pairs(40)).encode()))
    made = new_project(tmp_path / "p", source="en", target="de", train=[str(path)])
    assert made.pairs == 40


def test_what_is_there_is_not_overwritten(tmp_path: Path):
    files = [str(tmp_path / name) for name in write_pairs(tmp_path, "train", pairs(10))]
    new_project(tmp_path, source="en", target="de", train=files)
    with pytest.raises(ConfigError, match="must be new"):
        new_project(tmp_path, source="en", target="de", train=files)


def test_mistakes_are_found_before_anything_is_written(tmp_path: Path):
    files = [str(tmp_path / name) for name in write_pairs(tmp_path, "train", pairs(10))]
    with pytest.raises(DataError, match=r"missing\.de must be a file"):
        new_project(tmp_path / "p", source="en", target="de", train=[files[0], str(tmp_path / "missing.de")])
    with pytest.raises(ConfigError, match="did you mean pairs-30k"):
        new_project(tmp_path / "p", source="en", target="de", train=files, preset="pairs-3k")
    with pytest.raises(ConfigError, match="a language must be a code"):
        new_project(tmp_path / "p", source="english", target="de", train=files)
    assert not (tmp_path / "p" / "dragoman.toml").exists()
