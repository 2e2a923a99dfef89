"""Memories over HTTP: exact matches, corrections that count at once, and no way to those of another key."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from dragoman.server.access.api_keys import create_key
from dragoman.server.database import ServerDatabase, Usage
from dragoman.server.glossaries import GlossaryStore, term_dictionary
from dragoman.server.routes.document_files import DocumentStore, document_id, new_secret
from dragoman.server.settings import ServerSettings
from dragoman.storage.database import Database
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


def test_a_page_of_another_origin_changes_nothing(url: str, store: MemoryStore) -> None:
    fill(store)
    call = Caller(settings=ServerSettings(database=url))
    other = {"origin": "https://example.org"}
    body = {"q": "Two dogs", "s": "Zwei Hunde", **EN_DE}
    assert call.post("/suggest", json=body, headers=other).status_code == 403
    assert call("DELETE", "/v1/memories/main", headers=other).status_code == 403
    assert [each.name for each in store.visible("")] == ["main"]


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


async def counted(usage: Usage, owner: str, characters: int) -> None:
    usage.count(owner, characters)


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
    assert GlossaryStore(ServerDatabase(url)).get("anna", glossary).dictionaries == (terms,)
    assert [(each.name, each.units) for each in store.visible("anna")] == [("corrections", 1), ("main", 1)]


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
