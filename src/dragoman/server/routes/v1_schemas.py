"""Request and response bodies of Dragoman's own API `/v1`; responses are not validated again."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

from dragoman.api.translation.multi_model.routing import Route
from dragoman.server.errors import RequestError
from dragoman.server.glossaries import GlossaryStore
from dragoman.server.pipeline.request_checks import build_options, check_glossary
from dragoman.server.request_types import DetectedLanguage, ModelInfo, TranslationRequest
from dragoman.server.routes.openapi import EXAMPLE_SOURCE, EXAMPLE_TARGET, SourceLanguage, TargetLanguage
from dragoman.server.settings import ServerSettings


class TranslateRequest(BaseModel):
    """Body of `/v1/translate`."""

    model_config = ConfigDict(extra="forbid")

    text: str | list[str] = Field(description="A text, or a list of texts.", examples=[EXAMPLE_SOURCE])
    source: SourceLanguage = Field("auto", min_length=1)
    target: TargetLanguage
    model: str | None = Field(None, description="Name of a model of `/v1/models`; the first of the route by default.")
    format: Literal["text", "html"] = "text"
    alternatives: StrictInt = Field(
        0, ge=0, description="Maximum number of other translations; none for HTML.", examples=[2]
    )
    beam: StrictInt | None = Field(None, ge=1, le=16, description="Width of the beam; that of the server by default.")
    alignments: StrictBool = Field(False, description="Return words, and the links between them.")
    weights: StrictBool = Field(False, description="Return the attention weights between words.")
    flags: StrictBool = Field(True, description="Return quality flags.")
    glossary: dict[str, str | None] | str | None = Field(
        None,
        description="Terms and their translations, null keeps a term unchanged; or name or id of a stored glossary.",
        examples=[{"snow": "Schnee"}],
    )
    split: StrictBool = Field(True, description="Split texts into sentences.")
    min_confidence: float | None = Field(
        None,
        strict=True,
        ge=0.0,
        le=1.0,
        description="Leave texts untranslated whose confidence is lower; reject the request if that is all of them. "
        "Needs a calibrated model; that of the server by default.",
        examples=[0.5],
    )
    stream: StrictBool = Field(False, description="Respond with server-sent events.")

    def to_request(self, settings: ServerSettings, store: GlossaryStore, owner: str) -> TranslationRequest:
        """Convert to the request of the pipeline; raises `RequestError` if a limit is exceeded."""
        limit = settings.limits.alternatives
        if self.alternatives > limit:
            raise RequestError(f"alternatives must be {limit} at most, got {self.alternatives}; request fewer")
        name = self.glossary if isinstance(self.glossary, str) else ""
        stored = store.find_for(owner, name, self.source, self.target) if name else None
        terms = None if isinstance(self.glossary, str) else self.glossary
        check_glossary(terms)
        is_html = self.format == "html"
        options = build_options(
            settings,
            alternatives=0 if is_html else self.alternatives,
            beam=self.beam,
            split_sentences=self.split,
            alignment=self.alignments,
            attention=self.weights,
            flags=self.flags,
            glossary=terms,
        )
        texts = self.text if isinstance(self.text, list) else [self.text]
        return TranslationRequest(
            *(texts, self.source, self.target, self.model or None, is_html, options),
            glossary=stored,
            min_confidence=self.min_confidence,
        )


class QualityFlag(BaseModel):
    """A sign of a possible error; `meaning` explains the flag, `detail` the finding."""

    name: str
    detail: str
    meaning: str


class Alternative(BaseModel):
    """Another translation."""

    text: str
    score: float | None


class TranslatedText(BaseModel):
    """A translation, as the Python API and the command line return it, with its models and languages."""

    model_config = ConfigDict(extra="allow")

    source: str = Field(examples=[EXAMPLE_SOURCE])
    text: str = Field(examples=[EXAMPLE_TARGET])
    score: float | None
    log_prob: float | None
    is_truncated: bool
    is_cut: bool
    tokens: list[str]
    confidence: float | None = Field(
        None, description="Probability that the translation is usable; of a calibrated model only."
    )
    flags: list[QualityFlag] | None = None
    source_words: list[str] | None = None
    target_words: list[str] | None = None
    alignment: list[tuple[int, int]] | None = Field(None, description="Links of source words and target words.")
    weights: list[list[float]] | None = None
    nbest: list[dict[str, Any]] | None = Field(
        None, description="With `alternatives`, and `alignments` or `weights`: each translation with its own."
    )
    sentences: list[dict[str, Any]] | None = Field(None, description="The translation of each of several sentences.")
    models: list[str] = Field(description="Models used: two with a pivot language.")
    via: str | None = Field(description="The pivot language.")
    detected: DetectedLanguage | None = Field(description="With source `auto` only.")
    alternatives: list[Alternative]


class TranslateResponse(BaseModel):
    """One translation per text, in the same order."""

    translations: list[TranslatedText]


class InspectRequest(BaseModel):
    """Body of `/v1/inspect`: one sentence."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(min_length=1, examples=[EXAMPLE_SOURCE])
    source: SourceLanguage = Field("auto", min_length=1)
    target: TargetLanguage
    model: str | None = None
    translation: str | None = Field(None, description="A translation to inspect, in place of the model's own.")
    counterfactuals: StrictInt = Field(
        0, ge=0, le=3, description="Number of other words per position whose translations are searched."
    )

    def to_request(self) -> TranslationRequest:
        return TranslationRequest([self.text], self.source, self.target, self.model or None)


class InspectedToken(BaseModel):
    """A possible token at a step."""

    text: str
    probability: float | None


class InspectedNode(BaseModel):
    """A token kept in the beam; `parent` is the index of the previous one, -1 for none, and `rank` its place."""

    parent: int
    text: str
    step: int
    rank: int
    log_prob: float | None
    is_end: bool
    is_best: bool


class InspectedCounterfactual(BaseModel):
    """Another word forced at one position, and the translation that the model continues with."""

    word: int
    forced: str
    probability: float | None
    translation: str
    score: float | None


AttentionMaps = Annotated[list[list[list[list[float]]]], Field(description="[layers][heads][rows][source words + 1].")]
HeadValues = Annotated[list[list[list[float]]], Field(description="[layers][heads][words].")]


class InspectResponse(BaseModel):
    """Attention by layer and head, steps, search tree, counterfactuals: the output of `dragoman inspect --json`.

    Maps have the end of the source as their last column. They have no layers if the model has no attention.
    """

    source: str
    translation: str
    source_words: list[str]
    target_words: list[str]
    tokens: list[str]
    token_words: list[int] = Field(description="Index of the target word of each token.")
    candidates: list[list[InspectedToken]] = Field(
        description="For each token and for the end, the most probable tokens."
    )
    predicted: AttentionMaps = Field(
        description="Attention of the step that writes a word: [layers][heads][target words + 1][source words + 1]."
    )
    given: AttentionMaps = Field(
        description="Attention of the step that reads a word: [layers][heads][target words][source words + 1]."
    )
    steps: AttentionMaps = Field(description="Attention of each step: [layers][heads][tokens + 1][source words + 1].")
    entropy: HeadValues = Field(description="Bits per target word: [layers][heads][target words].")
    coverage: HeadValues = Field(description="Attention per source word: [layers][heads][source words].")
    default_layer: int
    score: float | None
    tree: list[InspectedNode]
    counterfactuals: list[InspectedCounterfactual]
    flags: list[str]
    model: str = Field(description="Family, size, engine and search settings.")
    models: list[str] = Field(description="The model that translated.")
    detected: DetectedLanguage | None = Field(description="With source `auto` only.")


class ListedModel(BaseModel):
    """A name for the field `model` of `/v1/chat/completions`, in the form of OpenAI's list."""

    id: str = Field(examples=["en:de"])
    object: str
    created: int
    owned_by: str


class ModelsResponse(BaseModel):
    """All models and routes; `object` and `data` are for clients of OpenAI's API."""

    models: list[ModelInfo]
    routes: list[Route]
    object: str
    data: list[ListedModel]
