"""Translate an uploaded document in parts of limited size; retry a part when the server is overloaded."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dragoman.documents.document import check_declared_target, select_target
from dragoman.documents.formats import read_document
from dragoman.documents.limits import DocumentTooLargeError
from dragoman.markup.tagged_text import TaggedText
from dragoman.server.errors import Overloaded, TooLarge
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.pipeline.request_checks import charged_tokens
from dragoman.server.request_types import TranslationRequest
from dragoman.server.scheduling.admission import Reservation

_SLICE_TEXTS, _SLICE_CHARACTERS = 32, 4000  # per slice: other requests are scheduled in between
_SAMPLE_CHARACTERS = 500  # for language detection
_SAMPLE_SEGMENTS = 200


@dataclass(frozen=True)
class TranslatedDocument:
    """A translated document, its language, and the number of characters of its source."""

    data: bytes
    language: str
    characters: int


async def translate_document(
    pipeline: TranslationPipeline, name: str, data: bytes, request: TranslationRequest, reservation: Reservation
) -> TranslatedDocument:
    """Translate a document; the texts of the request are ignored."""
    limit = pipeline.settings.limits.file_characters
    try:
        document = await asyncio.to_thread(read_document, name, data, characters=limit)
    except DocumentTooLargeError as error:
        raise TooLarge(str(error)) from None
    (sample,) = pipeline.resolve(replace(request, texts=[_sample(document.segments)]))
    check_declared_target(document, sample.target)
    select_target(document, sample.target)
    segments = document.segments
    size = sum(len(each.text) for each in segments)
    translated: list[TaggedText] = []
    if sample.source == sample.target:
        reservation.charge(charged_tokens(size))
        translated = list(segments)
    else:
        resolved = await pipeline.with_memory(request.for_pair(sample.source, sample.target), reservation)
        for part in _slices(segments):
            translated += await _translate_slice(pipeline, part, resolved, reservation)
    written = await asyncio.to_thread(document.write, translated, language=sample.target)
    return TranslatedDocument(written, sample.target, size)


async def _translate_slice(
    pipeline: TranslationPipeline, part: Sequence[TaggedText], request: TranslationRequest, reservation: Reservation
) -> list[TaggedText]:
    """Translate a slice; wait if the server is overloaded, because the document is admitted already."""
    loop = asyncio.get_running_loop()
    while True:
        try:
            pair = await pipeline.service.open_pair(request, reservation)
            return (await pipeline.translate_tagged(pair, part, request, reservation))[0]
        except Overloaded as error:
            wait = error.retry_after or 1.0
            if loop.time() + wait > reservation.deadline:
                raise
            await asyncio.sleep(wait)


def _slices(segments: Sequence[TaggedText]) -> Iterator[Sequence[TaggedText]]:
    start, size = 0, 0
    for number, each in enumerate(segments):
        if number > start and (number - start >= _SLICE_TEXTS or size + len(each.text) > _SLICE_CHARACTERS):
            yield segments[start:number]
            start, size = number, 0
        size += len(each.text)
    if start < len(segments):
        yield segments[start:]


def _sample(segments: Sequence[TaggedText]) -> str:
    """Return the longest texts of the beginning; headings alone are too short to detect a language."""
    texts: list[str] = []
    size = 0
    for each in sorted(segments[:_SAMPLE_SEGMENTS], key=lambda each: -len(each.text)):
        if size > _SAMPLE_CHARACTERS:
            break
        texts.append(each.text[:_SAMPLE_CHARACTERS])
        size += len(texts[-1])
    return "\n".join(texts)
