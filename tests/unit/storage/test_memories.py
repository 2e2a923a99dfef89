"""Memories on SQLite and PostgreSQL: matches, walls between owners, backup."""

import contextlib
import sqlite3
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from dragoman.api.memories import import_file
from dragoman.errors import ConfigError, DataError, DragomanError
from dragoman.storage.database import VARIABLE, Database, back_up, check_default, restore
from dragoman.storage.memories import MemoryStore, Unit
from dragoman.storage.memory_match import Query
from testkit.memory_kills import kill_writers

PAIRS = {
    "The dog sleeps on the 2 sofas.": "Der Hund schläft auf den 2 Sofas.",
    "A woman reads a book in the garden.": "Eine Frau liest ein Buch im Garten.",
    "Open {file}": "{file} öffnen",
    "你好，世界，今天天气很好。": "Hallo Welt, das Wetter ist heute schön.",
    "Two men": "Zwei Männer",
}


def _fill(store: MemoryStore, name: str = "main", owner: str = "") -> None:
    memory = store.create(owner, name)
    store.add(memory, "en", "de", [Unit(*pair) for pair in PAIRS.items()])


def _look_up(
    store: MemoryStore, text: str, threshold: int = 70, owner: str = "", **context: str
) -> list[tuple[int, str]]:
    memories = store.visible(owner)
    (found,) = store.look_up(memories, "en", "de", [Query(text, **context)], threshold=threshold, limit=3)
    return [(match.score, match.text) for match in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Two  men", (100, "Zwei Männer")),
        ("The dog sleeps on the 17 sofas.", (99, "Der Hund schläft auf den 17 Sofas.")),
        ("Open {path}", (99, "{path} öffnen")),
        ("two men!", (98, "Zwei Männer")),
        ("A man reads a book in the garden.", (88, PAIRS["A woman reads a book in the garden."])),
        ("你好，世界，昨天天气很好。", (92, PAIRS["你好，世界，今天天气很好。"])),
        ("Three women", None),
    ],
)
def test_scores(store: MemoryStore, text: str, expected: tuple[int, str] | None) -> None:
    _fill(store)
    assert _look_up(store, text) == ([] if expected is None else [expected])


def test_the_neighbours_and_then_the_newest_of_equal_units_decide(store: MemoryStore) -> None:
    memory = store.create("", "main")
    units = [
        Unit("Open", "Öffnen", "File", "Close", created=3),
        Unit("Open", "Offen", "State", "Closed", created=1),
        Unit("Open", "Auf", created=2),
    ]
    store.add(memory, "en", "de", units)
    assert _look_up(store, "Open")[0] == (100, "Öffnen")
    assert _look_up(store, "Open", before="State", after="Closed")[0] == (101, "Offen")


def test_what_is_added_again_is_not_doubled(store: MemoryStore) -> None:
    _fill(store)
    counts = store.add(store.get("", "main"), "en", "de", [Unit(*pair) for pair in PAIRS.items()] * 2)
    assert (counts.added, counts.known) == (0, 2 * len(PAIRS))
    assert store.get("", "main").units == len(PAIRS)


def test_long_and_empty_units_are_left_out(store: MemoryStore) -> None:
    counts = store.add(
        store.create("", "main"), "en", "de", [Unit("x" * 1_000_000, "y"), Unit(" ", "y"), Unit("a", "b")]
    )
    assert (counts.added, counts.skipped) == (1, 2)


def test_text_that_databases_refuse(store: MemoryStore) -> None:
    """Halves of characters and NUL come with JSON; a unit has white space in their place, other texts are refused."""
    memory, bad = store.create("", "main"), "two\ud800men\0there"
    assert store.add(memory, "en", "de", [Unit(bad, bad, bad, bad, bad, origin=bad)]).added == 1
    memory = store.get("", "main")
    assert [unit.source for unit in store.units(memory)] == ["two men there"]
    assert [each.score for each in store.look_up([memory], "en", "de", [Query(bad)])[0]] == [100]
    assert store.correct(memory, "en", "de", Unit(bad, "x", author=bad)).target == "x"
    for attempt in (
        lambda: store.create("", bad),
        lambda: store.get("", bad),
        lambda: store.find_job(bad),
        lambda: list(store.units(memory, text=bad)),
    ):
        with pytest.raises(DragomanError):
            attempt()


def _write_tmx(path: Path, languages: Sequence[str], units: int = 1) -> Path:
    variants = "".join(f'<tuv xml:lang="{each}"><seg>{each}</seg></tuv>' for each in languages)
    body = "".join(f'<tu><tuv xml:lang="en"><seg>text {each}</seg></tuv>{variants}</tu>' for each in range(units))
    path.write_text(f'<tmx><header srclang="en"/><body>{body}</body></tmx>')
    return path


def test_a_file_of_many_languages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with contextlib.closing(Database.open(f"sqlite:///{tmp_path / 'data.db'}")) as database:
        store = MemoryStore(database)
        memory = store.create("", "main")
        monkeypatch.setattr("dragoman.api.memories._MAX_BUFFERED", 5)
        counts = import_file(
            store, memory, _write_tmx(tmp_path / "a.tmx", ["de", "x-none", f"en{'-long' * 9}", "fr", "zh-Hant"], 4)
        )
        assert (counts.added, counts.skipped) == (12, 8)
        monkeypatch.undo()
        codes = [f"a{a}{b}" for a in string.ascii_lowercase for b in string.ascii_lowercase]
        with pytest.raises(DataError, match="500 language pairs"):
            import_file(store, memory, _write_tmx(tmp_path / "b.tmx", codes))
        assert sorted(each[2] for each in store.get("", "main").directions) == ["de", "fr", "zh-Hant"]


def test_numbers_that_the_translation_does_not_have_are_no_exact_match(store: MemoryStore) -> None:
    memory = store.create("", "main")
    store.add(memory, "en", "de", [Unit("It costs 1,000.50 euros.", "Es kostet 1.000,50 Euro.")])
    assert _look_up(store, "It costs 2,000.50 euros.") == [(98, "Es kostet 1.000,50 Euro.")]


def test_units_that_are_not_approved_do_not_match(store: MemoryStore) -> None:
    memory = store.create("", "main")
    store.add(memory, "en", "de", [Unit("A cat", "Ein Hund", state="pending")])
    memory = store.get("", "main")
    assert memory.units == 0
    assert _look_up(store, "A cat") == []
    (unit,) = store.units(memory, state="pending")
    assert store.set_state(memory, unit.id, "approved")
    assert _look_up(store, "A cat") == [(100, "Ein Hund")]
    assert store.get("", "main").units == 1
    assert store.set_state(memory, unit.id, None)
    assert not store.set_state(memory, unit.id, None)
    assert (_look_up(store, "A cat"), store.get("", "main").units) == ([], 0)


def test_owners_do_not_see_each_other(store: MemoryStore) -> None:
    _fill(store, owner="anna")
    assert _look_up(store, "Two men", owner="anna")
    assert _look_up(store, "Two men", owner="ben") == []
    with pytest.raises(ConfigError, match="no memory 'main'"):
        store.get("ben", "main")
    (unit, *_) = store.units(store.get("anna", "main"))
    assert not store.set_state(store.create("ben", "other"), unit.id, None)
    store.share(store.get("anna", "main"), shared=True)
    assert _look_up(store, "Two men", owner="ben")
    with pytest.raises(ConfigError, match="no memory 'main'"):
        store.get("ben", "main", own=True)


def test_a_removed_memory_leaves_nothing(store: MemoryStore) -> None:
    _fill(store)
    store.remove(store.get("", "main"))
    with store.database.read() as connection:
        for table in ("memories", "memory_directions", "memory_units", "memory_postings"):
            assert connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar() == 0


def test_units_are_read_by_hash_or_number(tmp_path: Path) -> None:
    """A plan with the language pair alone reads the whole memory."""
    plans: list[str] = []

    def explain(connection: Any, cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if "memory_units" in statement and statement.startswith(("SELECT", "UPDATE")):
            cursor.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
            plans.extend(row[-1] for row in cursor.fetchall() if "memory_units" in row[-1])

    with contextlib.closing(Database.open(f"sqlite:///{tmp_path / 'data.db'}")) as database:
        store = MemoryStore(database)
        _fill(store)
        event.listen(database.engine, "before_cursor_execute", explain)
        assert _look_up(store, "A man reads a book in the garden.")
        _fill(store)
        store.correct(store.get("", "main"), "en", "de", Unit("Two men", "Zwei Männer"))
    assert len(plans) >= 4
    assert [plan for plan in plans if "hash=?" not in plan and "number=?" not in plan] == []


def test_regions_and_scripts(store: MemoryStore) -> None:
    store.add(store.create("", "main"), "en-US", "pt-BR", [Unit("Two men", "Dois homens")])
    store.add(store.get("", "main"), "en", "zh-Hant", [Unit("Two men", "兩個男人")])
    memories = [store.get("", "main")]
    for target, expected in (("pt", "Dois homens"), ("pt-BR", "Dois homens"), ("zh-TW", "兩個男人"), ("zh", None)):
        (found,) = store.look_up(memories, "en", target, [Query("Two men")])
        assert [match.text for match in found] == ([expected] if expected else [])


def test_search_for_a_text(store: MemoryStore) -> None:
    _fill(store)
    memory = store.get("", "main")
    assert [unit.source for unit in store.units(memory, text="BUCH")] == ["A woman reads a book in the garden."]
    assert list(store.units(memory, text="%")) == []


def test_a_backup_restores_everything(store: MemoryStore, tmp_path: Path) -> None:
    _fill(store)
    rows = back_up(store.database, tmp_path / "backup.db")
    with pytest.raises(ConfigError, match="has content"):
        restore(store.database, tmp_path / "backup.db")
    store.add(store.get("", "main"), "en", "de", [Unit("later", "später")])
    before = (tmp_path / "backup.db").read_bytes()
    assert restore(store.database, tmp_path / "backup.db", force=True) == rows
    assert (tmp_path / "backup.db").read_bytes() == before
    assert [path.name for path in tmp_path.glob("backup*")] == ["backup.db"]
    assert _look_up(store, "later") == []
    assert _look_up(store, "Two men") == [(100, "Zwei Männer")]
    store.add(store.create("", "other"), "en", "fr", [Unit("Two men", "Deux hommes")])  # with a new number


def test_a_batch_is_added_whole_or_not_at_all(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    _fill(store)
    monkeypatch.setattr("dragoman.storage.memories.add_postings", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        store.add(store.get("", "main"), "en", "de", [Unit("A cat", "Eine Katze")])
    monkeypatch.undo()
    assert _look_up(store, "A cat") == []
    assert store.add(store.get("", "main"), "en", "de", [Unit("A cat", "Eine Katze")]).added == 1


@pytest.mark.parametrize("url", ["mysql://x", "sqlite://", "nonsense"])
def test_addresses_of_databases(url: str) -> None:
    with pytest.raises(ConfigError, match="database must be sqlite:///FILE or postgresql://"):
        Database.open(url)


def test_a_newer_and_a_damaged_database_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data.db"
    monkeypatch.setenv(VARIABLE, f"sqlite:///{path}")
    check_default()
    Database.open(f"sqlite:///{path}").close()
    check_default()
    assert path.stat().st_mode & 0o077 == 0
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE schema_version SET version = 1000")
    connection.close()
    with pytest.raises(ConfigError, match="version 1000"):
        Database.open(f"sqlite:///{path}")
    with pytest.raises(ConfigError, match="version 1000"):
        check_default()
    path.write_bytes(b"this is no database, it is a text of somebody" * 50)
    with pytest.raises(DataError, match="file is not a database"):
        Database.open(f"sqlite:///{path}")
    with pytest.raises(DataError, match="file is not a database"):
        check_default()
    assert path.read_bytes().startswith(b"this is no database")
    monkeypatch.setenv(VARIABLE, f"sqlite:///{path}/data.db")
    with pytest.raises(ConfigError, match="database must be a file that can be written"):
        check_default()


def test_acknowledged_corrections_survive_kills(database_url: str) -> None:
    """Few kills; `python -m benchmarks.memory_kills` does hundreds."""
    kills, acknowledged = kill_writers(database_url, 3)
    assert kills == 3
    assert min(acknowledged.values()) >= 5


@pytest.mark.parametrize(("control", "message"), [("early", "lost"), ("double", "twice")])
def test_the_check_of_kills_finds_faults(tmp_path: Path, control: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        kill_writers(f"sqlite:///{tmp_path / 'data.db'}", 5, control=control)
