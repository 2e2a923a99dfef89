"""LaTeX: paragraphs, titles, captions and items are prose; commands, formulas, listings and tables stay.

A reader of characters: the libraries that parse LaTeX do not write what they read byte for byte.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from dragoman.documents.document import Document
from dragoman.documents.limits import DocumentLimits
from dragoman.documents.prose.document import Paragraph, Part, ProseDocument, Tag
from dragoman.errors import DataError

_MAX_SIGNS = 150_000
_MAX_DEPTH = 20
_KEPT_ENVIRONMENTS = (
    r"[A-Za-z]*[vV]erbatim|verbatimtab|lstlisting|minted|alltt|comment|filecontents|equation|align|alignat|flalign|gather"
    r"|multline|eqnarray|math|displaymath|dmath|subequations|tikzpicture|tikzcd|pgfpicture|picture|pspicture|axis|forest"
    r"|tabular[xy]?|tabulary|longtable|supertabular|array|tabbing|thebibliography|algorithm|algorithmic|algorithm2e"
    r"|code|pycode|sagesilent|sageblock|luacode|asy|prooftree|bibdiv|CodeInput|CodeOutput|Code|Sinput|Soutput|feynman"
)
_BLOCK = re.compile(
    rf"\\begin\s*\{{(?P<kept>(?:{_KEPT_ENVIRONMENTS})\*?)\}}"
    r"|\\(?P<edge>begin|end)\s*\{[^{}\n]{0,60}\}(?:\[[^\[\]\n]{0,200}\])?"
    r"|\\(?P<title>(?:sub){0,2}section|(?:sub)?paragraph|chapter|part|caption|title|subtitle|subcaption|captionof|frametitle"
    r"|framesubtitle|addchap|addsec|section|thanks|keywords)\b\*?(?:\[[^\[\]]{0,300}\])?\s*\{"
    r"|\\(?P<item>item)\b(?:\s*\[[^\[\]\n]{0,300}\])?"
    r"|\\(?P<line>label|input|include|includegraphics|bibliography|bibliographystyle|usepackage|documentclass|newcommand"
    r"|renewcommand|providecommand|newenvironment|renewenvironment|newtheorem|DeclareMathOperator|def|let|setlength"
    r"|addbibresource|setcounter|addtocounter|hypersetup|lstset|maketitle|tableofcontents|newpage|clearpage|centering|noindent|par"
    r"|appendix|vspace|hspace|bigskip|medskip|smallskip|printbibliography|author|date|affil|address|email|pagestyle"
    r"|thispagestyle|makeatletter|makeatother|protect|RequirePackage|graphicspath|geometry|color|definecolor|index)\b\*?"
    r"|(?P<formula>\$\$|\\\[)"
    r"|(?P<comment>(?<!\\)%[^\n]*(?:\n|\Z))|(?P<blank>\n[ \t]*\n\s*)|\\\\(?:\[[^\]\n]{0,40}\])?"
)
_ARGUMENT = re.compile(r"[ \t]*(?:\[(?:[^\[\]]|\[[^\[\]]{0,200}\]){0,500}+\]|(?P<brace>\{))")
_STYLES = (
    r"emph|text(?:bf|it|sl|sc|sf|md|rm|up|normal)|underline|enquote|footnote|mbox|uline|href\s*\{[^{}]{0,500}\}"
    r"|textcolor\s*\{[^{}]{0,60}\}"
)
_INLINE = re.compile(
    rf"(?P<style>~?\\(?:{_STYLES})\s*\{{)"
    r"|(?P<group>\{\s*\\(?:em|bf|it|sl|sc|sf|rm|bfseries|itshape|scshape|small|large)\b\s*)"
    r"|(?P<verb>\\(?:verb|lstinline|mintinline\{\w+\})\*?"
    r"(?P<sign>[^\sA-Za-z{*])(?:(?!(?P=sign))[^\n]){0,500}(?P=sign))"
    r"|(?P<formula>\$(?:[^$\\]|\\.){1,2000}\$|\\\((?:(?!\\[()]).){1,2000}\\\))"
    r"|\\(?P<accent>[\"'`^~=.])(?:\{(?P<inner>[A-Za-z]|\\[ij])\}|(?P<letter>[A-Za-z]))|(?P<special>\\[%&_#${}]"
    r"|\\,|\\ |~(?!\\[A-Za-z])|\\text(?:backslash|ascii(?:tilde|circum))\{\})"
    r"|(?P<quotes>``|''|---|--)|(?P<command>~?\\(?:[A-Za-z@]+\*?|[^A-Za-z\s]))|(?P<brace>[{}])",
    re.DOTALL,
)
_ACCENTS = dict(zip("\"'`^~=.", "\u0308\u0301\u0300\u0302\u0303\u0304\u0307", strict=True))
_SIGNS = {
    "``": "\u201c",
    "''": "\u201d",
    "---": "\u2014",
    "--": "\u2013",
    "~": "\u00a0",
    "\\,": "\u202f",
    "\\ ": " ",
} | {
    "\\textbackslash{}": "\\",
    "\\textasciitilde{}": "~",
    "\\textasciicircum{}": "^",
}
_NOTATION = {
    **{each: f"\\{each}" for each in "%&_#${}"},
    **{text: sign for sign, text in _SIGNS.items() if text != " "},
}


def read_tex(name: str, data: bytes, limits: DocumentLimits) -> Document:
    """Read a LaTeX document, or a part of one without a preamble."""
    return ProseDocument(name, data, limits, _Notation(name))


class _Notation:
    """The notation of LaTeX."""

    def __init__(self, name: str) -> None:
        self._name = name

    def paragraphs(self, text: str, limits: DocumentLimits) -> Iterator[Paragraph]:
        limits.check("commands and braces", text.count("\\") + text.count("{"), _MAX_SIGNS)
        if "\\" not in text:
            raise DataError(f"{self._name} has no commands of LaTeX; check the suffix")
        begin = text.find("\\begin{document}")
        end = text.find("\\end{document}")
        at = 0
        ends = _group_ends(text)
        if begin >= 0:
            for found in re.finditer(r"(?<!%)\\(?:sub)?title\s*(?:\[[^\[\]]{0,300}\]\s*)?\{", text[:begin]):
                yield from _lines(text, found.end(), ends.get(found.end() - 1, found.end()))
            at = begin + len("\\begin{document}")
        yield from _body(text, at, end if end >= at else len(text), ends)

    def parts(self, raw: str) -> tuple[Part, ...] | None:
        return _parts(raw, 0, len(raw), _group_ends(raw), 0)

    def escaped(self, text: str, place: int, *, starts_line: bool) -> str:
        return _NOTATION.get(text[place], text[place])

    def joined(self, before: str, after: str) -> str:
        return "{}" if re.search(r"\\[A-Za-z]+$", before) and after[:1].isalpha() else ""


def _group_ends(text: str) -> dict[int, int]:
    """Return the place of the brace that closes each open one; comments have none."""
    ends: dict[int, int] = {}
    open_: list[int] = []
    for found in re.finditer(r"\\.|%[^\n]*|[{}]", text, re.DOTALL):
        if found[0] == "{":
            open_.append(found.start())
        elif found[0] == "}" and open_:
            ends[open_.pop()] = found.start()
    return ends


def _after_arguments(text: str, at: int, end: int, ends: dict[int, int]) -> int:
    """Return the end of the arguments that follow a command."""
    while (found := _ARGUMENT.match(text, at, end)) and "\n\n" not in found[0]:
        at = found.end() if found["brace"] is None else ends.get(found.end() - 1, found.end() - 1) + 1
        if found["brace"] is not None and found.end() - 1 not in ends:
            break
    return min(at, end)


def _body(text: str, at: int, end: int, ends: dict[int, int]) -> Iterator[Paragraph]:
    """Yield the paragraphs between the commands that are none."""
    start = at
    while at < end and (found := _BLOCK.search(text, at, end)):
        if found["title"] and (close := ends.get(found.end() - 1, -1)) < 0:
            at = found.end()
            continue
        yield from _lines(text, start, found.start())
        start = at = found.end()
        if found["kept"]:
            place = text.find(f"\\end{{{found['kept']}}}", at, end)
            start = at = place if place >= 0 else end
        elif found["title"]:
            yield from _body(text, at, close, ends)
            start = at = close + 1
        elif found["formula"]:
            place = text.find("$$" if found["formula"] == "$$" else "\\]", at, end)
            start = at = place + 2 if place >= 0 else end
        elif found["edge"] or found["line"]:
            start = at = _after_arguments(text, at, end, ends)
    yield from _lines(text, start, end)


def _lines(text: str, start: int, end: int) -> Iterator[Paragraph]:
    spans = []
    for found in re.finditer(r"[^\r\n]+", text[start:end]):
        bare = found[0].strip()
        if bare:
            begin = start + found.start() + found[0].find(bare)
            spans.append((begin, begin + len(bare)))
    if spans:
        yield Paragraph(spans)


def _parts(raw: str, at: int, end: int, ends: dict[int, int], depth: int) -> tuple[Part, ...] | None:
    """Return the parts of a text; None if its braces are not closed."""
    parts: list[Part] = []
    done = at
    while found := _INLINE.search(raw, at, end):
        parts.append(Part(raw[done : found.start()]))
        at = done = found.end()
        if opening := found["style"] or found["group"]:
            close = ends.get(found.end() - 1 if found["style"] else found.start(), end)
            inner = None if close >= end or depth > _MAX_DEPTH else _parts(raw, at, close, ends, depth + 1)
            if inner is None:
                return None
            parts.append(
                Part("", tag=Tag(opening, "}"), parts=inner)
                if inner
                else Part(raw[found.start() : close + 1], is_kept=True)
            )
            at = done = close + 1
        elif found["accent"]:
            letter = (found["inner"] or found["letter"]).removeprefix("\\")
            parts.append(Part(unicodedata.normalize("NFC", letter + _ACCENTS[found["accent"]])))
        elif sign := found["special"] or found["quotes"]:
            parts.append(Part(_SIGNS.get(sign, sign[-1])))
        elif found["command"]:
            at = done = _after_arguments(raw, at, end, ends)
            parts.append(Part(raw[found.start() : at], is_kept=True))
        elif found["brace"]:
            close = ends.get(found.start(), end)
            if found["brace"] == "}" or close >= end:
                return None
            at = done = close + 1
            parts.append(Part(raw[found.start() : at], is_kept=True))
        else:
            parts.append(Part(found[0], is_kept=True))
    parts.append(Part(raw[done:end]))
    return tuple(each for each in parts if each.text or each.tag)
