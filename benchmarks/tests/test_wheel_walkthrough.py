"""The report on the wheel with every extra."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import reporting
from benchmarks.wheel_walkthrough import EnvironmentResult, report


@pytest.mark.parametrize("note", ["", "Other programs used the machine."])
def test_a_note_is_printed_only_if_given(note: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    monkeypatch.setattr(reporting, "write", lambda name, text, data: texts.append(text))
    wheel = tmp_path / "x.whl"
    wheel.touch()
    report([EnvironmentResult("base", 1.0, 2, 3, has_torch=False)], wheel, note)
    assert ("machine" in texts[0].partition("removed afterwards")[2]) == bool(note)
    assert "\n\n\n" not in texts[0]
