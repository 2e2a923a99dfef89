"""Find the source and target language in names: ``model.enpt.bin``, ``opus-mt-en-de``, ``translate-sq-en-v1.0``."""

import re

from dragoman.language_codes import is_known_language, parse_language

_CODE = r"[a-z]{2,3}(?:_(?:[A-Za-z]{4}|[A-Za-z]{2}))?"
_HYPHENATED = (
    re.compile(rf"opus-mt-(?:tc-)?(?:big-|base-|tiny-)?({_CODE})-({_CODE})(?![A-Za-z_])"),
    re.compile(rf"\btranslate-({_CODE})[-_]({_CODE})(?:-|\Z)"),
    re.compile(rf"\.({_CODE})-({_CODE})\."),
    re.compile(rf"\A({_CODE})-({_CODE})\Z"),
)
_JOINED = re.compile(r"\.([a-z]{2,3}[A-Za-z_]{2,13})(?=\.)")
_ENGLISH = "en"
_SHORT = 4  # letters of two codes of two letters


def find_pair(*names: str) -> tuple[str, str]:
    """Return the canonical codes of the first name with two languages; empty strings if none has them."""
    for name in names:
        if pair := _hyphenated(name) or _joined(name):
            return parse_language(pair[0]), parse_language(pair[1])
    return "", ""


def _hyphenated(name: str) -> tuple[str, str] | None:
    for pattern in _HYPHENATED:
        found = pattern.search(name)
        if found and all(map(is_known_language, found.groups())):
            return found[1], found[2]
    return None


def _joined(name: str) -> tuple[str, str] | None:
    """The languages of codes without a separator: enpt, zh_hanten, hbsen. Longer codes need English as the other."""
    for found in _JOINED.finditer(name):
        text = found[1]
        splits = [(text[:place], text[place:]) for place in range(2, len(text) - 1)]
        for split in splits:
            if all(map(_is_code, split)) and (_ENGLISH in split or len(text) == _SHORT):
                return split
    return None


def _is_code(text: str) -> bool:
    return re.fullmatch(_CODE, text) is not None and is_known_language(text)
