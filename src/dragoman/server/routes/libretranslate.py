"""Routes and bodies of the LibreTranslate API, with LibreTranslate's wording of errors that clients may match."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StrictInt
from starlette.requests import Request
from starlette.responses import Response

from dragoman.documents.formats import document_formats
from dragoman.server.errors import RequestError
from dragoman.server.glossaries import StoredGlossary
from dragoman.server.http.request_body import (
    Access,
    Reserved,
    is_json,
    json_response,
    parse_model,
    read_fields,
    read_json,
    renamed_field,
)
from dragoman.server.http.route_policy import Depends, Router, route_policy
from dragoman.server.models.routing import Languages, language_name
from dragoman.server.pipeline.language_resolution import MAX_DETECTED_CHARACTERS
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.pipeline.request_checks import build_options, check_texts
from dragoman.server.request_types import DetectedLanguage, Dialect, ModelInfo, TranslationRequest, TranslationResult
from dragoman.server.routes.memories import store_correction
from dragoman.server.routes.openapi import (
    BASE_ERRORS,
    BODY_ERRORS,
    EXAMPLE_SOURCE,
    EXAMPLE_TARGET,
    FORMS,
    JSON,
    SourceLanguage,
    TargetLanguage,
    request_body,
    responses,
)
from dragoman.server.settings import ServerSettings

Body = TypeVar("Body", bound=BaseModel)

_EMPTY = "; it is empty"
_MEDIA_TYPES = (JSON, *FORMS)


def _size_error(size: int, limit: int) -> RequestError:
    """LibreTranslate has one message for long texts and long lists."""
    return RequestError(f"Invalid request: request ({size}) exceeds text limit ({limit})")


LIBRETRANSLATE = Dialect(
    "LibreTranslate", listing="/languages", names_languages=False, rejects_other_languages=True, size_error=_size_error
)

_Digits = Annotated[str, Field(pattern=r"^-?[0-9]{1,4}$")]
_Texts = Annotated[str, Field(min_length=1)] | Annotated[list[str], Field(min_length=1)]
_ApiKey = Annotated[
    str | None, Field(description="API key, if the server requires one and `Authorization` does not have it.")
]


class DetectRequest(BaseModel):
    """Body of `/detect`."""

    model_config = ConfigDict(extra="ignore")

    q: _Texts = Field(description="A text, or a list of texts.", examples=[EXAMPLE_SOURCE])
    api_key: _ApiKey = None

    @property
    def texts(self) -> list[str]:
        return self.q if isinstance(self.q, list) else [self.q]


class LibreTranslateRequest(DetectRequest):
    """Body of `/translate`."""

    source: SourceLanguage
    target: TargetLanguage
    format: Literal["text", "html", ""] | None = Field("text", examples=["text"])
    alternatives: StrictInt | _Digits | None = Field(0, description="Maximum number of alternatives.", examples=[0])
    glossary: str | None = Field(None, description="Name or id of a stored glossary; LibreTranslate has none.")

    @property
    def max_alternatives(self) -> int:
        """The number of alternatives, 0 if negative."""
        return max(0, int(self.alternatives or 0))

    def to_request(self, settings: ServerSettings, glossary: StoredGlossary | None) -> TranslationRequest:
        """Convert to the request of the pipeline; raises `RequestError` if a limit is exceeded."""
        limit = settings.limits.alternatives
        if self.max_alternatives > limit:
            raise RequestError(f"Invalid request: alternatives parameter must be <= {limit}")
        is_html = self.format == "html"
        options = build_options(settings, alternatives=0 if is_html else self.max_alternatives)
        return TranslationRequest(
            self.texts,
            self.source,
            self.target,
            is_html=is_html,
            options=options,
            glossary=glossary,
            dialect=LIBRETRANSLATE,
        )


class SuggestRequest(BaseModel):
    """Body of `/suggest`."""

    model_config = ConfigDict(extra="ignore")

    q: str = Field(min_length=1, description="The text.", examples=[EXAMPLE_SOURCE])
    s: str = Field(min_length=1, description="Its translation.", examples=[EXAMPLE_TARGET])
    source: SourceLanguage
    target: TargetLanguage
    api_key: _ApiKey = None


class SuggestResponse(BaseModel):
    """The suggestion is stored."""

    success: bool


class LibreTranslateResponse(BaseModel):
    """`detectedLanguage` is present with source `auto` only, `alternatives` only if requested."""

    translatedText: str | list[str] = Field(examples=[EXAMPLE_TARGET])  # noqa: N815 -- LibreTranslate's name
    detectedLanguage: DetectedLanguage | list[DetectedLanguage] | None = None  # noqa: N815
    alternatives: list[str] | list[list[str]] | None = None


class ModelProvenance(BaseModel):
    """Licence and origin of a model."""

    name: str
    licence: str = Field(description="As stated by the origin; empty is not stated.")
    origin: str


class LibreTranslateLanguage(BaseModel):
    """A language and its targets, itself included."""

    code: str = Field(examples=["en"])
    name: str = Field(examples=["English"])
    targets: list[str] = Field(examples=[["de", "en"]])
    models: list[ModelProvenance] = Field(
        default_factory=list, description="Models of this source language whose licence or origin is known."
    )


class FrontendSettings(BaseModel):
    """Settings for LibreTranslate's web page and some of its clients."""

    charLimit: int = Field(examples=[5000])  # noqa: N815
    frontendTimeout: int  # noqa: N815
    apiKeys: bool  # noqa: N815
    keyRequired: bool  # noqa: N815
    suggestions: bool
    filesTranslation: bool  # noqa: N815
    supportedFilesFormat: list[str]  # noqa: N815
    language: dict[str, dict[str, str]]


class TranslateFileResponse(BaseModel):
    """URL of the translated document, valid for half an hour."""

    translatedFileUrl: str = Field(examples=["http://127.0.0.1:5000/download_file/9kVw….letter.docx"])  # noqa: N815


async def _translate_body(request: Request) -> LibreTranslateRequest:
    return await _read(request, LibreTranslateRequest, ("q", "source", "target"))


async def _detect_body(request: Request) -> DetectRequest:
    return await _read(request, DetectRequest, ("q",))


async def _suggest_body(request: Request) -> SuggestRequest:
    return await _read(request, SuggestRequest, ("q", "s", "source", "target"))


SuggestBody = Annotated[SuggestRequest, Depends(_suggest_body)]
TranslateBody = Annotated[LibreTranslateRequest, Depends(_translate_body)]
DetectBody = Annotated[DetectRequest, Depends(_detect_body)]


def router(pipeline: TranslationPipeline) -> Router:
    """Return the routes of LibreTranslate except documents."""
    routes = Router(tags=[LIBRETRANSLATE.name])

    @routes.post(
        "/translate",
        **responses(LibreTranslateResponse, *BODY_ERRORS, 404),
        **request_body(
            LibreTranslateRequest,
            _MEDIA_TYPES,
            text={"q": "Two dogs play in the snow.", "source": "en", "target": "de"},
            list={"q": ["A man sleeps.", "Two dogs play."], "source": "auto", "target": "de", "alternatives": 2},
            html={"q": "<p>Two <b>dogs</b> play.</p>", "source": "en", "target": "de", "format": "html"},
        ),
    )
    @route_policy("body_key", translates=True)
    async def translate(body: TranslateBody, access: Access, reservation: Reserved) -> Response:
        """Translate a text or a list of texts."""
        glossary = await pipeline.find_glossary(access.name, body.glossary, body.source, body.target)
        wanted = body.to_request(pipeline.settings, glossary)
        results = await pipeline.translate(wanted, reservation)
        access.count(sum(map(len, body.texts)))
        return json_response(_response(results, body, pipeline.languages))

    @routes.post(
        "/detect", **responses(list[DetectedLanguage], *BODY_ERRORS), **request_body(DetectRequest, _MEDIA_TYPES)
    )
    @route_policy("body_key")
    async def detect(body: DetectBody, access: Access) -> Response:
        """Detect the language of a text, the server's languages first unless the text is clearly in another one."""
        check_texts(body.texts, pipeline.settings.limits, LIBRETRANSLATE)
        text = "\n".join(body.texts)[:MAX_DETECTED_CHARACTERS]
        (detected,) = await pipeline.detect([text], access.charge, LIBRETRANSLATE)
        return json_response([_detected_json(each, pipeline.languages) for each in detected])

    @routes.get("/languages", **responses(list[LibreTranslateLanguage], *BASE_ERRORS))
    @route_policy("public")
    async def languages() -> Response:
        """List the languages and the targets of each."""
        return json_response(_languages_json(pipeline.languages, pipeline.service.models()))

    @routes.get("/frontend/settings", **responses(FrontendSettings, *BASE_ERRORS))
    @route_policy("public")
    async def frontend_settings() -> Response:
        """Return settings for web pages."""
        return json_response(_frontend_settings(pipeline))

    @routes.post(
        "/suggest",
        **responses(SuggestResponse, *BODY_ERRORS, 404),
        **request_body(
            SuggestRequest, _MEDIA_TYPES, text={"q": "Good day.", "s": "Guten Tag.", "source": "en", "target": "de"}
        ),
    )
    @route_policy("body_key", writes=True)
    async def suggest(body: SuggestBody, access: Access) -> Response:
        """Store a better translation; an approved one counts at once, as an exact match."""
        source = body.source
        if source.strip().lower() == "auto":
            check_texts([body.q], pipeline.settings.limits, LIBRETRANSLATE)
            ((detected, *_),) = await pipeline.detect([body.q], access.charge, LIBRETRANSLATE)
            source = detected.language
        await store_correction(pipeline.memories, access, body.q, body.s, (source, body.target))
        return json_response({"success": True})

    return routes


async def _read(request: Request, model: type[Body], required: tuple[str, ...]) -> Body:
    values: dict[str, Any]
    if is_json(request):
        values = await read_json(request)
    else:
        values = {}
        for name, value in await read_fields(request):
            # Browsers end the lines of form fields with CR LF.
            values.setdefault(name, value.replace("\r\n", "\n"))
    for name in required:
        if not values.get(name):  # an empty one is an error in LibreTranslate too
            sent = renamed_field(name, values, model.model_fields)
            hint = _EMPTY if values.get(name) is not None else f"; write {name} in place of {sent}" if sent else ""
            raise RequestError(f"Invalid request: missing {name} parameter{hint}")
    alternatives = values.get("alternatives")
    if isinstance(alternatives, str) and not alternatives.strip().lstrip("-").isdecimal():
        raise RequestError("Invalid request: alternatives parameter is not a number")
    format_ = values.get("format")
    if isinstance(format_, str) and format_ not in {"", "text", "html"}:
        raise RequestError(f"{format_[:40]} format is not supported")
    return parse_model(model, values)


def _response(results: list[TranslationResult], body: LibreTranslateRequest, languages: Languages) -> dict[str, Any]:
    value: dict[str, Any] = {"translatedText": [each.text for each in results]}
    if results[0].detected is not None:
        value["detectedLanguage"] = [_detected_json(each.detected, languages) for each in results if each.detected]
    if body.max_alternatives:
        value["alternatives"] = [[text for text, _ in each.alternatives] for each in results]
    return value if isinstance(body.q, list) else {name: each[0] for name, each in value.items()}


def _detected_json(detected: DetectedLanguage, languages: Languages) -> dict[str, Any]:
    language, confidence = detected.most_probable
    return {"confidence": confidence, "language": languages.listed_code(language)}


def _languages_json(languages: Languages, models: Sequence[ModelInfo]) -> list[dict[str, Any]]:
    known: dict[str, dict[str, dict[str, str]]] = {}
    for model in models:
        if model.licence or model.origin:
            facts = {"name": model.name, "licence": model.licence, "origin": model.origin}
            for source, _ in model.all_directions():
                known.setdefault(source, {})[model.name] = facts
    return [
        {
            "code": languages.listed_code(code),
            "name": language_name(code),
            "targets": [languages.listed_code(target) for target in languages.from_source(code)],
            **({"models": list(known[code].values())} if code in known else {}),
        }
        for code in languages.codes
    ]


def _frontend_settings(pipeline: TranslationPipeline) -> dict[str, Any]:
    languages = pipeline.languages
    target = languages.default_target
    has_keys = pipeline.settings.keys is not None
    return {
        "charLimit": pipeline.settings.limits.text_characters,
        "frontendTimeout": 500,
        "apiKeys": has_keys,
        "keyRequired": has_keys,
        "suggestions": pipeline.settings.database is not None,
        "filesTranslation": True,
        "supportedFilesFormat": list(document_formats()),
        "language": {
            "source": {"code": "auto", "name": "Auto Detect"},
            "target": {"code": languages.listed_code(target), "name": language_name(target)},
        },
    }
