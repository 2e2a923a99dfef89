"""Documents over DeepL's API: upload, status, download."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import httpx
import pytest

from dragoman.server.access.api_keys import create_key
from dragoman.server.errors import NotFound, Overloaded, RateLimited, RequestError
from dragoman.server.pipeline.documents import TranslatedDocument
from dragoman.server.routes.deepl.documents import DocumentJobs
from dragoman.server.routes.document_files import DownloadStore
from dragoman.server.settings import Limits, ServerSettings
from tests.server.asgi_calls import Caller

LETTER = {"file": ("letter.txt", b"Two dogs\n\nA man")}
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


def test_finished_jobs_are_forgotten() -> None:
    async def run() -> None:
        now = 0.0
        jobs = DocumentJobs(DownloadStore(), seconds=10, max_jobs=4, max_finished=1, clock=lambda: now)
        first, second = (jobs.start(_done(), str) for _ in range(2))
        with pytest.raises(RateLimited, match="translates 2 documents of this client, 0 bytes, as many as it may"):
            jobs.make_room()
        with pytest.raises(Overloaded):
            jobs.result(first)
        assert first.task is not None
        assert second.task is not None
        await asyncio.wait({first.task, second.task})
        assert jobs.result(first).size == 1
        jobs.make_room()  # the oldest one is forgotten
        third = jobs.start(_done(), str)
        with pytest.raises(NotFound):
            jobs.get(first.id, first.key)
        assert jobs.get(second.id, second.key) is second
        assert third.task is not None
        await third.task
        now = 11.0
        jobs.make_room()
        with pytest.raises(NotFound):
            jobs.get(second.id, second.key)

    asyncio.run(run())


def test_the_bytes_of_documents_in_progress_are_limited_per_client_and_in_all() -> None:
    async def run() -> None:
        jobs = DocumentJobs(DownloadStore(), max_bytes=100)
        gate = asyncio.Event()

        async def work() -> TranslatedDocument:
            await gate.wait()
            return await _done()

        def upload(owner: bytes, size: int) -> asyncio.Task[None]:
            jobs.make_room(owner, size)
            task = jobs.start(work(), str, owner, size).task
            assert task is not None
            return task

        tasks = [upload(b"anna", 30), upload(b"anna", 20)]
        with pytest.raises(RateLimited, match="2 documents of this client, 50 bytes, as many as it may have"):
            jobs.make_room(b"anna", 1)
        tasks += [upload(b"ben", 49)]
        with pytest.raises(Overloaded, match="as many documents as it has room for; try again in 5 s"):
            jobs.make_room(b"carl", 2)
        tasks += [upload(b"carl", 1)]

        gate.set()
        await asyncio.wait(tasks)
        jobs.make_room(b"anna", 50)  # finished documents are in the store of downloads, not in memory

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


def test_no_client_removes_the_documents_of_another() -> None:
    async def run() -> None:
        jobs = DocumentJobs(DownloadStore(), max_jobs=4, max_finished=3)
        victim = jobs.start(_done(), str, b"victim")
        assert victim.task is not None
        await victim.task
        for _ in range(10):
            jobs.make_room(b"attacker")
            job = jobs.start(_done(), str, b"attacker")
            assert job.task is not None
            await job.task
        assert jobs.get(victim.id, victim.key) is victim
        jobs.make_room(b"victim")

    asyncio.run(run())


def test_two_clients_with_documents_in_progress_leave_room_for_others() -> None:
    async def run() -> None:
        jobs = DocumentJobs(DownloadStore(), max_jobs=16)
        counts = {}
        for owner in (b"anna", b"ben", b"carl", b"dora"):
            counts[owner] = 0
            with contextlib.suppress(RateLimited):
                while True:
                    jobs.make_room(owner)
                    jobs.start(asyncio.sleep(60), str, owner)  # type: ignore[arg-type]
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
