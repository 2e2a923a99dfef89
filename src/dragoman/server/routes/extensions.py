"""Routes for browser extensions and tools that take the address of a translation endpoint.

`/deeplx/translate` has the form of DeepLX, whose `/translate` is LibreTranslate's path too, `/immersive` that of a
custom service of Immersive Translate, `/kiss` that of a custom one of Kiss Translator.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from dragoman.server.errors import RequestError
from dragoman.server.http.request_body import json_body
from dragoman.server.http.route_policy import Router
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.request_types import Dialect, TranslationRequest, TranslationResult
from dragoman.server.routes.openapi import EXAMPLE_SOURCE, JSON, SourceLanguage, TargetLanguage, request_body
from dragoman.server.routes.operations import CodedError, Operations, coded_error

DEEPLX = Dialect(
    "DeepLX",
    source="source_lang",
    target="target_lang",
    listing="/languages",
    key_fields=(b"token",),
    rejects_other_languages=True,
    error_model=CodedError,
    error_body=coded_error,
    error_type=JSON,
)
IMMERSIVE = replace(DEEPLX, name="Immersive Translate")
KISS = replace(DEEPLX, name="Kiss Translator", source="from", target="to")


class DeeplxRequest(BaseModel):
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
        )


class ImmersiveRequest(BaseModel):
    """Body of `/immersive`."""

    text_list: list[str] = Field(min_length=1, examples=[[EXAMPLE_SOURCE]])
    source_lang: SourceLanguage = "auto"
    target_lang: TargetLanguage

    def to_request(self) -> TranslationRequest:
        return TranslationRequest(self.text_list, self.source_lang, self.target_lang)


class KissRequest(BaseModel):
    """Body of `/kiss`, with one text or a list of them."""

    text: str | None = Field(None, examples=[EXAMPLE_SOURCE])
    texts: Annotated[list[str], Field(min_length=1)] | None = Field(None, description="In place of `text`.")
    from_: SourceLanguage = Field("auto", alias="from")
    to: TargetLanguage

    def to_request(self) -> TranslationRequest:
        if (self.text is None) == (self.texts is None):
            raise RequestError("the body must have either text or texts; write one of them")
        texts = [self.text] if self.text is not None else self.texts or []
        return TranslationRequest(texts, self.from_, self.to)


def _deeplx(body: DeeplxRequest, results: Sequence[TranslationResult]) -> dict[str, Any]:
    (result,) = results
    languages = {"source_lang": result.text_language.upper(), "target_lang": body.target_lang.upper()}
    return {"code": 200, "id": 0, "data": result.text, "alternatives": [], **languages, "method": "Free"}


def _immersive(_: ImmersiveRequest, results: Sequence[TranslationResult]) -> dict[str, Any]:
    return {"translations": [{"detected_source_lang": each.text_language, "text": each.text} for each in results]}


def _kiss(body: KissRequest, results: Sequence[TranslationResult]) -> dict[str, Any]:
    found = [{"text": each.text, "src": each.text_language} for each in results]
    return {"translations": found} if body.texts else found[0]


def routers(pipeline: TranslationPipeline) -> list[tuple[Dialect, Router]]:
    """Return the routes, each with its dialect."""
    found = []
    for path, dialect, body, respond in (
        ("/deeplx/translate", DEEPLX, DeeplxRequest, _deeplx),
        ("/immersive", IMMERSIVE, ImmersiveRequest, _immersive),
        ("/kiss", KISS, KissRequest, _kiss),
    ):
        routes = Router(tags=[dialect.name])
        Operations(routes, pipeline, dialect, 415).translate(path, json_body(body), respond, request_body(body))
        found.append((dialect, routes))
    return found
