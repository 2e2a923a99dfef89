"""Request and response bodies of the DeepL API for texts, languages and usage."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from dragoman.server.errors import RequestError
from dragoman.server.glossaries import GlossaryStore, StoredGlossary
from dragoman.server.pipeline.request_checks import build_options
from dragoman.server.request_types import Dialect, TranslationRequest
from dragoman.server.routes.openapi import EXAMPLE_SOURCE, EXAMPLE_TARGET, TargetLanguage
from dragoman.server.settings import ServerSettings

DEEPL = Dialect("DeepL", "source_lang", "target_lang", "/v2/languages")

_Switch = StrictBool | Literal[0, 1, "0", "1", "true", "false"]
_TRUE = (True, "1", "true")  # 1 equals True
_MAX_IGNORED = 100

AuthKey = Annotated[
    str | None, Field(description="API key, if the server requires one and `Authorization` does not have it.")
]


class DeeplGlossaryChoice(BaseModel):
    """Fields that texts and documents have in common."""

    model_config = ConfigDict(extra="ignore")

    target_lang: TargetLanguage = Field(examples=["DE"])
    source_lang: str | None = Field(None, description="Detected if not given; required with a glossary.")
    formality: Literal["default", "more", "less", "prefer_more", "prefer_less", ""] | None = Field(
        None, description="Accepted, and without effect: no model supports it."
    )
    glossary_id: str | None = Field(None, description="Id of a glossary of `/v2/glossaries` or `/v3/glossaries`.")
    glossary_ids: str | list[str] | None = Field(None, description="One id, as in `glossary_id`.")
    auth_key: AuthKey = None

    def find_glossary(self, store: GlossaryStore, owner: str) -> StoredGlossary | None:
        """Return the requested glossary; raises `RequestError` if it is unknown or not of the language pair."""
        given = self.glossary_ids or []
        ids = [self.glossary_id or "", *(given.split(",") if isinstance(given, str) else given)]
        ids = [each for each in ids if each]
        if not ids:
            return None
        if len(ids) > 1:
            raise RequestError(f"glossary_ids must be one id, got {len(ids)}; join the glossaries")
        if not self.source_lang:
            raise RequestError("source_lang must be given with a glossary")
        return store.find_for(owner, ids[0], self.source_lang, self.target_lang, given="id")


class DeeplRequest(DeeplGlossaryChoice):
    """Body of `/v2/translate`; fields that are not listed are ignored."""

    text: str | list[str] = Field(examples=[[EXAMPLE_SOURCE]])
    tag_handling: Literal["html", "xml", ""] | None = None
    ignore_tags: str | list[str] | None = Field(
        None, description="Names of elements that are not translated, as a list or separated by commas."
    )
    split_sentences: Literal["0", "1", "nonewlines", 0, 1, "true", "false", ""] | StrictBool | None = "1"
    show_billed_characters: _Switch | None = None

    @property
    def texts(self) -> list[str]:
        return self.text if isinstance(self.text, list) else [self.text]

    @property
    def shows_billed_characters(self) -> bool:
        """Whether the response has the number of characters of each text."""
        return self.show_billed_characters in _TRUE

    def to_request(self, settings: ServerSettings, glossary: StoredGlossary | None = None) -> TranslationRequest:
        tags = self.ignore_tags or []
        names = [each.strip().lower() for each in (tags.split(",") if isinstance(tags, str) else tags)]
        if len(names) > _MAX_IGNORED:
            raise RequestError(f"ignore_tags must be {_MAX_IGNORED} names at most, got {len(names)}; leave some out")
        return TranslationRequest(
            self.texts,
            self.source_lang or "auto",
            self.target_lang,
            is_html=bool(self.tag_handling),
            is_xml=self.tag_handling == "xml",
            ignored_tags=frozenset(filter(None, names)),
            options=build_options(settings, split_sentences=self.split_sentences not in (False, "0", "false")),
            glossary=glossary,
            dialect=DEEPL,
            rejects_other_languages=True,
        )


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
    """Number of characters translated since the start of the server, by the API key of the request."""

    character_count: int
    character_limit: int
