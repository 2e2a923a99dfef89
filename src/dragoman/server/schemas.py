"""What requests and answers hold, as `/openapi.json` shows it. Answers are not checked by these again."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

__all__ = [
    "DeeplAnswer",
    "DeeplLanguage",
    "DeeplRequest",
    "DeeplText",
    "DeeplUsage",
    "DetectRequest",
    "Detection",
    "FileAnswer",
    "FlagSeen",
    "FrontendSettings",
    "InspectRequest",
    "Inspection",
    "LibreAnswer",
    "LibreLanguage",
    "LibreRequest",
    "ModelEntry",
    "Models",
    "OtherText",
    "Problem",
    "ReloadAnswer",
    "RouteEntry",
    "TranslateAnswer",
    "TranslateRequest",
    "TranslatedText",
]

_EN, _DE = "Two dogs play in the snow.", "Zwei Hunde spielen im Schnee."
Digits = Annotated[str, Field(pattern=r"^-?[0-9]{1,4}$")]
Language = Annotated[str, Field(min_length=1, examples=["de"])]
Source = Annotated[str, Field(min_length=1, description="A language code, or `auto`.", examples=["en"])]
Key = Annotated[str | None, Field(description="Where the server asks for one, unless it is in `Authorization`.")]


class Problem(BaseModel):
    """Why a request was not answered: RFC 9457, with LibreTranslate's `error` and DeepL's `message`."""

    model_config = ConfigDict(extra="allow")

    error: str = Field(examples=["xx is not supported"])
    message: str
    type: str
    title: str = Field(examples=["Bad Request"])
    status: int = Field(examples=[400])
    detail: str


class Detection(BaseModel):
    """A language, and how sure that is."""

    language: str = Field(examples=["en"])
    confidence: float = Field(ge=0, le=100, examples=[97.0])


class LibreRequest(BaseModel):
    """LibreTranslate's `/translate`."""

    model_config = ConfigDict(extra="ignore")

    q: Annotated[str, Field(min_length=1)] | Annotated[list[str], Field(min_length=1)] = Field(
        description="A text, or a list of texts.", examples=[_EN]
    )
    source: Source
    target: Language
    format: Literal["text", "html", ""] | None = Field("text", examples=["text"])
    alternatives: StrictInt | Digits | None = Field(0, description="How many alternatives at most.", examples=[0])
    api_key: Key = None


class LibreAnswer(BaseModel):
    """`detectedLanguage` comes with `auto` only, `alternatives` only where they were asked for."""

    translatedText: str | list[str] = Field(examples=[_DE])  # noqa: N815 -- LibreTranslate's name
    detectedLanguage: Detection | list[Detection] | None = None  # noqa: N815
    alternatives: list[str] | list[list[str]] | None = None


class DetectRequest(BaseModel):
    """LibreTranslate's `/detect`."""

    model_config = ConfigDict(extra="ignore")

    q: Annotated[str, Field(min_length=1)] | Annotated[list[str], Field(min_length=1)] = Field(examples=[_EN])
    api_key: Key = None


class LibreLanguage(BaseModel):
    """A language, and those that it can be translated to, itself among them."""

    code: str = Field(examples=["en"])
    name: str = Field(examples=["English"])
    targets: list[str] = Field(examples=[["de", "en"]])


class FrontendSettings(BaseModel):
    """What LibreTranslate's page, and some of its clients, ask first."""

    charLimit: int = Field(examples=[5000])  # noqa: N815
    frontendTimeout: int  # noqa: N815
    apiKeys: bool  # noqa: N815
    keyRequired: bool  # noqa: N815
    suggestions: bool
    filesTranslation: bool  # noqa: N815
    supportedFilesFormat: list[str]  # noqa: N815
    language: dict[str, dict[str, str]]


class FileAnswer(BaseModel):
    """Where the translated document can be fetched for half an hour."""

    translatedFileUrl: str = Field(examples=["http://127.0.0.1:5000/download_file/9kVw….letter.docx"])  # noqa: N815


class DeeplRequest(BaseModel):
    """DeepL's `/v2/translate`; what is not listed is ignored."""

    model_config = ConfigDict(extra="ignore")

    text: str | list[str] = Field(examples=[[_EN]])
    target_lang: Language = Field(examples=["DE"])
    source_lang: str | None = Field(None, description="Found out if not given.", examples=["EN"])
    tag_handling: Literal["html", "xml", ""] | None = None
    split_sentences: Literal["0", "1", "nonewlines"] | None = "1"
    formality: Literal["default", "more", "less", "prefer_more", "prefer_less"] | None = None
    glossary_id: str | None = Field(None, description="Refused: `/v1/translate` takes glossaries.")
    show_billed_characters: StrictBool | None = None


class DeeplText(BaseModel):
    """A text's translation."""

    detected_source_language: str = Field(examples=["EN"])
    text: str = Field(examples=[_DE])
    billed_characters: int | None = None


class DeeplAnswer(BaseModel):
    """One translation a text."""

    translations: list[DeeplText]


class DeeplLanguage(BaseModel):
    """A language; `supports_formality` with targets only."""

    language: str = Field(examples=["DE"])
    name: str = Field(examples=["German"])
    supports_formality: bool | None = None


class DeeplUsage(BaseModel):
    """Characters that this server has translated since it was started, for everybody."""

    character_count: int
    character_limit: int


class TranslateRequest(BaseModel):
    """A request to translate."""

    model_config = ConfigDict(extra="forbid")

    text: str | list[str] = Field(description="A text, or a list of texts.", examples=[_EN])
    source: Source = Field("auto", min_length=1)
    target: Language
    model: str | None = Field(None, description="A model of `/v1/models`; else the first of the route.")
    format: Literal["text", "html"] = "text"
    alternatives: StrictInt = Field(0, ge=0, description="How many other translations; none for HTML.", examples=[2])
    beam: StrictInt | None = Field(None, ge=1, le=16, description="As the server was started if not given.")
    alignments: StrictBool = Field(False, description="Words, and the links between them.")
    weights: StrictBool = Field(False, description="How much each target word looked at each source word.")
    flags: StrictBool = Field(True, description="Signs that something may be wrong.")
    glossary: dict[str, str | None] | None = Field(
        None, description="Terms and their translations; null keeps a term as it stands.", examples=[{"snow": "Schnee"}]
    )
    split: StrictBool = Field(True, description="Cut texts into sentences.")
    stream: StrictBool = Field(False, description="Answer with server-sent events.")


class FlagSeen(BaseModel):
    """A sign that something may be wrong: `meaning` says what it stands for, `detail` what was seen."""

    name: str
    detail: str
    meaning: str


class OtherText(BaseModel):
    """Another translation."""

    text: str
    score: float | None


class TranslatedText(BaseModel):
    """A translation, as the library and the command line give it, and how it came about."""

    model_config = ConfigDict(extra="allow")

    source: str = Field(examples=[_EN])
    text: str = Field(examples=[_DE])
    score: float | None
    log_prob: float | None
    is_truncated: bool
    is_cut: bool
    pieces: list[str]
    flags: list[FlagSeen] | None = None
    source_words: list[str] | None = None
    target_words: list[str] | None = None
    alignment: list[tuple[int, int]] | None = Field(None, description="Links of source words and target words.")
    weights: list[list[float]] | None = None
    nbest: list[dict[str, Any]] | None = Field(
        None, description="With `alternatives`, and `alignments` or `weights`: each translation with its own."
    )
    sentences: list[dict[str, Any]] | None = Field(None, description="The same of each sentence, if there are several.")
    models: list[str] = Field(description="Who translated it: two where it went through another language.")
    via: str | None = Field(description="That language.")
    detected: Detection | None = Field(description="With `auto` only.")
    alternatives: list[OtherText]


class TranslateAnswer(BaseModel):
    """One translation a text, in their order."""

    translations: list[TranslatedText]


class InspectRequest(BaseModel):
    """A sentence to be opened."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(min_length=1, examples=[_EN])
    source: Source = Field("auto", min_length=1)
    target: Language
    model: str | None = None
    translation: str | None = Field(None, description="A translation to look at, in place of the model's own.")
    what_ifs: StrictInt = Field(0, ge=0, le=3, description="Turns not taken, and where they would have led.")


class Inspection(BaseModel):
    """Attention by layer and head, steps, search tree, what ifs: as `dragoman inspect --json` prints them."""

    model_config = ConfigDict(extra="allow")

    source: str
    translation: str
    source_words: list[str]
    target_words: list[str]
    model: str | list[str]


class ModelEntry(BaseModel):
    """A bundle, and how it stands."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())

    name: str
    source: str
    target: str
    family: str
    state: Literal["ready", "loading", "unloaded", "failed"]
    digest: str


class RouteEntry(BaseModel):
    """A pair of languages, and the models that lead from one to the other."""

    source: str
    target: str
    models: list[list[str]] = Field(description="With `via`, pairs of models, one after another.")
    via: str | None


class Models(BaseModel):
    """All models, and the pairs of languages that they make."""

    models: list[ModelEntry]
    routes: list[RouteEntry]


class ReloadAnswer(BaseModel):
    """What became of each model."""

    reloaded: list[str]
    kept: list[str]
    failed: dict[str, str]
