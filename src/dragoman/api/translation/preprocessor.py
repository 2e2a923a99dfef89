"""Split source text into sentences, normalize them and tokenize them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dragoman.api.translation.glossary_constraints import find_constraints, required_phrases
from dragoman.api.translation.options import TranslateOptions
from dragoman.api.translation.postprocessor import Postprocessor
from dragoman.api.translation.prepared_text import Chunk, PreparedText
from dragoman.errors import DataError
from dragoman.markup.protected_spans import find_unreadable
from dragoman.search.hypothesis import SearchInput
from dragoman.text import Normalizer, Tokenizer
from dragoman.text.characters import check_unicode, has_letters
from dragoman.text.glossary import GlossaryTerm
from dragoman.text.sentences import SentenceSegment, split_sentences

_UNKNOWN_LANGUAGE = "en"


@dataclass(frozen=True)
class Preprocessor:
    """Prepares texts for search, at most `max_tokens` tokens per chunk. `target` tokenizes prefixes and terms."""

    tokenizer: Tokenizer
    normalize: Normalizer
    languages: tuple[str, str]
    max_tokens: int
    target: Postprocessor

    def prepare(
        self,
        texts: Sequence[str],
        options: TranslateOptions,
        prefixes: Sequence[str] | None = None,
        first: int | Sequence[int] = 0,
        terms: Sequence[Sequence[GlossaryTerm]] | None = None,
    ) -> list[PreparedText]:
        """Split texts into chunks, and create the input of each search.

        `terms` are those of each text, if they are not found by the glossary of the options. `first` is the number of
        the first text, or there is one per text: samples depend on them.
        """
        if prefixes is not None:
            check_prefixes(prefixes, texts)
        numbers = range(first, first + len(texts)) if isinstance(first, int) else first
        prepared = [PreparedText(text, self._chunks(text, options), options, self.languages) for text in texts]
        for index, (number, each) in enumerate(zip(numbers, prepared, strict=True)):
            prefix = prefixes[index] if prefixes else ""
            waiting = None if terms is None else list(terms[index])
            for place, chunk in enumerate(each.chunks):
                if chunk.ids is not None:
                    is_last = all(later.ids is None for later in each.chunks[place + 1 :])
                    given = None if waiting is None else _take_terms(chunk.normalized, waiting, is_last=is_last)
                    chunk.search_input = self._search_input(chunk, prefix, number + (place << 40), options, given)
                    prefix = ""
        return prepared

    def unreadable(self, text: str) -> tuple[tuple[int, int], ...]:
        """Return the spans of a text that the tokenizer cannot represent and that must stay."""
        return find_unreadable(text, self.tokenizer.can_read)

    def sentence(self, text: str) -> Chunk:
        """Return a text as one chunk, with or without letters and of any length."""
        normalized = self.normalize(text)
        return Chunk(text, "", normalized, self.tokenizer.encode(normalized))

    def _chunks(self, text: str, options: TranslateOptions) -> list[Chunk]:
        language = self.languages[0] or _UNKNOWN_LANGUAGE
        segments = (
            split_sentences(text, language) if options.split_sentences else [SentenceSegment(check_unicode(text), "")]
        )
        most = min(self.max_tokens, options.max_sentence_tokens or self.max_tokens)
        return [chunk for segment in segments for chunk in self._segment_chunks(segment, most)]

    def _segment_chunks(self, segment: SentenceSegment, most: int) -> list[Chunk]:
        text, after = segment
        if not has_letters(text):
            return [Chunk(text, after)]
        normalized = self.normalize(text)
        ids = self.tokenizer.encode(normalized)
        if len(ids) <= most:
            return [Chunk(text, after, normalized, ids)] if ids else [Chunk(text, after)]
        return list(self._cut(normalized, ids, after, most))

    def _cut(self, normalized: str, ids: list[int], after: str, most: int) -> Iterator[Chunk]:
        """Halve a long text, at a space near the middle, until every chunk has at most `most` tokens."""
        if not ids or not has_letters(normalized):
            yield Chunk(normalized, after, is_cut=True)
            return
        if len(ids) <= most or len(normalized) < 2:
            yield Chunk(normalized, after, normalized, ids, is_cut=True)
            return
        middle = len(normalized) // 2
        space = normalized.rfind(" ", middle // 2, middle + 1)
        before, gap, behind = normalized[:middle], "", normalized[middle:]
        if space > 0:
            before, gap, behind = normalized[:space], " ", normalized[space + 1 :]
        for half, separator in ((before, gap), (behind, after)):
            yield from self._cut(half, self.tokenizer.encode(half), separator, most)

    def _search_input(
        self,
        chunk: Chunk,
        prefix: str,
        number: int,
        options: TranslateOptions,
        given: Sequence[GlossaryTerm] | None = None,
    ) -> SearchInput:
        assert chunk.ids is not None
        forced = self.target.tokenize(prefix).ids if prefix else []
        if options.glossary is None:
            return SearchInput(chunk.ids, forced, number=number)
        tools = (self.tokenizer, self.target.tokenizer, self.normalize)
        if given is None:
            terms = find_constraints(options.glossary, chunk.normalized, *tools)
        else:
            terms = required_phrases(given, chunk.normalized, *tools, is_lenient=options.glossary.is_lenient)
        may_follow = self.target.may_follow_words if terms else None
        return SearchInput(chunk.ids, forced, list(terms), list(terms.values()), may_follow, number)


def check_texts(texts: Any) -> Sequence[str]:
    """Require several strings, in a list or another collection that has a length, and return them."""
    is_list = isinstance(texts, Collection) and not isinstance(texts, bytes | bytearray | Mapping)
    wrong = [each for each in texts if not isinstance(each, str)] if is_list else [texts]
    if wrong:
        got = type(wrong[0]).__name__
        raise DataError(f"a text must be a string, and several a list of strings, got {got}; convert it first")
    checked: Sequence[str] = texts
    return checked


def check_prefixes(prefixes: Sequence[str], texts: Sequence[str]) -> Sequence[str]:
    """Require one prefix per text, and return the prefixes."""
    if len(prefixes) != len(texts):
        raise DataError(
            f"there must be one prefix per text, got {len(prefixes)} for {len(texts)}; an empty one forces nothing"
        )
    return prefixes


def check_pairs(sources: Sequence[str], targets: Sequence[str]) -> None:
    """Require one translation per source."""
    if len(sources) != len(targets):
        raise DataError(
            f"there must be one translation per source, got {len(sources)} sources and {len(targets)} "
            "translations; count the lines of both"
        )


def _take_terms(text: str, waiting: list[GlossaryTerm], *, is_last: bool) -> list[GlossaryTerm]:
    """Remove the terms that occur in a chunk from a list, and return them at their positions in the chunk.

    The last chunk takes the rest: terms whose words were changed by normalization have no position.
    """
    found: list[GlossaryTerm] = []
    for term in list(waiting):
        at = text.find(term.source) if term.source else -1
        if at >= 0 or is_last:
            waiting.remove(term)
            found.append(replace(term, start=max(at, 0), end=at + len(term.source) if at >= 0 else 0))
    return found
