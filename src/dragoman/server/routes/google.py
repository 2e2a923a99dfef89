"""Routes of Google's Cloud Translation API: `/language/translate/v2`, and `/v3/projects/…` for texts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from dragoman.server.http.request_body import json_body, parse_model, read_json, read_values
from dragoman.server.models.routing import Languages, language_name
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.request_types import DetectedLanguage, Dialect, TranslationRequest, TranslationResult
from dragoman.server.routes.openapi import EXAMPLE_SOURCE, FORMS, JSON, TargetLanguage, parameter, request_body
from dragoman.server.routes.operations import Operations, coded_error

_V2, _V3 = "/language/translate/v2", "/v3/projects/{project}"
_V3_PATHS = (_V3, f"{_V3}/locations/{{location}}")
_CODES = {"zh": "zh-CN", "zh-Hans": "zh-CN", "zh-Hant": "zh-TW"}
_Lists = dict[str, list[Any]]
_Data = dict[str, _Lists]
_IGNORED = "Accepted, and without effect: the languages determine the model."


class GoogleError(BaseModel):
    """An error; `status` is its name, and `errors` has the code of this server as `reason`."""

    model_config = ConfigDict(extra="allow")

    code: int = Field(examples=[400])
    message: str
    status: str = Field(examples=["INVALID_ARGUMENT"])
    errors: list[dict[str, str]]


class GoogleErrorResponse(BaseModel):
    """An error in the form of Google's APIs."""

    error: GoogleError


_STATUS = {
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    408: "DEADLINE_EXCEEDED",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
}


def _error_body(problem: Mapping[str, Any]) -> dict[str, Any]:
    error = coded_error(problem)
    reason = {"message": problem["detail"], "domain": "global", "reason": error.pop("reason")}
    status = _STATUS.get(problem["status"], "INVALID_ARGUMENT")
    return {"error": error | {"status": status, "errors": [reason]}}


GOOGLE = Dialect(
    "Google",
    listing=f"{_V2}/languages",
    key_fields=(b"key",),
    key_headers=(b"x-goog-api-key",),
    rejects_other_languages=True,
    error_model=GoogleErrorResponse,
    error_body=_error_body,
    error_type=JSON,
)
GOOGLE_V3 = replace(
    GOOGLE,
    source="sourceLanguageCode",
    target="targetLanguageCode",
    listing="/v3/projects/PROJECT/supportedLanguages",
)


class GoogleDetectRequest(BaseModel):
    """Fields of `/language/translate/v2/detect`, in the query or the body."""

    model_config = ConfigDict(extra="ignore")

    q: str | Annotated[list[str], Field(min_length=1)] = Field(
        description="A text; may occur several times.", examples=[[EXAMPLE_SOURCE]]
    )

    @property
    def texts(self) -> list[str]:
        return self.q if isinstance(self.q, list) else [self.q]


class GoogleTranslateRequest(GoogleDetectRequest):
    """Fields of `/language/translate/v2`, in the query or the body."""

    target: TargetLanguage
    source: str | None = Field(None, description="Detected if not given.")
    format: Literal["html", "text", ""] | None = Field(None, description="`html` if not given.")
    model: str | None = Field(None, description=_IGNORED)

    def to_request(self) -> TranslationRequest:
        return TranslationRequest(self.texts, self.source or "auto", self.target, is_html=self.format != "text")


class _Camel(BaseModel):
    model_config = ConfigDict(extra="ignore", alias_generator=to_camel, populate_by_name=True)


class GoogleContentsRequest(_Camel):
    """Body of `:translateText`."""

    contents: list[str] = Field(min_length=1, examples=[[EXAMPLE_SOURCE]])
    target_language_code: TargetLanguage
    source_language_code: str | None = Field(None, description="Detected if not given.")
    mime_type: Literal["text/html", "text/plain", ""] | None = Field(None, description="`text/html` if not given.")
    model: str | None = Field(None, description=_IGNORED)
    glossary_config: None = Field(None, description="Not supported.")

    def to_request(self) -> TranslationRequest:
        source, is_html = self.source_language_code or "auto", self.mime_type != "text/plain"
        return TranslationRequest(self.contents, source, self.target_language_code, is_html=is_html)


class GoogleContentRequest(_Camel):
    """Body of `:detectLanguage`."""

    content: str = Field(min_length=1, examples=[EXAMPLE_SOURCE])


async def _translate_values(request: Request) -> GoogleTranslateRequest:
    return parse_model(GoogleTranslateRequest, await read_values(request, ("q",)))


async def _detect_values(request: Request) -> list[str]:
    return parse_model(GoogleDetectRequest, await read_values(request, ("q",))).texts


async def _content(request: Request) -> list[str]:
    return [parse_model(GoogleContentRequest, await read_json(request)).content]


_STRING = {"type": "string"}
_Q = parameter("q", "query", {"type": "array", "items": _STRING}, "A text; may occur several times.")
_FIELDS = [_Q, *(parameter(name, "query", _STRING, "As in the body.") for name in ("target", "source", "format"))]
_NAMES_IN = "Names are given if this is, always in English."
_EXAMPLE = {"q": ["A man sleeps.", "Two dogs play."], "source": "en", "target": "de", "format": "text"}


def router(pipeline: TranslationPipeline) -> APIRouter:
    """Return the routes of both versions."""
    routes = APIRouter(tags=[GOOGLE.name])
    two, three = Operations(routes, pipeline, GOOGLE), Operations(routes, pipeline, GOOGLE_V3, 404, 415)
    for method, translate, detect in (
        ("GET", {"openapi_extra": {"parameters": _FIELDS}}, {"openapi_extra": {"parameters": [_Q]}}),
        (
            "POST",
            request_body(GoogleTranslateRequest, (JSON, *FORMS), list=_EXAMPLE),
            request_body(GoogleDetectRequest, (JSON, *FORMS)),
        ),
    ):
        two.translate(_V2, _translate_values, _translated_2, translate, method=method, model=_Data)
        two.detect(f"{_V2}/detect", _detect_values, _detected_2, detect, method=method, model=_Data)

    def listed(request: Request) -> dict[str, Any]:
        return {"data": {"languages": _listed(pipeline.languages, has_names="target" in request.query_params)}}

    def supported(request: Request) -> dict[str, Any]:
        has_names = "displayLanguageCode" in request.query_params
        return {"languages": _supported(pipeline.languages, has_names=has_names)}

    two.languages(f"{_V2}/languages", listed, [parameter("target", "query", _STRING, _NAMES_IN)], model=_Data)
    for path in _V3_PATHS:  # of a project, or of one of its locations, of which every one is accepted
        names = [each for each in ("project", "location") if f"{{{each}}}" in path]
        parts = [parameter(name, "path", _STRING, "Ignored.") for name in names]
        three.translate(
            f"{path}:translateText",
            json_body(GoogleContentsRequest),
            _translated_3,
            request_body(GoogleContentsRequest, parameters=parts),
            model=_Lists,
        )
        body = request_body(GoogleContentRequest, parameters=parts)
        three.detect(f"{path}:detectLanguage", _content, _detected_3, body, model=_Lists)
        parts = [*parts, parameter("displayLanguageCode", "query", _STRING, _NAMES_IN)]
        three.languages(f"{path}/supportedLanguages", supported, parts, model=_Lists)
    return routes


def _translated_2(_: Any, results: Sequence[TranslationResult]) -> dict[str, Any]:
    return {"data": {"translations": [_translation(each, "detectedSourceLanguage") for each in results]}}


def _translated_3(_: Any, results: Sequence[TranslationResult]) -> dict[str, Any]:
    return {"translations": [_translation(each, "detectedLanguageCode") for each in results]}


def _translation(result: TranslationResult, detected: str) -> dict[str, str]:
    """Return a translation, with the language of the text under the given name if it was detected."""
    language = {} if result.detected is None else {detected: _code(result.text_language)}
    return {"translatedText": result.text} | language


def _detected_2(found: Sequence[DetectedLanguage]) -> dict[str, Any]:
    return {"data": {"detections": [[_detection(each, "language") | {"isReliable": False}] for each in found]}}


def _detected_3(found: Sequence[DetectedLanguage]) -> dict[str, Any]:
    return {"languages": [_detection(each, "languageCode") for each in found]}


def _detection(found: DetectedLanguage, name: str) -> dict[str, Any]:
    language, confidence = found.most_probable
    return {name: _code(language), "confidence": confidence / 100}


def _code(code: str) -> str:
    return _CODES.get(code, code)


def _listed(languages: Languages, *, has_names: bool) -> list[dict[str, Any]]:
    codes = {_code(code): {"name": language_name(code)} if has_names else {} for code in languages.codes}
    return [{"language": code} | name for code, name in codes.items()]


def _supported(languages: Languages, *, has_names: bool) -> list[dict[str, Any]]:
    return [
        {
            "languageCode": _code(code),
            **({"displayName": language_name(code)} if has_names else {}),
            "supportSource": code in languages.sources,
            "supportTarget": code in languages.targets,
        }
        for code in languages.codes
    ]
