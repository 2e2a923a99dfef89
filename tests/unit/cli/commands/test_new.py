"""`dragoman new` takes two files after an option, and rejects files in the wrong order."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.config import load_config
from tests.unit.cli.tiny_translators import typed

ENGLISH = [f"The dog number {number} runs through the garden of our neighbour." for number in range(60)]
GERMAN = [f"Der Hund Nummer {number} rennt durch den Garten unseres Nachbarn." for number in range(60)]


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("train", "dev", "test"):
        (tmp_path / f"{name}.en").write_text("\n".join(ENGLISH) + "\n", encoding="utf-8")
        (tmp_path / f"{name}.de").write_text("\n".join(GERMAN) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_each_set_may_be_two_files(corpus: Path):
    sets = ["--validation", "dev.en", "dev.de", "--test", "test.en", "test.de"]
    result = typed("new", "made", "--corpus", "train.en", "train.de", *sets)
    assert result.exit_code == 0, result.output
    data = load_config(corpus / "made" / "dragoman.toml").data
    assert data is not None
    assert [Path(each).name for each in data.train[0].files] == ["train.en", "train.de"]
    assert data.validation is not None
    assert [Path(each).name for each in data.validation.files] == ["dev.en", "dev.de"]
    assert [Path(each).name for each in data.test[0].files] == ["test.en", "test.de"]


def test_an_option_may_be_repeated_as_before(corpus: Path):
    result = typed("new", "made", "--corpus", "train.en", "--corpus", "train.de")
    assert result.exit_code == 0, result.output


def test_files_in_the_wrong_order_are_rejected(corpus: Path):
    result = typed("new", "made", "--source", "de", "--target", "en", "--corpus", "train.en", "train.de")
    assert result.exit_code == 2
    assert "are swapped: its source must be de and its target en;" in " ".join(result.output.split())
    assert not (corpus / "made" / "dragoman.toml").exists()


@pytest.mark.parametrize(("option", "files"), [("test", ("test.de", "test.en")), ("validation", ("dev.de", "dev.en"))])
def test_held_out_files_in_the_wrong_order_are_rejected(corpus: Path, option: str, files: tuple[str, str]):
    result = typed("new", "made", "--corpus", "train.en", "train.de", f"--{option}", *files)
    assert result.exit_code == 2
    shown = " ".join(result.output.split())
    assert (
        f"the sides of the {option} text are swapped: its source must be en and its target de; exchange the files of "
        f"--{option}" in shown
    )
    assert not (corpus / "made" / "dragoman.toml").exists()


def test_held_out_columns_in_the_wrong_order_are_rejected(corpus: Path):
    rows = zip(GERMAN, ENGLISH, strict=True)
    (corpus / "test.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in rows), encoding="utf-8")
    result = typed("new", "made", "--corpus", "train.en", "train.de", "--test", "test.tsv")
    assert result.exit_code == 2
    assert "exchange its columns" in " ".join(result.output.split())


CONFIG_COMMANDS = ("check", "prepare", "train", "config show")


def test_a_folder_that_does_not_exist(corpus: Path):
    for command in CONFIG_COMMANDS:
        result = typed(*command.split(), "nowhere")
        assert result.exit_code == 2
        shown = " ".join(result.output.split())
        assert "nowhere is no folder of a project, no .toml file and no preset" in shown
        assert "did you mean" not in shown
    (corpus / "fr-en").mkdir()
    (corpus / "auto").mkdir()
    for command in CONFIG_COMMANDS:
        for name, near in {"fr-enn": "fr-en", "atuo": "auto"}.items():
            shown = " ".join(typed(*command.split(), name).output.split())
            assert f"no .toml file and no preset; did you mean {near}?" in shown


def test_one_language_is_enough_where_a_header_names_both(corpus: Path):
    rows = "".join(f'"{one}","{other}"\n' for one, other in zip(ENGLISH, GERMAN, strict=True))
    (corpus / "train.csv").write_text(f"en,de\n{rows}", encoding="utf-8")
    (corpus / "rows.csv").write_text(rows, encoding="utf-8")
    for number, options in enumerate((("--source", "de"), ("--target", "en"))):
        result = typed("new", f"made{number}", *options, "--corpus", "train.csv")
        assert (result.exit_code, "de → en" in result.output) == (0, True)
        result = typed("new", "other", *options, "--corpus", "rows.csv")
        shown = " ".join(result.output.split())
        assert (result.exit_code, "its source must be de and its target en; exchange the columns" in shown) == (
            2,
            True,
        )


def test_help_shows_brackets_that_belong_to_a_placeholder():
    assert "[NAME=]MODEL" in typed("serve", "--help").output
    assert "--validation FILE [FILE]" in typed("new", "--help").output


@pytest.mark.parametrize(
    ("option", "setting"),
    [
        ("--max-updates", "training.max_updates"),
        ("--steps", "training.max_updates"),
        ("--epochs", "training.max_epochs"),
        ("--lr", "training.learning_rate"),
        ("--vocab-size", "tokenizer.size"),
    ],
)
def test_an_option_that_is_a_setting_is_named_as_one(option: str, setting: str):
    result = typed("train", option, "5")
    assert result.exit_code == 2
    assert f"write --set {setting}=…" in result.output


def test_an_unknown_option_that_is_no_setting():
    assert "write --set" not in typed("train", "--wrong", "5").output


def test_a_header_that_is_read_as_a_pair_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"The house number {n} is old.,La maison numéro {n} est vieille.\n" for n in range(40))
    Path("pairs.csv").write_text(f"English,French\n{rows}", encoding="utf-8")
    result = typed("new", "project", "--source", "en", "--target", "fr", "--corpus", "pairs.csv")
    assert result.exit_code == 0, result.stderr
    assert "pairs.csv:1 looks like a header, and would be a pair: save the file without it" in " ".join(
        result.stderr.split()
    )
    columns = (
        'columns = ["English", "French"] at its files in the configuration, or dragoman new with --columns English'
    )
    assert f"or name its columns: {columns} French" in result.stderr
    prepared = typed("prepare", "project", "--set", "tokenizer.size=60")
    assert "pairs.csv:1 looks like a header" in " ".join(prepared.stderr.split())
    Path("plain.csv").write_text(rows, encoding="utf-8")
    plain = typed("new", "plain", "--source", "en", "--target", "fr", "--corpus", "plain.csv")
    assert "header" not in plain.stderr
    assert typed("new", "other", "--corpus", "pairs.csv", "--columns", "English", "French").stderr.count("header") == 0


@pytest.mark.parametrize(("option", "files"), [("test", ("test.en", "tets.de")), ("validation", ("dev.en", "devv.de"))])
def test_a_missing_second_file_of_a_set_is_named(corpus: Path, option: str, files: tuple[str, str]):
    expected = f"{files[1]} must be a file, but there is none of that name; did you mean {files[0][:-2]}de?"
    result = typed("new", "made", "--corpus", "train.en", "train.de", f"--{option}", *files)
    assert result.exit_code == 1
    assert expected in " ".join(result.output.split())
    result = typed("new", f"--{option}", *files, "--corpus", "train.en", "train.de", "made")
    assert expected in " ".join(result.output.split())


def test_a_folder_with_a_dot_may_follow_a_file_of_both_sides(corpus: Path):
    rows = zip(ENGLISH, GERMAN, strict=True)
    (corpus / "pairs.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in rows), encoding="utf-8")
    result = typed("new", "--corpus", "pairs.tsv", "my.project")
    assert result.exit_code == 0, result.output
    assert (corpus / "my.project" / "dragoman.toml").is_file()


def test_a_folder_with_a_dot_may_follow_a_repeated_option(corpus: Path):
    result = typed("new", "--corpus", "train.en", "--corpus", "train.de", "de-en-1.0")
    assert result.exit_code == 0, result.output
    assert (corpus / "de-en-1.0" / "dragoman.toml").is_file()


def test_polish_is_a_language_that_can_be_detected(corpus: Path):
    polish = [f"Pies numer {number} biegnie przez ogród naszego sąsiada." for number in range(60)]
    (corpus / "train.pl").write_text("\n".join(polish) + "\n", encoding="utf-8")
    result = typed("new", "made", "--corpus", "train.en", "train.pl")
    assert result.exit_code == 0, result.output
    wrong = typed("new", "other", "--source", "en", "--target", "pl", "--corpus", "train.en", "train.de")
    assert "must be pl, got" in " ".join(wrong.output.split())


def test_a_missing_file_counts_more_than_its_format(corpus: Path):
    (corpus / "pairs.csv").write_text("a,b\n", encoding="utf-8")
    for languages in ([], ["--source", "en", "--target", "de"]):
        result = typed("new", "made", *languages, "--corpus", "pairs.csv", "other")
        assert "other must be a file, but there is none of that name" in " ".join(result.output.split())
    (corpus / "other").write_text("a\n", encoding="utf-8")
    result = typed("new", "made", "--corpus", "pairs.csv", "other")
    assert "the files of a corpus must be of one format, got csv, lines" in " ".join(result.output.split())


def test_two_files_with_a_comma_between_them(corpus: Path):
    result = typed("new", "made", "--corpus", "train.en,train.de")
    assert result.exit_code == 2
    assert "got train.en,train.de; write them with a space between them, train.en train.de, or" in " ".join(
        result.output.split()
    )


def test_a_file_in_the_place_of_the_folder(corpus: Path):
    result = typed("new", "train.en", "--corpus", "train.en", "train.de")
    assert result.exit_code == 2
    assert (
        "train.en is a file, not the folder of the new project; for instance dragoman new "
        "project --corpus train.en train.de"
    ) in " ".join(result.output.split())
    result = typed("new", "train.en", "train.de")
    assert "a folder is missing; write dragoman new project --corpus train.en train.de" in " ".join(
        result.output.split()
    )


@pytest.mark.parametrize("words", [["project"], []])
def test_a_setting_without_an_equals_sign(corpus: Path, words: list[str]):
    for command in ("train", "prepare", "check"):
        result = typed(command, *words, "--set", "training.max_updates", "400")
        assert result.exit_code == 2
        assert "got training.max_updates; write --set training.max_updates=…, without spaces" in " ".join(
            result.output.split()
        )


def test_line_ends_and_byte_order_marks_are_told(corpus: Path):
    for name in ("train", "test"):
        (corpus / f"{name}.en").write_text("\n".join(ENGLISH), encoding="utf-8-sig", newline="\r\n")
    files = ["--corpus", "train.en", "train.de", "--test", "test.en", "test.de"]
    result = typed("new", "made", *files)
    assert result.exit_code == 0, result.output
    for name in ("train", "test"):
        assert f"warning: carriage return removed: 59 lines, the first is {name}.en:1\n" in result.stderr
        assert f"warning: byte-order mark removed: 1 line, the first is {name}.en:1\n" in result.stderr
    shown = " ".join(typed("check", "made", "--no-measure").stdout.split())
    assert "noted byte-order mark removed: 2 lines, the first is" in shown
    assert "carriage return removed: 118 lines, the first is" in shown
