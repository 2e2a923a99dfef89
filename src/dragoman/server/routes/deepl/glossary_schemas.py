"""Request and response bodies of the DeepL API for glossaries, versions 2 and 3."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from dragoman.language_codes import check_language
from dragoman.server.glossaries import (
    MAX_DICTIONARIES,
    EntriesFormat,
    StoredGlossary,
    TermDictionary,
    format_tsv,
    parse_entries,
    term_dictionary,
)
from dragoman.server.routes.deepl.text import source_code

_EXAMPLE = "snow\tSchnee\ndog\tHund"
_MAX_CODE = 35


class DictionaryBody(BaseModel):
    """Terms of one language pair."""

    model_config = ConfigDict(extra="ignore")

    source_lang: str = Field(min_length=2, max_length=_MAX_CODE, examples=["en"])
    target_lang: str = Field(min_length=2, max_length=_MAX_CODE, examples=["de"])
    entries: str = Field(description="One term per line: source, tab or comma, translation.", examples=[_EXAMPLE])
    entries_format: EntriesFormat = "tsv"

    def to_dictionary(self) -> TermDictionary:
        """Parse the entries; raises `RequestError`. It takes a second for the largest body."""
        source, target = check_language(self.source_lang), check_language(self.target_lang)
        return term_dictionary(source, target, parse_entries(self.entries, self.entries_format))


class SingleGlossaryBody(DictionaryBody):
    """Body of `POST /v2/glossaries`."""

    name: str = Field(min_length=1, examples=["Winter"])


class MultilingualGlossaryBody(BaseModel):
    """Body of `POST /v3/glossaries`."""

    model_config = ConfigDict(extra="ignore")

    name: str = Field(min_length=1, examples=["Winter"])
    dictionaries: list[DictionaryBody] = Field(min_length=1, max_length=MAX_DICTIONARIES)


class MultilingualGlossaryPatch(BaseModel):
    """Body of `PATCH /v3/glossaries/{glossary_id}`: terms are added, or change their translation."""

    model_config = ConfigDict(extra="ignore")

    name: str | None = Field(None, min_length=1)
    dictionaries: list[DictionaryBody] = Field(default_factory=list, max_length=MAX_DICTIONARIES)


class GlossaryLanguagePair(BaseModel):
    """A language pair for which a glossary can be used."""

    source_lang: str
    target_lang: str


class GlossaryLanguagePairs(BaseModel):
    """All language pairs for which a glossary can be used."""

    supported_languages: list[GlossaryLanguagePair]


class SingleGlossary(BaseModel):
    """A stored glossary of one language pair."""

    glossary_id: str
    ready: bool
    name: str
    source_lang: str
    target_lang: str
    creation_time: str
    entry_count: int


class SingleGlossaryList(BaseModel):
    """All glossaries of one language pair."""

    glossaries: list[SingleGlossary]


class DictionaryInfo(BaseModel):
    """Number of terms of a language pair."""

    source_lang: str
    target_lang: str
    entry_count: int


class DictionaryEntries(BaseModel):
    """Terms of a language pair as TSV."""

    source_lang: str
    target_lang: str
    entries: str
    entries_format: str


class GlossaryEntries(BaseModel):
    """Terms of the requested language pairs."""

    dictionaries: list[DictionaryEntries]


class MultilingualGlossary(BaseModel):
    """A stored glossary."""

    glossary_id: str
    name: str
    dictionaries: list[DictionaryInfo]
    creation_time: str


class MultilingualGlossaryList(BaseModel):
    """All glossaries."""

    glossaries: list[MultilingualGlossary]


def dictionary_info(dictionary: TermDictionary) -> dict[str, Any]:
    """Return the languages and the size of a dictionary."""
    return {**_languages(dictionary), "entry_count": len(dictionary.terms)}


def entries_json(dictionary: TermDictionary) -> dict[str, Any]:
    """Return the terms of a dictionary."""
    return {**_languages(dictionary), "entries": format_tsv(dictionary.terms), "entries_format": "tsv"}


def multilingual_json(glossary: StoredGlossary) -> dict[str, Any]:
    """Return a glossary in version 3 of the API."""
    return {
        "glossary_id": glossary.id,
        "name": glossary.name,
        "dictionaries": [dictionary_info(each) for each in glossary.dictionaries],
        "creation_time": glossary.created,
    }


def single_json(glossary: StoredGlossary) -> dict[str, Any]:
    """Return a glossary of one language pair in version 2 of the API."""
    (dictionary,) = glossary.dictionaries
    return {
        "glossary_id": glossary.id,
        "ready": True,
        "name": glossary.name,
        **_languages(dictionary),
        "creation_time": glossary.created,
        "entry_count": len(dictionary.terms),
    }


def _languages(dictionary: TermDictionary) -> dict[str, str]:
    source, target = dictionary.source, dictionary.target
    return {"source_lang": source_code(source).lower(), "target_lang": source_code(target).lower()}
