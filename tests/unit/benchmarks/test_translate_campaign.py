"""The campaign that kills translations: what it forges, and what its page says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.translate_campaign import CONTROLS, Figures, _forge, journal_of, lines_done, make_setting, page


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


def test_the_page_says_what_was_found():
    figures = Figures(1000, "ctranslate2 float32, 1 thread", 2.0, {"10%": 80.0, "100%": 81.0})
    figures.kills.append({"began_at": 0, "journal": 500, "bytes_beyond_journal": 12})
    assert "**NOT the same**" in page(figures, 1, 1)
    figures.is_identical = True
    text = page(figures, 1, 1)
    assert "identical, byte for byte" in text
    assert "500 lines/s" in text
    assert "| 1 | 0 | 500 | 12 |" in text
