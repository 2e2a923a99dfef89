"""Request and response bodies of the DeepL API."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from dragoman.server.errors import RequestError
from dragoman.server.pipeline.option_builder import build_options
from dragoman.server.request_types import TranslationRequest
from dragoman.server.routes.openapi import EXAMPLE_SOURCE, EXAMPLE_TARGET, TargetLanguage
from dragoman.server.settings import ServerSettings

__all__ = ["DeeplLanguage", "DeeplRequest", "DeeplResponse", "DeeplTranslation", "DeeplUsage"]


class DeeplRequest(BaseModel):
    """Body of `/v2/translate`; fields that are not listed are ignored."""

    model_config = ConfigDict(extra="ignore")

    text: str | list[str] = Field(examples=[[EXAMPLE_SOURCE]])
    target_lang: TargetLanguage = Field(examples=["DE"])
    source_lang: str | None = Field(None, description="Detected if not given.", examples=["EN"])
    tag_handling: Literal["html", "xml", ""] | None = None
    split_sentences: Literal["0", "1", "nonewlines"] | None = "1"
    formality: Literal["default", "more", "less", "prefer_more", "prefer_less"] | None = None
    glossary_id: str | None = Field(None, description="Rejected; `/v1/translate` accepts glossaries.")
    show_billed_characters: StrictBool | None = None

    @property
    def texts(self) -> list[str]:
        """The texts as a list."""
        return self.text if isinstance(self.text, list) else [self.text]

    def to_request(self, settings: ServerSettings) -> TranslationRequest:
        """Convert to the request of the pipeline; raises `RequestError` for options that no model supports."""
        if self.glossary_id:
            raise RequestError(
                "glossary_id must be left out, got one: this server stores no glossaries; send the terms to "
                "/v1/translate"
            )
        if self.formality in {"more", "less"}:
            raise RequestError(
                f"formality must be default, prefer_more or prefer_less, got {self.formality}; no model supports it"
            )
        options = build_options(settings, split_sentences=self.split_sentences != "0")
        is_html = bool(self.tag_handling)
        return TranslationRequest(self.texts, self.source_lang or "auto", self.target_lang, None, is_html, options)


class DeeplTranslation(BaseModel):
    """The translation of one text."""

    detected_source_language: str = Field(examples=["EN"])
    text: str = Field(examples=[EXAMPLE_TARGET])
    billed_characters: int | None = None


class DeeplResponse(BaseModel):
    """One translation per text."""

    translations: list[DeeplTranslation]


class DeeplLanguage(BaseModel):
    """A language; `supports_formality` is present for target languages only."""

    language: str = Field(examples=["DE"])
    name: str = Field(examples=["German"])
    supports_formality: bool | None = None


class DeeplUsage(BaseModel):
    """Number of characters translated since the start of the server, over all clients."""

    character_count: int
    character_limit: int
