"""Likely mistakes of a new user: each is one line that names the mistake and the next step."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.tiny_translators import tiny_bundle, typed

BUNDLE = "BUNDLE"
MISTAKES = [
    ("translate nope", 1, "nope does not exist; check its spelling, and name a bundle, a run or a project folder"),
    ("translate text text", 1, "text is a file, and a bundle is a folder"),
    (
        "translate folder",
        1,
        "has no model: name a bundle, a run or a project folder; dragoman train and dragoman import write a bundle",
    ),
    ("translate project", 1, "the project in project is not trained yet; run dragoman train project"),
    (
        "translate BUNDLE nope",
        1,
        "nope does not exist; check",
    ),
    (
        "translate BUNDLE folder",
        2,
        "the translation of the folder folder needs an output folder; name it",
    ),
    (
        "translate BUNDLE table.tsv",
        2,
        "got table.tsv, a table of 2 columns; save one column in a file",
    ),
    ("translate BUNDLE a.pdf", 2, "got a.pdf; convert it to .docx with LibreOffice, or to .txt with pdftotext"),
    ("translate BUNDLE ui.json -o ui.de.json", 1, "ui.json must be JSON, got: Expecting value: line 1"),
    ("translate BUNDLE ui.STRINGS", 1, 'ui.STRINGS:1 must be "name" = "text";'),
    ("translate BUNDLE ui.yaml.gz", 2, "got ui.yaml.gz; unpack it with gunzip"),
    (
        "translate BUNDLE text -o out.docx",
        2,
        "the output is plain text and must not end in .docx, got out.docx; rename it",
    ),
    ("translate BUNDLE text -o folder", 2, "the output must be a file, got folder"),
    ("translate BUNDLE text -o no/out", 2, "got no/out; create no first"),
    ("translate BUNDLE text --beam 0", 2, "--beam must be greater than or equal to 1, got 0; see"),
    (
        "translate BUNDLE text --engine fast",
        2,
        "--engine must be one of auto, torch, ctranslate2, onnx, got 'fast'",
    ),
    ("translate BUNDLE --resume", 2, "--resume needs an output file; name it with -o"),
    (
        "translate BUNDLE text --glossary no.tsv",
        1,
        "the glossary no.tsv does not exist",
    ),
    ("score BUNDLE text nope", 1, "nope does not exist"),
    ("evaluate BUNDLE", 2, "is no run, and has no test set of its own; name one with --test SRC REF"),
    ("evaluate text --test nope text", 1, "nope does not exist; check the path"),
    ("evaluate text --test text one", 1, "text and one must have the same number of lines, got 2 and 1"),
    ("compare nope", 1, "nope does not exist; name a run folder"),
    ("train", 2, "there is no dragoman.toml in this folder; go to the folder of a project"),
    ("train folder", 2, "folder has no dragoman.toml; dragoman new writes one"),
    ("train nope.toml", 2, "nope.toml does not exist; check its spelling, or make a project with dragoman new"),
    (
        "train project --set traning.max_updates=3",
        2,
        "traning is no known setting",
    ),
    ("train bad.toml", 2, "bad.toml must be valid TOML, got: Invalid value (at line 1, column 5); correct it there"),
    ("train text", 2, "text must be valid TOML, got: "),
    ("prepare trained/run", 2, "trained/run is a run, not the folder of a project; its project is trained"),
    ("prepare trained/run/dragoman.toml", 2, "is a run, not the folder of a project; its project is trained"),
    ("prepare trained/run/bundle", 2, "is a bundle, not the folder of a project; its project is trained"),
    ("check trained/run", 2, "is a run, not the folder of a project; its project is trained"),
    ("train trained/run", 2, "is a run, not the folder of a project; its project is trained"),
    ("prepare lost", 2, "lost is a run, not the folder of a project; name the project that it was trained in"),
    ("average folder -o x", 1, "folder has no run: it is neither a run nor a project; dragoman train makes runs"),
    ("average BUNDLE -o x", 1, "has no run: it is a bundle; name the run that wrote it"),
    ("doctor extra", 2, "Got unexpected extra argument(s) (extra); see dragoman doctor --help"),
    ("check project --on-bad-line ignore", 2, "--on-bad-line must be error or skip, got ignore; see"),
    ("average project -o x", 1, "project has no run: the project is not trained yet; dragoman train makes runs"),
    (
        "config show pairs-31k",
        2,
        "the configuration must be a .toml file or a preset, got pairs-31k; did you mean",
    ),
    ("export BUNDLE", 2, "Missing option '--to'; see dragoman export --help"),
    ("inspect BUNDLE a -o x.pdf", 2, "--output must end in .html, .svg or .json, got x.pdf"),
    ("serve --config settings.toml", 2, "no model was given; name a bundle, a run or a project"),
    ("demo text", 2, "text has other files than those of a demo; name another"),
]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("a b\nc d\n", encoding="utf-8")
    Path("one").write_text("a b\n", encoding="utf-8")
    Path("table.tsv").write_text("a\tb\nc\td\n", encoding="utf-8")
    Path("folder").mkdir()
    Path("project").mkdir()
    Path("trained").mkdir()
    data = '[data]\nsource = "en"\ntarget = "de"\n[[data.train]]\nfiles = ["a", "b"]\n'
    for project in ("project", "trained"):
        Path(project, "dragoman.toml").write_text(f'extends = "pairs-30k"\n{data}', encoding="utf-8")
    for output, record in (("trained/run", "run.json"), ("trained/run/bundle", "manifest.json"), ("lost", "run.json")):
        Path(output).mkdir()
        Path(output, "dragoman.toml").write_text(f'extends = "pairs-30k"\n{data}', encoding="utf-8")
        Path(output, record).write_text("{}", encoding="utf-8")
    for name in ("a.pdf", "ui.json", "ui.STRINGS", "ui.yaml.gz"):
        Path(name).write_text("a\n", encoding="utf-8")
    Path("settings.toml").write_text("port = 0\n", encoding="utf-8")
    Path("bad.toml").write_text("x = \n", encoding="utf-8")


@pytest.mark.parametrize(("line", "code", "message"), MISTAKES, ids=[line for line, _, _ in MISTAKES])
def test_a_likely_mistake_is_one_line_with_the_next_step(place: None, line: str, code: int, message: str):
    result = typed(*(str(tiny_bundle()) if word == BUNDLE else word for word in line.split()))
    assert result.exit_code == code, result.stderr
    assert result.stdout == ""
    errors = [each for each in result.stderr.splitlines() if each.startswith("error: ")]
    assert len(errors) == 1
    assert message in errors[0]
    assert result.stderr.splitlines() == errors, "nothing was begun before the mistake was found"


def test_an_empty_input_is_noted(place: None):
    Path("empty").write_text("", encoding="utf-8")
    result = typed("translate", tiny_bundle(), "empty", "--engine", "torch")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.endswith("note    empty has no lines\n")


@pytest.mark.parametrize(
    ("line", "near"),
    [
        ("train --force", None),
        ("new --force", None),
        ("prepare --forse", None),
        ("translate --glosary x", "--glossary"),
        ("translate --ouptut x", "--output"),
        ("translate --out x", "--output"),
        ("evaluate --tset x", "--test"),
        ("new --vaildation x", "--validation"),
        ("prepere", "prepare"),
        ("nwe", "new"),
        ("dmeo", "demo"),
        ("eval", "evaluate"),
        ("fit", None),
        ("run", None),
    ],
)
def test_only_near_names_are_proposed(line: str, near: str | None):
    result = typed(*line.split())
    assert result.exit_code == 2
    assert (f"did you mean {near}?" if near else "; see dragoman") in result.stderr
    assert ("did you mean" in result.stderr) == bool(near)
