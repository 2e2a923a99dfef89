"""Stored glossaries over HTTP, in both versions of DeepL's API."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from dragoman.server.access.api_keys import create_key
from dragoman.server.settings import ServerSettings
from tests.server.asgi_calls import Caller

PAIR = {"source_lang": "EN", "target_lang": "DE"}
WINTER = {"name": "Winter", **PAIR, "entries": "snow\tSchnee\ndogs\tHunde", "entries_format": "tsv"}


@pytest.fixture
def call() -> Caller:
    return Caller()


def create(call: Caller, **how: Any) -> str:
    answer = call.post("/v2/glossaries", json=WINTER, **how)
    assert answer.status_code == 201
    return str(answer.json()["glossary_id"])


def test_pairs(call: Caller) -> None:
    found = call.get("/v2/glossary-language-pairs").json()["supported_languages"]

    assert {"source_lang": "en", "target_lang": "de"} in found
    assert {"source_lang": "zh", "target_lang": "en"} in found


def test_from_creation_to_deletion(call: Caller) -> None:
    made = call.post("/v2/glossaries", json=WINTER).json()

    assert made | {"glossary_id": "", "creation_time": ""} == {
        "glossary_id": "",
        "ready": True,
        "name": "Winter",
        "source_lang": "en",
        "target_lang": "de",
        "creation_time": "",
        "entry_count": 2,
    }
    path = f"/v2/glossaries/{made['glossary_id']}"
    assert call.get("/v2/glossaries").json() == {"glossaries": [made]}
    assert call.get(path).json() == made
    entries = call.get(f"{path}/entries")
    assert entries.headers["content-type"].startswith("text/tab-separated-values")
    assert entries.text == "snow\tSchnee\ndogs\tHunde"
    assert call("DELETE", path).status_code == 204
    assert {call.get(path).status_code, call("DELETE", path).status_code} == {404}


def test_a_form_creates_too(call: Caller) -> None:
    assert call.post("/v2/glossaries", data=WINTER).status_code == 201


def test_terms_are_used(call: Caller) -> None:
    body = {"text": ["Two dogs in snow", "A man"], "glossary_id": create(call), **PAIR}

    found = call.post("/v2/translate", json=body).json()["translations"]
    assert [each["text"] for each in found] == ["Two-de Hunde in-de Schnee", "A-de man-de"]
    variant = call.post("/v2/translate", json=body | {"source_lang": "en-GB"}).json()["translations"]
    assert variant[0]["text"] == "Two-de Hunde in-de Schnee"
    many = call.post("/v2/translate", json=body | {"glossary_id": None, "glossary_ids": [body["glossary_id"]]})
    assert many.json()["translations"] == found


def test_terms_are_used_in_markup(call: Caller) -> None:
    body = {"text": ["Two <b>dogs</b>"], "glossary_id": create(call), "tag_handling": "html", **PAIR}

    assert call.post("/v2/translate", json=body).json()["translations"][0]["text"] == "Two-de <b>Hunde</b>"


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"glossary_id": "x"}, 404),
        ({"source_lang": None}, 400),
        ({"source_lang": "DE", "target_lang": "EN"}, 400),
        ({"glossary_ids": ["x"]}, 400),  # together with glossary_id
        ({"glossary_id": None, "glossary_ids": ["x", "y"]}, 404),
        ({"glossary_id": None, "glossary_ids": list("abcdef")}, 400),
        ({"glossary_id": None, "glossary_ids": "a,b,c,d,e,f"}, 400),
    ],
)
def test_a_glossary_that_does_not_fit_is_rejected(call: Caller, change: dict[str, Any], status: int) -> None:
    body = {"text": ["Two dogs"], "glossary_id": create(call), **PAIR} | change

    assert call.post("/v2/translate", json=body).status_code == status


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"entries": "snow"}, "line 1 must be a term and its translation"),
        ({"entries_format": "xls"}, "entries_format must be one of tsv"),
        ({"name": ""}, "name"),
        ({"source_lang": "?!"}, "a language must be a code"),
        ({"target_lang": "xx"}, "a language must be a code of ISO 639, got 'xx'; for instance en, de or zh-Hant"),
        ({"source_lang": "cn"}, "a language must be a code of ISO 639, got 'cn'; write zh"),
    ],
)
def test_an_invalid_glossary_is_rejected(call: Caller, change: dict[str, Any], message: str) -> None:
    answer = call.post("/v2/glossaries", json=WINTER | change)

    assert answer.status_code == 400
    assert message in answer.json()["message"]


def test_version_3_rejects_codes_that_are_no_language(call: Caller) -> None:
    good = {**PAIR, "entries": "snow\tSchnee", "entries_format": "tsv"}
    bad = good | {"target_lang": "xx"}
    path = f"/v3/glossaries/{create(call)}"
    for answer in (
        call.post("/v3/glossaries", json={"name": "Winter", "dictionaries": [good, bad]}),
        call("PATCH", path, json={"dictionaries": [bad]}),
        call("PUT", f"{path}/dictionaries", json=bad),
    ):
        assert answer.status_code == 400
        assert "a language must be a code of ISO 639, got 'xx'" in answer.json()["message"]


def test_a_pair_without_a_model_can_be_stored(call: Caller) -> None:
    """Models can be added later."""
    assert call.post("/v2/glossaries", json=WINTER | {"target_lang": "sw"}).status_code == 201


def test_version_3_from_creation_to_deletion(call: Caller) -> None:
    back = {"source_lang": "de", "target_lang": "en", "entries": "Schnee\tsnow", "entries_format": "tsv"}
    forth = {name: value for name, value in WINTER.items() if name != "name"}
    answer = call.post("/v3/glossaries", json={"name": "Winter", "dictionaries": [forth, back]})
    made, path = answer.json(), f"/v3/glossaries/{answer.json()['glossary_id']}"

    assert answer.status_code == 201
    assert made["dictionaries"] == [
        {"source_lang": "en", "target_lang": "de", "entry_count": 2},
        {"source_lang": "de", "target_lang": "en", "entry_count": 1},
    ]
    assert call.get("/v3/glossaries").json() == {"glossaries": [made]}
    assert call.get("/v2/glossaries").json() == {"glossaries": []}  # of several language pairs
    assert call.get(f"/v2/glossaries/{made['glossary_id']}").status_code == 404
    assert call.get(f"{path}/entries?source_lang=EN&target_lang=DE").json() == {
        "dictionaries": [
            {"source_lang": "en", "target_lang": "de", "entries": "snow\tSchnee\ndogs\tHunde", "entries_format": "tsv"}
        ]
    }
    changed = call("PATCH", path, json={"name": "Cold", "dictionaries": [forth | {"entries": "ice\tEis"}]}).json()
    assert (changed["name"], changed["dictionaries"][-1]["entry_count"]) == ("Cold", 3)
    replaced = call("PUT", f"{path}/dictionaries", json=forth | {"entries": "ice\tEis"}).json()
    assert replaced == {"source_lang": "en", "target_lang": "de", "entry_count": 1}
    assert call("DELETE", f"{path}/dictionaries?source_lang=en&target_lang=de").status_code == 204
    assert call.get(path).json()["dictionaries"] == [{"source_lang": "de", "target_lang": "en", "entry_count": 1}]
    assert call.get(f"{path}/entries?source_lang=en&target_lang=de").status_code == 404
    assert call.get(f"{path}/entries").status_code == 400
    assert call("DELETE", path).status_code == 204
    assert call.get(path).status_code == 404


def test_too_many_dictionaries_are_rejected_before_they_are_read(call: Caller) -> None:
    pair = {"source_lang": "en", "target_lang": "de", "entries": "no translation", "entries_format": "tsv"}
    many = {"name": "Winter", "dictionaries": [pair] * 101}

    for answer in (call.post("/v3/glossaries", json=many), call("PATCH", f"/v3/glossaries/{create(call)}", json=many)):
        assert answer.status_code == 400
        assert "dictionaries" in answer.json()["message"]


def test_glossaries_belong_to_a_key(tmp_path: Path) -> None:
    keys = [create_key(tmp_path / "keys", name) for name in ("anna", "ben")]
    call = Caller(settings=ServerSettings(keys=str(tmp_path / "keys")))
    anna, ben = ({"authorization": f"DeepL-Auth-Key {key}"} for key in keys)
    made = create(call, headers=anna)

    assert call.get("/v2/glossaries").status_code == 403
    assert call.get("/v2/glossaries", headers=ben).json() == {"glossaries": []}
    assert call("DELETE", f"/v2/glossaries/{made}", headers=ben).status_code == 404
    body = {"text": ["Two dogs"], "glossary_id": made, **PAIR}
    assert [call.post("/v2/translate", json=body, headers=each).status_code for each in (anna, ben)] == [200, 404]


def test_every_api_uses_stored_glossaries_by_name(call: Caller) -> None:
    create(call)
    pair = {"source": "en", "target": "de", "glossary": "Winter"}
    libre = call.post("/translate", json={"q": "Two dogs", **pair}).json()
    native = call.post("/v1/translate", json={"text": "Two dogs", **pair}).json()
    detected = call.post("/v1/translate", json={"text": "Two dogs play in the snow", **pair, "source": "auto"}).json()
    document = call.post(
        "/translate_file",
        files={"file": ("a.txt", b"Two dogs")},
        data=pair,
        headers={"accept": "application/octet-stream"},
    )

    assert libre["translatedText"] == "Two-de Hunde"
    assert native["translations"][0]["text"] == "Two-de Hunde"
    assert detected["translations"][0]["text"].endswith("Hunde play-de in-de the-de Schnee")
    assert document.content == b"Two-de Hunde"
    assert call.post("/translate", json={"q": "Two", **pair, "glossary": "Summer"}).status_code == 404
    assert call.post("/translate", json={"q": "Zwei", **pair, "source": "de", "target": "en"}).status_code == 400


def test_an_unknown_glossary_is_named_as_the_field_names_it(call: Caller) -> None:
    create(call)
    by_id = call.post("/v2/translate", json={"text": ["Two dogs"], "glossary_id": "x", **PAIR})
    by_name = call.post("/translate", json={"q": "Two", "source": "en", "target": "de", "glossary": "Summer"})
    assert "no glossary of this id;" in by_id.json()["message"]
    assert "no glossary of this name or id;" in by_name.json()["error"]


def test_the_newest_of_two_glossaries_with_one_name_is_used(call: Caller) -> None:
    for terms in ("dogs\tHunde", "dogs\tRudel"):
        assert call.post("/v2/glossaries", json=WINTER | {"entries": terms}).status_code == 201
    body = {"q": "Two dogs", "source": "en", "target": "de", "glossary": "Winter"}
    assert call.post("/translate", json=body).json()["translatedText"] == "Two-de Rudel"


@pytest.mark.parametrize("version", ["v2", "v3"])
def test_storing_a_glossary_loads_the_engine_that_it_needs(call: Caller, version: str) -> None:
    terms = {**PAIR, "entries": "snow\tSchnee", "entries_format": "tsv"}
    body = {"name": "Winter", **(terms if version == "v2" else {"dictionaries": [terms]})}

    assert call.post(f"/{version}/glossaries", json=body).status_code == 201
    assert call.service.preloads == 1


def stored(call: Caller, entries: str, **how: Any) -> str:
    answer = call.post("/v2/glossaries", json=WINTER | {"entries": entries} | how)
    return str(answer.json()["glossary_id"])


@pytest.mark.parametrize("form", ["list", "text", "repeated"])
def test_several_glossaries_are_joined_and_the_first_wins(call: Caller, form: str) -> None:
    entries = ("dogs\tHunde\nsnow\tSchnee", "snow\tPulver\nman\tMann", "big\tgross")
    ids = [stored(call, each) for each in entries]
    fields = {"text": "Two dogs man snow", **PAIR}
    body: dict[str, Any] = fields | {"glossary_ids": ",".join(ids) if form == "text" else ids}
    answer = call.post("/v2/translate", json=body) if form == "list" else call.post("/v2/translate", data=body)
    assert answer.json()["translations"][0]["text"] == "Two-de Hunde Mann Schnee"
    used = call.service.requests[-1].options.glossary
    assert used is not None
    assert list(used.terms) == ["dogs", "snow", "man", "big"]


def test_documents_take_several_glossaries(call: Caller) -> None:
    ids, file = [create(call), create(call)], {"file": ("a.txt", b"Two dogs")}
    for given, status in ((ids, 200), ([ids[0], "x", ids[1]], 404), (list("abcdef"), 400)):
        answer = call.post("/v2/document", data={**PAIR, "glossary_ids": given}, files=file)
        assert answer.status_code == status, answer.text


def test_every_one_of_several_glossaries_must_have_the_language_pair(call: Caller) -> None:
    ids = [stored(call, "dogs\tHunde"), stored(call, "chien\tHund", source_lang="FR")]
    answer = call.post("/v2/translate", json={"text": "Two dogs", "glossary_ids": ids, **PAIR})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_glossary")


def test_joined_glossaries_follow_changes_and_owners(tmp_path: Path) -> None:
    keys = [create_key(tmp_path / "keys", name) for name in ("anna", "ben")]
    anna, ben = ({"authorization": f"Bearer {key}"} for key in keys)
    call = Caller(settings=ServerSettings(keys=str(tmp_path / "keys")))
    ids = [create(call, headers=anna), create(call, headers=anna)]
    body = {"text": "Two dogs", "glossary_ids": ids, **PAIR}

    def translated() -> str:
        return str(call.post("/v2/translate", json=body, headers=anna).json()["translations"][0]["text"])

    assert translated() == translated() == "Two-de Hunde"
    first, second = (each.options.glossary for each in call.service.requests)
    assert first is second  # normalized once
    changed = {"dictionaries": [{**PAIR, "entries": "dogs\tDoggen", "entries_format": "tsv"}]}
    assert call("PATCH", f"/v3/glossaries/{ids[0]}", json=changed, headers=anna).status_code == 200
    assert translated() == "Two-de Doggen"
    assert call.post("/v2/translate", json=body, headers=ben).status_code == 404
    assert call("DELETE", f"/v3/glossaries/{ids[1]}", headers=anna).status_code == 204
    assert call.post("/v2/translate", json=body, headers=anna).status_code == 404


async def started(call: Caller) -> None:
    await call.app.start()


def test_a_server_with_stored_glossaries_loads_their_engine_at_the_start(tmp_path: Path) -> None:
    settings = ServerSettings(database=f"sqlite:///{tmp_path / 'data.db'}")
    for preloads in (0, 1):
        call = Caller(settings=settings)
        asyncio.run(started(call))
        assert call.service.preloads == preloads
        create(call)
        call.app.close()
