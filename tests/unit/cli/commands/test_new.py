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
    assert "must be in de and en, in this order, got en and de" in " ".join(result.output.split())
    assert not (corpus / "made" / "dragoman.toml").exists()


@pytest.mark.parametrize(("option", "files"), [("test", ("test.de", "test.en")), ("validation", ("dev.de", "dev.en"))])
def test_held_out_files_in_the_wrong_order_are_rejected(corpus: Path, option: str, files: tuple[str, str]):
    result = typed("new", "made", "--corpus", "train.en", "train.de", f"--{option}", *files)
    assert result.exit_code == 2
    shown = " ".join(result.output.split())
    assert (
        f"the {option} text must be in en and de, in this order, got de and en; exchange the files of --{option}"
        in shown
    )
    assert not (corpus / "made" / "dragoman.toml").exists()


def test_held_out_columns_in_the_wrong_order_are_rejected(corpus: Path):
    rows = zip(GERMAN, ENGLISH, strict=True)
    (corpus / "test.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in rows), encoding="utf-8")
    result = typed("new", "made", "--corpus", "train.en", "train.de", "--test", "test.tsv")
    assert result.exit_code == 2
    assert "exchange its columns" in " ".join(result.output.split())


def test_a_folder_that_does_not_exist(corpus: Path):
    for command in ("check", "prepare", "train"):
        result = typed(command, "nowhere")
        assert result.exit_code == 2
        shown = " ".join(result.output.split())
        assert "nowhere must be the folder of a project, a .toml file or a preset, got none of them" in shown


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
    prepared = typed("prepare", "project", "--set", "tokenizer.size=60")
    assert "pairs.csv:1 looks like a header" in " ".join(prepared.stderr.split())
    Path("plain.csv").write_text(rows, encoding="utf-8")
    plain = typed("new", "plain", "--source", "en", "--target", "fr", "--corpus", "plain.csv")
    assert "header" not in plain.stderr
