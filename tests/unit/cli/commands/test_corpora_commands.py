"""``dragoman new``, ``check`` and ``prepare`` as a person types them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from typer.testing import CliRunner, Result

from dragoman.bundle import Bundle
from dragoman.cli.main import app
from tests.unit.data.preparation.corpus import pairs, write_pairs
from tests.unit.data.preparation.test_start_tokenizer import bundle

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)

    def type_in(*arguments: str) -> Result:
        return CliRunner().invoke(app, arguments)

    return type_in


@pytest.fixture
def project(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new project, in which one stands."""
    write_pairs(tmp_path, "train", pairs(400))
    result = run("new", "p", "--source", "en", "--target", "de", "--corpus", "train.en", "train.de")
    assert result.exit_code == 0, result.stderr
    monkeypatch.chdir(tmp_path / "p")
    return tmp_path / "p"


def test_new_says_what_it_made_and_what_to_type_next(run: Run, tmp_path: Path):
    write_pairs(tmp_path, "train", pairs(400))
    result = run("new", "p", "--source", "en", "--target", "de", "--corpus", "train.en", "train.de")
    assert result.stdout.splitlines() == ["p/dragoman.toml: en → de, 400 pairs, starting from the preset pairs-5k"]
    assert result.stderr == "next    cd p && dragoman check\n"
    again = run("new", "p", "--source", "en", "--target", "de", "--corpus", "train.en", "train.de")
    assert again.exit_code == 2
    assert again.stderr.startswith("error: p/dragoman.toml already exists")


def test_new_takes_one_option_a_file_too(run: Run, tmp_path: Path):
    write_pairs(tmp_path, "train", pairs(50))
    files = ["--corpus", "train.en", "--corpus", "train.de", "--test", "train.en", "--test", "train.de"]
    assert run("new", "p", "--source", "en", "--target", "de", *files, "--preset", "luong2015-desk").exit_code == 0
    assert 'extends = "luong2015-desk"' in Path("p/dragoman.toml").read_text(encoding="utf-8")


CHINESE = [f"我们在这里说的是中国的第{number}件事，他们也知道。" for number in range(400)]


def test_new_warns_of_the_other_chinese_script(run: Run):
    Path("train.en").write_text("".join(f"This is the sentence {n} of the text.\n" for n in range(400)), "utf-8")
    Path("train.zh").write_text("\n".join(CHINESE) + "\n", encoding="utf-8")
    result = run("new", "p", "--source", "en", "--target", "zh-TW", "--corpus", "train.en", "train.zh")
    assert result.exit_code == 0
    warning = "warning: the target of train.zh looks like simplified Chinese, got zh-TW; --target zh declares it\n"
    assert result.stderr.startswith(warning)
    for code in ("zh", "zh-CN", "zh-Hans"):
        result = run("new", f"p-{code}", "--source", "en", "--target", code, "--corpus", "train.en", "train.zh")
        assert result.exit_code == 0
        assert "warning" not in result.stderr


@pytest.mark.parametrize("kind", ["train", "test"])
def test_new_names_the_encoding_of_a_file_that_is_not_utf_8(run: Run, tmp_path: Path, kind: str):
    english = "".join(f"This is the sentence {number} of the text.\n" for number in range(400))
    for name, encoding in (("good", "utf-8"), ("bad", "gb18030")):
        Path(f"{name}.en").write_text(english, encoding="utf-8")
        Path(f"{name}.zh").write_text("\n".join(CHINESE) + "\n", encoding=encoding)
    corpus, test = ("bad", "good") if kind == "train" else ("good", "bad")
    files = ["--corpus", f"{corpus}.en", f"{corpus}.zh", "--test", f"{test}.en", "--test", f"{test}.zh"]
    result = run("new", "p", *files)
    assert (result.exit_code, result.stdout, Path("p").exists()) == (1, "", False)
    command = "iconv -f GB18030 -t UTF-8 bad.zh > bad.utf8.zh"
    assert result.stderr == (
        f"error: bad.zh must be UTF-8, got GB18030 by its bytes; convert it, and name the new file: {command}\n"
    )


def test_new_refuses_files_without_text(run: Run, tmp_path: Path):
    for name in ("bad.en", "bad.de"):
        Path(name).write_bytes(b"\x81\x00\xff\n" * 20)
    result = run("new", "p", "--source", "en", "--target", "de", "--corpus", "bad.en", "bad.de")
    assert (result.exit_code, Path("p").exists()) == (1, False)
    assert result.stderr.startswith("error: bad.en and bad.de must be UTF-8 text, got 20 bad lines of 20; ")


def test_new_names_the_separator_of_a_table(run: Run):
    rows = [f"line {number}\tZeile {number}\n" for number in range(20)]
    Path("tabs.csv").write_text("".join(rows), encoding="utf-8")
    Path("open.csv").write_text("".join(f'"a" {row}'.replace("\t", ",") for row in rows), encoding="utf-8")
    Path("words.csv").write_text("".join(rows).replace("\t", " "), encoding="utf-8")
    for name, expected in {
        "tabs.csv": "tabs.csv must have commas or semicolons between its columns, got tabs; read it with --format tsv ",
        "words.csv": "words.csv must have two columns in every row, got 20 rows of 20 without, first words.csv:1: 1 of "
        "the 2 columns that are needed; a comma separates them; ",
        "open.csv": "open.csv must have a closing mark for every quotation, got 20 rows of 20 without, first "
        "open.csv:1: a quotation mark is not closed; ",
    }.items():
        result = run("new", "p", "--source", "en", "--target", "de", "--corpus", name)
        assert (result.exit_code, Path("p").exists()) == (1, False)
        assert result.stderr.startswith(f"error: {expected}")


def test_new_names_the_problem_of_most_lines(run: Run):
    rows = [json.dumps({"a": f"line {number}", "b": f"Zeile {number}"}) + "\n" for number in range(20)]
    Path("keys.jsonl").write_text("".join(rows), encoding="utf-8")
    Path("mac.csv").write_text("a,b\rc,d\re,f\rg,h\r" * 5 + '"i","two\nlines"\r', newline="")
    for name, expected in {
        "keys.jsonl": "keys.jsonl must have good lines, got 20 of 20 with the problem 'missing language', first "
        "keys.jsonl:1: no en; there is a, b; name the keys in columns; correct them, or choose keys with --columns",
        "mac.csv": r"mac.csv must end its rows with line feeds, got carriage returns; convert it: tr '\r' '\n' < mac",
    }.items():
        result = run("new", "p", "--source", "en", "--target", "de", "--corpus", name)
        assert (result.exit_code, Path("p").exists()) == (1, False)
        assert result.stderr.startswith(f"error: {expected}")


def test_check_and_prepare_offer_the_conversion_of_a_whole_file(run: Run, project: Path):
    file = project.parent / "train.de"
    german = ["Schöne Grüße", "Über die Brücke", "ohne Umlaut"] * 200
    file.write_text("".join(f"{line}\n" for line in german[:400]), encoding="cp1252")
    command = f"iconv -f WINDOWS-1252 -t UTF-8 {file} > {file.with_name('train.utf8.de')}"
    shown = run("check", "--no-measure")
    assert shown.exit_code == 1
    text = "".join(shown.stdout.split())  # long paths are wrapped anywhere
    assert f"✗{file}mustbeUTF-8,gotWINDOWS-1252byitsbytes;convertitwithiconv" in text
    assert "--on-bad-line" not in text
    assert f"\n{command}\nWhen that is corrected: dragoman check\n" in shown.stdout
    stopped = run("prepare")
    assert (stopped.exit_code, "--on-bad-line" in stopped.stderr) == (1, False)
    assert stopped.stderr.endswith(f"convert it, and name the new file: {command}\n")
    skipped = run("check", "--no-measure", "--on-bad-line", "skip")
    assert f"✗{file}mustbeUTF-8" in "".join(skipped.stdout.split()), "most lines are bad"


def test_check_names_the_folder_that_was_given(run: Run, project: Path):
    screen = run("check", str(project), "--no-measure")
    assert " ".join(screen.stdout.split()).endswith(f"next dragoman prepare {project}")


def test_check_shows_a_screen_json_and_a_page(run: Run, project: Path):
    screen = run("check", "--no-measure", "--output", "check.html")
    assert screen.exit_code == 0, screen.stderr
    assert screen.stdout.endswith("next    dragoman prepare\n")
    assert all(len(line) <= 80 for line in screen.stdout.splitlines())
    page = (project / "check.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "train.en" in page
    report = json.loads(run("check", "--no-measure", "--json").stdout)
    assert report["selection"]["kept"] == 360
    assert report["fatal"] == []


def test_workers_need_a_cluster(run: Run, project: Path):
    result = run("prepare", "--workers", "2")
    assert result.exit_code == 2
    assert result.stderr == "error: --workers needs --on; write --on ray\n"


def test_prepare_goes_on_from_check(run: Run, project: Path):
    run("check", "--no-measure")
    result = run("prepare")
    assert result.exit_code == 0, result.stderr
    assert "cleaning train.en: done before" in result.stderr
    assert "360" in result.stdout
    manifest = json.loads(run("prepare", "--json").stdout)
    assert manifest["splits"]["train"]["rows"] == 360


def test_the_table_of_prepare_has_no_empty_cells_and_no_sums_of_one_corpus(run: Run, project: Path):
    with (project.parent / "train.en").open("a", encoding="utf-8") as english:
        english.write("word " * 200 + "\n")
    with (project.parent / "train.de").open("a", encoding="utf-8") as german:
        german.write("Wort\n")
    result = run("prepare")
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    rows = [re.split(r"  +", line) for line in lines[: lines.index("")]]
    assert all(len(row) == 5 and all(row) for row in rows)
    assert "in all" not in result.stdout
    assert re.search(r"^360 of 401 training pairs; \d+ held out; 1 left out: .+ 1$", result.stdout, re.MULTILINE)
    report = Path(lines[-1].rpartition(" ")[2])
    assert report.is_file()
    assert report.name == "report.json"


def test_a_bad_line_is_an_error_with_its_place(run: Run, project: Path):
    path = project.parent / "train.de"
    path.write_bytes(path.read_bytes().replace(b"Der", b"D\xffr", 1))
    line = path.read_bytes().split(b"D\xffr")[0].count(b"\n") + 1
    result = run("prepare")
    assert result.exit_code == 1
    assert f"train.de:{line} must be good text, got: not UTF-8" in result.stderr
    assert result.stderr.count("error: ") == 1, "the remedy is in the same line"
    assert result.stderr.splitlines()[-1].endswith("; dragoman check counts them all")
    checked = run("check", "--no-measure")
    assert checked.exit_code == 1
    assert f"train.de:{line}" in "".join(checked.stdout.split()), "long paths are wrapped anywhere"
    assert run("prepare", "--on-bad-line", "skip").exit_code == 0
    assert run("check", "--no-measure", "--on-bad-line", "skip").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["prepare", "nowhere.toml"], 2, "nowhere.toml does not exist; check its spelling"),
        (["prepare", "pairs-5k"], 2, "has no [data] section"),
        (["check", "pairs-5k"], 2, "has no [data] section"),
        (["prepare", "--on-bad-line", "ignore"], 2, "--on-bad-line must be error or skip, got ignore"),
        (["prepare", "--set", "data.sead=3"], 2, "did you mean seed?"),
        (["prepare", "--processes", "0"], 2, "--processes"),
        (["prepare", "--set", 'data.train=[{files = ["a.en", "a.de"]}]'], 1, "a.en must be a file"),
    ],
)
def test_mistakes_are_explained(run: Run, project: Path, arguments: list[str], code: int, says: str):
    result = run(*arguments)
    assert result.exit_code == code, result.stderr
    assert says in result.stderr
    assert "Traceback" not in result.stderr


def test_a_folder_stands_for_its_configuration(run: Run, project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(project.parent)
    result = run("prepare", "p")
    assert result.exit_code == 0, result.stderr


def test_the_next_command_repeats_what_was_typed(run: Run, project: Path):
    shown = run("check", "--no-measure", "--on-bad-line", "skip", "--set", "data.seed=3").stdout
    assert "dragoman prepare --set data.seed=3 --on-bad-line skip" in shown


def test_a_corpus_of_which_nothing_is_left_is_told(run: Run, project: Path):
    corpus = f"{{files=['{project.parent}/train.en', '{project.parent}/train.de']}}"
    both = f"data.train=[{corpus}, {corpus}]"
    result = run("prepare", "--set", both, "--set", "data.test_pairs=10")
    assert result.exit_code == 0, result.stderr
    assert "note: no pair of" in result.stderr
    assert any(line.split() == ["test", "held", "out", "10", "–", "–"] for line in result.stdout.splitlines())


def test_an_interruption_is_told(run: Run, project: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dragoman.data.preparation.preparation.clean_corpus", interrupt)
    result = run("prepare")
    assert result.exit_code == 130
    assert result.stderr.endswith("interrupted; run the same command to continue\n")


@pytest.mark.skipif(sys.platform != "linux", reason="child processes are read from /proc")
def test_sigterm_ends_prepare_and_its_processes_with_a_line(project: Path):
    command = [sys.executable, "-m", "dragoman", "prepare"]
    process = subprocess.Popen(command, cwd=project, stderr=subprocess.PIPE, text=True)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    ends = time.monotonic() + 60
    while len(children.read_text().split()) < 2:  # the resource tracker of multiprocessing, then workers
        assert time.monotonic() < ends, "no worker process was started"
        time.sleep(0.01)
    time.sleep(0.3)  # it reads what it must do; without this, Python itself prints an error
    process.terminate()
    _, shown = process.communicate(timeout=60)
    assert process.returncode == 75
    assert shown.endswith("terminated; run the same command to continue\n")
    assert "leaked" not in shown
    assert "Traceback" not in shown


def test_without_a_project_it_says_how_to_make_one(run: Run):
    result = run("prepare")
    assert result.exit_code == 2
    assert "dragoman.toml" in result.stderr


def test_two_at_once_in_one_folder_are_refused(run: Run, project: Path):
    import fcntl

    assert run("prepare").exit_code == 0
    with (project / "prepared" / "work" / "lock").open("w", encoding="utf-8") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        result = run("prepare")
    assert result.exit_code == 1
    assert "another command is preparing" in result.stderr


@pytest.mark.slow
def test_standard_input_is_a_corpus(tmp_path: Path):
    (tmp_path / "dragoman.toml").write_text(
        'extends = "pairs-5k"\n[data]\nsource = "en"\ntarget = "de"\nvalidation_pairs = 20\n'
        '[[data.train]]\nfiles = ["-"]\nformat = "tsv"\n[tokenizer]\nsize = 400\n',
        encoding="utf-8",
    )
    text = "".join(f"{source}\t{target}\n" for source, target in pairs(300)).encode()
    command = [sys.executable, "-m", "dragoman", "prepare", "--json"]
    first = subprocess.run(command, cwd=tmp_path, input=text, capture_output=True, check=True)
    assert json.loads(first.stdout)["splits"]["train"]["rows"] == 280
    again = subprocess.run(command, cwd=tmp_path, input=text, capture_output=True, check=True)
    assert again.stdout == first.stdout
    assert b"done before" in again.stderr


def test_prepare_warns_of_a_wrong_language_and_goes_on(run: Run, project: Path, tmp_path: Path):
    write_pairs(tmp_path, "train", [(b, a) for a, b in pairs(400)])
    result = run("prepare")
    assert result.exit_code == 0, result.stderr
    (warning,) = [line for line in result.stderr.splitlines() if line.startswith("warning: ")]
    assert warning == (
        "warning: the sides of train.en are swapped: its source must be en and its target de; exchange its files, or "
        "exchange data.source and data.target"
    )
    write_pairs(tmp_path, "train", [(a, f"{a} Yes.") for a, _ in pairs(400)])
    result = run("prepare", "--set", "data.cleaning.max_similarity=1.0")
    assert result.exit_code == 0, result.stderr
    wrong = "warning: the target of train.de must be de, got 100 % en; correct data.target, or name another file"
    assert wrong in result.stderr
    write_pairs(tmp_path, "train", pairs(400))
    assert "warning" not in run("prepare").stderr


def test_new_rejects_a_wrong_language_unless_told_not_to_check(run: Run, tmp_path: Path):
    rows = pairs(60)
    write_pairs(tmp_path, "right", rows)
    result = run("new", "p", "--source", "en", "--target", "fr", "--corpus", "right.en", "right.de")
    assert result.exit_code == 2
    assert result.stderr == (
        "error: the target of right.de must be fr, got 100 % de; write --target de, or name another file; if it is "
        "fr, add --no-language-check\n"
    )
    write_pairs(tmp_path, "train", [(a, a) for a, _ in rows])
    write_pairs(tmp_path, "test", [(b, b) for _, b in rows])
    files = ["--corpus", "train.en", "train.de", "--test", "test.en", "test.de"]
    result = run("new", "p", "--source", "en", "--target", "de", *files)
    assert result.exit_code == 2
    assert "the target of train.de must be de, got 100 % en; name another file; if it is de, add --no-" in result.stderr
    result = run("new", "p", "--corpus", "right.en", "right.de", *files[3:])
    assert result.exit_code == 2
    assert "error: the source of test.en must be en, got 100 % de; name another file; if it is en" in result.stderr
    assert not (tmp_path / "p").exists()
    result = run("new", "p", "--source", "en", "--target", "de", *files, "--no-language-check")
    assert result.exit_code == 0, result.stderr
    assert result.stderr.splitlines()[:-1] == [
        "warning: the target of train.de must be de, got 100 % en; name another file",
        "warning: the source of test.en must be en, got 100 % de; name another file",
    ]
    assert result.stderr.endswith("next    cd p && dragoman check\n")


def test_a_language_that_cannot_be_detected_is_compared_with_what_the_text_looks_like(run: Run, tmp_path: Path):
    write_pairs(tmp_path, "train", [(b, a) for a, b in pairs(60)])
    (tmp_path / "train.en").rename("train.x")
    (tmp_path / "train.de").rename("train.y")
    command = ["new", "p", "--source", "de", "--target", "enn", "--corpus", "train.x", "train.y"]
    result = run(*command)
    assert result.exit_code == 2
    assert result.stderr == (
        "error: the target of train.y must be enn, got 100 % en (enn itself cannot be detected); write --target en, or "
        "name another file; if it is enn, add --no-language-check\n"
    )
    result = run(*command, "--no-language-check")
    assert result.exit_code == 0, result.stderr
    assert result.stderr.startswith("warning: the target of train.y must be enn, got 100 % en (enn itself cannot be")
    result = run("check", "p", "--no-measure", "--output", "check.html")
    assert result.exit_code == 0, result.stderr
    words = " ".join(result.stdout.split())
    assert "train.y: enn cannot be detected, looks like 100 % en" in words
    assert "% enn" not in words
    assert "100 % of the target side of train.y looks like en, and enn cannot be detected; if it is en," in words
    assert "enn cannot be detected; looks like" in Path("check.html").read_text(encoding="utf-8")


def test_a_language_that_cannot_be_detected_and_has_another_script_is_an_error_of_check(run: Run, tmp_path: Path):
    chinese = ["我们昨天在北京见面，谈了很久关于翻译的事情。", "他每天早上都去公园跑步，然后回家吃早饭。"]
    rows = [(a, f"{number} {chinese[number % 2]}") for number, (a, _) in enumerate(pairs(60))]
    write_pairs(tmp_path, "train", rows)
    command = ["new", "p", "--source", "en", "--target", "ch", "--corpus", "train.en", "train.de"]
    result = run(*command)
    assert result.exit_code == 2
    assert "must be ch, got 100 % zh (ch itself cannot be detected); write --target zh" in result.stderr
    assert run(*command, "--no-language-check").exit_code == 0
    words = " ".join(run("check", "p", "--no-measure").stdout.split())
    assert (
        "✗ the target of train.de must be ch, got 100 % zh (ch itself cannot be detected); correct data.target" in words
    )


@pytest.mark.parametrize(("english", "count"), [(40, 60), (10, 10)], ids=["two thirds", "few lines"])
def test_new_warns_of_a_language_that_is_not_certainly_wrong(run: Run, tmp_path: Path, english: int, count: int):
    write_pairs(tmp_path, "train", [(a, a if line < english else b) for line, (a, b) in enumerate(pairs(count))])
    result = run("new", "p", "--source", "en", "--target", "de", "--corpus", "train.en", "train.de")
    assert result.exit_code == 0, result.stderr
    assert "warning: the target of train.de must be de, got " in result.stderr


def test_new_explains_what_a_second_file_is(run: Run, tmp_path: Path):
    write_pairs(tmp_path, "train", pairs(60))
    for given in (["--corpus", "train.en"], ["--corpus", "train.en", "--format", "lines"]):
        result = run("new", "p", *given)
        assert result.exit_code == 2
        assert result.stderr == (
            "error: a corpus must be two files, the second with the translations of the first, line by line, or one "
            "file with both, got only train.en; name the second file, such as train.en train.de, or one file that "
            "ends in .csv, .jsonl, .ndjson, .parquet, .pq, .tab, .tmx, .tsv; another ending needs the format: "
            'dragoman new --format tsv, or format = "tsv" in the configuration\n'
        )


def test_new_from_a_model_prints_a_line_first_and_checks_the_files_before_the_model(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    data = {"source": "en", "target": "de", "train": [{"files": ["general.en", "general.de"]}]}
    bundle(tmp_path / "base", data=data)
    write_pairs(tmp_path, "train", pairs(60))
    opened: list[Path] = []
    open_bundle = Bundle.open.__func__  # type: ignore[attr-defined]

    def count(cls: type[Bundle], /, path: Path, **options: bool) -> Bundle:
        opened.append(path)
        return cast("Bundle", open_bundle(cls, path, **options))

    monkeypatch.setattr(Bundle, "open", classmethod(count))
    right = ["--from", "base", "--corpus", "train.en", "train.de"]
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "dragoman.toml").touch()
    for arguments in (
        ["p", "--from", "base", "--corpus", "train.en", "missing.de"],
        ["p", "--from", "base", "--corpus", "train.en"],
        ["p", *right, "--test", "missing.en", "train.de"],
        ["taken", *right],
    ):
        result = run("new", *arguments)
        assert result.exit_code != 0
        assert result.stderr.startswith("opening base\nerror: ")
    assert not opened
    result = run("new", "p", *right)
    assert result.exit_code == 0, result.stderr
    assert result.stderr.startswith("opening base\n")
    assert len(opened) == 1


@pytest.mark.parametrize(("name", "mark"), [("train.tsv", "\t"), ("train.csv", ",")])
def test_columns_are_exchanged_not_files(run: Run, tmp_path: Path, name: str, mark: str):
    (tmp_path / name).write_text("".join(f"{b}{mark}{a}\n" for a, b in pairs(400)), encoding="utf-8")
    given = ["new", "p", "--source", "en", "--target", "de", "--corpus", name]
    refused = run(*given)
    assert refused.exit_code == 2
    assert refused.stderr == (
        "error: the sides of the training text are swapped: its source must be en and its target de; exchange the "
        "columns with --columns 2 1, or exchange --source and --target\n"
    )
    made = run(*given, "--columns", "2", "1")
    assert made.exit_code == 0, made.stderr
    assert "warning" not in made.stderr
    config = tmp_path / "p" / "dragoman.toml"
    assert 'columns = ["2", "1"]' in config.read_text(encoding="utf-8")
    assert "must be" not in run("check", "p", "--no-measure").stdout
    config.write_text(config.read_text(encoding="utf-8").replace('columns = ["2", "1"]\n', ""), encoding="utf-8")
    said = " ".join(run("check", "p", "--no-measure").stdout.split())
    assert 'exchange its columns: columns = ["2", "1"], or exchange data.source and' in said


def test_prepare_lists_a_given_test_set(run: Run, project: Path):
    write_pairs(project, "news", pairs(30, seed=2))
    config = project / "dragoman.toml"
    text = config.read_text(encoding="utf-8").replace("test_pairs", "# test_pairs")
    config.write_text(f'{text}\n[[data.test]]\nfiles = ["news.en", "news.de"]\n', encoding="utf-8")
    result = run("prepare")
    assert result.exit_code == 0, result.stderr
    assert [line.split() for line in result.stdout.splitlines() if line.startswith("test")] == [
        ["test", "news.en", "30", "–", "–"]
    ]
