"""String catalogs of Xcode (``.xcstrings``): strings without a localization in the target language get one.

The file is written in the style of Xcode, in which it is read as well, unless someone else wrote it. New strings have
the state ``needs_review``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

from dragoman.documents.document import Document, changed_segments
from dragoman.documents.limits import DocumentLimits
from dragoman.documents.strings.document import Piece, is_broken, text_pieces
from dragoman.documents.strings.json_strings import parse_json
from dragoman.documents.strings.plurals import cldr_forms, find_count, with_count
from dragoman.documents.text.text_file import decode_file
from dragoman.errors import DataError
from dragoman.markup.placeholders.icu_message import restore_count
from dragoman.markup.tagged_text import TaggedText

_EMPTY = re.compile(r"^( *)(.*)\{\}(,?)$", re.MULTILINE)
_MAX_DEPTH = 40
_Unit = tuple[dict[str, Any], list[str | Piece]]


class _Catalog:
    def __init__(self, name: str, data: bytes, limits: DocumentLimits, *, again: bool) -> None:
        self.name = name
        self._data, self._again, self._language = data, again, ""
        self._file = decode_file(name, data, limits)
        self._content = parse_json(name, self._file.text, limits)
        strings = self._content.get("strings")
        entries = strings.values() if isinstance(strings, dict) else [None]
        is_valid = isinstance(self._content.get("sourceLanguage"), str)
        if not is_valid or not all(isinstance(each, dict) for each in entries):
            raise DataError(f"{name} must have sourceLanguage and strings, as catalogs of Xcode have; check the file")
        self._prepare(limits)

    def select(self, language: str) -> None:
        """Make the segments of strings that have no localization in a language."""
        self._language = language
        limits = DocumentLimits(self.name)
        limits.segments *= 6
        self._prepare(limits)

    def _prepare(self, limits: DocumentLimits) -> None:
        self._new: dict[str, dict[str, Any]] = {}
        self._units: dict[str, list[_Unit]] = {}
        segments: list[TaggedText] = []
        keys: list[str] = []
        for key, entry in self._content["strings"].items():
            made = self._localization(key, entry)
            if made is None:
                continue
            self._new[key], units = made, list(self._texts(made, 0))
            found = [piece.tagged for _, pieces in units for piece in pieces if isinstance(piece, Piece)]
            if found:
                self._units[key] = units
                segments += map(limits.add, found)
                keys += [key] * len(found)
        self.segments, self.keys = tuple(segments), tuple(keys)

    def _localization(self, key: str, entry: dict[str, Any]) -> dict[str, Any] | None:
        """Return a copy of the source localization of a string to translate; None for others."""
        known = entry.get("localizations") or {}
        if entry.get("shouldTranslate") is False or entry.get("extractionState") == "stale" or type(known) is not dict:
            return None
        done = known.get(self._language) if self._language else None
        if done is not None and not self._is_writable(done):
            return None
        source = known.get(self._content["sourceLanguage"]) or {"stringUnit": {"value": key}}
        return deepcopy(source) if isinstance(source, dict) and "substitutions" not in source else None

    def _is_writable(self, done: Any) -> bool:
        unit = done.get("stringUnit") if isinstance(done, dict) else None
        if not isinstance(unit, dict):
            return False
        return not unit.get("value") or (self._again and unit.get("state") in ("new", "needs_review"))

    def _texts(self, node: Any, depth: int, number: int | None = None) -> Iterator[_Unit]:
        """Yield the strings of a localization, whose plural forms become those of the target language."""
        if depth > _MAX_DEPTH or not isinstance(node, dict):
            return
        for name, inner in node.items():
            if name == "stringUnit" and isinstance(inner, dict) and isinstance(inner.get("value"), str):
                yield inner, text_pieces(inner["value"], number)
            elif name == "plural" and isinstance(inner, dict) and "other" in inner:
                forms = cldr_forms(self._language) if self._language else None
                names = forms.numbers if forms else dict.fromkeys(inner)
                explicit = ["zero"] if "zero" in inner and "zero" not in names else []
                made = {each: deepcopy(inner.get(each, inner["other"])) for each in (*explicit, *names)}
                if forms and "one" in made and not forms.is_one_unique:
                    _add_count(made["one"], inner["other"])
                inner.clear()
                inner.update(made)
                for each, one in made.items():
                    yield from self._texts(one, depth + 1, names.get(each))
            else:
                yield from self._texts(inner, depth + 1, number)

    def write(self, translated: Sequence[TaggedText], *, language: str) -> bytes:
        if not any(changed_segments(self.segments, translated)):
            return self._data
        new = iter(zip(self.segments, translated, strict=True))
        content = deepcopy(self._content)
        for key, units in self._units.items():
            texts = [[_written(piece, new) for piece in pieces] for _, pieces in units]
            if any(part is None for text in texts for part in text):
                continue
            for (unit, _), text in zip(units, texts, strict=True):
                unit.update(state="needs_review", value="".join(filter(None, text)))
            entry = content["strings"][key]
            known = entry.get("localizations", {})
            if language in known and not self._is_writable(known[language]):
                continue
            known = {**known, language: json.loads(json.dumps(self._new[key], sort_keys=True))}
            entry["localizations"] = dict(sorted(known.items()))
            content["strings"][key] = dict(sorted(entry.items()))
        return self._file.encoded(self._formatted(content))

    def _formatted(self, content: dict[str, Any]) -> str:
        text = json.dumps(content, ensure_ascii=False, indent=2, separators=(",", " : "))
        text = _EMPTY.sub(r"\1\2{\n\n\1}\3", text)
        original = self._file.text
        return text + original[len(original.rstrip()) :]


def _add_count(one: Any, other: Any) -> None:
    """Write the placeholder of the count into a form for 1 without it, which other numbers take as well."""
    units = [each["stringUnit"] for each in (one, other) if isinstance(each, dict) and "stringUnit" in each]
    values = [each["value"] for each in units if isinstance(each, dict) and isinstance(each.get("value"), str)]
    if len(values) == 2 and not find_count(values[0]):
        units[0]["value"] = with_count(*values)


def _written(piece: str | Piece, new: Iterator[tuple[TaggedText, TaggedText]]) -> str | None:
    if isinstance(piece, str):
        return piece
    old, done = next(new)
    if done is old or is_broken(old, done):
        return None
    return restore_count(done.text, piece.number, piece.count)


def read_xcstrings(name: str, data: bytes, limits: DocumentLimits, *, again: bool = False) -> Document:
    """Read a string catalog; with `again`, localizations that need a review are made again."""
    return _Catalog(name, data, limits, again=again)
