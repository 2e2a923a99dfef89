"""YAML files of strings: those of Rails, below the code of their language, and those of Symfony, with it in their name.

Only what such files have is read: block mappings and sequences, all kinds of scalars, anchors, comments, and sequences
of scalars in one line. Other YAML is refused. A library would lose comments and quotes, or depend on C for its speed.
"""

from __future__ import annotations

import re
from pathlib import PurePath

from dragoman.documents.strings.plurals import CATEGORIES, is_locale
from dragoman.documents.strings.scan import PluralForm, ScanInput, StringFormat, StringScan, StringUnit
from dragoman.errors import DataError

_BLANK = re.compile(r"(?:[ \t]*+(?:#[^\r\n]*+)?(?:\r\n|\n|\r))++")
_REST = re.compile(r"[ \t]*+(?:(?<=\s)#[^\r\n]*+)?(?:\r\n|\n|\r|\Z)")
_END = re.compile(r"\r\n|\n|\r|\Z")
_DASH = re.compile(r"-(?=\s|\Z)")
_SPACES = re.compile(r"[ \t]*+")
_LINES = re.compile(r"[ \t]*+(?:(?:\r\n|\n|\r)[ \t]*+)++")
_INDENT = re.compile(r" *+")
_DOUBLE, _SINGLE = r'"(?:[^"\\]++|\\[\s\S])*+"', r"'(?:[^']++|'')*+'"
_START = r"(?:[^\s\[\]{}\"'#&*!|>%@`,?:-]|[?:-](?=[^\s,\[\]{}]))"
_KEY = re.compile(
    rf"(?:(?P<quoted>{_DOUBLE}|{_SINGLE})|(?P<plain>{_START}(?:[^\r\n:#]++|:(?=\S)|(?<=\S)#)*+))(?<!\s)"
    r"[ \t]*+:(?=\s|\Z)"
)
_LOOSE_KEY = re.compile(rf"(?P<plain>{_START}(?:[^\s:#]++|:(?=\S)|(?<=\S)#|[ \t]++(?![\s:#]))*+)[ \t]++:(?=\s|\Z)")
_PROPERTY = re.compile(r"(?:&\S++|(?P<tag>!\S*+))(?:[ \t]++|(?=[\r\n]|\Z))")
_QUOTED = re.compile(rf"{_DOUBLE}|{_SINGLE}")
_PLAIN = re.compile(rf"{_START}(?:[^\s:#]++|:(?=\S)|(?<=\S)#|[ \t]++(?![\s#]|\Z))*+")
_MORE = re.compile(r"(?:[^\s:#]++|:(?=\S)|(?<=\S)#|[ \t]++(?![\s#]|\Z))++")
_BLOCK = re.compile(r"(?P<style>[|>])(?P<explicit>[+-]?\d[+-]?|)[+-]?[ \t]*+(?:(?<=\s)#[^\r\n]*+)?(?:\r\n|\n|\r|\Z)")
_ITEM = rf"(?:{_DOUBLE}|{_SINGLE}|{_START}[^\[\]{{}},\"\r\n#]*+)"
_FLOW = re.compile(rf"\[[ \t]*+(?:{_ITEM}(?:[ \t]*+,[ \t]*+{_ITEM})*+[ \t]*+,?[ \t]*+)?\]|\{{[ \t]*+\}}")
_FLOW_ITEM = re.compile(_ITEM)
_RESOLVED = re.compile(
    r"~|null|true|false|yes|no|on|off|y|n|[-+.]?[\d][\d_.,:eExXa-fA-FTZ +-]*|[-+]?\.(?:inf|nan)|<<|=|:\w+",
    re.IGNORECASE,
)
"""Plain scalars that are no texts: logical values, numbers, dates, symbols of Ruby."""
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([\s\S]))")
_ESCAPES = dict(zip('0abtnvfre "/\\N_LP', '\0\a\b\t\n\v\f\r\x1b "/\\\x85\xa0\u2028\u2029', strict=True))
_FOLD = re.compile(r"(?<![ \t])[ \t]*+(?:\r\n|\n|\r)[ \t]*((?:(?:\r\n|\n|\r)[ \t]*)*)")
_UNSAFE = re.compile(r": |:$| #|^[\s\[\]{}\"'#&*!|>%@`,?:-]|\s$|[\r\n\t\0-\x1f]|^(?:---|\.\.\.)")
_CONTROL = re.compile(r"[\0-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
_FIX = "only files with the texts of a program are read; write the texts to a .txt file, one per line"


class _Scanner:
    """A scanner of one file; a level is the indent of a name, or more by a half for an item of a sequence."""

    def __init__(self, source: ScanInput) -> None:
        self._source = source
        self._text = source.text
        self._at = 0
        self._stack: list[tuple[float, str | int, int]] = []  # level, name or number, position of the name
        self._children: dict[str, set[str]] = {}
        self.units: list[StringUnit] = []
        self.roots: list[tuple[str, int, int]] = []
        """First level: names and their spans."""

    def scan(self) -> None:
        has_started = False
        while True:
            if blank := _BLANK.match(self._text, self._at):
                self._at = blank.end()
            if self._at >= len(self._text):
                return
            if self._text.startswith("---", self._at) and not has_started:
                self._at += 3
                self._end_line("the start of a document")
                has_started = True
                continue
            if self._text.startswith(("---", "...", "%", "\t"), self._at):
                raise self._fault("one document of YAML")
            has_started = True
            found = _INDENT.match(self._text, self._at)
            assert found is not None
            self._at = found.end()
            if _REST.match(self._text, self._at) and self._at >= len(self._text):
                return
            self._node(found.end() - found.start())

    def _fault(self, rule: str) -> DataError:
        return self._source.fault(self._at, rule, _FIX)

    def _end_line(self, rule: str) -> None:
        found = _REST.match(self._text, self._at)
        if found is None:
            raise self._fault(rule)
        self._at = found.end()

    def _node(self, indent: int) -> None:
        """Read what starts at a column: items of sequences, a name, and the value in the same line."""
        column = indent
        while _DASH.match(self._text, self._at):
            level = column + 0.5
            above = self._leave(level)
            if self._stack and self._stack[-1][0] == level:
                last = self._stack.pop()
                self._push(level, int(last[1]) + 1)
            elif above:
                raise self._fault("an item with the indent of the others")
            else:
                self._push(level, 0)
            self._at += 1
            spaces = _INDENT.match(self._text, self._at)
            assert spaces is not None
            self._at = spaces.end()
            if _REST.match(self._text, self._at):
                self._end_line("an item")
                return
            indent, column = column, column + 1 + len(spaces[0])
            if not _DASH.match(self._text, self._at) and self._key() is None:
                self._value(indent)
                return
        found = self._key()
        if found is None:
            raise self._fault("a name and a text")
        above = self._leave(column)
        if self._stack and self._stack[-1][0] == column:
            self._stack.pop()
        elif above:
            raise self._fault("a name with the indent of the others")
        start = self._at
        quoted = found.groupdict().get("quoted")
        name = _scalar(quoted) if quoted else found["plain"]
        if not self._stack:
            if column:
                raise self._fault("a name at the start of a line")
            begin = start + bool(quoted)
            self.roots.append((name, begin, begin + len(name)))
        self._push(column, name)
        self._at = found.end()
        spaces = _SPACES.match(self._text, self._at)
        assert spaces is not None
        self._at = spaces.end()
        self._value(column)

    def _key(self) -> re.Match[str] | None:
        return _KEY.match(self._text, self._at) or _LOOSE_KEY.match(self._text, self._at)

    def _leave(self, level: float) -> bool:
        """Leave the levels above one; return whether there were any."""
        count = len(self._stack)
        while self._stack and self._stack[-1][0] > level:
            self._stack.pop()
        return len(self._stack) < count

    def _push(self, level: float, name: str | int) -> None:
        self._stack.append((level, name, self._at))
        self._source.check_depth(len(self._stack))

    def _value(self, indent: int) -> None:
        """Read the value at the current position, given the indent of what it belongs to."""
        is_text = True
        while found := _PROPERTY.match(self._text, self._at):
            is_text &= not found["tag"] or found["tag"] == "!!str"
            self._at = found.end()
        start = self._at
        if _REST.match(self._text, self._at):
            self._end_line("a value")
        elif self._text.startswith("*", start):
            line = _END.search(self._text, start)
            self._at = line.end() if line else len(self._text)
        elif block := _BLOCK.match(self._text, start):
            self._block(block, indent, is_text=is_text)
        elif flow := _FLOW.match(self._text, start):
            for number, item in enumerate(_FLOW_ITEM.finditer(self._text, start + 1, flow.end() - 1)):
                end = item.start() + len(item[0].rstrip())
                self._add(item.start(), end, self._text[item.start() : end], str(number), is_text=is_text)
            self._at = flow.end()
            self._end_line("the end of a line")
        elif quoted := _QUOTED.match(self._text, start):
            self._at = quoted.end()
            self._end_line("the end of a line")
            self._add(start, quoted.end(), quoted[0], is_text=is_text)
        elif plain := _PLAIN.match(self._text, start):
            end = self._continued(plain.end(), indent)
            self._at = end
            self._end_line("the end of a line")
            self._add(start, end, self._text[start:end], is_text=is_text)
        else:
            raise self._fault("a text")

    def _continued(self, end: int, indent: int) -> int:
        """Return the end of a plain scalar, which may continue on lines with a greater indent."""
        while rest := _LINES.match(self._text, end):
            line = max(self._text.rfind("\n", end, rest.end()), self._text.rfind("\r", end, rest.end())) + 1
            more = _MORE.match(self._text, rest.end())
            if rest.end() - line <= indent or more is None:
                break
            end = more.end()
        return end

    def _block(self, block: re.Match[str], indent: int, *, is_text: bool) -> None:
        at = end = block.end()
        first = 0  # indent of the text
        start: int | None = None
        while at < len(self._text):
            line = _END.search(self._text, at)
            spaces = _INDENT.match(self._text, at)
            assert line is not None
            assert spaces is not None
            if spaces.end() < line.start():
                if len(spaces[0]) <= indent:
                    break
                if start is None:
                    start, first = at, len(spaces[0])
                end = line.start()
            at = line.end()
            if line.end() == line.start():
                break
        self._at = at
        if start is None or block["explicit"]:
            return
        raw = self._text[start:end]
        lines = [line[first:] for line in re.split(r"\r\n|\n|\r", raw)]
        is_folded = block["style"] == ">"
        if is_folded and any(line[:1] in (" ", "\t") for line in lines):
            return
        text = _fold("\n".join(lines)) if is_folded else "\n".join(lines)
        self._add_unit(block.start(), end, text, is_text=is_text)

    def _add(self, start: int, end: int, notation: str, item: str = "", *, is_text: bool) -> None:
        if notation[0] in "\"'" or not _RESOLVED.fullmatch(notation):
            self._add_unit(start, end, _scalar(notation), item, is_text=is_text)

    def _add_unit(self, start: int, end: int, text: str, item: str = "", *, is_text: bool) -> None:
        names = [str(name) for _, name, _ in self._stack] + ([item] if item else [])
        key = self._source.key(names)
        group = self._source.key(names[:-1])
        _, last, position = self._stack[-1]
        self._children.setdefault(group, set()).add(names[-1])
        form = None
        if not item and isinstance(last, str) and last in CATEGORIES and self._text.startswith(last, position):
            form = PluralForm(group, last, position, end, position)
        if is_text:
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


def _scalar(notation: str) -> str:
    """Return the text of a scalar in one or more lines."""
    if notation[:1] == '"':
        inner = (
            re.sub(r"(?<!\\)((?:\\\\)*+)\\[ \t]*+(?:\r\n|\n|\r)[ \t]*", r"\1", notation[1:-1])
            if "\n" in notation
            else notation[1:-1]
        )
        return _ESCAPE.sub(_unescaped, _fold(inner))
    if notation[:1] == "'":
        return _fold(notation[1:-1].replace("''", "'"))
    return _fold(notation)


def _fold(text: str) -> str:
    return (
        _FOLD.sub(lambda found: "\n" * len(_END.findall(found[1])[:-1]) or " ", text)
        if "\n" in text or "\r" in text
        else text
    )


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    return (chr(int(code, 16)) if int(code, 16) < 0x110000 else "\ufffd") if code else _ESCAPES.get(found[4], found[4])


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
    scanner.scan()
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
