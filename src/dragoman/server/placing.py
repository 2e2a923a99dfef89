"""What a request wants: its texts are checked here, for all APIs, and their languages found."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from dragoman.markup.html import HtmlText
from dragoman.search.settings import SearchSettings
from dragoman.server.context import Context
from dragoman.server.detection import Detected
from dragoman.server.errors import Refused, TooLarge
from dragoman.server.jobs import Ask
from dragoman.server.languages import Languages
from dragoman.server.settings import Limits
from dragoman.text.characters import has_letters
from dragoman.text.glossary import Glossary

__all__ = [
    "Placed",
    "Wanted",
    "apart",
    "ask_for",
    "check_texts",
    "made_glossary",
    "place_texts",
    "placed_texts",
]

Given = ParamSpec("Given")
Made = TypeVar("Made")

_MOST_TERMS = 200
_LONGEST_TERM = 200
_LITTLE = 2000  # characters whose markup is handled in a few milliseconds
_TAGS_A_PIECE = 8  # characters of HTML for each piece that a request may have: tags take time, and are no pieces
_PIECES_A_MARK = 4  # that a request may have for each stretch of its HTML, and each tag inside of one: these take time


@dataclass(frozen=True)
class Wanted:
    """How a request wants its texts; languages as they were written, `source` perhaps ``auto``."""

    source: str
    target: str
    is_html: bool = False
    model: str | None = None
    alternatives: int = 0
    beam: int | None = None
    alignments: bool = False
    weights: bool = False
    flags: bool = False
    glossary: Glossary | None = None
    split: bool = True


@dataclass(frozen=True)
class Placed:
    """A text with its languages as the service knows them, and how the first was found."""

    text: str
    source: str
    target: str
    detected: Detected | None = None
    page: HtmlText | None = None
    """Where the text is HTML."""

    @property
    def stays(self) -> bool:
        """Whether there is nothing to translate."""
        return self.source == self.target or not has_letters(self.text)


def check_texts(texts: Sequence[str], limits: Limits) -> None:
    """Refuse what is too much, and what is no text."""
    if len(texts) > limits.texts:
        raise TooLarge(f"texts must be {limits.texts} at most, got {len(texts)}; send them in several requests")
    for number, text in enumerate(texts, 1):
        if len(text) > limits.text_characters:
            raise TooLarge(
                f"text {number} must have {limits.text_characters} characters at most, got {len(text)}; cut it into "
                "several texts"
            )
        if not text.isascii():
            _check_unicode(text, number)


def _check_unicode(text: str, number: int) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Refused(
            f"text {number} must be Unicode, got half of a surrogate pair at character {error.start + 1}; send it anew "
            "from its source"
        ) from None


def made_glossary(terms: dict[str, str | None] | None) -> Glossary | None:
    """A request's own terms."""
    if not terms:
        return None
    if len(terms) > _MOST_TERMS:
        raise TooLarge(f"a glossary must have {_MOST_TERMS} terms at most, got {len(terms)}; send those that occur")
    for term, translation in terms.items():
        for text in (term, translation or ""):
            if len(text) > _LONGEST_TERM:
                raise TooLarge(f"a term must have {_LONGEST_TERM} characters at most, got {len(text)}; shorten it")
            _check_unicode(text, 1)
    return Glossary.of(terms)


async def apart(size: int, work: Callable[Given, Made], *args: Given.args, **kwargs: Given.kwargs) -> Made:
    """Do work on so many characters, in a thread of its own if they are many: other requests must not wait for it."""
    if size <= _LITTLE:
        return work(*args, **kwargs)
    return await asyncio.to_thread(work, *args, **kwargs)


async def placed_texts(context: Context, texts: Sequence[str], wanted: Wanted) -> list[Placed]:
    """Check texts, and find their languages."""
    limits = context.settings.limits
    check_texts(texts, limits)
    if not wanted.is_html:
        return place_texts(context, texts, wanted)
    size, most = sum(map(len, texts)), _TAGS_A_PIECE * limits.request_pieces
    if size > most:
        raise TooLarge(f"HTML must have {most:,} characters at most, got {size:,}; send it in several requests")
    placed = await apart(size, place_texts, context, texts, wanted)
    _check_pages([each.page for each in placed if each.page], limits)
    return placed


def _check_pages(pages: Sequence[HtmlText], limits: Limits) -> None:
    """However short a stretch of text is, it is a sentence of its own; and each tag's place has to be found."""
    segments = [segment for page in pages for segment in page.segments]
    counts = {"stretches of text": len(segments), "inline tags": sum(len(each.spans) for each in segments)}
    most = limits.request_pieces // _PIECES_A_MARK
    for name, count in counts.items():
        if count > most:
            raise TooLarge(f"HTML must have {most:,} {name} at most, got {count:,}; send it in several requests")


def place_texts(context: Context, texts: Sequence[str], wanted: Wanted) -> list[Placed]:
    """Find the languages of texts, each text's by itself where the source is ``auto``."""
    languages = context.languages
    target = _resolved(languages, wanted.target, "target")
    among = _sources(context, wanted, languages, target)
    pages = [HtmlText.parse(text) if wanted.is_html else None for text in texts]
    if wanted.source.strip().lower() == "auto":
        words = map(_words, texts, pages)
        found = [context.detector.detect(each, among)[0] for each in words]
        return [
            Placed(text, each.language if each.language in among else among[0], target, each, page)
            for text, each, page in zip(texts, found, pages, strict=True)
        ]
    source = _resolved(languages, wanted.source, "source")
    if source not in among:
        raise Refused(
            f"target must be one of {', '.join(languages.from_source(source))} for {source}, got {target}; "
            "/v1/models lists all routes"
        )
    return [Placed(text, source, target, page=page) for text, page in zip(texts, pages, strict=True)]


def _sources(context: Context, wanted: Wanted, languages: Languages, target: str) -> tuple[str, ...]:
    """The languages that texts may be in."""
    if wanted.model is None:
        return languages.to_target(target)
    models = {each.name: each for each in context.service.models()}
    model = models.get(wanted.model)
    if model is None:
        raise Refused(f"model must be one of {', '.join(sorted(models))}, got {wanted.model[:60]!r}; leave it out")
    if model.target != target:
        raise Refused(f"target must be {model.target} for the model {model.name}, got {target}; change one of them")
    return (model.source,)


def _resolved(languages: Languages, code: str, name: str) -> str:
    found = languages.resolved(code)
    if found is None:
        raise Refused(f"{name} must be one of {', '.join(languages.codes)}, got {code[:40]!r}; see /languages")
    return found


def _words(text: str, page: HtmlText | None) -> str:
    return text if page is None else " ".join(each.text for each in page.segments)


def ask_for(context: Context, wanted: Wanted, source: str, target: str) -> Ask:
    """What the service is asked for."""
    nbest = 1 + (0 if wanted.is_html else wanted.alternatives)
    own = context.settings.beam
    beam = max(wanted.beam or own, nbest)
    return Ask(
        source,
        target,
        model=wanted.model,
        split=wanted.split,
        nbest=nbest,
        alignments=wanted.alignments,
        weights=wanted.weights,
        flags=wanted.flags,
        glossary=wanted.glossary,
        settings=None if beam == own else SearchSettings(beam=beam),
    )
