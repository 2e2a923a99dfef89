"""Routes of Google's Cloud Translation API: `/language/translate/v2`, and `/v3/projects/…` for texts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from starlette.requests import Request

from dragoman.server.http.request_body import json_body, parse_model, read_values
from dragoman.server.http.route_policy import Router
from dragoman.server.models.routing import Languages, language_name
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.request_types import DetectedLanguage, Dialect, TranslationRequest, TranslationResult
from dragoman.server.routes.openapi import EXAMPLE_SOURCE, FORMS, JSON, TargetLanguage, parameter, request_body
from dragoman.server.routes.operations import CodedError, Operations, Parse, coded_error

_V2, _V3 = "/language/translate/v2", "/v3/projects/{project}"
_V3_PATHS = (_V3, f"{_V3}/locations/{{location}}")
_CODES = {"zh": "zh-CN", "zh-Hans": "zh-CN", "zh-Hant": "zh-TW"}
_Lists = dict[str, list[Any]]
_Data = dict[str, _Lists]


class GoogleError(CodedError):
    """An error; `status` is its name, and `errors` has the code of this server as `reason` too."""

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
    reason = {"message": problem["detail"], "domain": "global", "reason": error["reason"]}
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
    format: Literal["html", "text", "text/html", "text/plain", ""] | None = Field(
        None, description="HTML if not given."
    )
    model: str | None = Field(None, description="Accepted, and without effect: the languages determine the model.")

    def to_request(self) -> TranslationRequest:
        is_html = self.format not in {"text", "text/plain"}
        return TranslationRequest(self.texts, self.source or "auto", self.target, is_html=is_html)


_NAMES = {"q": "contents", "target": GOOGLE_V3.target, "source": GOOGLE_V3.source, "format": "mimeType"}


class GoogleContentsRequest(GoogleTranslateRequest):
    """Body of `:translateText`."""

    model_config = ConfigDict(alias_generator=lambda name: _NAMES.get(name, to_camel(name)))

    glossary_config: None = Field(None, description="Not supported.")


class GoogleContentRequest(GoogleDetectRequest):
    """Body of `:detectLanguage`."""

    q: Annotated[str, Field(min_length=1)] = Field(alias="content", examples=[EXAMPLE_SOURCE])


def _values(model: type[GoogleDetectRequest]) -> Parse:
    """Return a parser of the query, or of a body."""

    async def parse(request: Request) -> Any:
        return parse_model(model, await read_values(request, ("q",)))

    return parse


_STRING = {"type": "string"}
_Q = parameter("q", "query", {"type": "array", "items": _STRING}, "A text; may occur several times.")
_FIELDS = [_Q, *(parameter(name, "query", _STRING, "As in the body.") for name in ("target", "source", "format"))]
_NAMES_IN = "Names are given if this is, always in English."
_EXAMPLE = {"q": ["A man sleeps.", "Two dogs play."], "source": "en", "target": "de", "format": "text"}


def router(pipeline: TranslationPipeline) -> Router:
    """Return the routes of both versions."""
    routes = Router(tags=[GOOGLE.name])
    two, three = Operations(routes, pipeline, GOOGLE), Operations(routes, pipeline, GOOGLE_V3, 404, 415)
    for method, translate, detect in (
        ("GET", {"openapi_extra": {"parameters": _FIELDS}}, {"openapi_extra": {"parameters": [_Q]}}),
        (
            "POST",
            request_body(GoogleTranslateRequest, (JSON, *FORMS), list=_EXAMPLE),
            request_body(GoogleDetectRequest, (JSON, *FORMS)),
        ),
    ):
        two.translate(_V2, _values(GoogleTranslateRequest), _translated_2, translate, method=method, model=_Data)
        two.detect(f"{_V2}/detect", _values(GoogleDetectRequest), _detected_2, detect, method=method, model=_Data)

    def listed(request: Request) -> dict[str, Any]:
        found = _listed(pipeline.languages, "language", "name" if "target" in request.query_params else "")
        return {"data": {"languages": [*{each["language"]: each for each in found}.values()]}}

    def supported(request: Request) -> dict[str, Any]:
        languages = pipeline.languages
        name = "displayName" if "displayLanguageCode" in request.query_params else ""
        roles = [
            {"supportSource": code in languages.sources, "supportTarget": code in languages.targets}
            for code in languages.codes
        ]
        found = _listed(languages, "languageCode", name)
        return {"languages": [each | role for each, role in zip(found, roles, strict=True)]}

    two.languages(f"{_V2}/languages", listed, [parameter("target", "query", _STRING, _NAMES_IN)], model=_Data)
    for path in _V3_PATHS:  # of a project, or of one of its locations, of which every one is accepted
        parts = [
            parameter(each, "path", _STRING, "Ignored.") for each in ("project", "location") if f"{{{each}}}" in path
        ]
        described = request_body(GoogleContentsRequest, parameters=parts)
        three.translate(
            f"{path}:translateText", json_body(GoogleContentsRequest), _translated_3, described, model=_Lists
        )
        described = request_body(GoogleContentRequest, parameters=parts)
        three.detect(f"{path}:detectLanguage", json_body(GoogleContentRequest), _detected_3, described, model=_Lists)
        names = parameter("displayLanguageCode", "query", _STRING, _NAMES_IN)
        three.languages(f"{path}/supportedLanguages", supported, [*parts, names], model=_Lists)
    return routes


def _translated_3(_: Any, results: Sequence[TranslationResult], name: str = "detectedLanguageCode") -> dict[str, Any]:
    """Return translations, with the language of each text under the given name if it was detected."""
    languages = ({} if each.detected is None else {name: _code(each.text_language)} for each in results)
    return {"translations": [{"translatedText": each.text} | one for each, one in zip(results, languages, strict=True)]}


def _translated_2(body: Any, results: Sequence[TranslationResult]) -> dict[str, Any]:
    return {"data": _translated_3(body, results, "detectedSourceLanguage")}


def _detected_2(found: Sequence[DetectedLanguage]) -> dict[str, Any]:
    return {"data": {"detections": [[_detection(each, "language") | {"isReliable": False}] for each in found]}}


def _detected_3(found: Sequence[DetectedLanguage]) -> dict[str, Any]:
    return {"languages": [_detection(each, "languageCode") for each in found]}


def _detection(found: DetectedLanguage, name: str) -> dict[str, Any]:
    language, confidence = found.most_probable
    return {name: _code(language), "confidence": confidence / 100}


def _code(code: str) -> str:
    return _CODES.get(code, code)


def _listed(languages: Languages, key: str, name: str) -> list[dict[str, Any]]:
    return [{key: _code(code)} | ({name: language_name(code)} if name else {}) for code in languages.codes]
