"""Texts of a request, translated: plain or HTML, for all APIs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from dragoman.api.marked_translation import MarkedTranslation
from dragoman.api.translation import Translation, joined
from dragoman.markup.html import HtmlText
from dragoman.markup.marked import Marked
from dragoman.markup.placeholders import kept_in
from dragoman.server.alternatives import alternatives_of
from dragoman.server.context import Context
from dragoman.server.jobs import Answer, Ask, Ticket
from dragoman.server.placing import Placed, Wanted, apart, ask_for

__all__ = ["Translated", "translate_marked", "translate_texts"]


@dataclass(frozen=True)
class Translated:
    """A text's translation, and how it came about; `models` is empty where nothing had to be translated."""

    placed: Placed
    translation: Translation
    models: tuple[str, ...] = ()
    via: str | None = None
    alternatives: tuple[tuple[str, float], ...] = ()

    @property
    def text(self) -> str:
        """The translation's text."""
        return self.translation.text


async def translate_texts(
    context: Context, placed: Sequence[Placed], wanted: Wanted, ticket: Ticket
) -> list[Translated]:
    """Translate texts, in their order."""
    translated: dict[int, Translated] = {}
    groups: dict[tuple[str, str], list[int]] = {}
    for number, each in enumerate(placed):
        if each.stays:
            translated[number] = Translated(each, Translation(each.text, each.text, flags=() if wanted.flags else None))
        else:
            groups.setdefault((each.source, each.target), []).append(number)
    work = _translate_html if wanted.is_html else _translate_plain
    for (source, target), numbers in groups.items():
        ask = ask_for(context, wanted, source, target)
        done = await work(context, [placed[number] for number in numbers], ask, ticket)
        translated |= zip(numbers, done, strict=True)
    context.characters += sum(len(each.text) for each in placed)
    return [translated[number] for number in range(len(placed))]


async def _translate_plain(context: Context, placed: Sequence[Placed], ask: Ask, ticket: Ticket) -> list[Translated]:
    kept = [kept_in(each.text) for each in placed]
    if not any(kept):
        answers = await context.service.translate([each.text for each in placed], ask, ticket)
        return [_of_answer(each, answer) for each, answer in zip(placed, answers, strict=True)]
    marked = [Marked(each.text, kept=spans) for each, spans in zip(placed, kept, strict=True)]
    written, answers = await translate_marked(context, marked, ask, ticket)
    return [_of_answer(*each) for each in zip(placed, answers, written, marked, strict=True)]


def _of_answer(
    placed: Placed, answer: Answer, written: Marked | None = None, source: Marked | None = None
) -> Translated:
    translation = answer.translation
    kept = [] if source is None else [source.text[start:end] for start, end in source.kept]
    others = alternatives_of(translation, kept)
    if written is not None and written.text != translation.text:
        translation = replace(translation, text=written.text)
    return Translated(placed, translation, answer.models, answer.via, others)


async def _translate_html(context: Context, placed: Sequence[Placed], ask: Ask, ticket: Ticket) -> list[Translated]:
    pages = [each.page or HtmlText.parse(each.text) for each in placed]
    segments = [segment for page in pages for segment in page.segments]
    written, answers = await translate_marked(context, segments, ask, ticket)
    ends = [0]
    for page in pages:
        ends.append(ends[-1] + len(page.segments))
    places = list(pairwise(ends))

    def texts() -> list[str]:
        return [page.write(written[start:end]) for page, (start, end) in zip(pages, places, strict=True)]

    done = await apart(sum(len(each.text) for each in placed), texts)
    return [
        _of_page(each, text, answers[start:end]) for each, text, (start, end) in zip(placed, done, places, strict=True)
    ]


def _of_page(placed: Placed, text: str, answers: Sequence[Answer]) -> Translated:
    parts = [answer.translation for answer in answers]
    whole = joined(placed.text, text, parts, is_cut=any(each.is_cut for each in parts))
    first = next((answer for answer in answers if answer.models), Answer(whole, ()))
    return Translated(placed, whole, first.models, first.via)


async def translate_marked(
    context: Context, marked: Sequence[Marked], ask: Ask, ticket: Ticket
) -> tuple[list[Marked], list[Answer]]:
    """Translate marked texts, marks and all; what has no letters stays as it is, and has no models."""
    flags = () if ask.flags else None
    answers = [Answer(Translation(each.text, each.text, flags=flags), ()) for each in marked]
    job = MarkedTranslation(marked)
    if not job.first_places:
        return list(marked), answers
    shows = ask
    if any(marked[place].spans or marked[place].kept for place in job.first_places):
        ask = replace(ask, alignments=True, weights=True)
    first = await context.service.translate(job.texts, ask, ticket)
    size = sum(len(each.text) for each in marked)
    texts = await apart(size, job.again, [each.translation for each in first])
    second = await context.service.translate(texts, ask, ticket) if texts else []
    finished = await apart(size, job.finish, [each.translation for each in second])
    for place, answer in zip(job.first_places, first, strict=True):
        answers[place] = answer
    for place, answer in zip(job.second_places, second, strict=True):
        answers[place] = _mended(answers[place], answer, finished[place].text)
    if shows is not ask:
        answers = [replace(answer, translation=_as_asked(answer.translation, shows)) for answer in answers]
    return finished, answers


def _as_asked(translation: Translation, ask: Ask) -> Translation:
    """A translation without what was needed for its marks alone."""
    if ask.alignments and ask.weights:
        return translation
    words = translation if ask.alignments or ask.weights else replace(translation, source_words=(), target_words=())
    return replace(
        words,
        alignment=words.alignment if ask.alignments else None,
        weights=words.weights if ask.weights else None,
        sentences=tuple(_as_asked(each, ask) for each in words.sentences),
        nbest=tuple(_as_asked(each, ask) for each in words.nbest),
    )


def _mended(first: Answer, second: Answer, text: str) -> Answer:
    """An answer whose text was translated anew without what must not change: what was said of the old one is gone."""
    found = second.translation
    translation = replace(
        first.translation,
        text=text,
        score=found.score,
        log_prob=found.log_prob,
        pieces=found.pieces,
        flags=found.flags,
        is_truncated=found.is_truncated,
        source_words=(),
        target_words=(),
        alignment=None,
        weights=None,
        sentences=(),
    )
    return replace(first, translation=translation)
