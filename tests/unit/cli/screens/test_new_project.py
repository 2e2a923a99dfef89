from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.cli.screens.new_project import _new_folder


def test_the_folder_that_is_offered_is_new_or_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert _new_folder("en-de") == "en-de"
    Path("en-de").mkdir()
    assert _new_folder("en-de") == "en-de"
    Path("en-de/manifest.json").write_text("{}", encoding="utf-8")
    assert _new_folder("en-de") == "en-de-2"
    Path("en-de-2").write_text("a file", encoding="utf-8")
    assert _new_folder("en-de") == "en-de-3"
