"""Request and response bodies of the LibreTranslate API."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt

from dragoman.server.errors import RequestError
from dragoman.server.glossaries.store import GlossaryStore
from dragoman.server.pipeline.option_builder import build_options
from dragoman.server.request_types import ApiNames, DetectedLanguage, TranslationRequest
from dragoman.server.routes.openapi import EXAMPLE_SOURCE, EXAMPLE_TARGET, SourceLanguage, TargetLanguage
from dragoman.server.settings import ServerSettings

__all__ = [
    "API_NAMES",
    "DetectRequest",
    "FrontendSettings",
    "LibreTranslateLanguage",
    "LibreTranslateRequest",
    "LibreTranslateResponse",
    "TranslateFileResponse",
]

API_NAMES = ApiNames(listing="/languages")

_Digits = Annotated[str, Field(pattern=r"^-?[0-9]{1,4}$")]
_Texts = Annotated[str, Field(min_length=1)] | Annotated[list[str], Field(min_length=1)]
_ApiKey = Annotated[
    str | None, Field(description="API key, if the server requires one and `Authorization` does not have it.")
]


class LibreTranslateRequest(BaseModel):
    """Body of `/translate`."""

    model_config = ConfigDict(extra="ignore")

    q: _Texts = Field(description="A text, or a list of texts.", examples=[EXAMPLE_SOURCE])
    source: SourceLanguage
    target: TargetLanguage
    format: Literal["text", "html", ""] | None = Field("text", examples=["text"])
    alternatives: StrictInt | _Digits | None = Field(0, description="Maximum number of alternatives.", examples=[0])
    glossary: str | None = Field(None, description="Name or id of a stored glossary; LibreTranslate has none.")
    api_key: _ApiKey = None

    @property
    def texts(self) -> list[str]:
        """The texts as a list."""
        return self.q if isinstance(self.q, list) else [self.q]

    @property
    def max_alternatives(self) -> int:
        """The number of alternatives, 0 if negative."""
        return max(0, int(self.alternatives or 0))

    def to_request(self, settings: ServerSettings, store: GlossaryStore, owner: str) -> TranslationRequest:
        """Convert to the request of the pipeline; raises `RequestError` if a limit is exceeded."""
        limit = settings.limits.alternatives
        if self.max_alternatives > limit:
            raise RequestError(f"Invalid request: alternatives parameter must be <= {limit}")
        is_html = self.format == "html"
        options = build_options(settings, alternatives=0 if is_html else self.max_alternatives)
        stored = store.find_for(owner, self.glossary, self.source, self.target) if self.glossary else None
        return TranslationRequest(
            self.texts,
            self.source,
            self.target,
            is_html=is_html,
            options=options,
            glossary=stored,
            names=API_NAMES,
            rejects_other_languages=True,
        )


class LibreTranslateResponse(BaseModel):
    """`detectedLanguage` is present with source `auto` only, `alternatives` only if requested."""

    translatedText: str | list[str] = Field(examples=[EXAMPLE_TARGET])  # noqa: N815 -- LibreTranslate's name
    detectedLanguage: DetectedLanguage | list[DetectedLanguage] | None = None  # noqa: N815
    alternatives: list[str] | list[list[str]] | None = None


class DetectRequest(BaseModel):
    """Body of `/detect`."""

    model_config = ConfigDict(extra="ignore")

    q: _Texts = Field(examples=[EXAMPLE_SOURCE])
    api_key: _ApiKey = None

    @property
    def texts(self) -> list[str]:
        """The texts as a list."""
        return self.q if isinstance(self.q, list) else [self.q]


class LibreTranslateLanguage(BaseModel):
    """A language and its targets, itself included."""

    code: str = Field(examples=["en"])
    name: str = Field(examples=["English"])
    targets: list[str] = Field(examples=[["de", "en"]])


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
