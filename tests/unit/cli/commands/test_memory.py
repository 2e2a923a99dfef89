"""`dragoman memory` and `dragoman database`: from files to a backup and back."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.tiny_translators import typed


@pytest.fixture(autouse=True)
def _database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_DATABASE", f"sqlite:///{tmp_path / 'data.db'}")
    monkeypatch.chdir(tmp_path)
    Path("a.tsv").write_text("The 2 dogs sleep.\tDie 2 Hunde schlafen.\nGood morning\tGuten Morgen\n", "utf-8")


def test_from_a_file_to_another(tmp_path: Path):
    failed = typed("memory", "import", "main", "a.tsv")
    assert failed.exit_code == 2
    assert "name it with --source" in failed.stderr
    pair = ("--source", "en", "--target", "de")
    assert "2 units added" in typed("memory", "import", "main", "a.tsv", *pair).stderr
    assert "0 units added, 2 known" in typed("memory", "import", "main", "a.tsv", *pair).stderr
    found = json.loads(typed("memory", "search", "main", "The 3 dogs sleep.", "--json").stdout)
    assert found == [{"score": 99, "source": "The 2 dogs sleep.", "target": "Die 3 Hunde schlafen."}]
    assert "Guten Morgen" in typed("memory", "search", "main", "morgen").stdout
    assert "2 units" in typed("memory", "export", "main", "b.tmx").stderr
    assert "already exists" in typed("memory", "export", "main", "b.tmx").stderr
    assert "2 units added" in typed("memory", "import", "second", "b.tmx", "--shared").stderr
    assert [
        (each["name"], each["units"], each["shared"]) for each in json.loads(typed("memory", "list", "--json").stdout)
    ] == [
        ("main", 2, False),
        ("second", 2, True),
    ]
    assert typed("memory", "remove", "second").exit_code == 0
    assert typed("memory", "list").stdout.split()[5:8] == ["main", "operator", "en-de"]


def test_backup_and_restore(tmp_path: Path):
    typed("memory", "import", "main", "a.tsv", "--source", "en", "--target", "de")
    assert typed("database", "backup", "copy.db").exit_code == 0
    assert "already exists" in typed("database", "backup", "copy.db").stderr
    assert "which would be lost" in typed("database", "restore", "copy.db").stderr
    typed("memory", "remove", "main")
    assert typed("database", "restore", "copy.db").exit_code == 0
    assert "main" in typed("memory", "list").stdout
    assert "is no backup" in typed("database", "restore", "a.tsv", "--force").stderr


def test_an_unknown_memory():
    typed("memory", "import", "main", "a.tsv", "--source", "en", "--target", "de")
    assert "there is no memory 'mian'; did you mean main?" in typed("memory", "search", "mian", "x").stderr
    assert (
        "--pair must be languages of the memory, got 'en-fr'; it has en-de"
        in typed("memory", "search", "main", "x", "--pair", "en-fr").stderr
    )
