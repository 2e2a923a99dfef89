"""YAML files of strings: those of Rails, below the code of their language, and those of Symfony, with it in their name.

PyYAML's parser, which is that of Rails too, finds the scalars; the file is edited in place, so comments, anchors and
quotes stay. Mappings in one line are refused, and scalars with a tag stay.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import yaml

from dragoman.documents.strings.plurals import CATEGORIES, is_locale
from dragoman.documents.strings.scan import PluralForm, ScanInput, StringFormat, StringScan, StringUnit
from dragoman.errors import DataError

_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PROPERTIES = re.compile(r"(?:[&!]\S*+[ \t]++)*+")
_COLON = re.compile(r"[ \t]*+:")
_BLOCK = re.compile(r"(?P<style>[|>])(?P<explicit>[+-]?\d[+-]?|)[+-]?[ \t]*+(?:(?<=\s)#[^\r\n]*+)?(?:\r\n|\n|\r|\Z)")
_RESOLVED = re.compile(
    r"~|null|true|false|yes|no|on|off|y|n|[-+.]?[\d][\d_.,:eExXa-fA-FTZ +-]*|[-+]?\.(?:inf|nan)|<<|=|:\w+",
    re.IGNORECASE,
)
"""Plain scalars that are no texts: logical values, numbers, dates, symbols of Ruby."""
_UNSAFE = re.compile(r": |:$| #|^[\s\[\]{}\"'#&*!|>%@`,?:-]|\s$|[\r\n\t\0-\x1f]|^(?:---|\.\.\.)")
_CONTROL = re.compile(r"[\0-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
_MAX_VALUES = 300_000  # names included
_FIX = "only files with the texts of a program are read; write the texts to a .txt file, one per line"


@dataclass
class _Level:
    """A mapping or a sequence that is open, and its current member."""

    is_mapping: bool
    is_flow: bool
    name: str | int = -1
    start: int = -1
    """Position of the name; -1 while one is expected."""


class _Scanner:
    def __init__(self, source: ScanInput) -> None:
        self._source = source
        self._text = source.text
        self._levels: list[_Level] = []
        self._children: dict[str, set[str]] = {}
        self.units: list[StringUnit] = []
        self.roots: list[tuple[str, int, int]] = []
        """First level: names and their spans."""

    def scan(self) -> None:
        documents = 0
        for count, event in enumerate(yaml.parse(self._text, Loader=_PARSER)):
            self._source.limits.check("values", count, _MAX_VALUES)
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise self._fault(event, "one document of YAML")
            elif isinstance(event, yaml.CollectionEndEvent):
                self._levels.pop()
                self._end_value()
            elif isinstance(event, yaml.NodeEvent):
                self._node(event)

    def _fault(self, event: Any, rule: str) -> DataError:
        return self._source.fault(event.start_mark.index, rule, _FIX)

    def _end_value(self) -> None:
        if self._levels:
            self._levels[-1].start = -1

    def _node(self, event: Any) -> None:
        level = self._levels[-1] if self._levels else None
        if level is not None and level.is_mapping and level.start < 0:
            self._add_name(level, event)
            return
        if level is not None and isinstance(level.name, int):
            level.name += 1
        if isinstance(event, yaml.CollectionStartEvent):
            if event.flow_style and level is not None and level.is_flow:
                raise self._fault(event, "a text")
            self._levels.append(_Level(isinstance(event, yaml.MappingStartEvent), bool(event.flow_style)))
            self._source.check_depth(len(self._levels))
            return
        if isinstance(event, yaml.ScalarEvent) and level is not None:
            self._add_text(event)
        self._end_value()

    def _add_name(self, level: _Level, event: Any) -> None:
        end = event.end_mark.index
        if level.is_flow or not isinstance(event, yaml.ScalarEvent) or not _COLON.match(self._text, end):
            raise self._fault(event, "a name and a text")
        level.name, level.start = event.value, self._start(event)
        if len(self._levels) == 1:
            quote = bool(event.style)
            self.roots.append((event.value, level.start + quote, end - quote))

    def _start(self, event: Any) -> int:
        """Return the start of a scalar after its anchor and its tag."""
        found = _PROPERTIES.match(self._text, event.start_mark.index) if event.anchor or event.tag else None
        return found.end() if found else int(event.start_mark.index)

    def _add_text(self, event: Any) -> None:
        start, end, text = self._start(event), event.end_mark.index, event.value
        notation = self._text[start:end].rstrip()
        if not notation or notation[0] in "&!#" or (not event.style and _RESOLVED.fullmatch(notation)):
            return
        if block := _BLOCK.match(notation) if event.style in ("|", ">") else None:
            text = text.strip("\r\n").rstrip()
            is_indented = event.style == ">" and re.search(r"^[ \t]", text, re.MULTILINE)
            if block["explicit"] or is_indented or not text:
                return
        end = start + len(notation)
        names = [str(level.name) for level in self._levels]
        key, group = self._source.key(names), self._source.key(names[:-1])
        self._children.setdefault(group, set()).add(names[-1])
        last = self._levels[-1]
        form = None
        if last.is_mapping and last.name in CATEGORIES and self._text.startswith(names[-1], last.start):
            form = PluralForm(group, names[-1], last.start, end, last.start)
        if event.tag in (None, "tag:yaml.org,2002:str"):
            self.units.append(StringUnit(key, start, end, text, form))

    def result(self, *, without_root: bool) -> list[StringUnit]:
        """Return the units; names next to others than plural categories are no plural forms."""
        plain = {group for group, names in self._children.items() if not names <= set(CATEGORIES)}
        units = []
        for unit in self.units:
            form = None if unit.form is None or unit.form.group in plain else unit.form
            if without_root:
                form = form and form._replace(group=form.group.partition(".")[2])
                unit = unit._replace(key=unit.key.partition(".")[2])
            units.append(unit._replace(form=form))
        return units


def _encode_yaml(text: str, old: str) -> str:
    if block := _BLOCK.match(old):
        blank = re.match(r"(?:\s*[\r\n])?", old[block.end() :])
        head = block[0] + (blank[0] if blank else "")
        indent = old[len(head) :]
        indent = indent[: len(indent) - len(indent.lstrip(" "))]
        lines = text.strip().replace("\n", "\n\n" if block["style"] == ">" else "\n").split("\n")
        return head + ("\r\n" if "\r\n" in old else "\n").join(f"{indent}{line}".rstrip() for line in lines)
    if old[0] == "'" and not _CONTROL.search(text):
        return "'" + text.replace("'", "''") + "'"
    if (
        old[0] not in "\"'"
        and not _UNSAFE.search(text)
        and not _RESOLVED.fullmatch(text)
        and not re.search(r"[\[\]{},]", text)
    ):
        return text
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return '"' + _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04X}", quoted) + '"'


def _scan_yaml(source: ScanInput) -> StringScan:
    scanner = _Scanner(source)
    try:
        scanner.scan()
    except yaml.YAMLError as error:
        place = getattr(error, "problem_mark", None)
        why = getattr(error, "problem", None) or "characters"
        raise source.fault(place.index if place else 0, f"YAML without an error ({why})", _FIX) from None
    codes = [root for root in scanner.roots if is_locale(root[0])]
    in_name = any(is_locale(part) for part in PurePath(source.name).stem.split(".")[-1:])
    if len(scanner.roots) == 1 and codes:
        return StringScan(scanner.result(without_root=True), codes[0][1:])
    if len(codes) > 1 and len(codes) == len(scanner.roots):
        raise DataError(f"{source.name} must have one language, got {len(codes)}; split it by language")
    if not in_name:
        raise DataError(
            f"{source.name} must have the code of its language as its first name (en:) or in its name "
            f"(messages.en.yaml), got {scanner.roots[0][0][:40] if scanner.roots else 'a list'}; {_FIX}"
        )
    return StringScan(scanner.result(without_root=False))


YAML = StringFormat(_scan_yaml, _encode_yaml, choices=re.compile(r"\|"), makes_choices=True, needs_count=True)
