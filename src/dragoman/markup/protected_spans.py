"""Find the spans of a text that translation must not change: placeholders, web and mail addresses."""

import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from dragoman.markup.placeholders.kinds import (
    ADDRESS_KINDS,
    PLACEHOLDER_KINDS,
    SEQUENTIAL,
    PlaceholderKind,
    find_mnemonic,
)
from dragoman.text.characters import joins

_FOLLOWING = ".,;:!?'*_\u2019\u201d\u00bb\u203a\u2026"
_DELIMITED = re.compile(r"[{%#\[<\\&`]|[$@]\{|\$t\(|@[.\w]*:\(|__|:.*:$|\$.*\$$")
"""Start of placeholders that end themselves, so that letters may follow."""
_MAY_HAVE = re.compile(r"[{%<\\$@&`\[]|\]\]>|:[A-Za-z_]|_|(?<!\w)-{1,2}[A-Za-z]|://|[wW]{3}\.")
"""Every placeholder and address contains one of these."""
_MAY_HAVE_ADDRESS = re.compile(r"@|://|[wW]{3}\.|mailto:")
_PERCENTAGE = re.compile(r"\d[ \u00a0\u202f]%")
_TAG_NAME = re.compile(r"</?([\w:.-]+)")
_BRACKETS = {")": "(", "]": "["}
_WORD = re.compile(r"\w+(?:[-'\u2019]\w+)*")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_SYMBOLS = "#@\\{}\u00a7\u2022\u200d\ufe0f"  # in addition to the categories S
_PREFIX = 4  # characters by which strings are grouped


def _union(kinds: Sequence[PlaceholderKind]) -> str:
    return "|".join(f"(?P<{kind.name.replace('-', '_')}>{kind.pattern})" for kind in kinds)


@functools.cache  # compiling takes 20 ms
def _pattern(*, addresses: bool) -> re.Pattern[str]:
    """Return the pattern of all placeholders, also of `addresses`."""
    if addresses:
        return re.compile(_union((*ADDRESS_KINDS, *PLACEHOLDER_KINDS)))
    # The first characters save most of the time in ordinary text.
    first = r"[#$%@{\[<\\&`:_-]|\]\]>|[A-Za-z]:\\|(?<!\w)[A-Za-z][A-Za-z0-9]{0,60}[_&]"
    return re.compile(f"(?={first})(?:{_union(PLACEHOLDER_KINDS)})")


_ADDRESSES = frozenset(kind.name for kind in ADDRESS_KINDS)
_TRIMMED = _ADDRESSES | {"path"}
_SEQUENTIAL = re.compile(SEQUENTIAL)
_STRICT = frozenset(kind.name.replace("-", "_") for kind in PLACEHOLDER_KINDS if kind.strict)


def match_placeholders(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the kind, as in `placeholders.kinds` with underscores, and the span of each placeholder and address."""
    if _MAY_HAVE.search(text) is None:
        return
    for match in _pattern(addresses=_MAY_HAVE_ADDRESS.search(text) is not None).finditer(text):
        start, end = match.span()
        kind = match.lastgroup or ""
        yield kind, start, start + _address_length(match[0]) if kind in _TRIMMED else end


def find_placeholders(text: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of placeholders and addresses, of all kinds in `placeholders.kinds`.

    Adjacent spans are merged. Punctuation after an address is excluded. ICU messages that contain text, such as
    ``{n, plural, …}``, and mnemonics are not among them: `placeholders.guarded_unit` takes texts that have them apart.
    """
    found: list[tuple[int, int]] = []
    is_label = find_mnemonic(text) is not None
    for kind, start, end in match_placeholders(text):
        if is_label and kind == "identifier":
            continue  # E&xit
        first = found.pop()[0] if found and found[-1][1] == start else start
        found.append((first, end))
    return tuple(found)


def find_unreadable(text: str, can_read: Callable[[str], bool]) -> tuple[tuple[int, int], ...]:
    """Return the spans of names, words of other scripts and symbols with a character that a model cannot read.

    Typographic quotes and dashes, and Latin words in lower case, are left to the model.
    """
    unread = {character for character in set(text) if not can_read(character)}
    if not unread:
        return ()
    letters = {character for character in unread if character.isalnum()}
    others = {character for character in letters if not _LATIN.match(character)}
    found = [
        word.span()
        for word in _WORD.finditer(text)
        if not (letters if word[0][0].isupper() else others).isdisjoint(word[0])
    ]
    found += [
        (place, place + 1)
        for place, character in enumerate(text)
        if character in unread and (character in _SYMBOLS or unicodedata.category(character)[0] == "S")
    ]
    merged: list[tuple[int, int]] = []
    for start, end in sorted(found):
        first = merged.pop()[0] if merged and merged[-1][1] == start else start
        merged.append((first, end))
    return tuple(merged)


def count_placeholders(text: str, *, strict: bool = False) -> Counter[str]:
    """Count the placeholders of a text, without addresses, tags, and percentages such as ``50 %-a``.

    With `strict` those are left out that may be ordinary text.
    """
    return Counter(
        text[start:end]
        for kind, start, end in match_placeholders(text)
        if kind not in _ADDRESSES
        and kind != "tag"
        and (kind in _STRICT or not strict)
        and (kind != "printf" or not _PERCENTAGE.match(text, start - 2))
    )


def placeholder_strings(text: str, kept: Iterable[tuple[int, int]]) -> list[str]:
    """Return the text of each span that is not empty."""
    return [text[start:end] for start, end in kept if end > start]


def locate_placeholders(strings: Iterable[str], source: str, target: str) -> tuple[tuple[int, int], ...] | None:
    """Return the spans of source strings in the translation; None if one occurs a different number of times there.

    Also None if letters touch an address or a name that they did not touch in the source: they would be part of it.
    """
    wanted = frozenset(filter(None, strings))
    if not wanted:
        return ()
    ours, theirs = _occurrences(wanted, source), _occurrences(wanted, target)
    if _counts(source, ours) != _counts(target, theirs) or not _touched(target, theirs) <= _touched(source, ours):
        return None
    return tuple(theirs)


def find_damage(strings: Sequence[str], source: str, target: str) -> str | None:
    """Return what a translation lost of the source's `strings`, or has in addition; None if it is undamaged.

    A placeholder that is only in the translation is damage too: a program would fill it. So is a pair of tags in the
    wrong order, and an order in which ``%s`` would format the argument of ``%d``.
    """
    if not strings:
        return None
    wanted = frozenset(filter(None, strings))
    before, after = (_counts(text, _occurrences(wanted, text)) for text in (source, target))
    new = (after - before) | (count_placeholders(target, strict=True) - count_placeholders(source))
    old_tags, tags = match_tags(source), match_tags(target)
    new |= Counter(tags) - Counter(old_tags)
    parts = [f"{what} {', '.join(sorted(some))}" for what, some in (("lost", before - after), ("new", new)) if some]
    if not parts and pair_tags(old_tags).keys() and len(pair_tags(tags)) < len(pair_tags(old_tags)):
        parts = [f"{', '.join(tags)} in the wrong order"]
    if not parts and locate_placeholders(strings, source, target) is None:
        return "letters touch an address or a name"
    return "; ".join(parts) or _order_damage(source, target)


def _order_damage(source: str, target: str) -> str | None:
    """Return what a program that formats the text would do differently, given that no placeholder is lost."""
    if "%" not in source and "{" not in source:
        return None
    (before, left), (after, right) = map(_sequence, (source, target))
    if before != after:
        return f"{', '.join(before)} in the order {', '.join(after)}"
    return "new %" if right > left and any(each[0] == "%" for each in before) else None


def _sequence(text: str) -> tuple[list[str], int]:
    """Return the placeholders that take the next argument, in order, and the number of percent signs around them."""
    found: list[str] = []
    inside = 0
    for kind, start, end in match_placeholders(text):
        inside += text.count("%", start, end)
        if kind == "tag" or _SEQUENTIAL.fullmatch(text, start, end):
            found += _SEQUENTIAL.findall(text, start, end)
    return found, text.count("%") - inside


def match_tags(text: str) -> list[str]:
    """Return the tags of a text, such as ``<b>`` and ``</0>``, in order."""
    return [text[start:end] for kind, start, end in match_placeholders(text) if kind == "tag"] if "<" in text else []


def pair_tags(tags: Sequence[str]) -> dict[int, int]:
    """Return the indices of start tags and of the end tags that belong to them; pairs are nested."""
    pairs: dict[int, int] = {}
    open_: list[tuple[str, int]] = []
    counts: Counter[str] = Counter()
    for place, tag in enumerate(tags):
        name = _TAG_NAME.match(tag)
        if name is None or tag.endswith("/>"):
            continue
        if not tag.startswith("</"):
            open_.append((name[1], place))
            counts[name[1]] += 1
        elif counts[name[1]]:
            while open_[-1][0] != name[1]:
                counts[open_.pop()[0]] -= 1
            counts[name[1]] -= 1
            pairs[open_.pop()[1]] = place
    return pairs


def _occurrences(wanted: frozenset[str], text: str) -> list[tuple[int, int]]:
    """Return the spans of the strings in a text, from left to right, the longest of several at one position.

    One search for the first characters, then a lookup per possible length: the time does not grow with the number of
    strings.
    """
    lengths: dict[str, set[int]] = {}
    for string in wanted:
        lengths.setdefault(string[:_PREFIX], set()).add(len(string))
    longest_first = {prefix: sorted(found, reverse=True) for prefix, found in lengths.items()}
    first = re.compile("[" + re.escape("".join(sorted({prefix[0] for prefix in lengths}))) + "]")
    spans: list[tuple[int, int]] = []
    done = 0
    for match in first.finditer(text):
        start = match.start()
        if start < done:
            continue
        for size in range(_PREFIX, 0, -1):
            ends = (start + length for length in longest_first.get(text[start : start + size], ()))
            if end := next((end for end in ends if end <= len(text) and text[start:end] in wanted), 0):
                spans.append((start, end))
                done = end
                break
    return spans


def _counts(text: str, spans: Sequence[tuple[int, int]]) -> Counter[str]:
    return Counter(text[start:end] for start, end in spans)


def _touched(text: str, spans: Sequence[tuple[int, int]]) -> set[str]:
    """Return the addresses and names, such as ``:name``, that are directly adjacent to a letter or digit."""
    return {
        text[start:end]
        for start, end in spans
        if (joins(text[start - 1 : start]) or joins(text[end : end + 1])) and not _DELIMITED.match(text[start:end])
    }


def _address_length(address: str) -> int:
    """Return the length of an address without the punctuation after it; a bracket that it opens belongs to it."""
    surplus = {closing: address.count(closing) - address.count(opening) for closing, opening in _BRACKETS.items()}
    length = len(address)
    while length:
        last = address[length - 1]
        if surplus.get(last, 0) > 0:
            surplus[last] -= 1
        elif last not in _FOLLOWING:
            break
        length -= 1
    return length
