"""Routes of Google's Cloud Translation API: `/language/translate/v2`, and `/v3/projects/…` for texts."""

from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from dragoman.server.access.authorization import RequestAccess
from dragoman.server.http.request_body import Access, Reserved, json_body, json_response, parse_model, read_values
from dragoman.server.http.route_policy import route_policy
from dragoman.server.models.routing import Languages, language_name
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.pipeline.request_checks import build_options
from dragoman.server.request_types import DetectedLanguage, Dialect, TranslationRequest, TranslationResult
from dragoman.server.routes.openapi import (
    BODY_ERRORS,
    EXAMPLE_SOURCE,
    FORMS,
    JSON,
    TargetLanguage,
    parameter,
    request_body,
    responses,
)
from dragoman.server.scheduling.admission import Reservation

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
    more = {name: problem[name] for name in ("retry_after", "request_id") if name in problem}
    reason = {"message": problem["detail"], "domain": "global", "reason": problem["code"]}
    status = HTTPStatus(problem["status"])
    name = _STATUS.get(status, "INVALID_ARGUMENT")
    return {"error": {"code": status, "message": problem["detail"], "status": name, "errors": [reason], **more}}


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


class GoogleContentRequest(_Camel):
    """Body of `:detectLanguage`."""

    content: str = Field(min_length=1, examples=[EXAMPLE_SOURCE])


async def _translate_values(request: Request) -> GoogleTranslateRequest:
    return parse_model(GoogleTranslateRequest, await read_values(request, ("q",)))


async def _detect_values(request: Request) -> GoogleDetectRequest:
    return parse_model(GoogleDetectRequest, await read_values(request, ("q",)))


TranslateBody = Annotated[GoogleTranslateRequest, Depends(_translate_values)]
DetectBody = Annotated[GoogleDetectRequest, Depends(_detect_values)]
ContentsBody = Annotated[GoogleContentsRequest, Depends(json_body(GoogleContentsRequest))]
ContentBody = Annotated[GoogleContentRequest, Depends(json_body(GoogleContentRequest))]
_STRING = {"type": "string"}
_Q = parameter("q", "query", {"type": "array", "items": _STRING}, "A text; may occur several times.")
_NAMES_IN = "Names are given if this is, always in English."


def router(pipeline: TranslationPipeline) -> APIRouter:
    """Return the routes of both versions."""
    routes = APIRouter(tags=[GOOGLE.name])
    _add_v2(routes, pipeline)
    for path in _V3_PATHS:
        _add_v3(routes, pipeline, path)
    return routes


def _add_v2(routes: APIRouter, pipeline: TranslationPipeline) -> None:
    fields = [_Q, *(parameter(name, "query", _STRING, "As in the body.") for name in ("target", "source", "format"))]

    @routes.get(
        _V2,
        **responses(_Data, *BODY_ERRORS, dialect=GOOGLE),
        openapi_extra={"parameters": fields},
    )
    @routes.post(
        _V2,
        **responses(_Data, *BODY_ERRORS, dialect=GOOGLE),
        **request_body(
            GoogleTranslateRequest,
            (JSON, *FORMS),
            list={"q": ["A man sleeps.", "Two dogs play."], "source": "en", "target": "de", "format": "text"},
        ),
    )
    @route_policy("body_key", translates=True)
    async def translate(body: TranslateBody, access: Access, reservation: Reserved) -> Response:
        """Translate texts."""
        wanted = TranslationRequest(body.texts, body.source or "auto", body.target, dialect=GOOGLE)
        found = await _translate(pipeline, wanted, body.format != "text", access, reservation)
        name = "detectedSourceLanguage"
        return json_response({"data": {"translations": [_translation(each, name) for each in found]}})

    @routes.get(
        f"{_V2}/detect",
        **responses(_Data, *BODY_ERRORS, dialect=GOOGLE),
        openapi_extra={"parameters": [_Q]},
    )
    @routes.post(
        f"{_V2}/detect",
        **responses(_Data, *BODY_ERRORS, dialect=GOOGLE),
        **request_body(GoogleDetectRequest, (JSON, *FORMS)),
    )
    @route_policy("body_key")
    async def detect(body: DetectBody, access: Access) -> Response:
        """Detect the language of each text."""
        found = await pipeline.detect(body.texts, access.charge, GOOGLE)
        return json_response({"data": {"detections": [[_detection(each[0], "language")] for each in found]}})

    @routes.get(
        f"{_V2}/languages",
        **responses(_Data, *BODY_ERRORS, dialect=GOOGLE),
        openapi_extra={"parameters": [parameter("target", "query", _STRING, _NAMES_IN)]},
    )
    @route_policy("body_key")
    async def languages(request: Request) -> Response:
        """List the languages."""
        has_names = "target" in request.query_params
        codes = {_code(code): language_name(code) for code in pipeline.languages.codes}
        found = [{"language": code} | ({"name": name} if has_names else {}) for code, name in codes.items()]
        return json_response({"data": {"languages": found}})


def _add_v3(routes: APIRouter, pipeline: TranslationPipeline, path: str) -> None:
    """Add the routes of a project, or of one of its locations, of which every one is accepted."""
    parts = [parameter(name, "path", _STRING, "Ignored.") for name in ("project", "location") if f"{{{name}}}" in path]

    @routes.post(
        f"{path}:translateText",
        **responses(_Lists, *BODY_ERRORS, 404, 415, dialect=GOOGLE_V3),
        **request_body(GoogleContentsRequest, parameters=parts),
    )
    @route_policy("body_key", translates=True)
    async def translate(body: ContentsBody, access: Access, reservation: Reserved) -> Response:
        """Translate texts."""
        source, target = body.source_language_code or "auto", body.target_language_code
        wanted = TranslationRequest(body.contents, source, target, dialect=GOOGLE_V3)
        found = await _translate(pipeline, wanted, body.mime_type != "text/plain", access, reservation)
        return json_response({"translations": [_translation(each, "detectedLanguageCode") for each in found]})

    @routes.post(
        f"{path}:detectLanguage",
        **responses(_Lists, *BODY_ERRORS, 404, 415, dialect=GOOGLE_V3),
        **request_body(GoogleContentRequest, parameters=parts),
    )
    @route_policy("body_key")
    async def detect(body: ContentBody, access: Access) -> Response:
        """Detect the language of a text."""
        (found,) = await pipeline.detect([body.content], access.charge, GOOGLE_V3)
        return json_response({"languages": [_detection(each, "languageCode") for each in found]})

    @routes.get(
        f"{path}/supportedLanguages",
        **responses(_Lists, *BODY_ERRORS, 404, dialect=GOOGLE_V3),
        openapi_extra={"parameters": [*parts, parameter("displayLanguageCode", "query", _STRING, _NAMES_IN)]},
    )
    @route_policy("body_key")
    async def languages(request: Request) -> Response:
        """List the languages, and whether they are sources and targets."""
        has_names = "displayLanguageCode" in request.query_params
        return json_response({"languages": _supported(pipeline.languages, has_names=has_names)})


async def _translate(
    pipeline: TranslationPipeline,
    wanted: TranslationRequest,
    is_html: bool,
    access: RequestAccess,
    reservation: Reservation,
) -> list[TranslationResult]:
    wanted = replace(wanted, is_html=is_html, options=build_options(pipeline.settings))
    results = await pipeline.translate(wanted, reservation)
    access.count(sum(map(len, wanted.texts)))
    return results


def _translation(result: TranslationResult, detected: str) -> dict[str, str]:
    """Return a translation, with the language of the text under the given name if it was detected."""
    language = {} if result.detected is None else {detected: _code(result.text_language)}
    return {"translatedText": result.text} | language


def _detection(found: DetectedLanguage, name: str) -> dict[str, Any]:
    language, confidence = found.most_probable
    value = {name: _code(language), "confidence": confidence / 100}
    return value | {"isReliable": False} if name == "language" else value


def _code(code: str) -> str:
    return _CODES.get(code, code)


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
