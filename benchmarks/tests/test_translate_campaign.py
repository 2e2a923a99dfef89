"""The campaign that kills translations: its forgeries and its page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.translate_campaign import (
    CONTROLS,
    UNNOTICED,
    Figures,
    _forge,
    journal_of,
    lines_done,
    make_setting,
    page,
)


def test_the_input_is_the_same_every_time(tmp_path: Path):
    one, other = (make_setting(tmp_path / name, 50, 1) for name in ("one", "other"))
    assert one.source.read_bytes() == other.source.read_bytes()
    assert one.source.read_bytes().count(b"\n") == 50
    assert (one.bundle / "manifest.json").read_bytes() == (other.bundle / "manifest.json").read_bytes()


@pytest.mark.parametrize("name", CONTROLS)
def test_every_control_lies(tmp_path: Path, name: str):
    output = tmp_path / "out"
    done = {"lines": 9, "input_bytes": 99, "input_sha256": "a", "output_bytes": 18, "output_sha256": "b"}
    journal_of(output).write_text(json.dumps({"done": done}), encoding="utf-8")
    (tmp_path / "out.part").write_bytes(b"x\n" * 9)
    _forge(CONTROLS[name])(output)
    assert json.loads(journal_of(output).read_text(encoding="utf-8"))["done"] != done
    assert lines_done(output) in {8, 9}


@pytest.fixture
def figures() -> Figures:
    """A campaign in which all went well."""
    found = Figures(1000, 1, "ctranslate2 float32, 1 thread", 2.0, {"10%": 80.0, "50%": 200.0, "100%": 104.0})
    found.kills.append({"began_at": 0, "journal": 500, "bytes_beyond_journal": 12})
    found.is_identical = True
    found.controls = dict.fromkeys(CONTROLS, "refused")
    return found


def test_the_page_says_what_was_found(figures: Figures):
    text = page(figures, 1)
    assert "identical, byte for byte" in text
    assert "500 lines/s" in text
    assert "| 1 | 0 | 500 | 12 |" in text
    assert text.count("| kept |") == 4
    assert figures.are_promises_kept
    figures.is_identical = False
    assert "**NOT the same**" in page(figures, 1)


def _others(figures: Figures) -> None:
    figures.is_identical = False


def _growing(figures: Figures) -> None:
    figures.peak_mib["100%"] = 104.1


def _unmeasured(figures: Figures) -> None:
    del figures.peak_mib["10%"]


def _late(figures: Figures) -> None:
    figures.kills.clear()


def _unnoticed(figures: Figures) -> None:
    figures.controls[next(iter(CONTROLS))] = UNNOTICED


def _untried(figures: Figures) -> None:
    figures.controls.popitem()


@pytest.mark.parametrize("break_", [_others, _growing, _unmeasured, _late, _unnoticed, _untried])
def test_every_promise_can_be_broken(figures: Figures, break_: Callable[[Figures], None]):
    break_(figures)
    assert not figures.are_promises_kept
    assert page(figures, 1).count("**broken**") == 1
