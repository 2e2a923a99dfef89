"""Find the spans of a text that translation must not change: placeholders, web and mail addresses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from dragoman.markup.punctuation import joins
from dragoman.text.addresses import MAIL_ADDRESS
from dragoman.text.characters import SPACELESS

__all__ = ["count_placeholders", "find_placeholders", "locate_placeholders", "placeholder_strings"]

# In scripts without spaces, text follows an address directly. Braces in a URL are a placeholder:
# https://example.org/{id}/edit
_URL = (
    r"(?<![A-Za-z0-9])(?:[A-Za-z][A-Za-z0-9+.-]{1,20}://|[Ww]{3}\.|mailto:)"
    rf"(?:[^\s<>\"|`{{}}\\^{SPACELESS}]|\{{\w{{0,40}}\}})++"
)
_BRACES = (
    r"\{\{\{?[^{}\n]{1,200}\}\}\}?",  # {{name}}
    r"\{%[^{}\n]{1,200}%\}",  # {% tag %}
    r"[#$%@]?\{(?:[^\W\d]|\d)?[\w.\[\]-]{0,100}(?:![rsa])?(?::[^{}\s]{0,40})?\}",  # {}, {0}, ${x}, %{x}, {0:>8.2f}
    r"\{ ?\w{1,100} ?, ?(?:number|date|time|spellout|ordinal|duration)(?: ?,[^{}\n]{0,60})?\}",  # {n, number}
)
_STAND_INS = (
    r"\[X\d{1,9}X\]",  # [X6X], which Weblate writes for a placeholder at character 6
    r"</?[a-z]{1,3}\d{1,4}/?>",  # <t0>, </t0>, <x1/>, which OmegaT writes for a tag
)
_FORM = r"[-+#0']{0,4}(?:\d{1,4}|\*)?(?:\.(?:\d{1,4}|\*))?(?:hh|ll|[hlLqjzt])?[diouxXeEfFgGcCsSrap@]"
_PERCENT = (
    r"%\(\w{1,100}\)[-+#0]{0,4}\d{0,4}(?:\.\d{1,4})?[a-zA-Z]",  # %(name)s
    r"%\d{1,3}\$[-+#0']{0,4}\d{0,4}(?:\.\d{1,4})?(?:hh|ll|[hlLqjzt])?[diouxXeEfFgGcCsSaAp@]",  # %1$s
    r"%[A-Za-z_]\w{0,100}%",  # %name%
    rf"(?<![\d%])%{_FORM}(?![^\W\d_{SPACELESS}])",
    r"%%",
)
_KEPT = re.compile("|".join((_URL, rf"(?<![A-Za-z0-9_.+-]){MAIL_ADDRESS}", *_BRACES, *_PERCENT, *_STAND_INS)))
_FOLLOWING = ".,;:!?'*_\u2019\u201d\u00bb\u203a\u2026"
_NO_ADDRESS = "{%#$@[<"
"""First characters of placeholders that are not addresses."""
_MARKS = ("{", "%", "@", "://", "w.", "W.", "mailto:", "[X", "<")
"""Every placeholder and address contains one of these."""
_PERCENTAGE = re.compile(r"\d[ \u00a0\u202f]%")
_BRACKETS = {")": "(", "]": "["}
_PREFIX = 4  # characters by which strings are grouped


def find_placeholders(text: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of placeholders and addresses.

    Placeholders are ``{name}``, ``{{x}}``, ``${x}``, ``%s``, ``%(name)s``, ``%1$s``, and what clients write for
    placeholders and tags: ``[X6X]``, ``<t0>``. Adjacent spans are merged. Punctuation after an address is excluded. ICU
    messages that contain text, such as ``{n, plural, …}``, are not supported.
    """
    if not any(mark in text for mark in _MARKS):
        return ()
    found: list[tuple[int, int]] = []
    for match in _KEPT.finditer(text):
        start, end = match.span()
        if text[start] not in _NO_ADDRESS:
            end = start + _address_length(match[0])
        if found and found[-1][1] == start:
            start = found.pop()[0]
        found.append((start, end))
    return tuple(found)


def count_placeholders(text: str) -> Counter[str]:
    """Count the placeholders of a text, without addresses and without percentages such as ``50 %-a``."""
    if not any(mark in text for mark in _MARKS):
        return Counter()
    found = (match for match in _KEPT.finditer(text) if match[0][0] in _NO_ADDRESS)
    return Counter(match[0] for match in found if match[0][0] != "%" or not _PERCENTAGE.match(text, match.start() - 2))


def placeholder_strings(text: str, kept: Iterable[tuple[int, int]]) -> list[str]:
    """Return the text of each span that is not empty."""
    return [text[start:end] for start, end in kept if end > start]


def locate_placeholders(strings: Iterable[str], source: str, target: str) -> tuple[tuple[int, int], ...] | None:
    """Return the spans of source strings in the translation; None if one occurs a different number of times there.

    Also None if letters touch an address that they did not touch in the source: they would be read as part of it.
    """
    wanted = frozenset(filter(None, strings))
    if not wanted:
        return ()
    ours, theirs = _occurrences(wanted, source), _occurrences(wanted, target)
    if _counts(source, ours) != _counts(target, theirs) or not _touched(target, theirs) <= _touched(source, ours):
        return None
    return tuple(theirs)


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
            prefix = text[start : start + size]
            found = (length for length in longest_first.get(prefix, ()) if text[start : start + length] in wanted)
            if length := next(found, 0):
                spans.append((start, start + length))
                done = start + length
                break
    return spans


def _counts(text: str, spans: Sequence[tuple[int, int]]) -> Counter[str]:
    return Counter(text[start:end] for start, end in spans)


def _touched(text: str, spans: Sequence[tuple[int, int]]) -> set[str]:
    """Return the addresses that are directly adjacent to a letter or digit."""
    return {
        text[start:end]
        for start, end in spans
        if text[start] not in _NO_ADDRESS and (joins(text[start - 1 : start]) or joins(text[end : end + 1]))
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
