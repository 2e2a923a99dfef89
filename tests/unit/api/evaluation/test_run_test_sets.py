"""The test set of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.api.evaluation.run_test_sets import find_test_set as of_run
from dragoman.data.saved_test_sets import save_test_sets
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


def test_the_copies_of_a_run_need_no_other_files(tmp_path: Path):
    run = project(tmp_path, "test_pairs = 2")
    save_test_sets(run, [("news", ["a", "b"], ["c", "d"], ("en", "de")), ("test", ["e"], ["f"], ("en", "de"))])
    found = of_run(run / "bundle")
    assert (found.name, found.sources, found.references, found.languages) == ("news", ["a", "b"], ["c", "d"], None)
    assert found.origin == f"{run}/test/test.en {run}/test/test.de"
    assert found.others == (f"{run}/test/test-2.en {run}/test/test-2.de",)
    assert of_run(run, ("en", "fr")).name == "news", "languages choose among those of several directions only"
    write(run / "test", "test.de", "c")
    with pytest.raises(DataError, match=r"test.de must have 2 lines, got 1; name one with --test"):
        of_run(run)


def test_languages_choose_a_copy_of_several_directions(tmp_path: Path):
    run = project(tmp_path, 'test_pairs = 2\ndirections = ["en:de", "de:en"]')
    save_test_sets(run, [("test", ["a"], ["b"], ("en", "de")), ("test", ["b"], ["a"], ("de", "en"))])
    found = of_run(run)
    assert (found.sources, found.languages) == (["a"], ("en", "de"))
    assert found.others == (f"{run}/test/test-2.de {run}/test/test-2.en --languages de:en",)
    found = of_run(run, ("deu", "en"))
    assert (found.sources, found.languages) == (["b"], ("de", "en"))
    with pytest.raises(ConfigError, match=r"test set of the run \(en → de, de → en\), got de-fr; name one with --test"):
        of_run(run, ("de", "fr"))


def test_what_is_missing_is_named_with_the_option(tmp_path: Path):
    with pytest.raises(ConfigError, match="has no test set; name one with --test SRC REF"):
        of_run(project(tmp_path / "none"))
    with pytest.raises(DataError, match=r"is no longer in its folder.*--test SRC REF"):
        of_run(project(tmp_path / "lost", "test_pairs = 2"))
    write(tmp_path, "text", "a")
    with pytest.raises(ConfigError, match="is a file of translations, which needs --test SRC REF"):
        of_run(tmp_path / "text")
