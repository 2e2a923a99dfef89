"""Data classes of HTTP dialects, requests and results, shared by routes, pipeline and model registry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from dragoman.api.translation.options import TranslateOptions
from dragoman.api.translation.translation import Translation
from dragoman.markup.html_text import HtmlText
from dragoman.server.errors import ErrorCode, RequestError
from dragoman.server.glossaries import StoredGlossary
from dragoman.storage.memory_reader import MemoryReader

_DOCUMENTED = {"use_attribute_docstrings": True}  # OpenAPI shows the docstrings of the fields


class Problem(BaseModel):
    """An error: RFC 9457, with LibreTranslate's `error` and DeepL's `message`."""

    model_config = ConfigDict(extra="allow")

    error: str = Field(examples=["xx is not supported"])
    message: str
    type: str
    title: str = Field(examples=["Bad Request"])
    status: int = Field(examples=[400])
    detail: str
    code: ErrorCode = Field(description="What is wrong, for programs.")
    retry_after: int | None = Field(
        None, description="Seconds to wait before the request may succeed; in streams too, which have no header for it."
    )


@dataclass(frozen=True)
class Dialect:
    """An HTTP API as its clients know it: the names of its fields, the places of keys, and the form of errors.

    A new API is a module of routes with its dialect, and a line of `app.create_app`.
    """

    name: str = "Dragoman"
    source: str = "source"
    """Field of the source language."""
    target: str = "target"
    listing: str = "/v1/models"
    """Route that lists the languages."""
    key_fields: tuple[bytes, ...] = (b"api_key", b"auth_key")
    """Fields of the query or the body that may have the API key, on routes with the access ``body_key``."""
    key_headers: tuple[bytes, ...] = ()
    """Headers, in lower case, that may have the API key, in addition to ``Authorization``."""
    prefix: str = ""
    """Beginning of all paths; left out in requests whose query has `selector`."""
    selector: str = ""
    """Field of the query of every request, of an API whose paths another one has too."""
    names_languages: bool = True
    """Whether errors about languages name the field."""
    rejects_other_languages: bool = False
    """Whether to reject texts detected in a language that no model translates into the target."""
    size_error: Callable[[int, int], RequestError] | None = None
    """Return the error for a size and its limit, of a text or a list of texts, if the API has one of its own."""
    error_model: type[BaseModel] = Problem
    error_body: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict
    """Return the body of an error, given the members of a `Problem`."""
    error_type: str = "application/problem+json"
    error_event: str = "error"
    """Name of the event that has the error of a stream; empty for an event without a name."""


NATIVE = Dialect()


@dataclass(frozen=True)
class TranslationRequest:
    """Texts to translate, and how; routes pass codes as clients wrote them, the service needs those of its routes."""

    texts: Sequence[str]
    source: str
    target: str
    model: str | None = None
    """Name of the model; the first of the route if not given."""
    is_html: bool = False
    options: TranslateOptions = field(default_factory=TranslateOptions)
    is_xml: bool = False
    """Whether markup is written as XML."""
    ignored_tags: frozenset[str] = frozenset()
    """Names of elements that are not translated, in lower case."""
    prefix: str = ""
    """Beginning of the translation, of a single text without markup, memory and cache."""
    glossary: StoredGlossary | None = None
    """A stored glossary; its dictionary of the language pair is used if there is one."""
    dialect: Dialect = NATIVE
    """The API that the client uses; error messages have its names."""
    memory: MemoryReader | None = None
    """Translation memories; those that every request reads if not given."""
    min_confidence: float | None = None
    """Confidence below which a text is left untranslated; that of the server if not given."""
    targets: Sequence[str] = ()
    """Target languages, if there may be several of them."""

    def parse_page(self, text: str) -> HtmlText | None:
        return HtmlText.parse(text, ignored=self.ignored_tags, is_xml=self.is_xml) if self.is_html else None

    def for_pair(self, source: str, target: str) -> TranslationRequest:
        """Return the request for texts of one language pair of the routes, with its terms."""
        found = None if self.glossary is None else self.glossary.find(source, target)
        options = self.options if found is None else replace(self.options, glossary=found.glossary)
        return replace(self, source=source, target=target, options=options)


@dataclass(frozen=True, slots=True)
class DetectedLanguage:
    """A detected language."""

    __pydantic_config__ = _DOCUMENTED

    language: str
    confidence: float
    """From 0 to 100."""
    unavailable: str | None = None
    """The more probable language, where no model translates it into the target."""
    unavailable_confidence: float | None = None
    """Confidence of the unavailable language, from 0 to 100."""

    @property
    def most_probable(self) -> tuple[str, float]:
        """The most probable language, available or not, and its confidence."""
        if self.unavailable is None or self.unavailable_confidence is None:
            return self.language, self.confidence
        return self.unavailable, self.unavailable_confidence


@dataclass(frozen=True)
class TranslationResult:
    """A translation, its languages and its models."""

    translation: Translation
    source_language: str
    detected: DetectedLanguage | None = None
    """The result of language detection, where the source was ``auto``."""
    models: tuple[str, ...] = ()
    """Empty if nothing had to be translated; two if the translation used a pivot language."""
    via: str | None = None
    """The pivot language."""
    alternatives: tuple[tuple[str, float], ...] = ()
    """Other translations and their scores."""

    @property
    def text(self) -> str:
        return self.translation.text

    @property
    def text_language(self) -> str:
        """The language of the text, also if no model translates it."""
        return (self.detected and self.detected.unavailable) or self.source_language


@dataclass(frozen=True)
class ModelInfo:
    """A served model and its state."""

    __pydantic_config__ = _DOCUMENTED

    name: str
    source: str
    target: str
    family: str
    state: Literal["ready", "loading", "unloaded", "failed"]
    digest: str
    engine: str = ""
    precision: str = ""
    bytes: int = 0
    """Estimated memory."""
    why: str = ""
    """Why this engine was selected, or why loading failed."""
    supports_glossary: bool = True
    """Whether an installed engine can use a glossary with this model."""
    directions: tuple[tuple[str, str], ...] = ()
    """Source and target languages of a model with several directions; `source` and `target` are the first."""
    supports_inspection: bool = True
    """Whether an installed engine has the attention of every layer and head of this model."""
    licence: str = ""
    """As stated by the origin of the model; empty is not stated."""
    origin: str = ""
    """Where the model comes from: an address or a description; empty for a model of this installation."""

    def all_directions(self) -> tuple[tuple[str, str], ...]:
        """Return the directions, of which most models have one."""
        return self.directions or ((self.source, self.target),)


@dataclass(frozen=True)
class ReloadResult:
    """Outcome of a reload, per model."""

    __pydantic_config__ = _DOCUMENTED

    reloaded: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    failed: dict[str, str] = field(default_factory=dict)
    """Errors by model; a failed model keeps its previous bundle."""
    added: tuple[str, ...] = ()
    """Models that are new in the file of settings."""
    removed: tuple[str, ...] = ()
    """Models that are no longer in the file of settings."""

    def __str__(self) -> str:
        groups = {"added": self.added, "replaced": self.reloaded, "removed": self.removed, "unchanged": self.kept}
        parts = [f"{', '.join(names)} {what}" for what, names in groups.items() if names]
        return "; ".join([*parts, *(f"{name} failed: {why}" for name, why in self.failed.items())])
