"""Routes of the DeepL API for stored glossaries: `/v2` with one language pair each, `/v3` with several."""

import asyncio
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from dragoman.server.errors import NotFound, RequestError
from dragoman.server.glossaries import GlossaryStore, StoredGlossary, TermDictionary, format_tsv
from dragoman.server.http.request_body import Access, json_body, json_response, parse_model
from dragoman.server.http.route_policy import route_policy
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.routes.deepl.glossary_schemas import (
    DictionaryBody,
    DictionaryInfo,
    GlossaryEntries,
    GlossaryLanguagePairs,
    MultilingualGlossary,
    MultilingualGlossaryBody,
    MultilingualGlossaryList,
    MultilingualGlossaryPatch,
    SingleGlossary,
    SingleGlossaryBody,
    SingleGlossaryList,
    dictionary_info,
    entries_json,
    multilingual_json,
    single_json,
)
from dragoman.server.routes.deepl.schemas import DEEPL
from dragoman.server.routes.deepl.text import glossary_pairs, read_values
from dragoman.server.routes.openapi import BASE_ERRORS, BODY_ERRORS, FORMS, JSON, parameter, request_body, responses

_TSV = "text/tab-separated-values"
_ID = parameter("glossary_id", "path", {"type": "string"}, "Id of the glossary.")
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


def routers(pipeline: TranslationPipeline) -> list[APIRouter]:
    """Return the routes of both versions. All see the same glossaries: those of the client's API key."""
    return [
        _version_2(pipeline, pipeline.glossaries),
        _version_3(pipeline, pipeline.glossaries),
        _dictionaries(pipeline.glossaries),
    ]


def _version_2(pipeline: TranslationPipeline, store: GlossaryStore) -> APIRouter:
    routes = APIRouter(prefix="/v2", tags=[DEEPL.name])

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
    @route_policy("key", stores=True)
    async def create(body: SingleBody, access: Access) -> Response:
        """Store a glossary of one language pair."""

        def run() -> StoredGlossary:
            return store.create(access.name, body.name, [body.to_dictionary()])

        made = await asyncio.to_thread(run)
        pipeline.service.preload_for_glossaries([(each.source, each.target) for each in made.dictionaries])
        return json_response(single_json(made), 201)

    @routes.get("/glossaries", **responses(SingleGlossaryList, *BASE_ERRORS, 429))
    @route_policy("key")
    async def listed(access: Access) -> Response:
        """List the stored glossaries of one language pair."""
        found = [each for each in store.of_owner(access.name) if len(each.dictionaries) == 1]
        return json_response({"glossaries": [single_json(each) for each in found]})

    @routes.get(
        "/glossaries/{glossary_id}",
        **responses(SingleGlossary, *BASE_ERRORS, 404, 429),
        openapi_extra={"parameters": [_ID]},
    )
    @route_policy("key")
    async def one(request: Request, access: Access) -> Response:
        """Describe a glossary."""
        return json_response(single_json(_single(store, access.name, request)))

    @routes.get(
        "/glossaries/{glossary_id}/entries",
        **responses(None, *BASE_ERRORS, 404, 429, more={_TSV: {"schema": {"type": "string"}}}),
        openapi_extra={"parameters": [_ID]},
    )
    @route_policy("key")
    async def entries(request: Request, access: Access) -> Response:
        """Return the terms of a glossary as TSV."""
        (dictionary,) = _single(store, access.name, request).dictionaries
        return Response(format_tsv(dictionary.terms), media_type=_TSV)

    routes.delete("/glossaries/{glossary_id}", **_no_content(), openapi_extra={"parameters": [_ID]})(_delete(store))
    return routes


def _version_3(pipeline: TranslationPipeline, store: GlossaryStore) -> APIRouter:
    routes = APIRouter(prefix="/v3", tags=[DEEPL.name])

    @routes.post(
        "/glossaries",
        **responses(MultilingualGlossary, *BODY_ERRORS, 415, status=201),
        **request_body(MultilingualGlossaryBody),
    )
    @route_policy("key", stores=True)
    async def create(body: MultilingualBody, access: Access) -> Response:
        """Store a glossary of several language pairs."""

        def run() -> StoredGlossary:
            return store.create(access.name, body.name, [each.to_dictionary() for each in body.dictionaries])

        made = await asyncio.to_thread(run)
        pipeline.service.preload_for_glossaries([(each.source, each.target) for each in made.dictionaries])
        return json_response(multilingual_json(made), 201)

    @routes.get("/glossaries", **responses(MultilingualGlossaryList, *BASE_ERRORS, 429))
    @route_policy("key")
    async def listed(access: Access) -> Response:
        """List all stored glossaries."""
        return json_response({"glossaries": [multilingual_json(each) for each in store.of_owner(access.name)]})

    @routes.get(
        "/glossaries/{glossary_id}",
        **responses(MultilingualGlossary, *BASE_ERRORS, 404, 429),
        openapi_extra={"parameters": [_ID]},
    )
    @route_policy("key")
    async def one(request: Request, access: Access) -> Response:
        """Describe a glossary."""
        return json_response(multilingual_json(_stored(store, access.name, request)))

    @routes.patch(
        "/glossaries/{glossary_id}",
        **responses(MultilingualGlossary, *BODY_ERRORS, 404, 415),
        **_with_parameters(request_body(MultilingualGlossaryPatch), [_ID]),
    )
    @route_policy("key", stores=True)
    async def change(request: Request, body: PatchBody, access: Access) -> Response:
        """Rename a glossary, or add terms."""

        def run() -> StoredGlossary:
            more = [each.to_dictionary() for each in body.dictionaries]

            def changed(found: StoredGlossary) -> StoredGlossary:
                return replace(found, name=body.name or found.name).merged(more)

            return store.change(access.name, _id(request), changed)

        return json_response(multilingual_json(await asyncio.to_thread(run)))

    routes.delete("/glossaries/{glossary_id}", **_no_content(), openapi_extra={"parameters": [_ID]})(_delete(store))
    return routes


def _dictionaries(store: GlossaryStore) -> APIRouter:
    routes = APIRouter(prefix="/v3", tags=[DEEPL.name])

    @routes.get(
        "/glossaries/{glossary_id}/entries",
        **responses(GlossaryEntries, *BASE_ERRORS, 404, 429),
        openapi_extra={"parameters": [_ID, *_PAIR]},
    )
    @route_policy("key")
    async def entries(request: Request, access: Access) -> Response:
        """Return the terms of a language pair."""
        found = _dictionary(_stored(store, access.name, request), request)
        return json_response({"dictionaries": [entries_json(found)]})

    @routes.put(
        "/glossaries/{glossary_id}/dictionaries",
        **responses(DictionaryInfo, *BODY_ERRORS, 404, 415),
        **_with_parameters(request_body(DictionaryBody), [_ID]),
    )
    @route_policy("key", stores=True)
    async def replace_dictionary(request: Request, body: DictionaryContent, access: Access) -> Response:
        """Replace the terms of a language pair, or add the pair."""

        def run() -> TermDictionary:
            wanted = body.to_dictionary()
            store.change(access.name, _id(request), lambda found: found.with_dictionary(wanted))
            return wanted

        return json_response(dictionary_info(await asyncio.to_thread(run)))

    @routes.delete(
        "/glossaries/{glossary_id}/dictionaries", **_no_content(), openapi_extra={"parameters": [_ID, *_PAIR]}
    )
    @route_policy("key", stores=True)
    async def delete_dictionary(request: Request, access: Access) -> Response:
        """Delete the terms of a language pair."""

        def changed(found: StoredGlossary) -> StoredGlossary:
            gone = _dictionary(found, request)
            return found.without(gone.source, gone.target)

        await asyncio.to_thread(store.change, access.name, _id(request), changed)
        return Response(status_code=204)

    return routes


def _delete(store: GlossaryStore) -> Any:
    @route_policy("key", stores=True)
    async def delete(request: Request, access: Access) -> Response:
        """Delete a glossary."""
        await asyncio.to_thread(store.delete, access.name, _id(request))
        return Response(status_code=204)

    return delete


def _no_content() -> dict[str, Any]:
    described = responses(None, *BODY_ERRORS, 404, status=204)
    described["responses"][204] = {"description": "Deleted"}
    return described


def _with_parameters(described: dict[str, Any], parameters: list[dict[str, Any]]) -> dict[str, Any]:
    described["openapi_extra"]["parameters"] = parameters
    return described


def _id(request: Request) -> str:
    return str(request.path_params["glossary_id"])


def _stored(store: GlossaryStore, owner: str, request: Request) -> StoredGlossary:
    return store.get(owner, _id(request))


def _single(store: GlossaryStore, owner: str, request: Request) -> StoredGlossary:
    found = _stored(store, owner, request)
    if len(found.dictionaries) != 1:
        raise NotFound(f"this glossary has {len(found.dictionaries)} language pairs; use /v3, because /v2 has one each")
    return found


def _dictionary(glossary: StoredGlossary, request: Request) -> TermDictionary:
    codes = [request.query_params.get(name, "") for name in ("source_lang", "target_lang")]
    if not all(codes):
        raise RequestError("source_lang and target_lang must both be given; add them to the query")
    found = glossary.find(*codes)
    if found is None:
        raise NotFound("this glossary does not have this language pair; /v3/glossaries lists its pairs")
    return found
