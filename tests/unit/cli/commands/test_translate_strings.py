"""``dragoman translate --update`` and ``--check``."""

import json
from pathlib import Path

import pytest

from tests.server.bundles import tiny_bundle
from tests.unit.cli.tiny_translators import QUICK, typed


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bundle(tmp_path_factory.mktemp("bundles") / "en-pt", "en", "pt")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("locales").mkdir()
    for name in ("app", "help"):
        Path(f"{name}.json").write_text('{"a": "A house", "b": "A red car"}', encoding="utf-8")
    return tmp_path


@pytest.mark.usefixtures("project")
def test_update_and_check(bundle: Path):
    names, output = ("app.json", "help.json"), ("-o", "locales/{target}/{name}.json")
    first, result = (typed("translate", bundle, *names, *output, "--update", *QUICK) for _ in range(2))
    assert (first.exit_code, result.exit_code) == (0, 0), first.stderr
    assert "texts " not in result.stderr  # nothing was sent
    assert sorted(path.name for path in Path("locales/pt").iterdir()) == ["app.json", "dragoman.lock", "help.json"]
    checked = typed("translate", "--check", *names, "-o", "locales/{target}/{name}")  # with the suffixes of the inputs
    assert (checked.exit_code, checked.stdout) == (0, "")
    Path("app.json").write_text('{"a": "A house", "b": "A blue car", "c": "A dog"}', encoding="utf-8")
    before = Path("locales/pt/app.json").read_bytes()
    checked = typed("translate", "no-such-model", *names, *output, "--check")
    shown = "missing locales/pt/app.json: c\nchanged locales/pt/app.json: b\n"
    assert (checked.exit_code, sorted(checked.stdout.splitlines())) == (1, sorted(shown.splitlines()))
    assert "error: 2 strings must be translated or revised; run the command with --update" in checked.stderr
    assert Path("locales/pt/app.json").read_bytes() == before
    result = typed("translate", bundle, *names, *output, "--update", *QUICK)
    assert "texts   2 texts: 2 translated" in result.stderr, result.stderr
    assert [*json.loads(Path("locales/pt/app.json").read_text(encoding="utf-8"))] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("arguments", "code", "fault"),
    [
        (("--update",), 2, "name it with -o"),
        (("help.json", "-o", "pt.json", "--update"), 2, "the output must differ for each of 2 inputs, got pt.json"),
        (("-o", "de.yaml", "--update"), 2, "the output must end in .json"),
        (("-o", "app.json", "--update"), 2, "app.json is the input"),
        (("-o", "pt.json", "--update", "--json"), 2, "--json is for lines of text, not for files of strings"),
        (("help.json", "-o", "pt.json"), 2, "without --update and --check there is one input"),
        (("-o", "locales/{target}.json", "--check"), 1, "locales/{target}.json matches no file"),
    ],
)
def test_what_does_not_fit_is_an_error(arguments: tuple[str, ...], code: int, fault: str, project: Path):
    result = typed("translate", "no-model", "app.json", *arguments)
    assert (result.exit_code, fault in result.stderr) == (code, True), result.stderr
    assert sorted(path.name for path in project.iterdir()) == ["app.json", "help.json", "locales"]


@pytest.mark.usefixtures("project")
def test_stale_strings_are_listed(bundle: Path):
    arguments = ("translate", bundle, "app.json", "-o", "pt.json", "--update", *QUICK)
    assert typed(*arguments).exit_code == 0
    value = json.loads(Path("pt.json").read_text(encoding="utf-8")) | {"a": "Uma casa"}
    Path("pt.json").write_text(json.dumps(value), encoding="utf-8")
    Path("app.json").write_text('{"a": "Two houses", "b": "A red car"}', encoding="utf-8")
    result = typed(*arguments)
    assert (result.exit_code, "stale   a; edit them, or replace them with --again\n" in result.stderr) == (0, True)
    assert json.loads(Path("pt.json").read_text(encoding="utf-8")) == value
    assert typed("translate", "--check", "app.json", "-o", "pt.json").stdout == "stale   pt.json: a\n"
    assert typed(*arguments, "--again").exit_code == 0
    assert json.loads(Path("pt.json").read_text(encoding="utf-8"))["a"] != "Uma casa"
