"""Memories over HTTP: exact matches, corrections that count at once, and no way to those of another key."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import tempfile
from collections.abc import Iterator, MutableMapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from dragoman.api.adaptation import Adaptation, AdaptationSettings, Change, source_digest
from dragoman.files import write_json
from dragoman.server.access.api_keys import create_key
from dragoman.server.database import ServerDatabase, Usage
from dragoman.server.glossaries import GlossaryStore, term_dictionary
from dragoman.server.routes.document_files import DocumentStore, document_id, new_secret
from dragoman.server.settings import ServerSettings
from dragoman.storage.database import Database, export_key
from dragoman.storage.memories import MemoryStore, Unit
from dragoman.storage.tables import REVIEWS
from tests.server.asgi_calls import Caller
from tests.unit.server.test_app import BODIES, routes

EN_DE = {"source": "en", "target": "de"}
SECRET = "Geheim-Zwei-Hunde"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'data.db'}"


@pytest.fixture
def store(url: str) -> Iterator[MemoryStore]:
    with contextlib.closing(Database.open(url)) as database:
        yield MemoryStore(database)


def fill(store: MemoryStore, owner: str = "", name: str = "main", **pairs: str) -> str:
    memory = store.create(owner, name)
    units = [Unit(source, target) for source, target in (pairs or {"Two dogs": SECRET}).items()]
    store.add(memory, "en", "de", units)
    return memory.id


def test_a_suggestion_counts_at_once_and_the_last_one_wins(url: str) -> None:
    call = Caller(settings=ServerSettings(database=url))

    def translate() -> Any:
        return call.post("/translate", json={"q": "Two dogs", **EN_DE}).json()["translatedText"]

    assert call.get("/frontend/settings").json()["suggestions"] is True
    assert translate() == "Two-de dogs-de"
    for suggestion in ("Zwei Hunde", "Zwei Rüden", "Zwei Hunde"):
        body = {"q": "Two dogs", "s": suggestion, **EN_DE}
        assert call.post("/suggest", data=body).json() == {"success": True}
        assert translate() == suggestion
    assert call.get("/v1/memories").json()["memories"][0]["units"] == 2
    page = call.post(
        "/translate", json={"q": "<p>Two dogs</p><p>Two <b>dogs</b></p>", "format": "html", **EN_DE}
    ).json()
    assert page["translatedText"].startswith("<p>Zwei Hunde</p><p>Two-de <b>")
    file = call.post("/translate_file", files={"file": ("a.txt", b"Two dogs\nA cat")}, data=EN_DE).json()
    assert call.get(file["translatedFileUrl"]).text == "Zwei Hunde\nA-de cat-de"


@pytest.mark.parametrize("text", ["aaaaaaaaaaaaaaaaaaaa", " ", "Two dogs play in the snow outside.", "ja " * 11])
def test_a_suggestion_that_is_no_translation_is_refused(url: str, text: str) -> None:
    call = Caller(settings=ServerSettings(database=url))
    given = {"q": "Two dogs play in the snow outside.", "s": text, **EN_DE}
    assert call.post("/suggest", json=given).status_code == 400
    assert call.get("/v1/memories").json() == {"memories": []}


def exported(store: MemoryStore, key: str, folder: Path) -> str:
    export_key(store.database, key, folder / "export.jsonl")
    return (folder / "export.jsonl").read_text(encoding="utf-8")


def test_a_page_of_another_origin_changes_nothing(url: str, store: MemoryStore, tmp_path: Path) -> None:
    """Each route and method; that of `own` is the control."""
    id_ = fill(store)
    database = ServerDatabase(url)
    glossary = GlossaryStore(database).create("", "terms", [term_dictionary("en", "de", {"dogs": "Hunde"})]).id
    database.close()
    (unit,) = store.units(store.get("", "main"))
    places = {"memory": id_, "name": "main", "unit": unit.id, "glossary_id": glossary}
    correction = {"source_text": "Two dogs", "text": "Zwei Hunde", **EN_DE}
    import_body = {"source_file": {"file_name": "a.tmx"}}
    bodies = BODIES | {
        "/suggest": {"json": {"q": "Two dogs", "s": "Zwei Hunde", **EN_DE}},
        "/v1/corrections": {"json": correction},
        "/v3/translation_memories/import": {"json": import_body},
        "/v1/memories/{name}": {"content": b"A\tB\n", "params": {"format": "tsv", **EN_DE}},
    }
    before = exported(store, "", tmp_path)

    def rows(headers: dict[str, str]) -> int:
        call = Caller(settings=ServerSettings(database=url))
        changes = 0
        for method, template in routes():
            if method == "GET":
                continue
            path = re.sub(r"\{(\w+)\}", lambda found: places.get(found[1], "x"), template)
            call(method, path, headers=headers, **bodies.get(template, {"json": {"state": "rejected"}}))
            call.app.close()  # writes usage
            now = [line for line in exported(store, "", tmp_path).splitlines() if '"usage_days"' not in line]
            changes += now != before.splitlines()
        return changes

    assert rows({"origin": "https://example.org"}) == 0
    assert rows({}) > 3


def test_a_key_exports_and_erases_its_data_over_http(url: str, store: MemoryStore, tmp_path: Path) -> None:
    fill(store, "anna", "main")
    fill(store, "ben", "own", **{"A house": "Ein Haus"})
    key = create_key(tmp_path / "keys", "anna")
    call = Caller(settings=ServerSettings(database=url, keys=str(tmp_path / "keys")))
    found = call.get("/v1/data", headers=bearer(key))
    assert found.headers["content-type"] == "application/x-ndjson"
    tables = [json.loads(line)["table"] for line in found.text.splitlines()]
    assert tables == ["memories", "memory_directions", "memory_units"]
    assert (SECRET in found.text, "Ein Haus" in found.text) == (True, False)
    assert call("DELETE", "/v1/data", headers=bearer(key)).json() == {"rows": 3}
    assert call.get("/v1/data", headers=bearer(key)).text == ""
    assert [each.name for each in store.visible(None)] == ["own"]
    alone = Caller(settings=ServerSettings(database=url))
    assert alone("DELETE", "/v1/data").status_code == 403


def test_an_export_that_nobody_reads_leaves_no_file(
    url: str, store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store, "", "main")
    (tmp_path / "drafts").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "drafts"))
    app = Caller(settings=ServerSettings(database=url)).app
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/v1/data",
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1")],
    }

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            assert message["status"] == 200
        else:
            raise OSError("the client is gone")

    with contextlib.suppress(OSError):
        asyncio.run(app(scope, receive, send))
    assert not list((tmp_path / "drafts").iterdir())


def test_effort_is_counted_by_week(url: str) -> None:
    call = Caller(settings=ServerSettings(database=url))
    body = {"source_text": "Two dogs play", "text": "Zwei Hunde spielen", "draft": "Zwei Hunden spielt es", **EN_DE}
    assert call.post("/v1/corrections", json=body).status_code == 200
    assert call.post("/v1/corrections", json=body | {"draft": None}).status_code == 200
    for text in ("Two dogs play", "A cat"):
        call.post("/v1/translate", json={"text": text, **EN_DE})
    weeks = call.get("/v1/effort").json()["weeks"]
    assert len(weeks) == 12
    assert weeks[-1] | {"week": ""} == {
        "week": "",
        "characters": 18,
        "remembered": 13,
        "corrections": 2,
        "edits": 3,
        "words": 3,
    }


def test_without_a_database_there_are_no_memories() -> None:
    call = Caller()
    assert call.get("/frontend/settings").json()["suggestions"] is False
    for reply in (call.get("/v1/memories"), call.post("/suggest", json={"q": "a", "s": "b", **EN_DE})):
        assert (reply.status_code, "has no database" in reply.text) == (404, True)


def test_the_memory_of_the_operator_is_used_for_every_key(url: str, store: MemoryStore, tmp_path: Path) -> None:
    fill(store, **{"Two dogs": "Zwei Hunde", "The 3 cats sleep on the mat": "Die 3 Katzen schlafen auf der Matte"})
    key = create_key(tmp_path / "keys", "anna")
    settings = ServerSettings(database=url, memory=("main",), keys=str(tmp_path / "keys"))
    call = Caller(settings=settings)

    def translated(text: str, **more: Any) -> Any:
        body = {"text": text, **EN_DE, **more}
        (found,) = call.post("/v1/translate", json=body, headers=bearer(key)).json()["translations"]
        return found

    assert translated("Two dogs")["memory"]["score"] == 100
    assert translated("The 4 cats sleep on the mat")["text"] == "Die 4 Katzen schlafen auf der Matte"
    similar = translated("The 3 dogs sleep on the mat")
    assert similar["text"].startswith("The-de 3")
    assert similar["matches"][0]["score"] == 86
    assert similar["matches"][0]["differences"] == [["cats", "dogs"]]
    assert translated("The 3 dogs sleep on the mat", memory="main", memory_threshold=80)["text"].startswith(
        "Die 3 Katzen"
    )
    streamed = call.post("/v1/translate", json={"text": "Two dogs", "stream": True, **EN_DE}, headers=bearer(key)).text
    assert "Zwei Hunde" in streamed


def test_weblate(url: str, store: MemoryStore) -> None:
    fill(store, **{"Open a file": "Datei öffnen"})
    call = Caller(settings=ServerSettings(database=url))
    assert call.get("/tmserver/languages/").json() == {"sourceLanguages": ["en"], "targetLanguages": ["de"]}
    found = call.get("/tmserver/en/de/unit/Open%20a%20file").json()
    assert found == [{"source": "Open a file", "target": "Datei öffnen", "quality": 100}]
    assert call.get("/tmserver/en/fr/unit/Open%20a%20file").json() == []
    memory = store.create("", "main")
    store.add(memory, "en", "pt-BR", [Unit("A\nB %20 is / here", "x")])
    assert call.get("/tmserver/languages/").json()["targetLanguages"] == ["de", "pt", "pt_br"]
    (found,) = call.get("/tmserver/en/pt_br/unit/A%0AB%20%2520%20is%20%2F%20here").json()
    assert found["quality"] == 100


def test_files_are_imported_and_units_reviewed(url: str, store: MemoryStore, tmp_path: Path) -> None:
    keys = {name: create_key(tmp_path / "keys", name, rights) for name, rights in (("anna", []), ("boss", ["approve"]))}
    call = Caller(settings=ServerSettings(database=url, keys=str(tmp_path / "keys")))
    upload = {"content": b"Two dogs\tZwei Hunde\n", "params": {"format": "tsv", **EN_DE}}
    added = call("PUT", "/v1/memories/mine", headers=bearer(keys["anna"]), **upload).json()
    assert added == {"added": 1, "known": 0, "skipped": 0}
    body = {"source_text": "A cat", "text": "Eine Katze", **EN_DE}
    pending = call.post("/v1/corrections", json=body, headers=bearer(keys["anna"])).json()
    assert pending["state"] == "pending"
    where = f"/v1/memories/corrections/units/{pending['id']}"
    assert call("PATCH", where, json={"state": "approved"}, headers=bearer(keys["anna"])).status_code == 403
    assert call("PATCH", where, json={"state": "approved"}, headers=bearer(keys["boss"])).status_code == 404
    store.share(store.get("anna", "corrections"), shared=True)
    assert call("PATCH", where, json={"state": "approved"}, headers=bearer(keys["boss"])).json()["state"] == "approved"
    listed = call.get("/v1/memories/corrections/units", headers=bearer(keys["anna"])).json()["units"]
    assert [(each["target"], each["author"]) for each in listed] == [("Eine Katze", "anna")]
    assert call.post("/v1/corrections", json=body, headers=bearer(keys["boss"])).json()["state"] == "approved"
    bomb = {"content": b'<!DOCTYPE tmx [<!ENTITY a "b">]><tmx><body/></tmx>', "params": {"format": "tmx"}}
    assert call("PUT", "/v1/memories/mine", headers=bearer(keys["anna"]), **bomb).status_code == 400
    assert call("DELETE", "/v1/memories/mine", headers=bearer(keys["anna"])).status_code == 204
    assert call("DELETE", "/v1/memories/corrections", headers=bearer(keys["boss"])).status_code in (204, 404)
    assert [each.name for each in store.visible("anna")] == ["corrections"]


def test_nights_are_shown_to_those_who_approve_and_sentences_to_those_who_may_read(
    url: str, store: MemoryStore, tmp_path: Path
) -> None:
    fill(store, "anna", **{"Two dogs": "Zwei Hunde", "A cat": "Eine Katze"})
    units = {each.source: each for each in store.units(store.get("anna", "main"))}
    folder = tmp_path / "adapted"
    (folder / "versions/0003/bundle").mkdir(parents=True)
    (folder / "bundle").symlink_to("versions/0003/bundle")
    settings = AdaptationSettings("base", ("main",), ("a", "b"), "anna")
    write_json(folder / "adaptation.json", asdict(settings))
    night = Adaptation(3, is_used=True, reason="better", time="2026-11-20T02:00:00+00:00", user="boss", units=500)
    (folder / "adaptations.jsonl").write_text(json.dumps(asdict(night)) + "\n")
    changes = [
        Change(units["Two dogs"].id, source_digest("Two dogs"), "Zwei Hund", "Zwei Hunde"),
        Change(units["A cat"].id, source_digest("of another database"), "Eine Kater", "Eine Katze"),
    ]
    lines = "".join(json.dumps(asdict(each)) + "\n" for each in changes)
    (folder / "versions/0003/changes.jsonl").write_text(lines)
    rights: dict[str, list[str]] = {"anna": ["approve"], "ben": ["approve"], "carl": []}
    keys = {name: create_key(tmp_path / "keys", name, each) for name, each in rights.items()}
    call = Caller(settings=ServerSettings(database=url, keys=str(tmp_path / "keys")))
    call.service.model_folders = {"adapted": folder / "bundle", "other": tmp_path}
    seen = {name: call.get("/v1/effort", headers=bearer(key)).json()["models"] for name, key in keys.items()}
    (model,) = seen["anna"]
    assert (model["name"], model["version"], model["versions"]) == ("adapted", 3, [3])
    assert [(each["version"], each["user"], each["reason"]) for each in model["nights"]] == [(3, "boss", "better")]
    sentence = {"source": "Two dogs", "reference": "Zwei Hunde", "before": "Zwei Hund", "after": "Zwei Hunde"}
    assert model["changes"] == [sentence]
    assert [each["changes"] for each in seen["ben"]] == [[]]
    assert seen["carl"] == []


def test_a_translation_continues_a_prefix(url: str, store: MemoryStore) -> None:
    fill(store)
    call = Caller(settings=ServerSettings(database=url, memory=("main",)))
    body = {"text": "Two dogs", "prefix": "Zwei", **EN_DE}
    (found,) = call.post("/v1/translate", json=body).json()["translations"]
    assert "memory" not in found  # another one is required
    assert call.service.requests[-1].prefix == "Zwei"
    for wrong in ({"text": ["a", "b"]}, {"format": "html"}, {"prefix": "x" * 1_000_000}):
        assert call.post("/v1/translate", json=body | wrong).status_code in (400, 413)


def test_huge_units_are_not_stored(url: str, store: MemoryStore) -> None:
    call = Caller(settings=ServerSettings(database=url))
    huge = "word " * 200_000
    upload = {"content": f"{huge}\tx\nA dog\tEin Hund\n".encode(), "params": {"format": "tsv", **EN_DE}}
    assert call("PUT", "/v1/memories/mine", **upload).json() == {"added": 1, "known": 0, "skipped": 1}
    body = {"source_text": "A dog", "text": huge, **EN_DE}
    assert call.post("/v1/corrections", json=body).status_code in (400, 413)
    assert call.post("/v1/corrections", json=body | {"text": "Ein Hund", "draft": huge}).status_code in (200, 413)
    assert [each.target for each in store.units(store.get("", "mine"))] == ["Ein Hund"]


async def counted(usage: Usage, owner: str, characters: int) -> None:
    usage.count(owner, characters=characters)


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def test_no_route_reaches_the_memories_of_another_key(url: str, store: MemoryStore, tmp_path: Path) -> None:
    """Each route and method, with the ids of another key's memory, unit and job wherever the route has a place."""
    fill(store, "anna", "corrections")
    id_ = fill(store, "anna", "main")
    fill(store, "ben", "own", **{"A house": "Ein Haus"})
    store.add_job("11111111-2222-3333-4444-555555555555", "anna", id_, "export", "completed")
    database = ServerDatabase(url)
    terms = term_dictionary("en", "de", {"dogs": SECRET})
    glossary = GlossaryStore(database).create("anna", f"{SECRET} terms", [terms]).id
    documents, document = DocumentStore(database), new_secret()
    documents.begin(document, "anna")
    documents.finish(document, f"{SECRET}.txt", SECRET.encode())
    usage = Usage(database)
    asyncio.run(counted(usage, "anna", 987_654))
    usage.write()
    database.close()
    before = exported(store, "anna", tmp_path)
    secret = create_key(tmp_path / "keys", "ben", ["approve", "admin", "metrics"])
    call = Caller(settings=ServerSettings(database=url, keys=str(tmp_path / "keys")))
    (unit,) = store.units(store.get("anna", "main"))
    places = {"memory": id_, "name": id_, "unit": unit.id, "source": "en", "target": "de", "text": "Two dogs"}
    places |= {"glossary_id": glossary, "document_id": document_id(document)}
    places["job"] = "11111111-2222-3333-4444-555555555555"
    seen = 0
    for method, template in routes():
        if template.endswith("/jobs/{job}/file"):
            continue  # the id of a job is a secret, as that of a document
        path = re.sub(r"\{(\w+)(?::[a-z]+)?\}", lambda found: places.get(found[1], "x"), template)
        how = dict(BODIES.get(template, {"json": {"state": "rejected"}}))
        for more in (
            *({}, {"memory": "main"}, {"memory": id_, "memory_threshold": 1}, {"translation_memory_id": id_}),
            *({"glossary": glossary}, {"glossary_id": glossary}, {"document_key": document_id(document)}),
        ):
            if isinstance(how.get("json"), dict):
                how["json"] = how["json"] | more
            if template == "/v2/translate":
                how["json"] = how["json"] | {"source_lang": "EN"}
            reply = call(method, path, headers=bearer(secret), **({} if method in ("GET", "DELETE") else how))
            assert SECRET not in reply.text, (method, path, more)
            assert "987654" not in reply.text, (method, path)
            seen += reply.status_code == 200
    assert seen > 40
    assert SECRET in before
    assert exported(store, "anna", tmp_path) == before


def test_who_reviewed_a_correction_and_when_is_stored(url: str, store: MemoryStore, tmp_path: Path) -> None:
    keys = {name: create_key(tmp_path / "keys", name, rights) for name, rights in (("anna", []), ("boss", ["approve"]))}
    call = Caller(settings=ServerSettings(database=url, keys=str(tmp_path / "keys")))
    body = {"source_text": "A cat", "text": "Eine Katze", **EN_DE}
    unit = call.post("/v1/corrections", json=body, headers=bearer(keys["anna"])).json()["id"]
    store.share(store.get("anna", "corrections"), shared=True)
    where = "/v1/memories/corrections/units"
    for state in ("approved", "rejected", "rejected"):
        assert call("PATCH", f"{where}/{unit}", json={"state": state}, headers=bearer(keys["boss"])).status_code == 200
        (found,) = call.get(where, params={"state": state}, headers=bearer(keys["anna"])).json()["units"]
        assert (found["author"], found["reviewer"], found["reviewed"][:2]) == ("anna", "boss", "20")
    with store.database.read() as connection:
        assert [row.state for row in connection.execute(select(REVIEWS))] == ["approved", "rejected"]
