"""Take a text apart into sentences and syntax, so that translation cannot reach the syntax, and check the result.

Tags in plain strings become tags of a `TaggedText`; ICU messages are translated branch by branch; literal ``\\n`` and
``<br>`` separate texts; the mnemonic of a label is removed and set again. Other placeholders are kept parts.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from dragoman.markup.placeholders.icu_message import Plural, has_icu_choice, parse_icu, restore_count
from dragoman.markup.placeholders.kinds import Mnemonic, find_mnemonic
from dragoman.markup.protected_spans import (
    find_damage,
    find_placeholders,
    locate_placeholders,
    match_placeholders,
    pair_tags,
    placeholder_strings,
)
from dragoman.markup.tagged_text import TaggedText, TagSpan, walk_tags

_BREAKS = frozenset({"\\n", "\\r", "\\t", "<br>", "<br/>", "<br />"})


@dataclass(frozen=True)
class _Part:
    """A text to translate and the literal tags that were taken out of it, by their number."""

    tagged: TaggedText
    tags: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    number: str = ""
    """Replacement of the placeholder `count` of a plural."""
    count: str = ""

    def write(self, translated: TaggedText) -> str:
        """Return a translation with the tags, and with the placeholder of a plural."""
        text = self._tagged(translated)
        return restore_count(text, self.number, self.count) or text

    def _tagged(self, translated: TaggedText) -> str:
        if not self.tags:
            return translated.text
        texts = []
        for each in walk_tags(translated):
            if isinstance(each, str):
                texts.append(each)
            else:
                texts.append((self.ends if each.is_end else self.tags)[each.span.tag])
        return "".join(texts)


@dataclass(frozen=True)
class GuardedUnit:
    """A text with the parts that are translated, and how its translation is built from theirs."""

    source: TaggedText
    parts: tuple[TaggedText, ...]
    fault: str | None = None
    """Why the text is not translated."""
    _pieces: tuple[str | _Part, ...] = ()
    _mnemonic: Mnemonic | None = None
    _is_icu: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether the text is its only part."""
        return not self._pieces

    def build(self, translated: Sequence[TaggedText]) -> TaggedText:
        """Return the translation of the text, given those of its parts."""
        if self.is_whole:
            return translated[0]
        results = iter(translated)
        text = "".join(each if isinstance(each, str) else each.write(next(results)) for each in self._pieces)
        if self._mnemonic is not None:
            text = self._mnemonic.add_to(text)
        strings = placeholder_strings(self.source.text, self.source.kept)
        return TaggedText(text, (), locate_placeholders(strings, self.source.text, text) or ())

    def damage(self, translated: Sequence[TaggedText]) -> str | None:
        """Return what the translation of the text has lost, or has in addition; None if it is undamaged."""
        if self.is_whole:
            return _damage(self.source, translated[0].text)
        text = self.build(translated).text
        if self._is_icu:
            found = parse_icu(text)
            if found is None or found.fragments != tuple(map("".join, self._syntax())):
                return "the syntax of an ICU message"
            numbered = [each for each in self._pieces if isinstance(each, _Part)]
            if any(
                restore_count(new.text, part.number, part.count) is None
                for part, new in zip(numbered, translated, strict=True)
            ):
                return "the number of a plural"
            return next(filter(None, map(_damage, self.parts, (each.text for each in translated))), None)
        source = self.source.text
        if self._mnemonic is not None:
            source, text = (each.replace(self._mnemonic.marker, "", 1) for each in (source, text))
        strings = [source[start:end] for _, start, end in match_placeholders(source)]
        return find_damage(strings, source, text)

    def _syntax(self) -> Iterator[list[str]]:
        syntax: list[str] = []
        for each in self._pieces:
            if isinstance(each, str):
                syntax.append(each)
            else:
                yield syntax
                syntax = []
        yield syntax


def guard_text(text: str) -> GuardedUnit | None:
    """Take a plain text apart; None if it has nothing to protect."""
    unit = guard_unit(TaggedText(text, kept=find_placeholders(text)))
    return None if unit.is_whole and not unit.source.kept and unit.fault is None else unit


def guard_unit(source: TaggedText) -> GuardedUnit:
    """Take a text apart. One with tags of its document is translated whole, and with an ICU message not at all."""
    text = source.text
    is_icu = has_icu_choice(text)
    if source.spans or (source.kept and source.kept != find_placeholders(text)):
        return GuardedUnit(source, (source,), "an ICU message with tags" if is_icu else None)
    if is_icu:
        message = parse_icu(text)
        if message is None:
            return GuardedUnit(source, (source,), "an ICU message that cannot be taken apart")
        pieces: list[str | _Part] = [message.fragments[0]]
        for each, plural, fragment in zip(message.texts, message.plurals, message.fragments[1:], strict=True):
            pieces += [_branch(each, plural), fragment]
        return _unit(source, pieces, is_icu=True)
    found = find_mnemonic(text)
    bare, mnemonic = (text, None) if found is None else found
    matches = list(match_placeholders(bare))
    is_apart = mnemonic is not None or any(kind == "tag" or bare[a:b] in _BREAKS for kind, a, b in matches)
    return _unit(source, list(_split(bare, matches)), mnemonic) if is_apart else GuardedUnit(source, (source,))


def _branch(text: str, plural: Plural | None) -> _Part:
    """Return a text of an ICU message; in a plural a number that takes its form stands for the count."""
    if plural is None:
        return _part(text, list(match_placeholders(text)))
    shown, number, count = plural.swap(text)
    matches = list(match_placeholders(shown))
    start = shown.index(number)
    end = start + len(number)
    if not number or any(first < end and start < last for _, first, last in matches):
        return _part(text, list(match_placeholders(text)), numbers=True)
    matches.append(("number", start, end))
    return replace(_part(shown, sorted(matches, key=lambda each: each[1])), number=number, count=count)


def _unit(
    source: TaggedText, pieces: list[str | _Part], mnemonic: Mnemonic | None = None, *, is_icu: bool = False
) -> GuardedUnit:
    parts = tuple(each.tagged for each in pieces if isinstance(each, _Part))
    return GuardedUnit(source, parts, None, tuple(pieces), mnemonic, is_icu)


def _damage(source: TaggedText, text: str) -> str | None:
    return find_damage(placeholder_strings(source.text, source.kept), source.text, text)


def _split(text: str, matches: Sequence[tuple[str, int, int]]) -> Iterator[str | _Part]:
    """Yield the texts between breaks, and the breaks with the white space around them."""
    at = 0
    inside: list[tuple[str, int, int]] = []
    for kind, start, end in (*matches, ("", len(text), len(text))):
        if kind and text[start:end].lower() not in _BREAKS:
            inside.append((kind, start - at, end - at))
            continue
        whole = text[at:start]
        bare = whole.strip()
        lead = len(whole) - len(whole.lstrip())
        yield whole[:lead]
        if bare:
            yield _part(bare, [(each, first - lead, last - lead) for each, first, last in inside])
        yield whole[lead + len(bare) :] + text[start:end]
        at, inside = end, []


def _part(text: str, matches: Sequence[tuple[str, int, int]], *, numbers: bool = False) -> _Part:
    """Take the tags out of a text; with `numbers` each ``#`` is a placeholder."""
    tags = [(start, end) for kind, start, end in matches if kind == "tag"]
    kept = [(start, end) for kind, start, end in matches if kind != "tag"]
    if numbers:
        held = {place for start, end in (*kept, *tags) for place in range(start, end)}
        kept = sorted([*kept, *((n, n + 1) for n, char in enumerate(text) if char == "#" and n not in held)])
    names = [text[start:end] for start, end in tags]
    pairs = pair_tags(names)
    starts = {end: start for start, end in pairs.items()}
    texts: list[str] = []
    removed, at = 0, 0
    spans: dict[int, TagSpan] = {}
    depth = 0
    for number, (start, end) in enumerate(tags):
        texts.append(text[at:start])
        place = start - removed
        if number in starts:
            depth -= 1
            begun = spans[starts[number]]
            spans[starts[number]] = TagSpan(begun.start, place, begun.tag, begun.depth)
        else:
            spans[number] = TagSpan(place, place, number, depth)
            depth += number in pairs
        removed += end - start
        at = end
    bare = "".join([*texts, text[at:]])
    ends = tuple(names[pairs[number]] if number in pairs else "" for number in range(len(names)))
    begins = [start for start, _ in tags]
    shifts = list(accumulate((end - start for start, end in tags), initial=0))
    moved = [(start - shifts[at], end - shifts[at]) for start, end in kept for at in [bisect_left(begins, start)]]
    merged: list[tuple[int, int]] = []
    for start, end in moved:
        first = merged.pop()[0] if merged and merged[-1][1] == start else start
        merged.append((first, end))
    return _Part(TaggedText(bare, tuple(spans.values()), tuple(merged)), tuple(names), ends)
