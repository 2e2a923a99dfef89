"""Routes of Microsoft Translator, version 3: `/translate?api-version=3.0`, `/detect`, `/languages`.

LibreTranslate has the same paths. The version in the query selects these routes; without it, they have a prefix.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from babel.core import Locale, UnknownLocaleError
from fastapi import APIRouter, Depends, Request, Response
from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, RootModel

from dragoman.server.errors import RequestError
from dragoman.server.http.request_body import (
    Access,
    Reserved,
    json_response,
    large_json_response,
    parse_model,
    read_json_value,
)
from dragoman.server.http.route_policy import route_policy
from dragoman.server.models.routing import Languages, language_name
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.pipeline.request_checks import build_options
from dragoman.server.request_types import DetectedLanguage, Dialect, TranslationRequest, TranslationResult
from dragoman.server.routes.openapi import (
    BASE_ERRORS,
    BODY_ERRORS,
    EXAMPLE_SOURCE,
    JSON,
    TargetLanguage,
    parameter,
    request_body,
    responses,
)


class MicrosoftError(BaseModel):
    """An error; the code begins with the HTTP status, and `reason` is the code of this server."""

    model_config = ConfigDict(extra="allow")

    code: int = Field(examples=[400000])
    message: str
    reason: str


class MicrosoftErrorResponse(BaseModel):
    """An error in the form of Microsoft Translator."""

    error: MicrosoftError


def _error_body(problem: Mapping[str, Any]) -> dict[str, Any]:
    more = {name: problem[name] for name in ("retry_after", "request_id") if name in problem}
    code = 1000 * int(problem["status"])  # the code of a status without a more exact cause
    return {"error": {"code": code, "message": problem["detail"], "reason": problem["code"], **more}}


MICROSOFT = Dialect(
    "Microsoft",
    source="from",
    target="to",
    listing="/languages?api-version=3.0",
    key_fields=(b"Subscription-Key", b"subscription-key"),
    key_headers=(b"ocp-apim-subscription-key",),
    prefix="/translator/text/v3.0",  # Azure's, of resources with an address of their own
    selector="api-version",
    rejects_other_languages=True,
    error_model=MicrosoftErrorResponse,
    error_body=_error_body,
    error_type=JSON,
)


class MicrosoftText(BaseModel):
    """A text; the name of its member may be in lower case."""

    model_config = ConfigDict(extra="ignore")

    text: str = Field(validation_alias=AliasChoices("Text", "text"), examples=[EXAMPLE_SOURCE])


class MicrosoftTexts(RootModel[list[MicrosoftText]]):
    """Body of `/translate` and `/detect`."""

    root: list[MicrosoftText] = Field(min_length=1)


class MicrosoftQuery(BaseModel):
    """Version of the API, in the query of `/detect` and `/languages`."""

    model_config = ConfigDict(extra="ignore")

    version: Annotated[str, Field(pattern=r"^3\.0$")] = Field("3.0", validation_alias="api-version")


class MicrosoftTranslateQuery(MicrosoftQuery):
    """Query of `/translate`."""

    to: list[TargetLanguage] = Field(min_length=1)
    from_: str = Field("", validation_alias="from")
    text_type: Annotated[Literal["plain", "html"], BeforeValidator(str.lower)] = Field(
        "plain", validation_alias="textType"
    )


async def _texts(request: Request) -> list[str]:
    value = await read_json_value(request)
    if not isinstance(value, list):
        raise RequestError('the body must be a JSON array of texts; write [{"Text": "…"}]')
    return [each.text for each in parse_model(MicrosoftTexts, value).root]


async def _query(request: Request) -> MicrosoftQuery:
    return parse_model(MicrosoftQuery, request.query_params)


async def _translate_query(request: Request) -> MicrosoftTranslateQuery:
    query = request.query_params
    return parse_model(MicrosoftTranslateQuery, {**query, "to": query.getlist("to")})


Texts = Annotated[list[str], Depends(_texts)]
Query = Annotated[MicrosoftQuery, Depends(_query)]
TranslateQuery = Annotated[MicrosoftTranslateQuery, Depends(_translate_query)]
_VERSION = parameter("api-version", "query", {"type": "string", "enum": ["3.0"]}, "Required without the prefix.")
_TO = {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1}
_TEXT_TYPE = {"type": "string", "enum": ["plain", "html", "Plain", "Html"]}


def router(pipeline: TranslationPipeline) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix=MICROSOFT.prefix, tags=[MICROSOFT.name])

    @routes.post(
        "/translate",
        **responses(list[dict[str, Any]], *BODY_ERRORS, 415, dialect=MICROSOFT),
        **request_body(
            MicrosoftTexts,
            parameters=[
                _VERSION,
                parameter("to", "query", _TO, "Target language; may occur several times.") | {"required": True},
                parameter("from", "query", {"type": "string"}, "Detected if not given."),
                parameter("textType", "query", _TEXT_TYPE, "`plain` if not given."),
            ],
        ),
    )
    @route_policy("body_key", translates=True)
    async def translate(texts: Texts, query: TranslateQuery, access: Access, reservation: Reserved) -> Response:
        """Translate texts into one or more languages."""
        options, is_html = build_options(pipeline.settings), query.text_type == "html"
        source = query.from_ or "auto"
        wanted = TranslationRequest(texts, source, "", is_html=is_html, options=options, dialect=MICROSOFT)
        found = await pipeline.translate_to(query.to, wanted, reservation)
        access.count(len(query.to) * sum(map(len, texts)))
        languages = pipeline.languages
        return json_response([_translations(each, query.to, languages) for each in zip(*found, strict=True)])

    @routes.post(
        "/detect",
        **responses(list[dict[str, Any]], *BODY_ERRORS, 415, dialect=MICROSOFT),
        **request_body(MicrosoftTexts, parameters=[_VERSION]),
    )
    @route_policy("body_key")
    async def detect(texts: Texts, _: Query, access: Access) -> Response:
        """Detect the language of each text."""
        found = await pipeline.detect(texts, access.charge, MICROSOFT)
        return json_response([_detection(each[0], pipeline.languages) for each in found])

    @routes.get(
        "/languages",
        **responses(dict[str, dict[str, dict[str, str]]], *BASE_ERRORS, dialect=MICROSOFT),
        openapi_extra={"parameters": [_VERSION, parameter("scope", "query", {"type": "string"}, "`translation`.")]},
    )
    @route_policy("public")
    async def languages(request: Request, _: Query) -> Response:
        """List the languages."""
        if "translation" not in request.query_params.get("scope", "translation"):
            return json_response({})
        codes = [pipeline.languages.listed_code(code) for code in pipeline.languages.codes]
        return await large_json_response(lambda: {"translation": {code: _language(code) for code in codes}})

    return routes


def _translations(results: tuple[TranslationResult, ...], targets: list[str], languages: Languages) -> dict[str, Any]:
    found = [{"text": each.text, "to": target} for each, target in zip(results, targets, strict=True)]
    detected = results[0].detected
    return ({"detectedLanguage": _detected(detected, languages)} if detected else {}) | {"translations": found}


def _detected(found: DetectedLanguage, languages: Languages) -> dict[str, Any]:
    language, confidence = found.most_probable
    return {"language": languages.listed_code(language), "score": confidence / 100}


def _detection(found: DetectedLanguage, languages: Languages) -> dict[str, Any]:
    is_supported = found.unavailable is None and found.language in languages.sources
    return _detected(found, languages) | {
        "isTranslationSupported": is_supported,
        "isTransliterationSupported": False,
    }


def _language(code: str) -> dict[str, str]:
    name, native, direction = language_name(code), None, "ltr"
    try:
        locale = Locale.parse(code, sep="-")
        native, direction = locale.get_display_name(), locale.text_direction
    except (UnknownLocaleError, ValueError):
        pass  # a language without a locale has the English name
    return {"name": name, "nativeName": native or name, "dir": direction}
