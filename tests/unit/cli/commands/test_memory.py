"""`dragoman memory` and `dragoman database`: from files to a backup and back."""

import contextlib
import json
from pathlib import Path

import pytest

from dragoman.storage.database import Database
from dragoman.storage.memories import MemoryStore, Unit
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


def test_corrections_are_reviewed_and_the_data_of_a_key_exported_and_erased(tmp_path: Path):
    with contextlib.closing(Database.open()) as database:
        store = MemoryStore(database)
        units = [Unit(f"text {number}", f"Text {number}", author="anna", state="pending") for number in range(4)]
        store.add(store.create("anna", "corrections"), "en", "de", units)
    of_anna = ("corrections", "--key", "anna")
    listed = json.loads(typed("memory", "pending", *of_anna, "--json").stdout)
    first, second = (each["id"] for each in listed[:2])
    assert (len(listed), listed[0]["author"]) == (4, "anna")
    assert "name the ids of corrections, or all" in typed("memory", "approve", *of_anna).stderr
    assert "has no unit 9-9" in typed("memory", "approve", *of_anna, "9-9").stderr
    assert "approved 1 of corrections" in typed("memory", "approve", *of_anna, first).stderr
    assert "rejected 1 of corrections" in typed("memory", "reject", *of_anna, second).stderr
    assert "approved 2 of corrections" in typed("memory", "approve", *of_anna, "--all").stderr
    assert "no corrections wait" in typed("memory", "pending", *of_anna).stderr
    assert "text 0" in typed("memory", "search", *of_anna, "text 0").stdout
    assert "10 rows of anna" in typed("database", "export", "anna.jsonl", "--key", "anna").stderr
    assert "text 3" in Path("anna.jsonl").read_text(encoding="utf-8")
    assert "10 rows of anna erased" in typed("database", "erase", "--key", "anna").stderr
    assert "no memories" in typed("memory", "list").stderr
