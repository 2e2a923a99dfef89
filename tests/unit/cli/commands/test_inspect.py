"""``dragoman inspect`` as a person or a script types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.unit.cli.tiny_translators import ran, tiny_bundle, typed

QUICK = ("--threads", "1", "--max-length", "6", "--beam", "3")
TEXT = "abc def ghi"


@pytest.mark.parametrize("preset", ["vaswani2017-desk", "luong2015-desk"])
def test_a_map_in_80_columns(preset: str):
    result = typed("inspect", tiny_bundle(preset), TEXT, *QUICK)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == f"source       {TEXT}"
    assert lines[1].startswith("translation  ")
    assert any(line.startswith("score        -") for line in lines)
    assert any(line.startswith("Attention, ") for line in lines)
    assert "attention: low ░░░▒▒▒▓▓▓███ high" in result.stdout
    assert all(cell_len(line) <= 80 for line in lines)
    assert "\x1b" not in result.stdout
    assert result.stderr.startswith("engine  torch")


def test_everything_at_once(tmp_path: Path):
    page = tmp_path / "page.html"
    result = typed("inspect", tiny_bundle(), "abc def. ghi jkl.", *QUICK, "--output", page)
    assert result.exit_code == 0, result.stderr
    assert "1 of 2\nsource       abc def.\n" in result.stdout
    assert "2 of 2\nsource       ghi jkl.\n" in result.stdout
    assert result.stdout.count("\nAttention, ") == 2
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert f"wrote   {page}\n" in result.stderr


def test_from_stdin_as_from_an_argument():
    piped = typed("inspect", tiny_bundle(), *QUICK, stdin=f"{TEXT}\n")
    dash = typed("inspect", tiny_bundle(), "-", *QUICK, stdin=TEXT)
    words = typed("inspect", tiny_bundle(), *TEXT.split(), *QUICK)
    assert piped.stdout == dash.stdout == words.stdout != ""


def test_json():
    result = typed("inspect", tiny_bundle(), TEXT, *QUICK, "--json")
    assert result.exit_code == 0, result.stderr
    (one,) = json.loads(result.stdout)
    assert one["source"] == TEXT
    assert one["source_words"] == TEXT.split()
    assert one["tree"]
    assert one["counterfactuals"]
    assert len(one["candidates"]) == len(one["tokens"]) + 1


def test_one_map_of_many():
    usual = typed("inspect", tiny_bundle(), TEXT, *QUICK).stdout
    head = typed("inspect", tiny_bundle(), TEXT, *QUICK, "--layer", "1", "--head", "2").stdout
    given = typed("inspect", tiny_bundle(), TEXT, *QUICK, "--reading", "input").stdout
    assert "mean of 2 heads, when each word is generated" in usual
    assert "head 2 of 2, when each word is generated" in head
    assert "when each word is the input" in given
    assert "⟨end⟩ " not in given.split("target word:")[-1].split("attention: low")[0].split("\n", 2)[2]


def test_a_forced_beginning():
    (one,) = json.loads(typed("inspect", tiny_bundle(), TEXT, *QUICK, "--json").stdout)
    other = next(other for other in one["counterfactuals"] if other["word"] == 0)
    forced = typed("inspect", tiny_bundle(), TEXT, *QUICK, "--prefix", other["forced"])
    assert forced.stdout.splitlines()[2] == f"unforced     {one['translation']}"[:80].rstrip()


def test_a_translation_that_is_given(tmp_path: Path):
    picture = tmp_path / "map.svg"
    result = typed("inspect", tiny_bundle(), TEXT, *QUICK, "--target", "eins zwei", "--output", picture)
    assert result.exit_code == 0, result.stderr
    assert "translation  eins zwei\n" in result.stdout
    assert picture.read_text(encoding="utf-8").startswith("<?xml")
    assert f"wrote   {picture}\n" in result.stderr


def test_pictures_of_several_sentences_have_numbers(tmp_path: Path):
    result = typed("inspect", tiny_bundle(), "abc. def.", *QUICK, "--output", tmp_path / "map.svg")
    assert result.exit_code == 0, result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["map-1.svg", "map-2.svg"]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--layer", "9"), 2, "--layer must be from 1 to 1 in this model, got 9"),
        (("--reading", "both"), 2, "--reading must be predicted or input, got both"),
        (("--target", "x", "--prefix", "y"), 2, "--prefix cannot be combined with --target"),
        (("--output", "map.gif"), 2, "--output must end in .html, .svg or .json, got map.gif"),
        (("--beam", "0"), 2, "--beam must be "),
        (("--threads", "0"), 2, "--threads must be greater than or equal to 1, got 0"),
    ],
)
def test_mistakes_are_one_line_and_a_mend(options: tuple[str, ...], code: int, message: str):
    result = typed("inspect", tiny_bundle(), TEXT, *QUICK, *options)
    assert result.exit_code == code
    error = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(error) == 1
    assert message in error[0]
    assert "; " in error[0]


@pytest.mark.parametrize(
    ("option", "rule"), [(("--layer", "9"), "from 1 to "), (("--head", "0"), "a whole number of at least 1")]
)
def test_a_map_that_is_none_is_said_before_anything_is_printed(
    option: tuple[str, str], rule: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("dragoman.api.inspection.inspector.inspect_text", None)  # not even asked
    result = typed("inspect", tiny_bundle(), TEXT, *QUICK, *option)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"error: {option[0]} must be {rule}" in result.stderr


def test_a_folder_of_files_is_made_first(tmp_path: Path):
    page, picture = tmp_path / "new" / "page.html", tmp_path / "other" / "map.svg"
    result = typed("inspect", tiny_bundle(), TEXT, *QUICK, "--output", page, "--output", picture)
    assert result.exit_code == 0, result.stderr
    assert [path.name for path in sorted(tmp_path.rglob("*.*"))] == ["page.html", "map.svg"]
    assert "<h1>What the translator sees</h1>" in page.read_text(encoding="utf-8")


def test_a_file_that_cannot_be_is_said_before_anything_is_computed(tmp_path: Path):
    (tmp_path / "file").touch()
    for page in (tmp_path / "file" / "page.html", tmp_path):
        result = typed("inspect", tmp_path / "no bundle", TEXT, "--output", page)
        assert result.exit_code in (1, 2)
        assert "no bundle" not in result.stderr
        assert str(page.name) in result.stderr or "file" in result.stderr


def test_progress_and_what_is_left_out_are_said():
    result = typed("inspect", tiny_bundle(), "abc def. 123. ghi.", *QUICK, "--json")
    assert [one["source"] for one in json.loads(result.stdout)] == ["abc def.", "ghi."]
    assert "note    skipped, it has no letters: 123.\n" in result.stderr
    told = [line for line in result.stderr.splitlines() if line.startswith("what if ")]
    assert told[-1].split()[2] == told[-1].split()[4], "all of them"


def test_texts_that_are_none():
    assert "no text is given" in typed("inspect", tiny_bundle(), *QUICK).stderr
    assert "standard input is not UTF-8" in typed("inspect", tiny_bundle(), *QUICK, stdin=b"\xff\xfe").stderr
    assert "a text must have letters" in typed("inspect", tiny_bundle(), "123", *QUICK).stderr


@pytest.mark.slow
def test_piped_there_is_no_colour_and_results_are_all_there_is_on_stdout():
    done = ran("inspect", tiny_bundle(), TEXT, *QUICK)
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode()
    assert "\x1b" not in text
    assert text.startswith("source ")
    assert all(cell_len(line) <= 80 for line in text.splitlines())
