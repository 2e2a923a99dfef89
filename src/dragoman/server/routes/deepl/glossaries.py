"""Routes of the DeepL API for stored glossaries: `/v2` with one language pair each, `/v3` with several."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from dragoman.language_codes import check_language
from dragoman.server.errors import NotFound, RequestError
from dragoman.server.glossaries import (
    MAX_DICTIONARIES,
    EntriesFormat,
    GlossaryStore,
    StoredGlossary,
    TermDictionary,
    format_tsv,
    parse_entries,
    term_dictionary,
)
from dragoman.server.http.request_body import Access, json_body, json_response, parse_model
from dragoman.server.http.route_policy import Depends, Router, route_policy
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.routes.deepl.text import DEEPL, glossary_pairs, read_values, source_code
from dragoman.server.routes.openapi import BASE_ERRORS, BODY_ERRORS, FORMS, JSON, parameter, request_body, responses

_EXAMPLE = "snow\tSchnee\ndog\tHund"
_MAX_CODE = 35


class DictionaryBody(BaseModel):
    """Terms of one language pair."""

    model_config = ConfigDict(extra="ignore")

    source_lang: str = Field(min_length=2, max_length=_MAX_CODE, examples=["en"])
    target_lang: str = Field(min_length=2, max_length=_MAX_CODE, examples=["de"])
    entries: str = Field(description="One term per line: source, tab or comma, translation.", examples=[_EXAMPLE])
    entries_format: EntriesFormat = "tsv"

    def to_dictionary(self) -> TermDictionary:
        """Parse the entries; raises `RequestError`. It takes a second for the largest body."""
        source, target = check_language(self.source_lang), check_language(self.target_lang)
        return term_dictionary(source, target, parse_entries(self.entries, self.entries_format))


class SingleGlossaryBody(DictionaryBody):
    """Body of `POST /v2/glossaries`."""

    name: str = Field(min_length=1, examples=["Winter"])


class MultilingualGlossaryBody(BaseModel):
    """Body of `POST /v3/glossaries`."""

    model_config = ConfigDict(extra="ignore")

    name: str = Field(min_length=1, examples=["Winter"])
    dictionaries: list[DictionaryBody] = Field(min_length=1, max_length=MAX_DICTIONARIES)


class MultilingualGlossaryPatch(BaseModel):
    """Body of `PATCH /v3/glossaries/{glossary_id}`: terms are added, or change their translation."""

    model_config = ConfigDict(extra="ignore")

    name: str | None = Field(None, min_length=1)
    dictionaries: list[DictionaryBody] = Field(default_factory=list, max_length=MAX_DICTIONARIES)


class GlossaryLanguagePair(BaseModel):
    """A language pair for which a glossary can be used."""

    source_lang: str
    target_lang: str


class GlossaryLanguagePairs(BaseModel):
    """All language pairs for which a glossary can be used."""

    supported_languages: list[GlossaryLanguagePair]


class SingleGlossary(BaseModel):
    """A stored glossary of one language pair."""

    glossary_id: str
    ready: bool
    name: str
    source_lang: str
    target_lang: str
    creation_time: str
    entry_count: int


class SingleGlossaryList(BaseModel):
    """All glossaries of one language pair."""

    glossaries: list[SingleGlossary]


class DictionaryInfo(GlossaryLanguagePair):
    """Number of terms of a language pair."""

    entry_count: int


class DictionaryEntries(GlossaryLanguagePair):
    """Terms of a language pair as TSV."""

    entries: str
    entries_format: str


class GlossaryEntries(BaseModel):
    """Terms of the requested language pairs."""

    dictionaries: list[DictionaryEntries]


class MultilingualGlossary(BaseModel):
    """A stored glossary."""

    glossary_id: str
    name: str
    dictionaries: list[DictionaryInfo]
    creation_time: str


class MultilingualGlossaryList(BaseModel):
    """All glossaries."""

    glossaries: list[MultilingualGlossary]


def dictionary_info(dictionary: TermDictionary) -> dict[str, Any]:
    """Return the languages and the size of a dictionary."""
    return {**_languages(dictionary), "entry_count": len(dictionary.terms)}


def entries_json(dictionary: TermDictionary) -> dict[str, Any]:
    """Return the terms of a dictionary."""
    return {**_languages(dictionary), "entries": format_tsv(dictionary.terms), "entries_format": "tsv"}


def multilingual_json(glossary: StoredGlossary) -> dict[str, Any]:
    """Return a glossary in version 3 of the API."""
    return {
        "glossary_id": glossary.id,
        "name": glossary.name,
        "dictionaries": [dictionary_info(each) for each in glossary.dictionaries],
        "creation_time": glossary.created,
    }


def single_json(glossary: StoredGlossary) -> dict[str, Any]:
    """Return a glossary of one language pair in version 2 of the API."""
    (dictionary,) = glossary.dictionaries
    return {
        "glossary_id": glossary.id,
        "ready": True,
        "name": glossary.name,
        **_languages(dictionary),
        "creation_time": glossary.created,
        "entry_count": len(dictionary.terms),
    }


def _languages(dictionary: TermDictionary) -> dict[str, str]:
    source, target = dictionary.source, dictionary.target
    return {"source_lang": source_code(source).lower(), "target_lang": source_code(target).lower()}


_TSV = "text/tab-separated-values"
_PAIR = [
    parameter(name, "query", {"type": "string"}, "A language code.") | {"required": True}
    for name in ("source_lang", "target_lang")
]


async def _single_body(request: Request) -> SingleGlossaryBody:
    return parse_model(SingleGlossaryBody, await read_values(request))


SingleBody = Annotated[SingleGlossaryBody, Depends(_single_body)]
MultilingualBody = Annotated[MultilingualGlossaryBody, Depends(json_body(MultilingualGlossaryBody))]
PatchBody = Annotated[MultilingualGlossaryPatch, Depends(json_body(MultilingualGlossaryPatch))]
DictionaryContent = Annotated[DictionaryBody, Depends(json_body(DictionaryBody))]


def routers(pipeline: TranslationPipeline) -> list[Router]:
    """Return the routes of both versions. All see the same glossaries: those of the client's API key."""
    version_2, version_3 = (Router(prefix=f"/v{number}", tags=[DEEPL.name]) for number in (2, 3))
    store = pipeline.glossaries
    _add_shared(version_2, store, SingleGlossary, SingleGlossaryList, single_json, _check_single)
    _add_shared(version_3, store, MultilingualGlossary, MultilingualGlossaryList, multilingual_json)
    _add_version_2(version_2, pipeline)
    _add_version_3(version_3, pipeline)
    _add_dictionaries(version_3, store)
    return [version_2, version_3]


def _add_shared(
    routes: Router,
    store: GlossaryStore,
    model: type[BaseModel],
    listing: type[BaseModel],
    to_json: Callable[[StoredGlossary], dict[str, Any]],
    check: Callable[[StoredGlossary], object] = lambda found: None,
) -> None:
    """Add what both versions have; `check` raises `NotFound` for a glossary that a version cannot describe."""

    def is_described(found: StoredGlossary) -> bool:
        try:
            check(found)
        except NotFound:
            return False
        return True

    @routes.get("/glossaries", **responses(listing, *BASE_ERRORS, 429))
    @route_policy("key")
    async def listed(access: Access) -> Response:
        """List the stored glossaries; version 2 those of one language pair."""
        found = await asyncio.to_thread(store.of_owner, access.name)
        return json_response({"glossaries": list(map(to_json, filter(is_described, found)))})

    @routes.get(
        "/glossaries/{glossary_id}",
        **responses(model, *BASE_ERRORS, 404, 429),
    )
    @route_policy("key")
    async def one(request: Request, access: Access) -> Response:
        """Describe a glossary."""
        found = await asyncio.to_thread(store.get, access.name, _id(request))
        check(found)
        return json_response(to_json(found))

    @routes.delete("/glossaries/{glossary_id}", **_no_content())
    @route_policy("key", writes=True)
    async def delete(request: Request, access: Access) -> Response:
        """Delete a glossary."""
        await asyncio.to_thread(store.delete, access.name, _id(request))
        return Response(status_code=204)


async def _create(
    pipeline: TranslationPipeline, owner: str, name: str, dictionaries: Sequence[DictionaryBody]
) -> StoredGlossary:
    def run() -> StoredGlossary:
        return pipeline.glossaries.create(owner, name, [each.to_dictionary() for each in dictionaries])

    made = await asyncio.to_thread(run)
    pipeline.service.preload_for_glossaries([(each.source, each.target) for each in made.dictionaries])
    return made


def _add_version_2(routes: Router, pipeline: TranslationPipeline) -> None:
    @routes.get("/glossary-language-pairs", **responses(GlossaryLanguagePairs, *BASE_ERRORS, 429))
    @route_policy("key")
    async def language_pairs() -> Response:
        """List the language pairs for which a glossary can be used."""
        pairs = glossary_pairs(pipeline.service.routes(), pipeline.service.models())
        found = [{"source_lang": source, "target_lang": target} for source, target in pairs]
        return json_response({"supported_languages": found})

    @routes.post(
        "/glossaries",
        **responses(SingleGlossary, *BODY_ERRORS, status=201),
        **request_body(SingleGlossaryBody, (JSON, *FORMS)),
    )
    @route_policy("key", writes=True)
    async def create(body: SingleBody, access: Access) -> Response:
        """Store a glossary of one language pair."""
        return json_response(single_json(await _create(pipeline, access.name, body.name, [body])), 201)

    @routes.get(
        "/glossaries/{glossary_id}/entries",
        **responses(None, *BASE_ERRORS, 404, 429, more={_TSV: {"schema": {"type": "string"}}}),
    )
    @route_policy("key")
    async def entries(request: Request, access: Access) -> Response:
        """Return the terms of a glossary as TSV."""
        found = await asyncio.to_thread(pipeline.glossaries.get, access.name, _id(request))
        _check_single(found)
        return Response(format_tsv(found.dictionaries[0].terms), media_type=_TSV)


def _add_version_3(routes: Router, pipeline: TranslationPipeline) -> None:
    @routes.post(
        "/glossaries",
        **responses(MultilingualGlossary, *BODY_ERRORS, 415, status=201),
        **request_body(MultilingualGlossaryBody),
    )
    @route_policy("key", writes=True)
    async def create(body: MultilingualBody, access: Access) -> Response:
        """Store a glossary of several language pairs."""
        return json_response(multilingual_json(await _create(pipeline, access.name, body.name, body.dictionaries)), 201)

    @routes.patch(
        "/glossaries/{glossary_id}",
        **responses(MultilingualGlossary, *BODY_ERRORS, 404, 415),
        **request_body(MultilingualGlossaryPatch),
    )
    @route_policy("key", writes=True)
    async def change(request: Request, body: PatchBody, access: Access) -> Response:
        """Rename a glossary, or add terms."""

        def run() -> StoredGlossary:
            more = [each.to_dictionary() for each in body.dictionaries]

            def changed(found: StoredGlossary) -> StoredGlossary:
                return replace(found, name=body.name or found.name).merged(more)

            return pipeline.glossaries.change(access.name, _id(request), changed)

        return json_response(multilingual_json(await asyncio.to_thread(run)))


def _add_dictionaries(routes: Router, store: GlossaryStore) -> None:
    @routes.get(
        "/glossaries/{glossary_id}/entries",
        **responses(GlossaryEntries, *BASE_ERRORS, 404, 429),
        openapi_extra={"parameters": _PAIR},
    )
    @route_policy("key")
    async def entries(request: Request, access: Access) -> Response:
        """Return the terms of a language pair."""
        found = _dictionary(await asyncio.to_thread(store.get, access.name, _id(request)), request)
        return json_response({"dictionaries": [entries_json(found)]})

    @routes.put(
        "/glossaries/{glossary_id}/dictionaries",
        **responses(DictionaryInfo, *BODY_ERRORS, 404, 415),
        **request_body(DictionaryBody),
    )
    @route_policy("key", writes=True)
    async def replace_dictionary(request: Request, body: DictionaryContent, access: Access) -> Response:
        """Replace the terms of a language pair, or add the pair."""

        def run() -> TermDictionary:
            wanted = body.to_dictionary()
            store.change(access.name, _id(request), lambda found: found.with_dictionary(wanted))
            return wanted

        return json_response(dictionary_info(await asyncio.to_thread(run)))

    @routes.delete("/glossaries/{glossary_id}/dictionaries", **_no_content(), openapi_extra={"parameters": _PAIR})
    @route_policy("key", writes=True)
    async def delete_dictionary(request: Request, access: Access) -> Response:
        """Delete the terms of a language pair."""

        def changed(found: StoredGlossary) -> StoredGlossary:
            gone = _dictionary(found, request)
            return found.without(gone.source, gone.target)

        await asyncio.to_thread(store.change, access.name, _id(request), changed)
        return Response(status_code=204)


def _no_content() -> dict[str, Any]:
    described = responses(None, *BODY_ERRORS, 404, status=204)
    described["responses"][204] = {"description": "Deleted"}
    return described


def _id(request: Request) -> str:
    return str(request.path_params["glossary_id"])


def _check_single(found: StoredGlossary) -> None:
    if len(found.dictionaries) != 1:
        raise NotFound(f"this glossary has {len(found.dictionaries)} language pairs; use /v3, because /v2 has one each")


def _dictionary(glossary: StoredGlossary, request: Request) -> TermDictionary:
    codes = [request.query_params.get(name, "") for name in ("source_lang", "target_lang")]
    if not all(codes):
        raise RequestError("source_lang and target_lang must both be given; add them to the query")
    found = glossary.find(*codes)
    if found is None:
        raise NotFound("this glossary does not have this language pair; /v3/glossaries lists its pairs")
    return found
