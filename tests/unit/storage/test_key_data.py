"""The data of a key can be exported and erased, from all tables, and nothing of others is touched."""

import json
from pathlib import Path

import pytest
from sqlalchemy import insert, select

from dragoman.storage.database import erase_key, export_key, owned_tables
from dragoman.storage.memories import MemoryStore, Unit
from dragoman.storage.tables import (
    COUNTED,
    DOCUMENT_PARTS,
    DOCUMENTS,
    GLOSSARIES,
    METADATA,
    POSTINGS,
    REVIEWS,
    TERMS,
    USAGE,
)

SECRET = "Geheimnis"


@pytest.fixture
def filled(store: MemoryStore) -> MemoryStore:
    """Rows of two keys in all tables; the first reviewed a unit of the second."""
    for owner in ("anna", "ben"):
        memory = store.create(owner, "corrections")
        text = f"{SECRET if owner == 'anna' else 'plain'} dogs play in the snow"
        store.add(memory, "en", "de", [Unit(text, text, author=owner, state="pending")])
        memory = store.get(owner, "corrections")
        (unit,) = store.units(memory, state="pending")
        assert store.set_state(memory, unit.id, "approved", reviewer="anna")
        store.add_job(owner, owner, memory.id, "export")
        with store.database.write() as connection:
            row = {"id": owner, "owner": owner, "name": text, "created": "2026"}
            connection.execute(insert(GLOSSARIES).values(**row))
            row = {"glossary": owner, "source": "en", "target": "de", "digest": "", "terms": json.dumps({text: text})}
            connection.execute(insert(TERMS).values(**row, place=1, characters=1))
            connection.execute(insert(USAGE).values(owner=owner, day="2026-11-20", **dict.fromkeys(COUNTED, 5)))
            numbers = dict.fromkeys(("characters", "size", "created", "until"), 1)
            row = {"id": owner, "owner": owner, "client": "", "name": text, "status": "done", "error": ""}
            connection.execute(insert(DOCUMENTS).values(**row, **numbers, is_downloaded=False))
            connection.execute(insert(DOCUMENT_PARTS).values(document=owner, number=0, data=text.encode()))
    return store


def contents(store: MemoryStore) -> dict[str, list[tuple[object, ...]]]:
    with store.database.read() as connection:
        return {
            table.name: [tuple(row) for row in connection.execute(select(table))] for table in METADATA.tables.values()
        }


def test_every_table_is_exported_or_has_no_texts_of_a_key() -> None:
    named = {table.name for table in owned_tables("anna")}
    assert {each.name for each in (POSTINGS, DOCUMENT_PARTS)} == METADATA.tables.keys() - named


def test_an_export_has_what_one_key_stored(filled: MemoryStore, tmp_path: Path) -> None:
    count = export_key(filled.database, "anna", tmp_path / "anna.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "anna.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == count == 10  # one per table, and the review of the other key's unit
    assert {row["table"] for row in rows} == {table.name for table in owned_tables("anna")}
    assert "plain" not in (tmp_path / "anna.jsonl").read_text(encoding="utf-8")
    assert (tmp_path / "anna.jsonl").stat().st_mode & 0o077 == 0


def test_an_erased_key_leaves_nothing_and_others_keep_all(filled: MemoryStore, tmp_path: Path) -> None:
    before = contents(filled)
    assert erase_key(filled.database, "anna") == 10
    after = contents(filled)
    assert SECRET not in str(after)
    assert "anna" not in str(after)
    with filled.database.read() as connection:
        assert connection.execute(select(REVIEWS.c.reviewer)).scalars().all() == ["erased"]
    for name in before.keys() - {REVIEWS.name}:
        assert [row for row in before[name] if "anna" not in str(row) and SECRET not in str(row)][-1:] == after[name][
            -1:
        ], name
    assert all(len(after[table.name]) == 1 for table in owned_tables("ben"))
    for file in tmp_path.glob("data.db*"):  # of SQLite; neither in free pages nor in the log
        assert SECRET.encode() not in file.read_bytes()
