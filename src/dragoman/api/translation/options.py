"""Options of a translation call; exceptions for cancelled calls and for invalid sentence pairs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypedDict

from dragoman.config.search import SearchSettings, replace_search
from dragoman.errors import ConfigError, DataError
from dragoman.progress import Progress
from dragoman.text.glossary import Glossary


class TranslationCancelled(Exception):  # noqa: N818 -- a cancellation is not an error
    """The caller cancelled this translation."""


class PairError(DataError):
    """A source and its translation cannot be scored: `pair` is their index, from 0, and `fault` the reason."""

    def __init__(self, pair: int, fault: str) -> None:
        super().__init__(f"pair {pair + 1:,}: {fault}")
        self.pair, self.fault = pair, fault


class Cancellation(Protocol):
    """Flag that cancels a translation; a `threading.Event` is one."""

    def is_set(self) -> bool:
        """Whether the translation is cancelled."""


@dataclass(frozen=True)
class TranslateOptions:
    """How texts are translated, and what is returned in addition to the text of the translation."""

    split_sentences: bool = True
    """Split texts into sentences. Otherwise each text is one sentence, and its translation is one line."""
    max_sentence_tokens: int | None = None
    """Maximum number of source tokens per search; longer ones are translated in chunks. None: the model's limit."""
    search: SearchSettings = field(default_factory=SearchSettings)
    """Search settings, the beam and the length of n-best lists included."""
    alignment: bool = False
    """Return words, and the links between them."""
    attention: bool = False
    """Return the attention weights between words."""
    posterior: bool = False
    """Links and weights given the target words: multiply attention weights by the likelihood of each target word as the
    translation of each source word alone."""
    flags: bool = False
    """Return quality flags."""
    search_tree: bool = False
    """Return the search tree."""
    glossary: Glossary | None = None
    """Terms whose translation is required."""
    protect: bool = True
    """Keep placeholders, tags and addresses; a text whose placeholders cannot be kept is returned unchanged, with the
    flag `placeholders`."""

    def __post_init__(self) -> None:
        """Reject a search tree of a random sample."""
        if self.search_tree and (self.search.sample or self.search.search == "mbr"):
            raise ConfigError("sampled translations have no search tree; drop search_tree or the sampling")

    @property
    def needs_attention(self) -> bool:
        """Whether the search must return attention weights."""
        return self.alignment or self.attention or self.posterior or self.flags


class TranslateKeywords(TypedDict, total=False):
    """Keyword arguments of `Translator.translate`, for the type checker; a test compares all three declarations."""

    source: str | None
    target: str | None
    prefix: str | Sequence[str]
    split_sentences: bool
    max_sentence_tokens: int | None
    search: SearchSettings | None
    beam: int | None
    nbest: int | None
    alignment: bool
    attention: bool
    posterior: bool
    flags: bool
    search_tree: bool
    glossary: Glossary | None
    protect: bool
    first: int
    cancelled: Cancellation | None
    progress: Progress | None


def search_settings(search: SearchSettings, *, beam: int | None = None, nbest: int | None = None) -> SearchSettings:
    """Return search settings with another beam or another length of n-best lists."""
    if not isinstance(search, SearchSettings):
        raise ConfigError(f"search must be SearchSettings, got {type(search).__name__}; write SearchSettings(beam=4)")
    changed = {name: value for name, value in (("beam", beam), ("nbest", nbest)) if value is not None}
    return replace_search(search, **changed) if changed else search
