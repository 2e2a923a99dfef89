"""Plural forms of languages, by CLDR and by gettext, and a number that takes each form."""

from __future__ import annotations

import functools
import gettext
import re
from collections.abc import Callable
from dataclasses import dataclass

from babel import Locale, UnknownLocaleError
from babel.messages.plurals import get_plural

CATEGORIES = ("zero", "one", "two", "few", "many", "other")
"""Plural categories of CLDR, in the order of files."""

_NUMBERS = (2, 1, *range(3, 201), 0)
"""Numbers that are tried, so that a category is shown by a small one."""
OTHER_NUMBER = 5  # number of a category that no integer has
_COUNT = re.compile(
    r"\{\{-?\s*count\b[^{}]*\}\}|%\{count\}|%(?:1\$)?l{0,2}[diu](?![a-z])|%L?n\b|\{ ?\$\w+ ?\}|%arg\b|:count\b|%count%"
    r"|%\((?:count|n|num|number|total)\)[di]|\{(?:n|count|num|number|total|0)?\}"
)
"""Placeholders of the number that a plural depends on."""
_ONE = re.compile(r"(?<![\w.,:/-])(?:1|[Oo]ne)(?![\w:/-]|[.,]\d)")
_ARTICLE = re.compile(r"\AAn?(?= \w)")
_WORD = re.compile(r"(?<![\w{%$:<&])[^\W\d_]{2,}(?![\w}%>;])")
_SINGULAR = {"are": "is", "were": "was", "have": "has"}


@dataclass(frozen=True)
class PluralForms:
    """The forms of a language by name, each with a number that takes it, and the form of each number."""

    numbers: dict[str, int]
    form_of: Callable[[int], str]

    @property
    def is_one_unique(self) -> bool:
        """Whether only 1 takes the form of 1, so that this form may do without a number."""
        return [number for number in _NUMBERS if self.form_of(number) == self.form_of(1)] == [1]


def find_locale(language: str) -> Locale | None:
    """Return the locale of a language code; None if CLDR has none."""
    base = re.split(r"[-_]", language)
    for code in ("_".join(base), base[0]):
        try:
            return Locale.parse(code)
        except (ValueError, UnknownLocaleError, TypeError):
            continue
    return None


@functools.cache
def cldr_forms(language: str, *, ordinal: bool = False) -> PluralForms | None:
    """Return the plural categories of a language; None if it is unknown."""
    locale = find_locale(language)
    if locale is None:
        return None
    rule = locale.ordinal_form if ordinal else locale.plural_form
    names = [name for name in CATEGORIES if name in rule.tags or name == "other"]
    return PluralForms({name: _number(name, rule) for name in names}, rule)


@functools.cache
def gettext_forms(language: str) -> tuple[str, PluralForms] | None:
    """Return the value of ``Plural-Forms`` for a language, and its forms by number; None if it is unknown."""
    locale = find_locale(language)
    if locale is None:
        return None
    rule = get_plural(str(locale))
    return f"nplurals={rule[0]}; plural={rule[1]};", parse_plural_rule(rule[0], rule[1])


@functools.lru_cache(64)
def parse_plural_rule(count: int, rule: str) -> PluralForms:
    """Return the forms of a rule of gettext; a rule that cannot be read is that of English."""
    try:
        index = gettext.c2py(rule)
        names = {number: str(index(number)) for number in _NUMBERS}
    except (ValueError, ZeroDivisionError, RecursionError, OverflowError):
        names = {number: "0" if number == 1 and count > 1 else "1" for number in _NUMBERS}
    form_of = names.__getitem__
    return PluralForms({str(form): _number(str(form), form_of) for form in range(count)}, form_of)


def _number(name: str, form_of: Callable[[int], str]) -> int:
    return next((number for number in _NUMBERS if form_of(number) == name), OTHER_NUMBER)


def find_count(text: str) -> tuple[int, int] | None:
    """Return the span of the only placeholder of a number in a text; None if there is none, or more than one."""
    found = [match.span() for match in _COUNT.finditer(text)]
    return found[0] if len(found) == 1 else None


def swap_count(text: str, number: int | None) -> tuple[str, tuple[str, str] | None]:
    """Return a text with a number in place of the placeholder of a count, and both; None if nothing is replaced."""
    count = None if number is None else find_count(text)
    if count is None or str(number) in text[: count[0]] + text[count[1] :]:
        return text, None
    return f"{text[: count[0]]}{number}{text[count[1] :]}", (str(number), text[slice(*count)])


def with_count(one: str, other: str, sign: str = "") -> str:
    """Return a text for 1 with the placeholder of a count, which `other` has, in place of "1", "one" or "a".

    Without these it is the other text, with the words that `one` has in the singular. `sign` is the placeholder if it
    is not one of those that are known.
    """
    place = other.find(sign)
    count = find_count(other) if not sign else (place, place + len(sign)) if place >= 0 else None
    if count is None:
        return one
    for pattern in (_ONE, _ARTICLE):
        placed, changes = pattern.subn(lambda _: other[slice(*count)], one)
        if changes == 1:
            return placed
    singular = [word.lower() for word in _WORD.findall(one) if word not in _WORD.findall(other)]

    def replaced(found: re.Match[str]) -> str:
        word = found[0]
        stem = word[: max(3, len(word) // 2)].lower()
        likely = [each for each in singular if each.startswith(stem) or _SINGULAR.get(word) == each]
        return likely[0] if len(likely) == 1 else word

    return _WORD.sub(replaced, other[: count[0]]) + other[slice(*count)] + _WORD.sub(replaced, other[count[1] :])


def is_locale(code: str) -> bool:
    """Whether a name is the code of a language of CLDR, such as ``en`` or ``pt_BR``."""
    if not re.fullmatch(r"[a-z]{2,3}(?:[-_][A-Za-z0-9]{2,8}){0,3}", code):
        return False
    locale = find_locale(code)
    return locale is not None and locale.language == re.split(r"[-_]", code)[0]
