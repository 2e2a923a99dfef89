"""What this machine is, and what is installed."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from dragoman.environment import default_threads, extras, install_command, machine_info, require, usable_cores
from dragoman.errors import MissingExtraError


def test_a_signature_says_what_a_figure_was_measured_on():
    here = machine_info()
    assert here.cores >= 1
    for part in (here.processor, f"{here.cores} cores", here.python, str(here.torch)):
        assert part in here.signature


def test_cores_are_those_we_may_use_or_all_where_the_system_does_not_say(monkeypatch: pytest.MonkeyPatch):
    assert 1 <= usable_cores() == machine_info().cores
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)  # as on macOS
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert usable_cores() == 7
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_cores() == 1


def test_extras_are_read_from_the_installed_package():
    found = extras()
    assert {package.name for package in found[""]} >= {"numpy", "pydantic", "sentencepiece", "typer"}
    assert all(package.installed for package in found[""])
    assert "torch" in {package.name for package in found["train"]}
    torch = next(package for package in found["train"] if package.name == "torch")
    assert torch.required.startswith(">=")


def test_a_distribution_that_is_not_there_has_no_extras():
    assert extras("no-such-distribution") == {}


def test_require_passes_what_is_there_and_says_how_to_mend_what_is_not():
    require("json", "train", "this test")
    with pytest.raises(MissingExtraError, match=re.escape(f"install it with {install_command('train')}")):
        require("no_such_module", "train", "this test")


@pytest.mark.parametrize("is_there", [True, False])
def test_extras_are_installed_from_the_folder_of_the_install(
    is_there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = tmp_path / "a clone"
    folder.mkdir()
    if is_there:
        (folder / "pyproject.toml").touch()
    found = SimpleNamespace(read_text=lambda _: json.dumps({"url": folder.as_uri(), "dir_info": {}}))
    monkeypatch.setattr(importlib.metadata, "distribution", lambda _: found)
    assert install_command("train") == f'pip install "{folder if is_there else "dragoman-nmt"}[train]"'
    assert install_command(upgrade=True) == (
        f'pip install --upgrade "{folder}"' if is_there else "pip install --upgrade dragoman-nmt"
    )


@pytest.mark.parametrize("text", [None, "{", "[]", '{"url": 1}', '{"url": "https://example.org/x.whl"}'])
def test_an_install_from_an_index_or_an_unreadable_record_names_the_distribution(
    text: str | None, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(importlib.metadata, "distribution", lambda _: SimpleNamespace(read_text=lambda _: text))
    assert install_command("train") == 'pip install "dragoman-nmt[train]"'


@pytest.mark.parametrize(("variable", "threads"), [("3", 3), ("2,4", 2), ("", 7), ("0", 7), ("many", 7)])
def test_engines_follow_the_usual_variable(variable: str, threads: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OMP_NUM_THREADS", variable)
    monkeypatch.setattr("dragoman.environment.usable_cores", lambda: 7)
    assert default_threads() == threads
