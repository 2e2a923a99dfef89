"""One way to name an output, one meaning of --force, and a line with the next command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.cli.main import COMMANDS, load_command
from tests.unit.cli.tiny_translators import QUICK, tiny_bundle, typed

WRITING = {
    *("align", "average", "check", "compare", "evaluate", "export", "import", "inspect", "merge", "score", "shortlist"),
    *("backtranslate", "distill", "prune", "quantize", "translate"),
}
"""Commands that write files and may replace them. `demo` and `train` continue or start elsewhere: they replace none."""
STORING = {"database", "memory"}
"""Groups of commands of which some write files."""
ENGINE = ("--engine", "torch", "--threads", "1")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "src").write_text("a b\nc d\n", encoding="utf-8")
    (tmp_path / "ref").write_text("e f\ng h\n", encoding="utf-8")
    return tmp_path


FORCE = "Replace an existing output, with all changes that were made in it."


def options(name: str) -> dict[str, object]:
    return {name: option for option in load_command(name).params for name in option.opts}


@pytest.mark.parametrize("force", [[], ["--force"]], ids=["new", "forced"])
def test_a_bundle_replaces_no_files_of_something_else(force: list[str], files: Path):
    """The message does not advise --force, which would be rejected after the work."""
    result = typed("merge", tiny_bundle("luong2015-desk"), files / "adapter", "-o", files, *force)
    assert f"{files} has other files in it; name a new or empty folder" in result.stderr


@pytest.mark.parametrize("name", sorted(WRITING | {"train"}))
def test_an_output_has_one_name(name: str):
    found = options(name)
    assert {"--output", "-o"} <= found.keys()
    for other in ("--save", "--html", "--picture", "--out"):
        assert other not in found


@pytest.mark.parametrize("name", COMMANDS)
def test_force_has_one_meaning(name: str):
    command = load_command(name)
    for each in getattr(command, "commands", {name: command}).values():
        found = {name: option for option in each.params for name in option.opts}
        assert ("--force" in found) == (name in WRITING) or name in STORING
        assert "--force" not in found or found["--force"].help == FORCE


def lines(files: Path) -> list[tuple[str, ...]]:
    bundle, pair = str(tiny_bundle()), (str(files / "src"), str(files / "ref"))
    return [
        ("align", bundle, *pair, *ENGINE, "-o", "links.txt"),
        ("align", bundle, *pair, *ENGINE, "-o", "links.jsonl"),
        ("score", bundle, *pair, *ENGINE, "-o", "scores.tsv"),
        ("score", bundle, *pair, *ENGINE, "-o", "scores.json"),
        ("evaluate", pair[1], "--test", *pair, "-o", "table.md"),
        ("compare", pair[1], pair[1], "--test", *pair, "-o", "page.html"),
        ("inspect", bundle, "a", *QUICK[2:], "-o", "map.json"),
        ("translate", bundle, pair[0], *QUICK, "-o", "out.txt"),
    ]


def test_an_existing_output_is_replaced_with_force_only(files: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(files)
    for line in lines(files):
        first = typed(*line)
        assert first.exit_code == 0, (line, first.stderr, first.exception)
        output = Path(line[-1])
        assert output.exists()
        assert f"wrote   {output}" in first.stderr or f"report  {output}" in first.stdout
        again = typed(*line)
        assert again.exit_code == 2, line
        assert f"error: {output} already exists" in again.stderr
        assert "--force" in again.stderr
        assert typed(*line, "--force").exit_code == 0, line


def test_the_ending_selects_the_format(files: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(files)
    align, align_json, score, score_json, *_ = lines(files)
    for line in (align, align_json, score, score_json):
        result = typed(*line)
        assert result.exit_code == 0, result.stderr
        assert result.stdout == ""
        text = Path(line[-1]).read_text(encoding="utf-8")
        assert len(text.splitlines()) == 2
        is_json = line in (align_json, score_json)
        assert all(("source" in json.loads(each)) == is_json for each in text.splitlines() if is_json)
    wrong = typed(*align[:-1], "links.pdf")
    assert "error: --output must end in .txt, .json or .jsonl, got links.pdf" in wrong.stderr


@pytest.mark.parametrize("place", ["file/inside.md", "folder.md"])
def test_an_output_that_cannot_be_written_is_refused_before_any_work(
    files: Path, monkeypatch: pytest.MonkeyPatch, place: str
):
    monkeypatch.chdir(files)
    Path("file").write_text("", encoding="utf-8")
    Path("folder.md").mkdir()
    result = typed("evaluate", tiny_bundle(), "--test", "src", "ref", "-o", place)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert "cannot be written" in result.stderr or "is a folder; name a file in it" in result.stderr


def test_a_command_that_writes_says_what_to_do_next_except_with_json(files: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(files)
    line = ("compare", "ref", "ref", "--test", "src", "ref", "--force")
    assert typed(*line).stderr.endswith("next    open comparison.html in a browser\n")
    assert "next" not in typed(*line, "--json").stderr
    translated = typed("translate", tiny_bundle(), "src", *QUICK, "-o", "out")
    assert translated.stderr.endswith("wrote   out\nnext    dragoman evaluate out --test src REFERENCE\n")
