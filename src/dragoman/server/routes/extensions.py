"""Routes for browser extensions and tools that take the address of a translation endpoint.

`/deeplx/translate` has the form of DeepLX, whose `/translate` is LibreTranslate's path too, `/immersive` that of a
custom service of Immersive Translate, `/kiss` that of a custom one of Kiss Translator.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel, ConfigDict, Field

from dragoman.server.errors import RequestError
from dragoman.server.http.request_body import Access, Reserved, json_body, json_response
from dragoman.server.http.route_policy import route_policy
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.pipeline.request_checks import build_options
from dragoman.server.request_types import Dialect, TranslationRequest, TranslationResult
from dragoman.server.routes.openapi import (
    BODY_ERRORS,
    EXAMPLE_SOURCE,
    JSON,
    SourceLanguage,
    TargetLanguage,
    request_body,
    responses,
)


class ExtensionError(BaseModel):
    """An error in the form of DeepLX; `reason` is the code of this server."""

    model_config = ConfigDict(extra="allow")

    code: int = Field(examples=[400])
    message: str
    reason: str


def _error_body(problem: Mapping[str, Any]) -> dict[str, Any]:
    more = {name: problem[name] for name in ("retry_after", "request_id") if name in problem}
    return {"code": problem["status"], "message": problem["detail"], "reason": problem["code"], **more}


DEEPLX = Dialect(
    "DeepLX",
    source="source_lang",
    target="target_lang",
    listing="/languages",
    key_fields=(b"token",),
    rejects_other_languages=True,
    error_model=ExtensionError,
    error_body=_error_body,
    error_type=JSON,
)
IMMERSIVE = replace(DEEPLX, name="Immersive Translate")
KISS = replace(DEEPLX, name="Kiss Translator", source="from", target="to")


class _ExtensionRequest(BaseModel):
    """Base of the bodies: `texts`, `source` and `target` by the names of each API."""

    model_config = ConfigDict(extra="ignore")

    def to_request(self) -> TranslationRequest:
        raise NotImplementedError


class DeeplxRequest(_ExtensionRequest):
    """Body of `/deeplx/translate`."""

    text: str = Field(examples=[EXAMPLE_SOURCE])
    target_lang: TargetLanguage = Field(examples=["DE"])
    source_lang: str | None = Field(None, description="Detected if not given, or `auto`.")
    tag_handling: Literal["html", "xml", ""] | None = None

    def to_request(self) -> TranslationRequest:
        kind = self.tag_handling
        return TranslationRequest(
            [self.text],
            self.source_lang or "auto",
            self.target_lang,
            is_html=bool(kind),
            is_xml=kind == "xml",
            dialect=DEEPLX,
        )


class ImmersiveRequest(_ExtensionRequest):
    """Body of `/immersive`."""

    text_list: list[str] = Field(min_length=1, examples=[[EXAMPLE_SOURCE]])
    source_lang: SourceLanguage = "auto"
    target_lang: TargetLanguage

    def to_request(self) -> TranslationRequest:
        return TranslationRequest(self.text_list, self.source_lang, self.target_lang, dialect=IMMERSIVE)


class KissRequest(_ExtensionRequest):
    """Body of `/kiss`, with one text or a list of them."""

    text: str | None = Field(None, examples=[EXAMPLE_SOURCE])
    texts: Annotated[list[str], Field(min_length=1)] | None = Field(None, description="In place of `text`.")
    from_: SourceLanguage = Field("auto", alias="from")
    to: TargetLanguage

    def to_request(self) -> TranslationRequest:
        if (self.text is None) == (self.texts is None):
            raise RequestError("the body must have either text or texts; write one of them")
        texts = [self.text] if self.text is not None else self.texts or []
        return TranslationRequest(texts, self.from_, self.to, dialect=KISS)


def _deeplx(body: DeeplxRequest, results: Sequence[TranslationResult]) -> dict[str, Any]:
    (result,) = results
    languages = {"source_lang": result.text_language.upper(), "target_lang": body.target_lang.upper()}
    return {"code": 200, "id": 0, "data": result.text, "alternatives": [], **languages, "method": "Free"}


def _immersive(_: ImmersiveRequest, results: Sequence[TranslationResult]) -> dict[str, Any]:
    return {"translations": [{"detected_source_lang": each.text_language, "text": each.text} for each in results]}


def _kiss(body: KissRequest, results: Sequence[TranslationResult]) -> dict[str, Any]:
    found = [{"text": each.text, "src": each.text_language} for each in results]
    return {"translations": found} if body.texts else found[0]


_ENDPOINTS: dict[str, tuple[Dialect, type[_ExtensionRequest], Callable[[Any, Any], dict[str, Any]]]] = {
    "/deeplx/translate": (DEEPLX, DeeplxRequest, _deeplx),
    "/immersive": (IMMERSIVE, ImmersiveRequest, _immersive),
    "/kiss": (KISS, KissRequest, _kiss),
}


def routers(pipeline: TranslationPipeline) -> list[tuple[Dialect, APIRouter]]:
    """Return the routes, each with its dialect."""
    return [(each[0], _router(pipeline, path, *each)) for path, each in _ENDPOINTS.items()]


def _router(
    pipeline: TranslationPipeline,
    path: str,
    dialect: Dialect,
    request: type[_ExtensionRequest],
    respond: Callable[[Any, Any], dict[str, Any]],
) -> APIRouter:
    routes = APIRouter(tags=[dialect.name])
    Body = Annotated[Any, Depends(json_body(request))]

    @routes.post(path, **responses(dict[str, Any], *BODY_ERRORS, 415, dialect=dialect), **request_body(request))
    @route_policy("body_key", translates=True)
    async def translate(body: Body, access: Access, reservation: Reserved) -> Response:
        """Translate a text, or a list of texts."""
        wanted = replace(body.to_request(), options=build_options(pipeline.settings))
        results = await pipeline.translate(wanted, reservation)
        access.count(sum(map(len, wanted.texts)))
        return json_response(respond(body, results))

    return routes
