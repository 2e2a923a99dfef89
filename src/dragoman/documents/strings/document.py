"""A file of strings as a document: texts to translate, plural forms of the target language, and the edited file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dragoman.documents.document import changed_segments, target_tag
from dragoman.documents.limits import DocumentLimits
from dragoman.documents.strings.plurals import (
    CATEGORIES,
    PluralForms,
    cldr_forms,
    find_count,
    gettext_forms,
    swap_count,
    with_count,
)
from dragoman.documents.strings.scan import BETWEEN_FORMS, ScanInput, StringFormat, StringUnit
from dragoman.documents.text.text_file import TextEdits, decode_file
from dragoman.errors import DataError
from dragoman.markup.placeholders.icu_message import has_icu_choice, parse_icu, restore_count, with_plural_forms
from dragoman.markup.protected_spans import count_placeholders, find_placeholders
from dragoman.markup.tagged_text import TaggedText

_BREAK = re.compile(r"((?<![ \t])(?:[ \t]*+\r?\n)++[ \t]*+|\t+| {2,})")
_INTERVAL = re.compile(r"\s*(?:\{[\d,\s-]*\}|[\[\]][^\[\]|]{1,40}[\[\]]|\w+:(?=\s))?\s*")
"""What may precede the text of a choice: ``{0} none|[1,Inf[ some``."""

_BOTH_FORMS = re.compile(r"(?<=[a-z])\((e?s)\)")  # %n file(s)
_SURROGATE = re.compile("[\ud800-\udfff]")
_HELD = re.compile(r"<xliff:g\b[^<>]*>[^<>]*</xliff:g>")
"""What a programmer marked as not to translate, with its tags."""


@dataclass(frozen=True)
class Piece:
    """A text to translate, in which a number may stand for the placeholder of a count."""

    tagged: TaggedText
    number: str = ""
    count: str = ""


@dataclass
class _Target:
    """A string of the target: its key, the string that it is made from, and its parts."""

    unit: StringUnit
    key: str
    pieces: list[str | Piece]
    category: str = ""
    done: str | None = None
    is_left: bool = False

    @property
    def name(self) -> str:
        return _member_key(self.unit, self.category)


@dataclass
class _Group:
    """The forms of a message, by category."""

    units: dict[str, StringUnit] = field(default_factory=dict)

    @property
    def is_plural(self) -> bool:
        other = self.units.get("other")
        if other is None or other.form is None:
            return False
        if other.form.is_certain or find_count(other.text) is not None:
            return True
        return len(self.units) > 1 and self.units.keys() <= {"zero", "one", "other"}  # no step_one and step_two


def text_pieces(text: str, number: int | None = None) -> list[str | Piece]:
    """Split a string into texts to translate and white space; an ICU message is one text.

    With a `number`, it is for the placeholder of a count.
    """
    if has_icu_choice(text):
        return list(_piece(text))
    shown, swapped = swap_count(text, number)
    pieces: list[str | Piece] = []
    for place, part in enumerate(_BREAK.split(shown)):
        pieces += [part] if place % 2 else _piece(part, swapped if swapped and swapped[0] in part else None)
    return pieces


def _piece(text: str, swapped: tuple[str, str] | None = None) -> Iterator[str | Piece]:
    bare = text.strip()
    lead = len(text) - len(text.lstrip())
    kept = find_placeholders(bare)
    held = [match.span() for match in _HELD.finditer(bare)] if "xliff:g" in bare else []
    if swapped is not None:
        held.append((bare.index(swapped[0]), bare.index(swapped[0]) + len(swapped[0])))
    if held:
        kept = _merged([*kept, *held])
    tagged = TaggedText(bare, kept=kept)
    if not tagged.has_words:
        yield text.replace(*swapped) if swapped else text
        return
    yield text[:lead]
    yield Piece(tagged, *(swapped or ()))
    yield text[lead + len(bare) :]


def _merged(spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return tuple(merged)


class StringsDocument:
    """A file of strings; after `select`, messages with plural forms have those of the target language."""

    def __init__(self, name: str, data: bytes, limits: DocumentLimits, form: StringFormat) -> None:
        self.name = name
        self._data = data
        self._form = form
        self._file = decode_file(name, data, limits, encodings=form.encodings)
        self._scan = form.scan(ScanInput(name, self._file.text, limits))
        self._scan.units = [_with_whole_characters(unit) for unit in self._scan.units]
        self._groups: dict[str, _Group] = {}
        for unit in self._scan.units:
            limits.check_paragraph(len(unit.text))
            if unit.form is not None:
                self._groups.setdefault(unit.form.group, _Group()).units.setdefault(unit.form.category, unit)
        if form.needs_texts and not self._scan.units and not limits.is_target:
            raise DataError(f"{name} has no texts to translate; check the file")
        self.declared = self._scan.declared
        self.unreviewed = self._scan.unreviewed
        self.notes = self._scan.notes
        self._kept: Mapping[str, str] = {}
        self._language = ""
        self._prepare(limits)

    @property
    def strings(self) -> dict[str, str]:
        """The text of each string by its key, in file order; the key is the path of the string in the file.

        The key of a plural form ends in its category: ``items[other]``.
        """
        return {_key(unit): unit.text for unit in self._scan.units}

    def select(self, language: str) -> None:
        """Make the segments of plural forms for a target language."""
        self._language = language
        self._prepare(self._later_limits())

    @property
    def text(self) -> str:
        """The text of the file."""
        return self._file.text

    def encoded(self, text: str) -> bytes:
        """Encode another text as the content of this file."""
        return self._file.encoded(text)

    def members(self) -> dict[str, StringUnit]:
        """Return the strings of the file by key; a name that may be that of a plural form has its category in brackets.

        Raise `DataError` if a key occurs twice.
        """
        found: dict[str, StringUnit] = {}
        for unit in self._scan.units:
            if found.setdefault(key := _member_key(unit), unit) is not unit:
                raise DataError(f"{self.name} must have every key once, got {key[:80]} twice; rename one")
        return found

    @property
    def sources(self) -> dict[str, str]:
        """The text that each string of the target is made from, by the keys of `members`."""
        return {each.name: each.unit.text for each in self._targets}

    @property
    def left(self) -> set[str]:
        """Keys of the strings that the last `write` left in the source language."""
        return {each.name for each in self._targets if each.is_left}

    def reuse(self, translations: Mapping[str, str]) -> None:
        """Take translations by the keys of `members`: these are not segments, and `write` writes these texts."""
        self._kept = translations
        self._prepare(self._later_limits())

    def _later_limits(self) -> DocumentLimits:
        """Return limits for the forms of a language, which may have more than the file."""
        limits = DocumentLimits(self.name)
        limits.segments *= len(CATEGORIES)
        return limits

    def _prepare(self, limits: DocumentLimits) -> None:
        self._targets: list[_Target] = []
        self.segments: tuple[TaggedText, ...] = ()
        self.keys: tuple[str, ...] = ()
        """The key of each segment; the lines of one string have the same."""
        for target in self._make_targets():
            self._targets.append(target)
            for piece in target.pieces:
                if isinstance(piece, Piece):
                    limits.add(piece.tagged)
        found = [
            (piece.tagged, each.key) for each in self._targets for piece in each.pieces if isinstance(piece, Piece)
        ]
        if found:
            self.segments, self.keys = zip(*found, strict=True)

    def _group(self, unit: StringUnit) -> _Group | None:
        group = self._groups.get(unit.form.group) if unit.form is not None else None
        return group if group is not None and group.is_plural else None

    def _make_targets(self) -> Iterator[_Target]:
        done: set[str] = set()
        for unit in self._scan.units:
            group = self._group(unit)
            if group is None or unit.form is None:
                pieces = self._numerus(unit.text) if unit.is_numerus else self._pieces(unit.text)
                yield self._target(unit, _key(unit), pieces)
            elif unit.form.group not in done:
                done.add(unit.form.group)
                yield from self._forms(group, unit.form.group, is_ordinal=unit.form.is_ordinal)

    def _target(self, unit: StringUnit, key: str, pieces: list[str | Piece], category: str = "") -> _Target:
        kept = self._kept.get(_member_key(unit, category))
        return _Target(unit, key, pieces if kept is None else [kept], category)

    def _forms(self, group: _Group, key: str, *, is_ordinal: bool) -> Iterator[_Target]:
        """Yield a string for each category of the target language; those of the file if the language is unknown."""
        forms = cldr_forms(self._language, ordinal=is_ordinal) if self._language else None
        if forms is None:
            for category, unit in group.units.items():
                yield self._target(unit, f"{key}[{category}]", self._pieces(unit.text), category)
            return
        other = group.units["other"]
        for category in (*(["zero"] if "zero" in group.units and "zero" not in forms.numbers else []), *forms.numbers):
            unit = group.units.get(category, other)
            text = unit.text
            if category == "one" and not forms.is_one_unique and not find_count(text):
                text = with_count(text, other.text)  # "One file" is wrong for 21 files
            pieces = self._pieces(text, forms.numbers.get(category))
            yield self._target(unit, f"{key}[{category}]", pieces, category)

    def _pieces(self, text: str, number: int | None = None) -> list[str | Piece]:
        if has_icu_choice(text):
            return text_pieces(self._icu(text))
        sign = self._form.choices
        kept = find_placeholders(text) if sign is not None and sign.search(text) else ()
        if sign is not None and sign.search(text) and not any(sign.search(text, *span) for span in kept):
            return self._choices(text, sign)
        return text_pieces(text, number)

    def _numerus(self, text: str) -> list[str | Piece]:
        """Return the text of all plural forms, those of gettext."""
        named = gettext_forms(self._language) if self._language else None
        numbers = named[1].numbers.values() if named else (None,)
        pieces: list[str | Piece] = []
        for place, number in enumerate(numbers):
            shown = text if number is None else _BOTH_FORMS.sub("" if number == 1 else r"\1", text)
            pieces += [*([BETWEEN_FORMS] if place else []), *text_pieces(shown, number)]
        return pieces

    def _icu(self, text: str) -> str:
        """Return an ICU message with the plural branches of the target language."""
        cardinal, ordinal = (
            cldr_forms(self._language, ordinal=each) if self._language else None for each in (False, True)
        )
        if cardinal is None or ordinal is None:
            return text
        with_one = None if cardinal.is_one_unique else with_count
        changed = with_plural_forms(text, tuple(cardinal.numbers), tuple(ordinal.numbers), with_one)
        return changed if parse_icu(changed) is not None else text

    def _choices(self, text: str, separator: re.Pattern[str]) -> list[str | Piece]:
        """Return the choices of a string; two without intervals become the plural forms of the target language."""
        parts = separator.split(text)
        signs = separator.findall(text)
        heads = [found[0] if (found := _INTERVAL.match(part)) else "" for part in parts]
        named = gettext_forms(self._language) if self._language else None
        is_title = not find_count(parts[-1]) and (self._form.needs_count or parts[0].endswith(" "))  # Home | Contact
        if named and len(parts) == 2 and self._form.makes_choices and not any(map(str.strip, heads)) and not is_title:
            return self._made_choices(parts, signs[0], named[1])
        pieces: list[str | Piece] = []
        for part, head, sign in zip(parts, heads, [*signs, ""], strict=True):
            pieces += [head, *text_pieces(part[len(head) :]), sign]
        return pieces

    @staticmethod
    def _made_choices(parts: Sequence[str], sign: str, forms: PluralForms) -> list[str | Piece]:
        pieces: list[str | Piece] = []
        for form, number in forms.numbers.items():
            one = parts[0] if forms.is_one_unique or find_count(parts[0]) else with_count(*parts)
            part = one if number == 1 else parts[1]
            pieces += [*([sign] if form != "0" else []), *text_pieces(part, number)]
        return pieces

    def write(self, translated: Sequence[TaggedText], *, language: str) -> bytes:
        if not any(changed_segments(self.segments, translated)) and not self._kept:
            return self._data
        self._translate(translated)
        edits = TextEdits(self._file.text)
        groups: dict[str, dict[str, _Target]] = {}
        for each in self._targets:
            if each.category and each.unit.form is not None:
                groups.setdefault(each.unit.form.group, {})[each.category] = each
            elif each.done is not None and (each.done != each.unit.text or self._form.is_bilingual):
                edits.replace(each.unit.start, each.unit.end, self._notation(each.unit, each.done))
        for key, targets in groups.items():
            self._write_group(edits, self._groups[key].units, targets)
        if edits.is_changed and self._scan.language is not None:
            start, end = self._scan.language
            declared = self._file.text[start:end]
            edits.replace(start, end, target_tag(declared, language, separator="_" if "_" in declared else "-"))
        return self._file.encoded(edits.joined())

    def _translate(self, translated: Sequence[TaggedText]) -> None:
        """Set the text of each target; None if a part was left, or has lost a placeholder."""
        new = iter(zip(self.segments, translated, strict=True))
        for each in self._targets:
            parts: list[str | None] = []
            for piece in each.pieces:
                if isinstance(piece, str):
                    parts.append(piece)
                    continue
                old, done = next(new)
                is_kept = done is not old and not is_broken(old, done, braces=self._form.keeps_braces)
                parts.append(restore_count(done.text, piece.number, piece.count) if is_kept else None)
            each.is_left = None in parts
            each.done = None if each.is_left else "".join(filter(None, parts))

    def _notation(self, unit: StringUnit, text: str) -> str:
        return self._form.encode(text, self._file.text[unit.start : unit.end])

    def _write_group(self, edits: TextEdits, units: Mapping[str, StringUnit], targets: Mapping[str, _Target]) -> None:
        """Write the forms of a message: those of the file in place, new ones before ``other``, and no others."""
        other = units["other"]
        texts = {name: target.done for name, target in targets.items()}
        if texts["other"] is None or all(
            text == targets[name].unit.text or text is None for name, text in texts.items()
        ):
            return
        assert other.form is not None
        for name, text in texts.items():
            text = texts["other"] if text is None and name not in units else text
            if text is None:
                continue
            if name in units:
                unit = units[name]
                if text != unit.text:
                    edits.replace(unit.start, unit.end, self._notation(unit, text))
            else:
                self._insert(edits, other, name, text)
        removed: list[tuple[int, int]] = []
        for form in (unit.form for name, unit in units.items() if name not in texts):
            if form is None or self._file.text[form.start - 1] == "*":
                continue  # Fluent requires its default
            between = self._file.text[removed[-1][1] : form.start] if removed else "-"
            start = form.start if between.strip(f" \t\r\n{self._form.separator}") else removed.pop()[0]
            removed.append((start, form.end))
        for start, end in removed:
            self._remove(edits, start, end)

    def _insert(self, edits: TextEdits, other: StringUnit, name: str, text: str) -> None:
        form, whole = other.form, self._file.text
        assert form is not None
        start, after = form.start, form.name + len(form.category)
        is_default = whole[start - 1] == "*"  # of Fluent
        head = whole[max(0, start - 200) : start - is_default]
        gap = head[len(head.rstrip(" \t\r\n")) :]
        member = whole[start : form.name] + name + whole[after : other.start] + self._notation(other, text)
        member += whole[other.end : form.end] + self._form.separator + gap
        edits.replace(start - is_default, start - is_default, " " * is_default + member)

    def _remove(self, edits: TextEdits, start: int, end: int) -> None:
        """Remove adjacent forms that the target language does not have, with a separator and white space."""
        whole = self._file.text
        while start and whole[start - 1] in " \t\r\n":
            start -= 1
        if separator := self._form.separator:
            following = re.compile(rf"\s*{re.escape(separator)}").match(whole, end)
            if following:
                end = following.end()
            elif whole[:start].endswith(separator):
                start -= len(separator)
        edits.replace(start, end, "")


def _with_whole_characters(unit: StringUnit) -> StringUnit:
    """Return a string with one character for two escapes of a surrogate pair; with half of one, it has no text."""
    if _SURROGATE.search(unit.text) is None:
        return unit
    text = unit.text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return unit._replace(text="" if _SURROGATE.search(text) else text)


def _key(unit: StringUnit) -> str:
    return unit.key if unit.form is None else f"{unit.form.group}[{unit.form.category}]"


def _member_key(unit: StringUnit, category: str = "") -> str:
    return unit.key if unit.form is None else f"{unit.form.group}[{category or unit.form.category}]"


def is_broken(old: TaggedText, new: TaggedText, *, braces: bool = False) -> bool:
    """Whether a translation lacks a placeholder, or has another one; the last check before a file is written."""
    if braces and any(old.text.count(sign) != new.text.count(sign) for sign in "{}"):
        return True
    if has_icu_choice(old.text):
        before, after = parse_icu(old.text), parse_icu(new.text)
        return before is None or after is None or before.fragments != after.fragments
    wanted = Counter(old.text[start:end] for start, end in old.kept)
    return any(new.text.count(part) < count for part, count in wanted.items()) or bool(
        count_placeholders(new.text, strict=True) - count_placeholders(old.text)
    )
