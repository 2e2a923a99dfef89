"""The test set of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.api.evaluation.test_sets import find_test_set as of_run
from dragoman.errors import ConfigError, DataError

CONFIG = """
extends = "vaswani2017-desk"
[data]
source = "en"
target = "de"
folder = "prepared"
{more}
[[data.train]]
files = ["a", "b"]
"""


def project(folder: Path, more: str = "", test: str = "") -> Path:
    run = folder / "run"
    run.mkdir(parents=True)
    (run / "run.json").write_text("{}", encoding="utf-8")
    (run / "dragoman.toml").write_text(CONFIG.format(more=more) + test, encoding="utf-8")
    return run


def write(folder: Path, name: str, *lines: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def test_pairs_that_preparation_took(tmp_path: Path):
    run = project(tmp_path, "test_pairs = 2")
    write(tmp_path / "prepared", "test.en", "a", "b")
    write(tmp_path / "prepared", "test.de", "c", "d")
    for member in (run, run / "bundle"):
        found = of_run(member)
        assert (found.name, found.sources, found.references) == ("test", ["a", "b"], ["c", "d"])
        assert "prepared/test.en" in found.origin


def test_the_first_test_set_of_the_configuration(tmp_path: Path):
    test = '[[data.test]]\nname = "news"\nfiles = ["test.en", "test.de"]\n'
    run = project(tmp_path, "test_pairs = 2", test)
    write(tmp_path, "test.en", "e")
    write(tmp_path, "test.de", "f")
    found = of_run(run)
    assert (found.name, found.sources, found.references) == ("news", ["e"], ["f"])
    assert found.others == (), "the pairs of preparation are not there"
    write(tmp_path / "prepared", "test.en", "a", "b")
    write(tmp_path / "prepared", "test.de", "c", "d")
    (other,) = of_run(run).others
    assert other.endswith("prepared/test.de"), "another test set is named"


def test_what_is_missing_is_named_with_the_option(tmp_path: Path):
    with pytest.raises(ConfigError, match="must have a test set, got none; name one with --test SRC REF"):
        of_run(project(tmp_path / "none"))
    with pytest.raises(DataError, match=r"must be where it was in training.*--test SRC REF"):
        of_run(project(tmp_path / "lost", "test_pairs = 2"))
    write(tmp_path, "text", "a")
    with pytest.raises(ConfigError, match="must be a run to have a test set"):
        of_run(tmp_path / "text")
