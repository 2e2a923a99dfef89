"""Find the spans of a text that translation must not change: placeholders, web and mail addresses."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dragoman.markup.punctuation import joins
from dragoman.text.addresses import MAIL_ADDRESS
from dragoman.text.characters import SPACELESS

__all__ = ["find_placeholders", "locate_placeholders", "placeholder_strings"]

# In scripts without spaces, text follows an address directly. Braces in a URL are a placeholder:
# https://example.org/{id}/edit
_URL = (
    r"(?<![A-Za-z0-9])(?:[A-Za-z][A-Za-z0-9+.-]{1,20}://|[Ww]{3}\.|mailto:)"
    rf"(?:[^\s<>\"|`{{}}\\^{SPACELESS}]|\{{\w{{0,40}}\}})+"
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
_PERCENT = (
    r"%\(\w{1,100}\)[-+#0]{0,4}\d{0,4}(?:\.\d{1,4})?[a-zA-Z]",  # %(name)s
    r"%\d{1,3}\$[-+#0']{0,4}\d{0,4}(?:\.\d{1,4})?(?:hh|ll|[hlLqjzt])?[diouxXeEfFgGcCsSaAp@]",  # %1$s
    r"%[A-Za-z_]\w{0,100}%",  # %name%
    r"(?<![\d%])%[-+#0']{0,4}(?:\d{1,4}|\*)?(?:\.(?:\d{1,4}|\*))?(?:hh|ll|[hlLqjzt])?[diouxXeEfFgGcCsSrap@](?![^\W\d_])",
    r"%%",
)
_KEPT = re.compile("|".join((_URL, rf"(?<![A-Za-z0-9_.+-]){MAIL_ADDRESS}", *_BRACES, *_PERCENT, *_STAND_INS)))
_FOLLOWING = ".,;:!?'*_\u2019\u201d\u00bb\u203a\u2026"
_NO_ADDRESS = "{%#$@[<"
"""First characters of placeholders that are not addresses."""
_BRACKETS = {")": "(", "]": "["}


def find_placeholders(text: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of placeholders and addresses.

    Placeholders are ``{name}``, ``{{x}}``, ``${x}``, ``%s``, ``%(name)s``, ``%1$s``, and what clients write for
    placeholders and tags: ``[X6X]``, ``<t0>``. Adjacent spans are merged. Punctuation after an address is excluded. ICU
    messages that contain text, such as ``{n, plural, …}``, are not supported.
    """
    found: list[tuple[int, int]] = []
    for match in _KEPT.finditer(text):
        start, end = match.span()
        if text[start] not in _NO_ADDRESS:
            end = start + len(_without_following(match[0]))
        if found and found[-1][1] == start:
            start = found.pop()[0]
        found.append((start, end))
    return tuple(found)


def placeholder_strings(text: str, kept: Iterable[tuple[int, int]]) -> list[str]:
    """Return the text of each span that is not empty."""
    return [text[start:end] for start, end in kept if end > start]


def locate_placeholders(strings: Iterable[str], source: str, target: str) -> tuple[tuple[int, int], ...] | None:
    """Return the spans of source strings in the translation; None if one occurs a different number of times there.

    Also None if letters touch an address that they did not touch in the source: they would be read as part of it.
    """
    wanted = sorted(set(strings), key=len, reverse=True)
    if not wanted:
        return ()
    if any(source.count(string) != target.count(string) for string in wanted):
        return None
    pattern = re.compile("|".join(map(re.escape, wanted)))
    if not _touched(pattern, target) <= _touched(pattern, source):
        return None
    return tuple(match.span() for match in pattern.finditer(target))


def _touched(pattern: re.Pattern[str], text: str) -> set[str]:
    """Return the addresses that are directly adjacent to a letter or digit."""
    return {
        match[0]
        for match in pattern.finditer(text)
        if match[0][0] not in _NO_ADDRESS
        and (joins(text[match.start() - 1 : match.start()]) or joins(text[match.end() : match.end() + 1]))
    }


def _without_following(address: str) -> str:
    while address:
        last = address[-1]
        opening = _BRACKETS.get(last)
        if last not in _FOLLOWING and (opening is None or address.count(opening) >= address.count(last)):
            break
        address = address[:-1]
    return address
