"""Pivot translation: the options of both steps, glossary terms carried between them, and their composed results."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.api.translation.options import TranslateOptions, search_settings
from dragoman.api.translation.prepared_text import Chunk, PreparedText
from dragoman.api.translation.translation import Translation, Weights
from dragoman.evaluation.word_alignment import Links
from dragoman.markup.word_spans import LocatedWords
from dragoman.text.glossary import Glossary, GlossaryTerm


class _Postprocesses(Protocol):
    """A translator, which imports this package's other modules."""

    def postprocess(self, chunk: Chunk, options: TranslateOptions) -> Translation: ...


def step_options(options: TranslateOptions, *, is_first: bool, is_last: bool) -> TranslateOptions:
    """Return the options of one step: the first splits sentences, the last has the n-best list and the terms."""
    nbest = options.search.nbest if is_last else 1
    glossary = options.glossary
    if glossary is not None and not (is_first and is_last):
        glossary = Glossary({}, is_lenient=glossary.is_lenient) if is_last else None
    return replace(
        options,
        glossary=glossary,
        alignment=options.alignment or (is_first and not is_last and options.glossary is not None),
        split_sentences=options.split_sentences and is_first,
        search=options.search if nbest == options.search.nbest else search_settings(options.search, nbest=nbest),
    )


def pivot_sentences(first: _Postprocesses, prepared: PreparedText) -> list[str]:
    """Return the sentences of a text in the pivot language, after their search by the `first` translator."""
    return [first.postprocess(chunk, prepared.options).text for chunk in prepared.chunks]


def pivot_terms(
    first: _Postprocesses, prepared: PreparedText, glossary: Glossary | None
) -> list[list[GlossaryTerm]] | None:
    """Return the required terms of each pivot sentence; None without a glossary."""
    if glossary is None:
        return None
    return [carry_terms(glossary, first.postprocess(each, prepared.options)) for each in prepared.chunks]


def compose_text(
    first: PreparedText, sentences: Sequence[Translation], second: Sequence[Translation], language: str
) -> Translation:
    """Compose the translations `sentences` of a text with their translations `second` into the target `language`."""
    whole = replace(first, languages=(first.languages[0], language))
    return whole.join([compose(one, other) for one, other in zip(sentences, second, strict=True)])


def join_prepared(first: PreparedText, second: Sequence[PreparedText]) -> PreparedText:
    """Join the sentences prepared by the second translator, with the white space of the text."""
    chunks = []
    for chunk, prepared in zip(first.chunks, second, strict=True):
        *before, last = prepared.chunks
        chunks += [*before, replace(last, after=last.after + chunk.after)]
    languages = first.languages[0], second[0].languages[1] if second else first.languages[1]
    return PreparedText(first.text, chunks, (second[0] if second else first).options, languages)


def carry_terms(glossary: Glossary, first: Translation) -> list[GlossaryTerm]:
    """Return terms as those of the translation `first`: by links, or without links at the same relative position."""
    terms = glossary.find_terms(first.source)
    if not terms:
        return []
    source, pivot = LocatedWords(first.source, first.source_words), LocatedWords(first.text, first.target_words)
    found: list[GlossaryTerm] = []
    for term in terms:
        if not len(pivot):
            found.append(GlossaryTerm("", term.target, 0, 0))
            continue
        words = source.touching(term.start, term.end)
        linked = sorted({target for place, target in first.alignment or () if place in words})
        first_word = linked[0] if linked else min(len(pivot) - 1, words.start * len(pivot) // max(1, len(source)))
        last_word = first_word
        while last_word + 1 in linked:
            last_word += 1
        start, end = pivot.words[first_word].first, pivot.words[last_word].last
        found.append(GlossaryTerm(first.text[start:end], term.target, start, end))
    return found


def compose(first: Translation, second: Translation) -> Translation:
    """Compose two translations; links and weights are None where the two pivot texts differ."""
    bridge = _bridge(first.target_words, second.source_words)
    return replace(
        _behind(first, second, bridge),
        flags=None if first.flags is None or second.flags is None else (*first.flags, *second.flags),
        nbest=tuple(_behind(first, each, bridge) for each in second.nbest),
        is_truncated=first.is_truncated or second.is_truncated,
        is_cut=first.is_cut or second.is_cut,
        sentences=(),
    )


def _behind(first: Translation, second: Translation, bridge: NDArray[np.float64] | None) -> Translation:
    """Return a second translation, or one of its alternatives, as a translation of the first source."""
    return replace(
        second,
        source=first.source,
        log_prob=first.log_prob + second.log_prob,
        score=first.score + second.score,
        source_words=first.source_words,
        alignment=_links(first.alignment, second.alignment, bridge),
        weights=_weights(first.weights, second.weights, bridge),
        confidence=None
        if first.confidence is None or second.confidence is None
        else first.confidence * second.confidence,
    )


def _bridge(written: Sequence[str], read: Sequence[str]) -> NDArray[np.float64] | None:
    """Return the share of each word of the second source in each word of the first target; None if the texts differ.

    Two tokenizers may split a text into different words, which are matched by their characters.
    Shapes: -> [read, written].
    """
    if "".join(written) != "".join(read):
        return None
    bridge = np.zeros((len(read), len(written)))
    owners = [place for place, word in enumerate(written) for _ in word]
    at = 0
    for place, word in enumerate(read):
        for owner in owners[at : at + len(word)]:
            bridge[place, owner] += 1 / len(word)
        at += len(word)
    return bridge


def _links(first: Links | None, second: Links | None, bridge: NDArray[np.float64] | None) -> Links | None:
    if first is None or second is None or bridge is None:
        return None
    before: dict[int, list[int]] = {}
    for source, middle in first:
        before.setdefault(middle, []).append(source)
    found = {
        (source, target)
        for read, target in second
        for written in np.flatnonzero(bridge[read]).tolist()
        for source in before.get(written, ())
    }
    return tuple(sorted(found))


def _weights(first: Weights | None, second: Weights | None, bridge: NDArray[np.float64] | None) -> Weights | None:
    """Shapes: [middle, source], [target, middle] -> [target, source]."""
    if first is None or second is None or bridge is None or not first or not second:
        return None
    product = np.asarray(second) @ bridge @ np.asarray(first)
    return tuple(map(tuple, product.tolist()))
