"""Data classes of requests and results, shared by routes, pipeline and model registry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from dragoman.api.translation.options import TranslateOptions
from dragoman.api.translation.translation import Translation
from dragoman.markup.html_text import HtmlText
from dragoman.server.glossaries.store import StoredGlossary

__all__ = [
    "ApiNames",
    "DetectedLanguage",
    "ModelInfo",
    "ReloadResult",
    "Route",
    "TranslationRequest",
    "TranslationResult",
]

_DOCUMENTED = {"use_attribute_docstrings": True}  # OpenAPI shows the docstrings of the fields


@dataclass(frozen=True)
class ApiNames:
    """What an API calls the fields of the languages, and its route that lists languages, for error messages."""

    source: str = "source"
    target: str = "target"
    listing: str = "/v1/models"


@dataclass(frozen=True)
class TranslationRequest:
    """Texts to translate, and how.

    Routes pass language codes as the client wrote them, and possibly ``auto`` as the source; the service requires codes
    of its routes.
    """

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
    glossary: StoredGlossary | None = None
    """A stored glossary; its dictionary of the language pair is used if there is one."""
    names: ApiNames = ApiNames()
    """Names of the API that the client uses."""
    rejects_other_languages: bool = False
    """Whether to reject texts detected in a language that no model translates into the target."""

    def parse_page(self, text: str) -> HtmlText | None:
        """Parse a text that is HTML."""
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
        """The text of the translation."""
        return self.translation.text


@dataclass(frozen=True)
class Route:
    """A language pair and its models, the default first."""

    __pydantic_config__ = _DOCUMENTED

    source: str
    target: str
    models: tuple[tuple[str, ...], ...]
    """Each entry is one model, or two consecutive models if the route has a pivot language."""
    via: str | None = None
    """The pivot language."""


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
