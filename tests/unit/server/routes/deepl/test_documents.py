"""Documents over DeepL's API: upload, status, download."""

import asyncio
import contextlib
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from dragoman.server.access.api_keys import create_key
from dragoman.server.database import ServerDatabase
from dragoman.server.errors import Overloaded, RateLimited, RequestError
from dragoman.server.pipeline.documents import TranslatedDocument
from dragoman.server.routes.deepl.documents import DocumentJobs
from dragoman.server.routes.document_files import DocumentStore, StoredDocument, document_id
from dragoman.server.settings import Limits, ServerSettings
from dragoman.storage.database import Database
from dragoman.storage.memories import MemoryStore, Unit
from tests.server.asgi_calls import Caller

LETTER = {"file": ("letter.txt", b"Two dogs\n\nA man")}
HOST = "http://127.0.0.1"
DE = {"target_lang": "DE", "source_lang": "EN"}


def converse(call: Caller, *requests: tuple[str, dict[str, Any]]) -> list[httpx.Response]:
    """Post several requests on one event loop; `{id}` in a path is the id of the document, and its key is sent."""

    async def run() -> list[httpx.Response]:
        transport = httpx.ASGITransport(call.app)
        answers: list[httpx.Response] = []
        handle: dict[str, str] = {}
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            for path, how in requests:
                if handle and "json" not in how and "data" not in how:
                    how = how | {"json": {"document_key": handle["document_key"]}}
                answers.append(await client.post(path.format(id=handle.get("document_id")), **how))
                while path == STATUS[0] and b'"translating"' in answers[-1].content:  # on a busy machine
                    answers[-1] = await client.post(path.format(id=handle["document_id"]), **how)
                with contextlib.suppress(ValueError):
                    handle = handle or (answers[-1].json() if "document_id" in answers[-1].json() else {})
        return answers

    return asyncio.run(run())


UPLOAD = ("/v2/document", {"files": LETTER, "data": DE})
STATUS: tuple[str, dict[str, Any]] = ("/v2/document/{id}", {})
RESULT: tuple[str, dict[str, Any]] = ("/v2/document/{id}/result", {})


def test_from_upload_to_download() -> None:
    call = Caller()
    uploaded, status, result = converse(call, UPLOAD, STATUS, RESULT)

    assert uploaded.json().keys() == {"document_id", "document_key"}
    assert status.json() == {
        "document_id": uploaded.json()["document_id"],
        "status": "done",
        "billed_characters": 13,
    }
    assert result.content == b"Two-de dogs-de\n\nA-de man-de"
    assert "letter_de.txt" in result.headers["content-disposition"]
    assert call.get("/v2/usage").json()["character_count"] == 13
    assert all(each.is_released for each in call.service.reservations)


def test_the_name_may_be_a_field() -> None:
    upload = ("/v2/document", {"files": {"file": ("file", b"Two dogs")}, "data": DE | {"filename": "letter.txt"}})
    result = converse(Caller(), upload, STATUS, RESULT)[-1]
    assert result.content == b"Two-de dogs-de"
    assert "letter_de.txt" in result.headers["content-disposition"]


def test_a_glossary() -> None:
    call = Caller()
    body = {"name": "a", "source_lang": "en", "target_lang": "de", "entries": "dogs\tHunde", "entries_format": "tsv"}
    glossary = call.post("/v2/glossaries", json=body).json()["glossary_id"]
    upload = ("/v2/document", {"files": LETTER, "data": DE | {"glossary_id": glossary}})

    assert converse(call, upload, STATUS, RESULT)[-1].content == b"Two-de Hunde\n\nA-de man-de"


def test_the_key_of_a_document_is_required() -> None:
    wrong: dict[str, Any] = {"json": {"document_key": "guess"}}
    _, *answers = converse(Caller(), UPLOAD, (STATUS[0], wrong), (RESULT[0], wrong), ("/v2/document/x", {}))

    assert [each.status_code for each in answers] == [404, 404, 404]


def test_an_api_key_in_the_form(tmp_path: Path) -> None:
    key = create_key(tmp_path / "keys", "anna")
    call = Caller(settings=ServerSettings(keys=str(tmp_path / "keys")))
    signed = ("/v2/document", {"files": LETTER, "data": DE | {"auth_key": key}})

    assert [each.status_code for each in converse(call, signed, STATUS)] == [200, 403]
    assert converse(call, UPLOAD)[0].status_code == 403


def test_a_failed_translation_has_a_message() -> None:
    call = Caller()
    call.service.fault = RequestError("a fault")
    _, status, result = converse(call, UPLOAD, STATUS, RESULT)

    assert (status.json()["status"], status.json()["error_message"]) == ("error", "a fault")
    assert result.status_code == 404
    assert all(each.is_released for each in call.service.reservations)


@pytest.mark.parametrize(
    ("data", "files", "message"),
    [
        ({"source_lang": "EN"}, LETTER, "missing target_lang"),
        ({"target_lang": "ZZ"}, LETTER, "target_lang must be one of"),
        (DE | {"output_format": "pdf"}, LETTER, "output_format must be txt"),
        (DE, {"file": ("letter.xyz", b"a")}, "file format not supported"),
    ],
)
def test_an_invalid_upload_is_rejected(data: dict[str, str], files: Any, message: str) -> None:
    answer = Caller().post("/v2/document", data=data, files=files)

    assert answer.status_code == 400
    assert message in answer.json()["message"]


def test_a_document_that_is_one_too_many_holds_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = DocumentJobs.__init__.__kwdefaults__ or {}
    monkeypatch.setattr(DocumentJobs.__init__, "__kwdefaults__", defaults | {"max_jobs": 0})
    call = Caller()
    (refused,) = converse(call, UPLOAD)

    assert refused.status_code == 503
    assert all(each.is_released for each in call.service.reservations)


async def _done() -> TranslatedDocument:
    return TranslatedDocument(b"a", "de", 1)


def new_jobs(**how: Any) -> DocumentJobs:
    return DocumentJobs(DocumentStore(ServerDatabase(None)), **how)


def test_a_document_goes_on_at_another_server(database_url: str) -> None:
    """Uploaded at one, its state and result requested at the other, as DeepL's client does behind a proxy."""
    first, second = (Caller(settings=ServerSettings(database=database_url)) for _ in range(2))
    first.service.delay = 0.2

    async def run() -> tuple[Any, Any, httpx.Response, int]:
        one, two = (
            httpx.AsyncClient(transport=httpx.ASGITransport(each.app), base_url=HOST) for each in (first, second)
        )
        async with one, two:
            handle = (await one.post("/v2/document", files=LETTER, data=DE)).json()
            path, key = f"/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}
            begun = (await two.post(path, json=key)).json()
            early = await two.post(f"{path}/result", json=key)
            while (status := (await two.post(path, json=key)).json())["status"] == "translating":
                await asyncio.sleep(0.05)
            return begun, status, await two.post(f"{path}/result", json=key), early.status_code

    begun, status, result, early = asyncio.run(run())
    assert (begun["status"], early) == ("translating", 503)
    assert (status["status"], status["billed_characters"]) == ("done", 13)
    assert result.content == b"Two-de dogs-de\n\nA-de man-de"
    assert first.get("/v2/usage").json() == second.get("/v2/usage").json()
    for each in (first, second):
        each.app.close()


def test_a_document_reads_the_corrections_of_its_key_and_the_memory_that_it_names(tmp_path: Path) -> None:
    """Not those of the operator, whose name is empty."""
    url, key = f"sqlite:///{tmp_path / 'data.db'}", create_key(tmp_path / "keys", "anna")
    with contextlib.closing(Database.open(url)) as database:
        memories = MemoryStore(database)
        for owner, name, text in (
            *(("anna", "corrections", "Zwei Hunde"), ("anna", "named", "Zwei Rüden")),
            ("", "corrections", "Zwei Doggen"),
        ):
            memories.add(memories.create(owner, name), "en", "de", [Unit("Two dogs", text)])
        named = memories.get("anna", "named").id
    call = Caller(settings=ServerSettings(database=url, keys=str(tmp_path / "keys")))
    header = {"authorization": f"DeepL-Auth-Key {key}"}
    for more, expected in (({}, "Zwei Hunde"), ({"translation_memory_id": named}, "Zwei Rüden")):
        upload = ("/v2/document", {"files": {"file": ("a.txt", b"Two dogs")}, "data": DE | more})
        requests = ((path, how | {"headers": header}) for path, how in (upload, STATUS, RESULT))
        assert converse(call, *requests)[-1].text == expected


def test_a_translation_that_fails_before_it_is_stored_has_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = DocumentStore.begin

    def slowly(*given: Any) -> None:
        time.sleep(0.2)
        begin(*given)

    async def fails() -> TranslatedDocument:
        raise RequestError("a fault")

    async def run() -> StoredDocument:
        jobs = new_jobs()
        secret = await jobs.start(fails(), str)
        return await jobs.get(document_id(secret), secret, wait=10)

    monkeypatch.setattr(DocumentStore, "begin", slowly)
    found = asyncio.run(run())
    assert (found.status, found.error) == ("error", "a fault")


def test_a_document_whose_server_was_killed_is_unknown_after_its_time() -> None:
    now = 0
    store = DocumentStore(ServerDatabase(None), clock=lambda: now)
    store.begin("SECRET", seconds=300)
    assert store.get("SECRET") == StoredDocument(document_id("SECRET"), "translating")
    now = 361_000_000
    assert store.get("SECRET") is None


def test_the_bytes_of_documents_in_progress_are_limited_per_client_and_in_all() -> None:
    async def run() -> None:
        jobs = new_jobs(max_bytes=100)
        gate = asyncio.Event()

        async def work() -> TranslatedDocument:
            await gate.wait()
            return await _done()

        async def upload(owner: bytes, size: int) -> str:
            jobs.make_room(owner, size)
            return await jobs.start(work(), str, owner, size)

        secrets = [await upload(b"anna", 30), await upload(b"anna", 20)]
        with pytest.raises(RateLimited, match="2 documents of this client, 50 bytes, as many as it may have"):
            jobs.make_room(b"anna", 1)
        secrets += [await upload(b"ben", 49)]
        with pytest.raises(Overloaded, match="as many documents as it has room for; try again in 5 s"):
            jobs.make_room(b"carl", 2)
        secrets += [await upload(b"carl", 1)]

        gate.set()
        for secret in secrets:
            assert (await jobs.get(document_id(secret), secret, wait=10)).status == "done"
        jobs.make_room(b"anna", 50)  # finished documents are in the database, not in memory

    asyncio.run(run())


def test_waiting_documents_do_not_fill_the_memory() -> None:
    """Four documents of the largest size wait; the fifth of the same client is rejected, and holds no place."""
    call = Caller(settings=ServerSettings(limits=Limits(file_bytes=1000)))
    call.service.delay = 60.0
    largest = ("/v2/document", {"files": {"file": ("a.txt", b"dog " * 250)}, "data": DE})
    answers = converse(call, *[largest] * 5)

    assert [each.status_code for each in answers] == [200] * 4 + [429]
    assert "4 documents of this client, 4,000 bytes, as many as it may have" in answers[-1].json()["message"]
    assert answers[-1].json()["message"].endswith("; try again in 5 s")
    assert answers[-1].headers["retry-after"] == "5"
    assert call.service.reservations[-1].is_released


def test_two_clients_with_documents_in_progress_leave_room_for_others() -> None:
    async def run() -> None:
        jobs = new_jobs(max_jobs=16)
        counts = {}
        for owner in (b"anna", b"ben", b"carl", b"dora"):
            counts[owner] = 0
            with contextlib.suppress(RateLimited):
                while True:
                    jobs.make_room(owner)
                    await jobs.start(asyncio.sleep(60), str, owner)  # type: ignore[arg-type]
                    counts[owner] += 1
        assert list(counts.values()) == [8, 4, 2, 1]

    asyncio.run(run())


def test_documents_that_are_never_fetched_block_nobody() -> None:
    uploads = 80
    call = Caller()
    assert {each.status_code for each in converse(call, *[UPLOAD, STATUS] * uploads)} == {200}


def test_a_document_in_a_language_without_a_model_is_rejected() -> None:
    letter = {"file": ("brev.txt", "Två hundar leker i snön utanför huset.".encode())}
    _, status = converse(Caller(), ("/v2/document", {"files": letter, "data": {"target_lang": "DE"}}), STATUS)

    assert status.json()["status"] == "error"
    assert status.json()["error_message"].startswith("sv is not supported: it was detected as the language of the text")
