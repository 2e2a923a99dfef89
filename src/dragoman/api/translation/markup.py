"""Translate text with tags and placeholders: the guard that all translations pass."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from dragoman.api.translation.options import TranslateKeywords, TranslateOptions
from dragoman.api.translation.text_translator import TextTranslator
from dragoman.api.translation.translation import (
    Translation,
    damage_flag,
    join_sentences,
    least_confidence,
    low_confidence,
    remembered,
)
from dragoman.api.translation.word_alignment import PairScorer, repaired_texts
from dragoman.evaluation.quality_flags import Flag
from dragoman.markup.masking import MaskedText, mask_protected
from dragoman.markup.placeholders.guarded_unit import GuardedUnit, guard_text, guard_unit
from dragoman.markup.placeholders.icu_message import has_icu_choice
from dragoman.markup.protected_spans import find_damage, locate_placeholders, placeholder_strings
from dragoman.markup.soft_alignment import SoftAlignment
from dragoman.markup.tag_projection import project_tags
from dragoman.markup.tagged_text import Remembered, TaggedText
from dragoman.storage.memory_reader import USED, KnownTranslations, MemoryMatch, MemoryReader

EMPTY = "an empty translation"
"""Damage of a text without a translation."""

_PART_NUMBER = 28  # bits of the index of a text, before that of its part


class TranslatedMarkup(NamedTuple):
    """Translations of tagged texts, in order. Those in `damaged` are their sources: placeholders or words were lost, or
    the confidence is too low."""

    texts: list[TaggedText]
    damaged: dict[int, str]
    """What would have been lost or new, such as ``lost {name}``, by the index of the text."""
    matches: Mapping[int, tuple[MemoryMatch, ...]] = MappingProxyType({})
    """Matches of a translation memory, by the index of the text."""
    remembered: frozenset[int] = frozenset()
    """Indices of the texts whose translation is that of their first match."""


@dataclass
class TextPart:
    """A part of the text at the index `place`, its index among the parts of the text, and its results."""

    place: int
    number: int
    source: TaggedText
    done: TaggedText
    found: Translation | None = None
    masked: MaskedText | None = None


class MarkupTranslation:
    """Two rounds of translation: all texts, then without their protected spans those whose spans were damaged.

    The parts of the `first` round that have tags, and all that `second_round` returns, must be translated with sentence
    splitting, alignment, attention and posterior. Tags are placed by attention weights, otherwise by links, otherwise
    by proportion. Texts whose only letters are in protected spans are in neither round. A text whose protected spans
    are damaged after both rounds is returned unchanged, as is an ICU message that cannot be taken apart. Spans that are
    `unreadable`, names with unknown letters for instance, are protected as well, but a text that loses one is returned.
    """

    def __init__(
        self,
        marked: Sequence[TaggedText | GuardedUnit],
        unreadable: Unreadable | None = None,
        min_confidence: float = 0.0,
    ) -> None:
        self._min_confidence = min_confidence
        self._units = [each if isinstance(each, GuardedUnit) else guard_unit(each) for each in marked]
        self._parts = [
            [
                TextPart(place, number, _with_unreadable(each, unreadable), each)
                for number, each in enumerate(unit.parts)
            ]
            for place, unit in enumerate(self._units)
        ]
        self.first = [
            part
            for unit, parts in zip(self._units, self._parts, strict=True)
            for part in parts
            if unit.fault is None and part.source.has_words
        ]
        self.second: list[TextPart] = []
        self.damaged: dict[int, str] = {}
        """After `finish`: what would have been lost or new, by the index of each text that is returned unchanged."""

    @property
    def texts(self) -> list[str]:
        """The texts of the first round."""
        return [part.source.text for part in self.first]

    @property
    def has_tags(self) -> bool:
        """Whether a text of the first round has tags."""
        return any(part.source.spans for part in self.first)

    def second_round(self, first: Sequence[Translation]) -> list[str]:
        """Add the translations of the first round; return the texts of the second round, often none."""
        self.second = []
        for part, found in zip(self.first, first, strict=True):
            part.found = found
            if _damage(part.source, found.text) is not None:
                part.masked = mask_protected(part.source)
                self.second.append(part)
            else:
                part.done = _projected(part.source, found)
        return [part.masked.tagged.text for part in self.second if part.masked is not None]

    def finish(self, second: Sequence[Translation]) -> list[TaggedText]:
        """Add the translations of the second round; return the translations of all texts, in order."""
        for part, found in zip(self.second, second, strict=True):
            part.found, part.done = found, _finished(part, found)
        finished: list[TaggedText] = []
        for place, (unit, parts) in enumerate(zip(self._units, self._parts, strict=True)):
            done = [part.done for part in parts]
            is_translated = any(part.found is not None for part in parts)
            damage = EMPTY if any(map(_is_lost, parts)) else unit.damage(done) if is_translated else unit.fault
            if damage is None:
                damage = low_confidence(_confidence(parts), self._min_confidence)
            if damage is not None:
                self.damaged[place] = damage
            finished.append(unit.build(done) if is_translated and damage is None else unit.source)
        return finished

    def translation(self, place: int, options: TranslateOptions) -> Translation:
        """Return the translation of a text after `finish`, with the results that `options` request."""
        unit, parts = self._units[place], self._parts[place]
        source = unit.source.text
        if place in self.damaged:
            detail = self.damaged[place]
            return Translation(
                source, source, flags=(Flag(damage_flag(detail), detail),), confidence=_confidence(parts)
            )
        translated = [part for part in parts if part.found is not None]
        if not translated:
            return Translation(source, source, flags=() if options.flags else None)
        if len(parts) > 1:
            text = unit.build([part.done for part in parts]).text
            found = [_part_translation(part, part.done.text, options) for part in translated]
            return join_sentences(source, text, found, is_cut=any(each.is_cut for each in found))
        (part,) = parts
        if unit.is_whole and part.masked is None and not part.source.spans:
            whole = _only_requested(part.found or Translation(source, source), options)
            return replace(
                whole, nbest=tuple(each for each in whole.nbest if unit.damage([TaggedText(each.text)]) is None)
            )
        return self._rebuilt(unit, part, options)

    def _rebuilt(self, unit: GuardedUnit, part: TextPart, options: TranslateOptions) -> Translation:
        """Return the translation of a text whose tags or placeholders were inserted again, and its alternatives."""
        assert part.found is not None
        nbest: list[Translation] = []
        for each in part.found.nbest:
            done = _finished(part, each)
            if unit.damage([done]) is None:
                nbest.append(
                    replace(_part_translation(part, unit.build([done]).text, options, each), source=unit.source.text)
                )
        best = _part_translation(part, unit.build([part.done]).text, options)
        return replace(best, source=unit.source.text, nbest=tuple(nbest), tree=part.found.tree)


def translate_markup(
    translator: TextTranslator, marked: Sequence[TaggedText], **options: Unpack[TranslateKeywords]
) -> TranslatedMarkup:
    """Translate texts with tags, sentence by sentence; `options` are other keywords of `translate`."""
    search = options.get("search") or translator.search_settings
    matches, done = find_segments(translator.memory, translator.languages, marked)
    rest = [place for place in range(len(marked)) if place not in done]
    work = MarkupTranslation([marked[place] for place in rest], translator.unreadable, search.min_confidence)
    links = work.has_tags
    first: TranslateKeywords = {**options, "alignment": links, "attention": links, "posterior": links, "protect": False}
    again = work.second_round(translator.translate(work.texts, **first) if work.texts else [])
    second: TranslateKeywords = {**first, "alignment": True, "attention": True, "posterior": True}
    texts = done | dict(zip(rest, work.finish(translator.translate(again, **second) if again else []), strict=True))
    damaged = {rest[place]: detail for place, detail in work.damaged.items()}
    if translator.memory is not None and translator.memory.repairs and isinstance(translator, PairScorer):
        similar = {place: matches[place][0] for place in rest if place in matches and place not in damaged}
        texts |= _repaired(translator, marked, texts, similar)
    return TranslatedMarkup([texts[place] for place in range(len(marked))], damaged, matches, frozenset(done))


def find_segments(
    memory: MemoryReader | None, languages: tuple[str, str], marked: Sequence[TaggedText]
) -> tuple[dict[int, tuple[MemoryMatch, ...]], dict[int, TaggedText]]:
    """Return the matches of segments, by their index, and the translations that replace those of segments.

    A segment with tags is not replaced: a memory does not have their places. Nor is one whose placeholders would be
    damaged.
    """
    if memory is None:
        return {}, {}
    found = memory.find(*languages, [each.text for each in marked])
    done: dict[int, TaggedText] = {}
    for place, (segment, matches) in enumerate(zip(marked, found, strict=True)):
        chosen = memory.chosen(matches)
        strings = placeholder_strings(segment.text, segment.kept)
        if chosen and segment.has_words and not segment.spans:
            kept = locate_placeholders(strings, segment.text, chosen.text)
            if kept is not None:
                done[place] = TaggedText(chosen.text, (), kept, _remembered(chosen))
    return {place: matches for place, matches in enumerate(found) if matches}, done


def _repaired(
    translator: PairScorer,
    marked: Sequence[TaggedText],
    texts: Mapping[int, TaggedText],
    units: Mapping[int, MemoryMatch],
) -> dict[int, TaggedText]:
    """Return the repaired translations of similar units, by the index of the segment; none for segments with tags."""
    places = [n for n, unit in units.items() if unit.score < USED and marked[n].has_words and not marked[n].spans]
    found = repaired_texts(
        translator, [marked[n].text for n in places], [texts[n].text for n in places], [units[n] for n in places]
    )
    done: dict[int, TaggedText] = {}
    for n, text in zip(places, found, strict=True):
        strings = placeholder_strings(marked[n].text, marked[n].kept)
        kept = None if text is None else locate_placeholders(strings, marked[n].text, text)
        if text is not None and kept is not None:
            done[n] = TaggedText(text, (), kept, _remembered(units[n]))
    return done


def _remembered(unit: MemoryMatch) -> Remembered:
    return Remembered(unit.score, unit.source, unit.text, unit.memory)


Unreadable = Callable[[str], tuple[tuple[int, int], ...]]
"""Returns the spans of a text that a model cannot read."""
Run = Callable[[Sequence[str], TranslateOptions, Sequence[str], Sequence[int]], list[Translation]]
"""Translates texts, given options, prefixes and numbers on which samples depend."""


def translate_guarded(
    texts: Sequence[str],
    options: TranslateOptions,
    prefixes: Sequence[str],
    first: int,
    run: Run,
    unreadable: Unreadable | None = None,
    known: KnownTranslations | None = None,
) -> list[Translation]:
    """Translate plain texts and keep their placeholders; texts without any are translated as without a guard.

    Texts with an exact match in a memory are not translated.
    """
    if known is not None and options.protect:
        return _translate_unknown(texts, options, prefixes, first, run, unreadable, known)
    if not options.protect:
        return run(texts, options, prefixes, range(first, first + len(texts)))
    minimum = options.search.min_confidence
    units = [_guard(text, prefix, unreadable) for text, prefix in zip(texts, prefixes, strict=True)]
    places = [place for place, unit in enumerate(units) if unit is not None]
    if not places:
        return [each.if_sure(minimum) for each in run(texts, options, prefixes, range(first, first + len(texts)))]
    work = MarkupTranslation([unit for unit in units if unit is not None], unreadable, minimum)
    plain = [place for place, unit in enumerate(units) if unit is None]

    def inputs(parts: Sequence[TextPart]) -> tuple[list[str], list[int]]:
        starts = [prefixes[places[part.place]] if part.number == 0 else "" for part in parts]
        return starts, [first + places[part.place] + (part.number << _PART_NUMBER) for part in parts]

    simple = [part for part in work.first if not part.source.spans]
    tagged = [part for part in work.first if part.source.spans]
    starts, numbers = inputs(simple)
    found = run(
        [*(texts[place] for place in plain), *(part.source.text for part in simple)],
        options,
        [*(prefixes[place] for place in plain), *starts],
        [*(first + place for place in plain), *numbers],
    )
    translations = dict(zip(plain, found[: len(plain)], strict=True))
    rest, aligned = iter(found[len(plain) :]), aligned_options(options)
    some = iter(run([part.source.text for part in tagged], aligned, *inputs(tagged)) if tagged else [])
    again = work.second_round([next(some if part.source.spans else rest) for part in work.first])
    work.finish(run(again, aligned, *inputs(work.second)) if again else [])
    translations |= {place: work.translation(n, options) for n, place in enumerate(places)}
    return [translations[place].if_sure(minimum) for place in range(len(texts))]


def _translate_unknown(
    texts: Sequence[str],
    options: TranslateOptions,
    prefixes: Sequence[str],
    first: int,
    run: Run,
    unreadable: Unreadable | None,
    known: KnownTranslations,
) -> list[Translation]:
    """Translate the texts that no match of a memory replaces; a sample depends on the index of its text as before."""
    memory, matches = known
    found = [
        None if prefix else remembered(memory, text, some, flags=options.flags)
        for text, prefix, some in zip(texts, prefixes, matches, strict=True)
    ]
    rest = [place for place, each in enumerate(found) if each is None]

    def run_rest(
        some: Sequence[str], wanted: TranslateOptions, starts: Sequence[str], numbers: Sequence[int]
    ) -> list[Translation]:
        mask = (1 << _PART_NUMBER) - 1
        moved = [(each & ~mask) + first + rest[(each & mask) - first] for each in numbers]
        return run(some, wanted, starts, moved)

    given = [texts[place] for place in rest], options, [prefixes[place] for place in rest]
    for place, each in zip(rest, translate_guarded(*given, first, run_rest, unreadable), strict=True):
        found[place] = replace(each, matches=tuple(matches[place]))
    return [each for each in found if each is not None]


def _guard(text: str, prefix: str, unreadable: Unreadable | None) -> GuardedUnit | None:
    """Return a text to protect, None for others. A prefix is the start of the translation of the whole text."""
    unit = guard_text(text)
    if unit is None and not prefix and unreadable is not None and unreadable(text):
        return guard_unit(TaggedText(text))
    if unit is None or not prefix:
        return unit
    return GuardedUnit(unit.source, (unit.source,), "an ICU message with a prefix" if has_icu_choice(text) else None)


def _with_unreadable(source: TaggedText, unreadable: Unreadable | None) -> TaggedText:
    """Return a text that also keeps what cannot be read, unless that crosses the edge of a tag."""
    found = unreadable(source.text) if unreadable is not None else ()
    if not found:
        return source
    kept = list(source.kept)
    edges = sorted({edge for span in source.spans for edge in (span.start, span.end)})
    for start, end in found:
        place = bisect_left(kept, (start, end))
        start = max(start, kept[place - 1][1] if place else 0)
        end = min(end, kept[place][0] if place < len(kept) else end)
        if start < end and bisect_right(edges, start) >= bisect_left(edges, end):
            kept.insert(place, (start, end))
    merged: list[tuple[int, int]] = []
    for start, end in kept:
        first = merged.pop()[0] if merged and merged[-1][1] == start and start not in edges else start
        merged.append((first, end))
    return replace(source, kept=tuple(merged))


def aligned_options(options: TranslateOptions) -> TranslateOptions:
    """Return options with all that the places of tags and placeholders depend on."""
    return replace(options, alignment=True, attention=True, posterior=True)


def _damage(source: TaggedText, text: str) -> str | None:
    return find_damage(placeholder_strings(source.text, source.kept), source.text, text)


def _confidence(parts: Sequence[TextPart]) -> float | None:
    return least_confidence(part.found for part in parts if part.found is not None)


def _is_lost(part: TextPart) -> bool:
    """Whether words were translated to nothing."""
    sent = part.source if part.masked is None else part.masked.tagged
    return part.found is not None and not part.found.text.strip() and sent.has_words


def _finished(part: TextPart, found: Translation) -> TaggedText:
    """Return a translation of a part, or one of its alternatives, with tags and placeholders."""
    if part.masked is None:
        return _projected(part.source, found)
    return part.masked.restore(_projected(part.masked.tagged, found, part.masked))


def _part_translation(
    part: TextPart, text: str, options: TranslateOptions, found: Translation | None = None
) -> Translation:
    """Return the translation of a part with another text; the words of one that was masked are unknown."""
    found = found or part.found
    assert found is not None
    shown = replace(_only_requested(found, options), source=part.source.text, text=text, nbest=(), tree=None)
    if part.masked is not None:
        shown = replace(shown, source_words=(), target_words=(), alignment=None, weights=None)
    return replace(shown, sentences=()) if part.masked is not None or part.source.spans else shown


def _only_requested(translation: Translation, options: TranslateOptions) -> Translation:
    """Remove the alignment that only tags needed."""
    if options.alignment and options.attention:
        return translation
    has_words = options.needs_attention
    return replace(
        translation,
        source_words=translation.source_words if has_words else (),
        target_words=translation.target_words if has_words else (),
        alignment=translation.alignment if options.alignment else None,
        weights=translation.weights if options.attention else None,
        sentences=tuple(_only_requested(each, options) for each in translation.sentences),
        nbest=tuple(_only_requested(each, options) for each in translation.nbest),
    )


def _projected(source: TaggedText, found: Translation, withheld: MaskedText | None = None) -> TaggedText:
    spaced = withheld.spaced if withheld else None
    return project_tags(
        source,
        found.source_words,
        found.text,
        found.target_words,
        found.alignment,
        shares=shares_of(found) if source.spans else None,
        spaced=spaced,
    )


def shares_of(found: Translation) -> SoftAlignment | None:
    """What tags follow, where there are weights. In a sentence that has none, links stand for them."""
    sentences = found.sentences or (found,)
    if all(each.weights is None for each in sentences):
        return None
    return SoftAlignment((each.source_words, each.target_words, _weights(each)) for each in sentences)


def _weights(found: Translation) -> NDArray[np.float64]:
    """The weights between words. Shapes: [tgt, src]."""
    size = len(found.target_words), len(found.source_words)
    weights = np.array(found.weights or (), dtype=np.float64)
    if weights.shape == size:
        return weights
    weights = np.zeros(size)
    for source, target in found.alignment or ():
        weights[target, source] = 1.0
    return weights
