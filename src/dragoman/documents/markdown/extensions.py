"""Notation of Markdown dialects: footnotes, alerts, attributes, containers, formulas, wiki links, emoji codes and JSX.

Inline notation is kept verbatim. Lines of notation are hidden from the parser; their text, if any, is a list item for
it, so that it is a paragraph of its own.
"""

import re
from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

INLINE_NOTATION = re.compile(  # lengths are limited: a search is repeated at each beginning
    r"\[\^[^\[\]\s]{1,200}\]"  # footnote
    r"|\^\[[^\[\]\n]{1,200}\]"  # inline footnote
    r"|\[\[[^\[\]\n]{1,200}\]\]"  # wiki link
    r"|\[[^\[\]\n@]{0,200}(?<!\w)@[A-Za-z][^\[\]\n]{0,200}\](?![\[(])"  # citation
    r"|\$\$[^$]{1,200}\$\$|\$(?=[^\s$])[^$\n]{0,200}(?<![\s\\])\$(?!\d)"
    r"|\\\((?=(?:(?!\\\))[^\n]){0,200}?(?:[\^_{}=]|\\[A-Za-z]))[^\n]{1,200}?\\\)"
    r"|\{(?:[:#.][^{}\n]{0,200}|[\w-]+=[^{}\n]{1,200})\}"  # attributes
    r"|(?<![\w:]):(?!\d+:)[a-z0-9_+-]{1,50}:(?!\w)"  # emoji
    r"|%<[^\W\d]\w{0,60}>[-+#0.\d]{0,8}[a-zA-Z]"  # format of Ruby: no tag
)
JSX_NOTATION = re.compile(
    r"</?(?:[A-Za-z][\w.:-]{0,60}(?:[^<>{}\n]|\{(?:[^{}\n]|\{[^{}\n]{0,200}\}){0,200}\}|=>){0,200})?>"
    r"|\{(?:[^{}\n]|\{[^{}\n]{0,200}\}){0,300}\}"
)
"""Elements and expressions of MDX, kept unchanged unless they are plain inline HTML."""
_PLAIN_HTML = re.compile(r"</?[a-z][\w-]*(?:\s[^<>{}]*)?>")
_MODULE = re.compile(r"(?:import|export)\b")
_BRACKET = re.compile(r"//.*|\"(?:[^\"\\]|\\.){0,500}+\"|'(?:[^'\\]|\\.){0,500}+'|`(?:[^`\\]|\\.){0,500}+`|[\[\](){}]")
"""Brackets of JavaScript, and the strings and comments of a line, which may have others."""
_MAX_MODULE = 300  # lines to its end
_MAX_ELEMENT = 4000  # characters
_ELEMENT = re.compile(r"[ \t>]*(?:</?[A-Za-z>]|\{)")
_FENCE = re.compile(r"[ \t>]*(?:[-*+][ \t]+)?(`{3,}|~{3,})")
_FORMULA = re.compile(r"[ \t>]*(?:\$\$|\\\[)[ \t]*$")
_FORMULA_END = re.compile(r"[ \t>]*(?:\$\$|\\\])[ \t]*+(?:(?:\{#[^{}]*\}|\([\w:-]+\))[ \t]*)?$")
_ITEM = re.compile(r"([ \t]{0,3}(?:>[ \t]?)*)(?:\[\^[^\[\]\s]+\]:|\*\[[^\[\]]+\]:|:)[ \t]+(?=\S)")
"""Beginning of a footnote, an abbreviation or a definition."""
_ADMONITION = re.compile(r"([ \t]*)(?:!!!|\?\?\?\+?)[ \t]+\w.*")
_HIDDEN = re.compile(
    r"[ \t]*(?::{3,}.*|\[\[?_?toc_?\]?\]|\{[:#.][^{}]*\}|\{%.*%\}|\{\{.*\}\}|\([\w:.-]+\)=)[ \t]*", re.IGNORECASE
)
_ALERT = re.compile(r"([ \t]*(?:>[ \t]?)+)\[![\w-]+\].*")
_HEADING = re.compile(r"( {0,3}#{1,6}[ \t](?:.*[^ \t])?)[ \t]+\{:?[ \t]*[#.][^{}]*\}[ \t#]*")


def add_inline_notation(parser: MarkdownIt) -> None:
    """Parse inline notation as tokens of the type ``notation``."""
    parser.inline.ruler.before("escape", "notation", _notation)


def _notation(state: StateInline, silent: bool) -> bool:
    found = INLINE_NOTATION.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        state.push("notation", "", 0).content = found[0]
    state.pos = found.end()
    return True


def add_jsx(parser: MarkdownIt) -> None:
    """Parse MDX: no HTML blocks and no indented code, elements and expressions in braces are kept."""
    parser.disable(["code", "html_block"])
    parser.inline.ruler.before("escape", "jsx", _jsx)


def _jsx(state: StateInline, silent: bool) -> bool:
    found = JSX_NOTATION.match(state.src, state.pos, state.posMax)
    if found is None or _PLAIN_HTML.fullmatch(found[0]):
        return False
    if not silent:
        state.push("notation", "", 0).content = found[0]
    state.pos = found.end()
    return True


def hide_jsx(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of an MDX file without modules, and without elements and expressions on lines of their own."""
    fence = ""
    end = 0  # line after a module
    pending = ""  # an element or expression that does not end on its line
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if number >= end and not fence and _MODULE.match(line):
            end = _module_end(lines, number)
        is_module = number < end
        if mark and not pending and not is_module:
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        if is_module:
            yield ""
        elif pending and ">" not in line and "}" not in line and len(pending) + len(line) < _MAX_ELEMENT:
            pending += f"{line}\n"  # it cannot end here
            yield ""
        elif not fence and (pending or _ELEMENT.match(line)):
            whole = pending + line
            rest = JSX_NOTATION.sub("", whole.replace("\n", " ")).strip(" \t>") if len(whole) < _MAX_ELEMENT else "a"
            is_open = bool(rest) and _ELEMENT.match(rest) is not None and (pending or rest == line.strip(" \t>"))
            pending = f"{whole}\n" if is_open else ""
            yield "" if is_open or not rest or "\n" in whole else line
        else:
            yield line


def _module_end(lines: Sequence[str], start: int) -> int:
    """Return the line at which a module ends: a blank one outside brackets, or the first if they are not closed."""
    depth = first = 0
    for number in range(start, len(lines)):
        if not lines[number].strip() and (depth <= 0 or (first and number - start > _MAX_MODULE)):
            return number if depth <= 0 else first
        first = first or (0 if lines[number].strip() else number)
        depth += sum((each in "([{") - (each in ")]}") for each in _BRACKET.findall(lines[number]))
    return len(lines) if depth <= 0 else first or len(lines)


def hide_notation(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines as the parser sees them; each text is still a part of its line."""
    ends = _formula_ends(lines)
    fence = ""
    hidden = -1  # last line of a formula
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
            yield line
        elif number <= hidden:
            yield ""
        elif mark:
            fence = mark[1]
            yield line
        elif _FORMULA.match(line) and ends[number]:
            hidden = ends[number]
            yield ""
        else:
            yield _hidden(line)


def _formula_ends(lines: Sequence[str]) -> list[int]:
    """Return the next line after each line that may end a formula; 0 if there is none."""
    ends = [0] * len(lines)
    for number in range(len(lines) - 1, 0, -1):
        ends[number - 1] = number if _FORMULA_END.match(lines[number]) else ends[number]
    return ends


def _hidden(line: str) -> str:
    if _HIDDEN.fullmatch(line):
        return ""
    if found := _ITEM.match(line):
        return f"{found[1]}- {line[found.end() :]}"
    if found := _ADMONITION.fullmatch(line):
        return f"{found[1]}-"
    if found := _ALERT.fullmatch(line) or _HEADING.fullmatch(line):
        return found[1]
    return line
