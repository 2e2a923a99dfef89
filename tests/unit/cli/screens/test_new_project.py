from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.cli.screens import new_project
from dragoman.cli.screens.new_project import ProjectAnswers, _ask_language, _new_folder
from dragoman.data.corpus_survey import CorpusSurvey


def test_the_folder_that_is_offered_is_new_or_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert _new_folder("en-de") == "en-de"
    Path("en-de").mkdir()
    assert _new_folder("en-de") == "en-de"
    Path("en-de/manifest.json").write_text("{}", encoding="utf-8")
    assert _new_folder("en-de") == "en-de-2"
    Path("en-de-2").write_text("a file", encoding="utf-8")
    assert _new_folder("en-de") == "en-de-3"


def test_the_language_that_is_offered_is_not_the_given_one(monkeypatch: pytest.MonkeyPatch):
    """The text of the first file is in the target language, and that of the second in the given one."""
    monkeypatch.setattr(new_project, "_ask", lambda _question, default, _parse: default)
    known = ProjectAnswers(None, ("a", "b"), None, None, (), (), None, "auto")
    survey = CorpusSurvey(languages={"source": "en", "target": "de"})
    assert _ask_language("target", survey, known, "de") == "en"
    assert _ask_language("target", survey, known, "en") == "de"
    assert _ask_language("source", survey, known, None) == "en"
