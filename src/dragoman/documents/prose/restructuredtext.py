"""reStructuredText: titles, paragraphs, lists, notes and captions are prose; code, tables and names stay.

A reader of lines: docutils has no positions of inline notation, and would read the files that directives name.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import replace

from dragoman.documents.document import Document
from dragoman.documents.limits import DocumentLimits
from dragoman.documents.prose.document import Paragraph, Part, ProseDocument, Tag
from dragoman.documents.text.text_file import LINE

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*+\s*")
_BULLET = re.compile(r"[-*+\u2022\u2023\u2043][ \t]+(?=\S)")
_NUMBER = r"(?:\d{1,5}|#|[A-Za-z]|[ivxlcdmIVXLCDM]{2,12})"
_ENUMERATOR = re.compile(rf"(?:\(?{_NUMBER}\)|{_NUMBER}\.)[ \t]+(?=\S)")
_FOOTNOTE = re.compile(r"\.\.[ \t]+\[(?:\d+|\*|#[\w.-]*|[\w.-]+)\][ \t]+(?=\S)")
_DIRECTIVE = re.compile(r"\.\.[ \t]+(?P<name>[A-Za-z][\w.+:-]*?)[ \t]?::(?:[ \t]+(?P<rest>\S.*)|\s*$)")
_EXPLICIT = re.compile(r"\.\.(?:\s|$)|__(?:\s|$)")
_FIELD = re.compile(r":(?![: ])(?P<name>(?:[^:\\\n]|\\.|:(?![ \t\n]|$)){1,200}):(?:[ \t]+(?=\S)|$)")
_OPTION = re.compile(
    r"(?:-\w|--?[\w-]+|/\w)(?:[ =]?[<\w][\w<>.-]*)?(?:, (?:-\w|--?[\w-]+)(?:[ =][<\w][\w<>.-]*)?)*(?:  +(?=\S)|$)"
)
_LINE_BLOCK = re.compile(r"\|[ \t]+(?=\S)|\|$")
_GRID, _SIMPLE = re.compile(r"\+[-=+]+\+\s*$"), re.compile(r"=+(?:[ \t]+=+)+\s*$")
_DOCTEST = re.compile(r">>>(?:\s|$)")
_TEXT_FIELDS = re.compile(
    r"(?:param|parameter|arg|argument|key|keyword|raises?|except|exception|var|ivar|cvar|returns?|yields?)\b"
)
_TITLED = frozenset({"admonition", "topic", "sidebar", "rubric", "centered"})
_NOTES = frozenset({
    "attention", "caution", "danger", "error", "hint", "important", "note", "tip", "warning", "seealso", "todo",
    "epigraph", *_TITLED,
})  # fmt: skip
"""Directives of which the rest of the line is prose."""
_VERSIONS = frozenset({"versionadded", "versionchanged", "versionremoved", "deprecated"})
_BODIES = frozenset({
    *_NOTES, *_VERSIONS, "container", "highlights", "pull-quote", "compound", "glossary", "only", "hlist",
    "figure", "class",
    "function", "method", "attribute", "data", "exception", "module", "decorator", "decoratormethod", "property",
    "classmethod", "staticmethod", "describe", "option", "cmdoption", "envvar", "confval", "setting", "object", "type",
    "macro", "member", "var", "enum", "enumerator", "struct", "program", "directive", "role", "currentmodule",
})  # fmt: skip
"""Directives whose content is prose; the name may have a domain (``py:function``)."""

_OPENERS, _CLOSERS = "'\"([{<-/:\u2018\u201c\u00ab\u2013\u2014", "'\")]}>-/\\.,:;!?\u2019\u201d\u00bb\u2013\u2014\u2026"
_BEFORE, _AFTER = rf"(?<![^\s{re.escape(_OPENERS)}])", rf"(?![^\s{re.escape(_CLOSERS)}])"
_BEGIN = re.compile(r"[*`|]|:[A-Za-z][\w.:+-]*:`|\[[^\]\s]+\]_")
_ROLES = r"(?:\w+:)?(?:ref|doc|any|term|numref|class|func|meth|mod|attr|obj|exc|data|const|option|envvar|download)"
_STYLES = r"emphasis|strong|title|title-reference|t|dfn|sub|sup|subscript|superscript"
_INLINE = re.compile(
    rf"{_BEFORE}(?:(?P<literal>``(?=\S)(?:(?!``(?!`)).){{1,2000}}?(?<=\S)``(?!`))"
    rf"|(?P<open>(?::{_ROLES}:)?`)(?=[^\s`<])(?P<title>(?:[^`<>\\]|\\.){{1,500}}?)(?P<close>\s*<[^<>`]{{1,500}}>`(?P<link>__?)?)"
    rf"|(?P<phrase>`(?=\S)(?P<named>(?:[^`<>\\]|\\.){{1,500}}?)(?<=\S)`_(?P<anonymous>_)?)"
    rf"|(?P<style>:(?:{_STYLES}):`)(?=\S)(?P<styled>(?:[^`\\]|\\.){{1,500}}?)(?<=\S)`"
    rf"|(?P<role>(?::[A-Za-z][\w.+:-]{{0,60}}:|_)?`(?=\S)(?:[^`\\]|\\.){{1,1000}}?(?<=\S)`(?::[A-Za-z][\w.+:-]{{0,60}}:|__?)?)"
    rf"|(?P<strong>\*\*)(?=\S)(?P<bold>(?:(?!\*\*)(?:[^\\]|\\.)){{1,1000}}?)(?<=\S)\*\*"
    rf"|(?P<emphasis>\*)(?=[^\s*])(?P<slanted>(?:[^*\\]|\\.){{1,1000}}?)(?<=\S)\*"
    rf"|(?P<substitution>\|(?=\S)[^|]{{1,200}}?(?<=\S)\|_{{0,2}})"
    rf"|(?P<footnote>\[(?:\d+|\*|#[\w.-]*|[\w.-]+)\]_)"
    rf"|(?P<reference>(?<![\w`.:/+-])[A-Za-z0-9](?:[A-Za-z0-9]|[-_.+:](?=[A-Za-z0-9])){{0,200}}__?(?![\w`]))){_AFTER}"
    r"|(?P<escape>\\(?:\s|\S))",
    re.DOTALL,
)
_PHRASE = re.compile(r"`([^`<>]{1,200})`_(?![\w_])")
_MAX_LINES, _MAX_SIGNS, _MAX_DEPTH = 60_000, 60_000, 40
_REFERENCE = re.compile(r"(?<![\w`.:/+-])([A-Za-z0-9][A-Za-z0-9.+-]*)_(?![\w`])")
_DEFINED = re.compile(r"^[ \t]*\.\. _`?([^:`\n]{1,200})`?:|`([^`<>]{1,200})<[^<>`]{1,500}>`_(?!_)", re.MULTILINE)
_ESCAPED = re.compile(r"\\(\S)|\\\s")
_AMBIGUOUS = re.compile(r"[*`|\\]|_(?!\w)|(?<!\w)_(?=`)")
_AT_START = re.compile(
    rf"{_BULLET.pattern}|{_ENUMERATOR.pattern}|{_EXPLICIT.pattern}|{_FIELD.pattern}|{_OPTION.pattern}|\||>>>|[+=][-=]"
    r"|([!-/:-@\[-`{-~])\1*$"
)


def read_rst(name: str, data: bytes, limits: DocumentLimits) -> Document:
    """Read reStructuredText."""
    return ProseDocument(name, data, limits, _Notation())


class _Notation:
    """The notation of reStructuredText; names of targets in the text to which phrases refer stay."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def paragraphs(self, text: str, limits: DocumentLimits) -> Iterator[Paragraph]:
        self._names = {_name(found[1]) for each in (_PHRASE, _REFERENCE) for found in each.finditer(text)}
        defined = {_name(found[1] or found[2]) for found in _DEFINED.finditer(text)}
        lines = _Lines(text, self._names - defined)
        limits.check("signs of notation", sum(map(text.count, "`*|\\")) + text.count("_ "), _MAX_SIGNS)
        limits.check("lines", len(lines.lines), _MAX_LINES)
        yield from lines.paragraphs()

    def parts(self, raw: str) -> tuple[Part, ...] | None:
        parts: list[Part] = []
        done = 0
        for found in _INLINE.finditer(raw):
            parts.append(Part(raw[done : found.start()]))
            done = found.end()
            if found["escape"]:
                parts.append(Part("" if found["escape"][1].isspace() else found["escape"][1]))
            else:
                parts.append(self._part(found))
        parts.append(Part(raw[done:]))
        return tuple(each for each in parts if each.text or each.tag)

    def escaped(self, text: str, place: int, *, starts_line: bool) -> str:
        escape = _AMBIGUOUS.match(text, place) or (starts_line and _AT_START.match(text, place))
        return f"\\{text[place]}" if escape else text[place]

    def joined(self, before: str, after: str) -> str:
        if not before or not after or before[-1].isspace() or after[0].isspace():
            return ""
        begins = _BEGIN.match(after) and before[-1] not in _OPENERS
        ends = before[-1] in "*`_|" and after[0] not in _CLOSERS
        return "\\ " if begins or ends else ""

    def _part(self, found: re.Match[str]) -> Part:
        whole = found[0]
        is_title = bool(found["title"]) and (found["open"] != "`" or bool(found["link"]))
        if is_title and not (found["link"] == "_" and _name(found["title"]) in self._names):
            tag = Tag(found["open"], found["close"] + ("_" if found["link"] == "_" else ""))
            return Part("", tag=tag, parts=(Part(_plain(found["title"])),))
        if found["phrase"]:
            closing = "`__" if found["anonymous"] else f" <{found['named']}_>`__"
            return Part("", tag=Tag("`", closing), parts=(Part(_plain(found["named"])),))
        for name, inner in (("style", "styled"), ("strong", "bold"), ("emphasis", "slanted")):
            if found[name]:
                closing = "`" if name == "style" else found[name]
                return Part("", tag=Tag(found[name], closing), parts=(Part(_plain(found[inner])),))
        return Part(whole, is_kept=True)


def _plain(text: str) -> str:
    return _ESCAPED.sub(lambda escape: escape[1] or "", text)


def _name(text: str) -> str:
    return " ".join(_plain(text).split()).casefold()


class _Lines:
    """The lines of a file, read from the first to the last."""

    def __init__(self, text: str, names: set[str]) -> None:
        self._names = names  # to which something refers
        self.lines = list(LINE.finditer(text))
        self._texts = [line[1].rstrip() for line in self.lines]
        self._indents = [len(text) - len(text.lstrip()) for text in self._texts]

    def paragraphs(self) -> Iterator[Paragraph]:
        at = 0
        while at < len(self._texts):
            at = (yield from self._element(at, self._indents[at])) if self._texts[at] else at + 1

    def _element(self, at: int, column: int) -> Generator[Paragraph, None, int]:
        """Yield the paragraphs of what begins in a column of a line, and return the line after it."""
        base = None  # the other lines are anywhere after this column
        rest = ""
        for _ in range(_MAX_DEPTH):
            rest = self._texts[at][column:]
            if found := _DIRECTIVE.match(rest):
                return (yield from self._directive(at, column, found))
            if (found := self._marker(at, column, rest)) is None:
                break
            base = None if found.re in (_BULLET, _ENUMERATOR) else column
            column += found.end()
        if end := self._after_kept(at, column, rest):
            return end
        if found := _LINE_BLOCK.match(rest):
            yield self._paragraph([at], column + found.end())
            return at + 1
        for line, adornments in ((at + 1, [at, at + 2]), (at, [at + 1])):
            if not column and self._is_title(line, adornments):
                title = self._paragraph([line], self._indents[line])
                name = self._texts[line].strip()
                target = (self.lines[min(line, *adornments)].start(), f".. _`{name}`:\n\n")
                before = target if _name(name) in self._names else None
                yield replace(title, adornments=self._spans(adornments), before=before)
                return max(line, *adornments) + 1
        if not column and self._is_adornment(at):
            return at + 1
        return (yield from self._text(at, column, base))

    def _marker(self, at: int, column: int, rest: str) -> re.Match[str] | None:
        """Return what precedes a text in its line: the sign of an item, the name of a field, an option."""
        if found := _FOOTNOTE.match(rest) or _BULLET.match(rest):
            return found
        if (found := _ENUMERATOR.match(rest)) and not self._is_continued(at, column):
            return found
        found = _FIELD.match(rest) or _OPTION.match(rest)
        is_text = found and (rest[0] != ":" or _TEXT_FIELDS.match(found["name"]))
        return found if found and is_text and found.end() < len(rest) else None

    def _after_kept(self, at: int, column: int, rest: str) -> int:
        """Return the line after what is no prose; 0 if it is."""
        if _EXPLICIT.match(rest):
            return self._after_indented(at + 1, column)
        if _SIMPLE.match(rest):
            return self._after_table(at + 1)
        if _DOCTEST.match(rest) or _GRID.match(rest):
            return self._after_block(at + 1)
        if found := _FIELD.match(rest):
            return at + 1 if _TEXT_FIELDS.match(found["name"]) else self._after_indented(at + 1, column, stops=True)
        return at + 1 if _OPTION.fullmatch(rest) else 0

    def _is_title(self, line: int, adornments: list[int]) -> bool:
        if (
            max(line, *adornments) >= len(self._texts)
            or not self._texts[line]
            or not all(map(self._is_adornment, adornments))
        ):
            return False
        signs, width = {self._texts[each][0] for each in adornments}, len(self._texts[line])
        return len(signs) == 1 and len(self._texts[adornments[-1]]) >= min(4, width)

    def _text(self, at: int, column: int, base: int | None) -> Generator[Paragraph, None, int]:
        following = self._indents[at + 1] if at + 1 < len(self._texts) and self._texts[at + 1] else -1
        if base is None and following > column:  # the term of a definition
            if " : " not in self._texts[at]:
                yield self._paragraph([at], column)
            return at + 1
        indent = column if base is None else following
        end = at + 1
        while (
            end < len(self._texts)
            and self._texts[end]
            and self._indents[end] == indent > (-1 if base is None else base)
        ):
            end += 1
        if self._texts[end - 1].endswith("::"):
            yield self._paragraph([*range(at, end)], column, is_colon=True)
            return self._after_literal(end, column if base is None else base)
        yield self._paragraph([*range(at, end)], column)
        return end

    def _directive(self, at: int, column: int, found: re.Match[str]) -> Generator[Paragraph, None, int]:
        name = found["name"].rpartition(":")[2].lower()
        if name not in _BODIES:
            return self._after_indented(at + 1, column)
        start = found.start("rest")
        if found["rest"] and name in _VERSIONS:
            start += len(found["rest"]) - len(found["rest"].partition(" ")[2].lstrip())
        end = at + 1
        while end < len(self._texts) and self._indents[end] > column and self._texts[end]:
            if _FIELD.match(self._texts[end].lstrip()):
                break
            end += 1
        has_text = bool(found["rest"]) and start < len(found[0].rstrip())
        first = at if has_text else at + 1
        if name in (_NOTES if has_text else ()) or (name in _VERSIONS and first < end):
            indents = {self._indents[each] for each in range(at + 1, end)}
            end = end if len(indents) < 2 else at + 1
            if first < end:
                is_literal = self._texts[end - 1].endswith("::")
                yield self._paragraph(
                    [*range(first, end)], column + start if has_text else self._indents[first], is_colon=is_literal
                )
                end = self._after_literal(end, column) if is_literal else end
        while end < len(self._texts) and self._indents[end] > column and _FIELD.match(self._texts[end].lstrip()):
            end += 1
        return end

    def _paragraph(self, numbers: list[int], column: int, *, is_colon: bool = False) -> Paragraph:
        spans = []
        for number in numbers:
            begin = self.lines[number].start()
            start = column if number == numbers[0] else self._indents[number]
            spans.append((begin + start, begin + len(self._texts[number])))
        if not is_colon:
            return Paragraph(spans)
        (start, end), last = spans[-1], self._texts[numbers[-1]]
        if last.strip() == "::" or last.endswith(" ::"):
            spans[-1] = start, max(start, end - 2 - (len(last[:-2]) - len(last[:-2].rstrip())))
            return Paragraph([each for each in spans if each[0] < each[1]])
        spans[-1] = start, end - 1
        return Paragraph(spans, ends_with=":")

    def _spans(self, numbers: list[int]) -> tuple[tuple[int, int], ...]:
        begins = [(self.lines[number].start(), len(self._texts[number])) for number in numbers]
        return tuple((begin, begin + length) for begin, length in begins)

    def _is_adornment(self, at: int) -> bool:
        return at < len(self._texts) and _ADORNMENT.fullmatch(self._texts[at]) is not None

    def _is_continued(self, at: int, column: int) -> bool:
        """Whether the next line is at the same column and no item of a list, so that this line is none either."""
        if at + 1 >= len(self._texts) or not self._texts[at + 1] or self._indents[at + 1] != column:
            return False
        return not _ENUMERATOR.match(self._texts[at + 1][column:])

    def _after_indented(self, at: int, column: int, *, stops: bool = False) -> int:
        """Return the first line that is not more indented; with `stops` also the first blank one."""
        while at < len(self._texts) and (self._indents[at] > column if self._texts[at] else not stops):
            at += 1
        return at

    def _after_block(self, at: int) -> int:
        while at < len(self._texts) and self._texts[at]:
            at += 1
        return at

    def _after_table(self, at: int) -> int:
        """Return the line after a simple table: it ends at a border before a blank line."""
        while at < len(self._texts):
            at += 1
            if _SIMPLE.match(self._texts[at - 1].lstrip()) and (at == len(self._texts) or not self._texts[at]):
                return at
        return at

    def _after_literal(self, at: int, column: int) -> int:
        """Return the line after a literal block, which is indented, or has the same punctuation before each line."""
        while at < len(self._texts) and not self._texts[at]:
            at += 1
        if at < len(self._texts) and self._indents[at] <= column and _ADORNMENT.match(self._texts[at].lstrip()[:1]):
            return self._after_block(at)
        return self._after_indented(at, column)
