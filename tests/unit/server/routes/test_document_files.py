from typing import Any

import pytest

from dragoman.server.errors import Overloaded
from dragoman.server.request_types import TranslationResult
from dragoman.server.settings import Limits, ServerSettings
from tests.server.asgi_calls import Caller
from tests.server.fake_service import FakeService

EN_DE = {"source": "en", "target": "de"}


@pytest.fixture(scope="module")
def call() -> Caller:
    return Caller()


def sent(call: Caller, name: str, data: bytes, *, accept: str = "*/*", **fields: str) -> Any:
    files = {"file": (name, data)}
    return call.post("/translate_file", files=files, data=EN_DE | fields, headers={"accept": accept})


def test_fetched_afterwards(call: Caller) -> None:
    address = sent(call, "letter.txt", b"Two dogs\n\nA man").json()["translatedFileUrl"]
    fetched = call.get(address)

    assert fetched.content == b"Two-de dogs-de\n\nA-de man-de"
    assert fetched.headers["content-disposition"] == "attachment; filename*=UTF-8''letter_de.txt"
    assert fetched.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize("accept", ["text/plain", "application/octet-stream", "image/png, text/plain;q=0.9"])
def test_given_back_at_once(call: Caller, accept: str) -> None:
    answer = sent(call, "letter.txt", b"Two dogs", accept=accept)

    assert answer.content == b"Two-de dogs-de"
    assert "letter_de.txt" in answer.headers["content-disposition"]


@pytest.mark.parametrize("accept", ["*/*", "application/json", "text/plain, application/json", "", "image/png"])
def test_who_takes_json_gets_an_address(call: Caller, accept: str) -> None:
    assert "translatedFileUrl" in sent(call, "letter.txt", b"Two dogs", accept=accept).json()


def test_a_translated_page_runs_nothing_here(call: Caller) -> None:
    address = sent(call, "page.html", b"<p>Two dogs</p><script>alert(1)</script>").json()["translatedFileUrl"]
    fetched = call.get(address)

    assert b"<p>Two-de dogs-de</p><script>alert(1)</script>" in fetched.content
    assert fetched.headers["content-disposition"].startswith("attachment")
    assert fetched.headers["content-security-policy"].startswith("sandbox")
    assert fetched.headers["x-content-type-options"] == "nosniff"


def test_auto_looks_at_the_whole_document() -> None:
    call = Caller()
    sent(call, "a.txt", b"OK\n\nDeux chiens jouent dans la neige devant la maison\n\nTaxi", source="auto")

    assert {each.source for each in call.service.requests} == {"fr"}


def test_what_is_in_the_target_language_stays(call: Caller) -> None:
    data = b"Zwei Hunde spielen im Schnee vor dem Haus"

    assert sent(call, "a.txt", data, accept="text/plain", source="auto").content == data


def test_a_long_document_goes_in_slices() -> None:
    call = Caller()
    answer = sent(call, "a.txt", b"\n\n".join(b"Two dogs %d" % number for number in range(100)), accept="text/plain")

    assert answer.content.count(b"dogs-de") == 100
    assert len(call.service.requests) > 3
    assert max(len(each.texts) for each in call.service.requests) <= 32


def test_a_document_waits_where_the_house_is_full() -> None:
    class Full(FakeService):
        refusals = 2

        async def translate_pair(self, *asked: Any) -> list[TranslationResult]:
            if self.refusals:
                self.refusals -= 1
                raise Overloaded("busy", retry_after=0.01)
            return await super().translate_pair(*asked)

    assert sent(Caller(Full()), "a.txt", b"Two dogs", accept="text/plain").content == b"Two-de dogs-de"


def test_a_document_does_not_wait_beyond_its_time() -> None:
    answer = sent(Caller(FakeService(fault=Overloaded("busy", retry_after=1e6))), "a.txt", b"Two dogs")

    assert answer.status_code == 503


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"source": ""}, "Invalid request: missing source parameter"),
        ({"target": ""}, "Invalid request: missing target parameter"),
        ({"target": "zz"}, "zz is not supported"),
        ({"source": "cn"}, "cn is not supported; write zh"),
        ({"target": "fr"}, "French (fr) is not available as a target language from English (en)"),
        ({"model": "x"}, "model must be one of"),
    ],
)
def test_faults(call: Caller, fields: dict[str, str], error: str) -> None:
    answer = sent(call, "a.txt", b"Two dogs", **fields)

    assert answer.status_code == 400
    assert error in answer.json()["error"]


def test_translations_into_another_language_are_not_mixed() -> None:
    call = Caller()
    data = b'msgid ""\nmsgstr "Language: fr\\n"\n\nmsgid "Two dogs"\nmsgstr ""\n\nmsgid "Close"\nmsgstr "Fermer"\n'
    answer = sent(call, "a.po", data)

    assert answer.status_code == 400
    assert "a.po must be translated to fr, the target language that it declares, got de" in answer.json()["error"]
    assert not call.service.requests
    assert "translatedFileUrl" in sent(call, "a.po", data.replace(b"Fermer", b"")).json()
    assert "translatedFileUrl" in sent(call, "a.po", data.replace(b": fr", b": de_AT")).json()


@pytest.mark.parametrize("name", ["a.exe", "a", ".txt", "a.txt.zip"])
def test_other_formats(call: Caller, name: str) -> None:
    answer = sent(call, name, b"Two dogs")

    assert answer.status_code == 400
    assert "file format not supported" in answer.json()["error"]


def test_what_is_not_what_its_name_says(call: Caller) -> None:
    assert sent(call, "a.docx", b"no zip").status_code == 400


@pytest.mark.parametrize("how", [{}, {"data": EN_DE}, {"json": EN_DE}, {"files": {"file": (None, "x")}, "data": EN_DE}])
def test_without_a_file(call: Caller, how: dict[str, Any]) -> None:
    answer = call.post("/translate_file", **how)

    assert answer.status_code == 400
    assert answer.json()["error"] == (
        "Invalid request: missing file parameter; send multipart/form-data with the document in the field file, with "
        "curl: -F file=@NAME, not -d"
    )


def test_sizes_are_limited() -> None:
    call = Caller(settings=ServerSettings(limits=Limits(file_bytes=1000, file_characters=100)))

    assert sent(call, "a.txt", b"x" * 101).status_code == 413
    assert sent(call, "a.txt", b"x" * 1001).status_code == 413
    assert sent(call, "a.txt", b"x" * 100_000).status_code == 413


@pytest.mark.parametrize("name", ["x", "..%2f..%2fetc%2fpasswd", "letter_de.txt", "%00"])
def test_nothing_else_can_be_fetched(call: Caller, name: str) -> None:
    assert call.get(f"/download_file/{name}").status_code == 404


def test_a_document_in_a_language_without_a_model_is_rejected(call: Caller) -> None:
    answer = sent(call, "brev.txt", "Två hundar leker i snön utanför huset.".encode(), source="auto")

    assert answer.status_code == 400
    assert answer.json()["error"].startswith("sv is not supported: it was detected as the language of the text with a ")
