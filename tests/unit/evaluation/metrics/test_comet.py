"""COMET at the boundary of its process. The other side is a stand-in: the real model is not run here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dragoman.errors import ConfigError, DataError, MissingExtraError
from dragoman.evaluation.metrics.comet import COMET_PYTHON, Comet

_COMET = """
class Found:
    def __init__(self, texts):
        assert all(set(text) == {"src", "mt", "ref"} for text in texts)
        self.system_score = sum(text["mt"] == text["ref"] for text in texts) / len(texts)

class Model:
    def predict(self, texts, batch_size, gpus, progress_bar):
        print("noise on stdout")
        return Found(texts)

def load_from_checkpoint(path, local_files_only):
    if path.endswith("broken.ckpt"):
        raise RuntimeError("PytorchStreamReader failed")
    assert path.endswith("model.ckpt") and local_files_only, path
    return Model()
"""
_HUB = """
def snapshot_download(repo_id, local_files_only):
    assert local_files_only
    if repo_id != "Unbabel/wmt22-comet-da":
        raise FileNotFoundError(repo_id)
    return "/cache/snapshot"
"""


@pytest.fixture
def other_python(tmp_path: Path) -> str:
    """A Python with stand-ins for the packages of COMET, and without ours."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "comet.py").write_text(_COMET, encoding="utf-8")
    (site / "huggingface_hub.py").write_text(_HUB, encoding="utf-8")
    (site / "unbabel_comet-2.2.6.dist-info").mkdir()
    metadata = "Metadata-Version: 2.1\nName: unbabel-comet\nVersion: 2.2.6\n"
    (site / "unbabel_comet-2.2.6.dist-info/METADATA").write_text(metadata, encoding="utf-8")
    return _program(tmp_path / "python", f'PYTHONPATH={site} exec {sys.executable} -S "$@"')


def _program(path: Path, line: str) -> str:
    path.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_a_score(other_python: str, tmp_path: Path):
    comet = Comet("Unbabel/wmt22-comet-da", other_python)
    comet.check()
    score = comet.score(["a", "b\u2028", "c", "d"], ["x", "ß", "z", "?"], ["x", "ß", "z", "!"])
    assert (score.metric, score.value) == ("comet", 0.75)
    assert score.signature == "model:Unbabel/wmt22-comet-da|nrefs:1|version:2.2.6"
    (tmp_path / "model.ckpt").touch()
    assert Comet(str(tmp_path / "model.ckpt"), other_python).score(["a"], ["b"], ["c"]).value == 0


def test_the_python_by_the_environment(other_python: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(COMET_PYTHON, other_python)
    assert Comet("Unbabel/wmt22-comet-da").score(["a"], ["b"], ["b"]).value == 1
    monkeypatch.delenv(COMET_PYTHON)
    with pytest.raises(ConfigError, match=r"COMET needs a separate Python; .*--comet-python"):
        Comet("x").check()


def test_what_is_not_there(other_python: str, tmp_path: Path):
    with pytest.raises(ConfigError, match="must be a program, got"):
        Comet("x", str(tmp_path / "none")).check()
    with pytest.raises(ConfigError, match=r"must be a checkpoint, got none\.ckpt"):
        Comet("none.ckpt", other_python).check()
    with pytest.raises(ConfigError, match="must be downloaded, got Unbabel/other"):
        Comet("Unbabel/other", other_python).score(["a"], ["b"], ["c"])
    bare = _program(tmp_path / "bare", f'exec {sys.executable} -I -S "$@"')
    with pytest.raises(MissingExtraError, match="does not have the package unbabel-comet; install it there"):
        Comet("x", bare).check()
    with pytest.raises(MissingExtraError, match="No module named 'comet'"):
        Comet("x", bare).score(["a"], ["b"], ["c"])
    (tmp_path / "text").write_text("no program", encoding="utf-8")
    with pytest.raises(ConfigError, match="a program that runs"):
        Comet("x", str(tmp_path / "text")).check()


def test_a_model_that_fails(other_python: str, tmp_path: Path):
    (tmp_path / "broken.ckpt").touch()
    with pytest.raises(DataError, match="COMET must give a score, got: RuntimeError: PytorchStreamReader failed"):
        Comet(str(tmp_path / "broken.ckpt"), other_python).score(["a"], ["b"], ["c"])
    silent = _program(tmp_path / "silent", "exit 7")
    with pytest.raises(DataError, match="exit code 7"):
        Comet("x", silent).score(["a"], ["b"], ["c"])
