"""Routes of Microsoft Translator, version 3: `/translate?api-version=3.0`, `/detect`, `/languages`.

LibreTranslate has the same paths. The version in the query selects these routes; without it, they have a prefix.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from babel.core import Locale, UnknownLocaleError
from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, RootModel
from starlette.requests import Request

from dragoman.server.errors import RequestError
from dragoman.server.http.request_body import parse_model, read_json_value
from dragoman.server.http.route_policy import Router
from dragoman.server.models.routing import language_name
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.request_types import DetectedLanguage, Dialect, TranslationRequest, TranslationResult
from dragoman.server.routes.openapi import EXAMPLE_SOURCE, JSON, TargetLanguage, parameter, request_body
from dragoman.server.routes.operations import CodedErrorResponse, Operations, Parse, coded_error


def _error_body(problem: Mapping[str, Any]) -> dict[str, Any]:
    return {"error": coded_error(problem, 1000)}  # the code of a status without a more exact cause


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
    error_model=CodedErrorResponse,
    error_body=_error_body,
    error_type=JSON,
)


class MicrosoftText(BaseModel):
    """A text; the name of its member may be in lower case."""

    text: str = Field(validation_alias=AliasChoices("Text", "text"), examples=[EXAMPLE_SOURCE])


class MicrosoftTexts(RootModel[list[MicrosoftText]]):
    """Body of `/translate` and `/detect`."""

    root: list[MicrosoftText] = Field(min_length=1)


class MicrosoftQuery(BaseModel):
    """Version of the API, in the query of `/detect` and `/languages`."""

    version: Annotated[str, Field(pattern=r"^3\.0$")] = Field("3.0", validation_alias="api-version")


class MicrosoftTranslateQuery(MicrosoftQuery):
    """Query of `/translate`."""

    to: list[TargetLanguage] = Field(min_length=1)
    from_: str = Field("", validation_alias="from")
    text_type: Annotated[Literal["plain", "html"], BeforeValidator(str.lower)] = Field(
        "plain", validation_alias="textType"
    )


@dataclass(frozen=True)
class _Body:
    texts: list[str]
    query: Any

    def to_request(self) -> TranslationRequest:
        source, is_html = self.query.from_ or "auto", self.query.text_type == "html"
        return TranslationRequest(self.texts, source, "", is_html=is_html, targets=self.query.to)


def _body(model: type[MicrosoftQuery]) -> Parse:
    """Return a parser of the query and the texts."""

    async def parse(request: Request) -> _Body:
        query = parse_model(model, {**request.query_params, "to": request.query_params.getlist("to")})
        value = await read_json_value(request)
        if not isinstance(value, list):
            raise RequestError('the body must be a JSON array of texts; write [{"Text": "…"}]')
        return _Body([each.text for each in parse_model(MicrosoftTexts, value).root], query)

    return parse


_VERSION = parameter("api-version", "query", {"type": "string", "enum": ["3.0"]}, "Required without the prefix.")
_TO = {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1}
_TEXT_TYPE = {"type": "string", "enum": ["plain", "html", "Plain", "Html"]}
_QUERY = [
    _VERSION,
    parameter("to", "query", _TO, "Target language; may occur several times.") | {"required": True},
    parameter("from", "query", {"type": "string"}, "Detected if not given."),
    parameter("textType", "query", _TEXT_TYPE, "`plain` if not given."),
]
_SCOPE = parameter("scope", "query", {"type": "string"}, "`translation`.")
_List = list[dict[str, Any]]


def router(pipeline: TranslationPipeline) -> Router:
    """Return the routes."""
    routes = Router(prefix=MICROSOFT.prefix, tags=[MICROSOFT.name])
    operations = Operations(routes, pipeline, MICROSOFT, 415)

    def detected(found: DetectedLanguage) -> dict[str, Any]:
        language, confidence = found.most_probable
        return {"language": pipeline.languages.listed_code(language), "score": confidence / 100}

    def translated(body: _Body, results: Sequence[Sequence[TranslationResult]]) -> list[dict[str, Any]]:
        answer = []
        for each in zip(*results, strict=True):
            texts = [{"text": one.text, "to": target} for one, target in zip(each, body.query.to, strict=True)]
            language = each[0].detected
            answer.append(({"detectedLanguage": detected(language)} if language else {}) | {"translations": texts})
        return answer

    def detection(found: DetectedLanguage) -> dict[str, Any]:
        is_supported = found.unavailable is None and found.language in pipeline.languages.sources
        return detected(found) | {"isTranslationSupported": is_supported, "isTransliterationSupported": False}

    def listed(request: Request) -> dict[str, Any]:
        parse_model(MicrosoftQuery, request.query_params)
        if "translation" not in request.query_params.get("scope", "translation"):
            return {}
        codes = map(pipeline.languages.listed_code, pipeline.languages.codes)
        return {"translation": {code: _language(code) for code in codes}}

    described = request_body(MicrosoftTexts, parameters=_QUERY)
    operations.translate("/translate", _body(MicrosoftTranslateQuery), translated, described, model=_List)
    version = request_body(MicrosoftTexts, parameters=[_VERSION])
    operations.detect("/detect", _body(MicrosoftQuery), lambda found: [*map(detection, found)], version, model=_List)
    operations.languages("/languages", listed, [_VERSION, _SCOPE], access="public")
    return routes


def _language(code: str) -> dict[str, str]:
    name, native, direction = language_name(code), None, "ltr"
    try:
        locale = Locale.parse(code, sep="-")
        native, direction = locale.get_display_name(), locale.text_direction
    except (UnknownLocaleError, ValueError):
        pass  # a language without a locale has the English name
    return {"name": name, "nativeName": native or name, "dir": direction}
