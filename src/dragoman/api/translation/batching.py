"""Group sentences into batches by beam size and length, and run them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import TYPE_CHECKING

from dragoman.api.translation.options import Cancellation, TranslateOptions, TranslationCancelled
from dragoman.api.translation.prepared_text import Chunk
from dragoman.api.translation.streaming import StreamMonitor
from dragoman.config.search import SearchSettings
from dragoman.progress import Progress

if TYPE_CHECKING:
    from dragoman.api.translation.translator import Translator

_ROWS_PER_TOKEN = 2  # of a constraint, as in the constrained beam search
_BATCH_SENTENCES = 64
_USUAL_BEAM = 5  # a wider beam has fewer sentences per batch


def batch_by_length(lengths: Sequence[int], *, tokens: int, sentences: int) -> Iterator[list[int]]:
    """Group rows of similar length, the longest first: at most `tokens` per batch, padding and ends included."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    while order:
        most = max(1, min(sentences, tokens // (lengths[order[-1]] + 1)))
        batch = order[-most:]
        del order[-most:]
        batch.reverse()
        yield batch


def batch_chunks(
    chunks: Sequence[Chunk], settings: SearchSettings, *, tokens: int, sentences: int
) -> Iterator[list[Chunk]]:
    """Group chunks by the width of their beam, then by length; batches have `tokens` source tokens at a beam of 5."""
    groups: dict[int, list[Chunk]] = {}
    for chunk in chunks:
        groups.setdefault(beam_rows(chunk, settings).bit_length(), []).append(chunk)
    for _, group in sorted(groups.items(), reverse=True):
        widest = max(beam_rows(chunk, settings) for chunk in group)
        fitting = max(1, tokens * _USUAL_BEAM // max(widest, _USUAL_BEAM))
        for rows in batch_by_length([len(chunk.ids or ()) for chunk in group], tokens=fitting, sentences=sentences):
            yield [group[row] for row in rows]


def beam_rows(chunk: Chunk, settings: SearchSettings) -> int:
    """Return the number of hypotheses of a chunk that are decoded in parallel."""
    if settings.sample or settings.search == "mbr":
        return settings.nbest if settings.sample else settings.candidates
    if chunk.search_input is None or not chunk.search_input.phrases:
        return settings.beam
    return max(settings.beam, _ROWS_PER_TOKEN * (sum(map(len, chunk.search_input.phrases)) + 1))


def run_batches(
    batches: Sequence[list[Chunk]], work: Callable[[list[Chunk]], None], concurrency: int, progress: Progress
) -> None:
    """Run the work of all batches, up to `concurrency` at the same time."""
    progress.begin("translating")
    count, done = sum(map(len, batches)), 0
    with ThreadPoolExecutor(concurrency) if concurrency > 1 and len(batches) > 1 else nullcontext() as pool:
        finished = map(work, batches) if pool is None else pool.map(work, batches)
        for batch, _ in zip(batches, finished, strict=True):
            done += len(batch)
            progress.advance(done / count, done)


def search_all(
    translator: Translator,
    chunks: Sequence[Chunk],
    options: TranslateOptions,
    cancelled: Cancellation | None,
    progress: Progress,
) -> None:
    """Search and postprocess chunks in batches; a set flag `cancelled` raises `TranslationCancelled`."""
    monitor = None if cancelled is None else StreamMonitor([cancelled])
    concurrency = translator.engine.concurrency
    most = min(_BATCH_SENTENCES, -(-len(chunks) // concurrency))

    def translate(batch: list[Chunk]) -> None:
        if monitor is not None and monitor.is_cancelled(0):
            raise TranslationCancelled
        translator.search(batch, options, monitor)
        if not all(chunk.hypotheses for chunk in batch):
            raise TranslationCancelled
        for chunk in batch:
            translator.postprocess(chunk, options)

    batches = list(batch_chunks(chunks, options.search, tokens=translator.batch_tokens, sentences=max(1, most)))
    run_batches(batches, translate, concurrency, progress)
