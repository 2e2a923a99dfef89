"""``dragoman compare``, as it is typed."""

import json
import re
from pathlib import Path

import pytest

from tests.unit.api.recorded_runs import recorded_run
from tests.unit.cli.tiny_translators import ran, tiny_bundle, typed

SOURCES = "A man rides a red bicycle.\nTwo dogs run.\nHello.\n"
REFERENCES = "Ein Mann fährt Rad.\nZwei Hunde rennen.\nHallo.\n"


@pytest.fixture
def texts(tmp_path: Path) -> tuple[Path, Path, Path, Path]:
    """A test set, and two files of translations."""
    contents = {
        "test.en": SOURCES,
        "test.de": REFERENCES,
        "good.txt": REFERENCES,
        "bad.txt": "Ein Mann.\nHunde.\nHallo.\n",
    }
    for name, text in contents.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    first, second, third, fourth = (tmp_path / name for name in contents)
    return first, second, third, fourth


def test_it_writes_a_report_and_says_where(texts: tuple[Path, ...], tmp_path: Path) -> None:
    source, reference, good, bad = texts
    report = tmp_path / "new" / "report.html"
    result = typed("compare", f"worse={bad}", f"better={good}", "--test", source, reference, "-o", report)
    assert result.exit_code == 0, result.output
    assert f"report  {report}" in result.stdout
    assert "chrF++" in result.stdout
    stated = r"“better” is better than the baseline “worse”: .*, p < 0\.001 \(paired bootstrap\)\."
    assert re.search(stated, " ".join(result.stdout.split()))
    page = report.read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "Largest differences" in page


def test_json_is_json_alone(texts: tuple[Path, ...], tmp_path: Path) -> None:
    source, reference, good, bad = texts
    report = tmp_path / "report.html"
    result = typed("compare", good, bad, "--test", source, reference, "-o", report, "--json", "--baseline", "bad")
    value = json.loads(result.stdout)
    assert value["evaluation"]["baseline"] == "bad"
    assert [member["kind"] for member in value["members"]] == ["translations", "translations"]
    assert len(value["sentences"]) == 2
    assert value["report"] == str(report)


def test_json_writes_no_report_unless_one_is_named(
    texts: tuple[Path, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, reference, good, bad = texts
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    line = ("compare", good, bad, "--test", source, reference)
    result = typed(*line, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["report"] is None
    assert [*empty.iterdir()] == []
    Path("comparison.html").write_text("mine", encoding="utf-8")
    assert typed(*line, "--json").exit_code == 0, "a page that exists is no obstacle"
    assert typed(*line).exit_code == 2
    assert Path("comparison.html").read_text(encoding="utf-8") == "mine"


def test_runs_are_compared_without_a_test(tmp_path: Path) -> None:
    one, two = recorded_run(tmp_path / "one"), recorded_run(tmp_path / "two", seed=2)
    report = tmp_path / "report.html"
    result = typed("compare", one, two, "-o", report)
    assert result.exit_code == 0, result.output
    assert "Learning curves" in report.read_text(encoding="utf-8")
    assert "--test" in result.stdout
    settings = json.loads(typed("compare", one, two, "-o", report, "--force", "--json").stdout)["settings"]
    assert settings == {"training.seed": ["1", "2"]}


@pytest.mark.slow
def test_models_have_maps_beside_each_other(texts: tuple[Path, ...], tmp_path: Path) -> None:
    source, reference, *_ = texts
    report = tmp_path / "report.html"
    bundles = [f"{name}={tiny_bundle(name)}" for name in ("bahdanau2015-desk", "vaswani2017-desk")]
    quick = ("--engine", "torch", "--threads", "1", "--max-length", "6", "--beam", "1")
    result = typed("compare", *bundles, "--test", source, reference, "-o", report, *quick, "--maps", "1")
    assert result.exit_code == 0, result.output
    assert "Attention maps of the same sentence" in report.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--beam", "3"), "--beam needs --test"),
        (("--baseline", "x"), "--baseline needs --test"),
        (("--sentences", "3"), "--sentences needs --test"),
        (("--maps", "0"), "--maps needs --test"),
        (("--output", "."), "--output . is a folder; name a file in it"),
    ],
)
def test_what_would_do_nothing_is_refused(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    result = typed("compare", recorded_run(tmp_path / "run"), *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_mistakes_are_one_line(texts: tuple[Path, ...], tmp_path: Path) -> None:
    source, reference, good, _ = texts
    out = ("-o", tmp_path / "r.html")
    for arguments in (
        (tmp_path / "nothing",),
        (good, "--test", source, tmp_path / "nothing"),
        (good, "--test", source, reference, "--baseline", "nobody"),
        (good, "--test", source, reference, "--languages", "ende"),
        (good, "--test", source, reference, "--threads", "0"),
        (tmp_path,),
    ):
        result = typed("compare", *arguments, *out)
        assert result.exit_code in (1, 2), result.output
        assert [line[:6] for line in result.stderr.splitlines() if line.startswith("error:")] == ["error:"], (
            result.stderr
        )
    assert not (tmp_path / "r.html").exists()


def test_the_test_set_and_settings_are_named_as_they_were_typed(texts: tuple[Path, ...], tmp_path: Path) -> None:
    source, reference, good, _ = texts
    short = tmp_path / "short"
    short.write_text("one\n", encoding="utf-8")
    result = typed("compare", good, "--test", short, reference, "-o", tmp_path / "report.html")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: {short} and {reference} must have the same number of lines, got 1 and ")
    result = typed("compare", tiny_bundle(), "--test", source, reference, "-o", tmp_path / "r", "--engine", "fast")
    assert result.exit_code == 2
    assert "error: --engine must be one of" in result.stderr


def test_piped_there_is_no_colour(texts: tuple[Path, ...], tmp_path: Path) -> None:
    source, reference, good, bad = texts
    result = ran("compare", good, bad, "--test", source, reference, "-o", tmp_path / "r.html")
    assert result.returncode == 0, result.stderr
    assert b"\x1b" not in result.stdout + result.stderr
    assert max(len(line) for line in result.stdout.decode().splitlines()[:-1]) <= 80


def test_nothing_is_cut_in_a_pipe(tmp_path: Path, texts: tuple[Path, ...]) -> None:
    name = "transformer-with-a-very-long-name-of-its-own"
    one, two = recorded_run(tmp_path / name), recorded_run(tmp_path / "two", seed=2)
    facts = json.loads((one / "run.json").read_text(encoding="utf-8"))
    facts["best"]["scores"] = {"bleu": 12.5, "chrf": 41.25}
    (one / "run.json").write_text(json.dumps(facts), encoding="utf-8")
    result = typed("compare", one, two, "-o", tmp_path / "report.html")
    assert name in result.stdout
    assert re.search(r"BLEU 12\.5\S*, chrF\+\+ 41\.2\S*, loss 3\.50*; after 100 updates", result.stdout), result.stdout
    source, reference, good, bad = texts
    scored = typed("compare", f"{name}={bad}", good, "--test", source, reference, "-o", tmp_path / "scores.html")
    assert scored.stdout.count(name) > 1
    assert "…" not in result.stdout + scored.stdout
