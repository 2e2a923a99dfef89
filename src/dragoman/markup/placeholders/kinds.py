"""Table of the kinds of placeholders: what translation must not change, how it is found, and examples."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from dragoman.text.characters import SPACELESS
from dragoman.text.numbers_and_addresses import MAIL_ADDRESS

_MAX_LETTERS, _MAX_WORDS = 40, 4  # of a label
_SENTENCE = re.compile(r"[.!?;,](?!\.)(?:\s|$)(?<!\.\.\.)(?<!\.\.\.\s)")  # a label may end in three dots or a colon
_AT_WORD = re.compile(r"(?<![\w&_/.:])(?:(_)(?=[A-Z])|(&)(?=[^\W\d_]))(?!\w{1,30}[;_])")  # &File, Save _As
# E&xit, Cu_t, Or_ientation, Pag_es:, Cance_l, Page Set_up, For&mat, Move do&wn; not AT&T, Gin&tonic, User_id
_END = r"(?:\.\.\.|\u2026|:)"
_IN_WORD = re.compile(
    rf"^[A-Z](?:[a-z]?(_)|[a-z]{{0,2}}(&))(?=[a-z]{{1,4}}{_END}?$)|^[A-Z](?:[a-z](_)(?=[a-z]{{1,20}}{_END}?$)"
    rf"|[a-z]{{1,20}}(_)(?=[a-z]{{1,20}}{_END}$|[a-z]$))"
    rf"|^(?:[A-Z][a-z]+ ){{1,3}}[A-Z][a-z]{{0,4}}(_)(?=[a-z]{{1,20}}{_END}?$)"
    r"|(?<!\S)(?:[A-Z]|[A-Za-z][a-z])(&)(?=[a-z]{2,30}(?:\.\.\.|\u2026|:)?(?!\S))"
)
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_TAIL = re.compile(r"[\s.\u2026:]*$")


@dataclass(frozen=True)
class PlaceholderKind:
    """A kind: its name, the pattern, and strings that it finds in the middle of a text.

    A `strict` string is a placeholder wherever it occurs, so that one in a translation alone is damage. The others may
    be ordinary text, which then stays unchanged.
    """

    name: str
    pattern: str
    examples: tuple[str, ...]
    strict: bool = True


# In scripts without spaces, text follows an address directly. Braces in a URL are a placeholder:
# https://example.org/{id}/edit
_URL = (
    r"(?<![A-Za-z0-9])(?:[A-Za-z][A-Za-z0-9+.-]{1,20}://|[Ww]{3}\.|mailto:)"
    rf"(?:[^\s<>\"|`{{}}\\^{SPACELESS}]|\{{\w{{0,40}}\}})++"
)
_LENGTH = r"(?:hh|ll|I64|[hlLqjzt])?"
_FORM = rf"[-+#0']{{0,4}}(?:\d{{1,4}}|\*)?(?:\.(?:\d{{1,4}}|\*))?{_LENGTH}[diouxXeEfFgGcCsSrap@]"
_UNITS = r"(?:ms|s|h|m|min|px|pt|dpi|[kKMGT]?i?B|[kMG]?Hz|x|st|nd|rd|th)(?![^\W_])"
_NAME = r"[^\W\d]\w{0,60}"
_ATTRIBUTE = r"""\s++[\w:.@-]{1,60}+(?:\s*+=\s*+(?:"[^"<>]{0,400}+"|'[^'<>]{0,400}+'|[^\s"'<>=]{1,200}+))"""
_TAG = rf"</?(?:[A-Za-z][\w:.-]{{0,60}}+|\d{{1,4}}+)(?:{_ATTRIBUTE})*+\s*+/?>"

ADDRESS_KINDS = (
    PlaceholderKind("url", _URL, ("https://example.org/a?b=c", "www.example.org", "https://x.org/{id}/edit")),
    PlaceholderKind("mail", rf"(?<![A-Za-z0-9_.+-]){MAIL_ADDRESS}", ("ada.l@example.org",)),
)
"""Web and mail addresses, of which letters must not become a part."""

PLACEHOLDER_KINDS = (
    PlaceholderKind(
        "template",
        r"\{\{\{?[^{}\n]{1,200}\}\}\}?|\{%[^{}\n]{1,200}%\}",
        ("{{name}}", "{{ x }}", "{{#if a}}", "{% if %}"),
    ),
    PlaceholderKind("expression", r"[#$]\{[^{}\n]{1,200}\}", ("${user.name}", "#{x}", "${n != 1 ? 's' : ''}")),
    PlaceholderKind(
        "brace",
        r"[#$%@]?\{(?:[^\W\d]|\d)?[\w.\[\]-]{0,100}(?:,-?\d{1,4})?(?:![rsa])?(?::[^{}\s]{0,40})?\}|\{\d{1,3}(?:,-?\d{1,4})?:[^{}\n]{1,60}\}",
        ("{name}", "{0}", "{}", "%{x}", "{0:>8.2f}", "{name!r:>10}", "{0,10:N2}", "{0:d MMM yyyy}"),
    ),
    PlaceholderKind(
        "fluent",
        r"\{ ?(?:[$-][A-Za-z][\w-]{0,60}(?:\.[\w-]{1,60})?|[A-Z][A-Z_-]{1,30}\([^{}()\n]{0,200}\)"
        r"|\"[^\"{}\n]{0,100}\") ?\}|\{ [\w.-]{1,60} \}",
        ("{ $x }", "{$count}", "{ -brand-name }", '{ NUMBER($n, style: "percent") }', "{ name }"),
    ),
    PlaceholderKind(
        "icu-argument",
        r"\{ ?\w{1,100} ?, ?(?:number|date|time|spellout|ordinal|duration)(?: ?,[^{}\n]{0,60})?\}",
        ("{n, number}", "{d, date, short}"),
    ),
    PlaceholderKind(
        "block",
        r"\{[!-z|~]{1,100}\}|\{[#/:@^!$&>](?=\S)[^{}\n]{1,100}\}",
        ("{user.name|title}", "{^name}", "{#if user}", "{/each}"),
    ),
    PlaceholderKind("double-bracket", r"\[\[[^\[\]\n]{1,200}\]\]", ("[[x]]", "[[user name]]")),
    PlaceholderKind("i18next", r"\$t\([^()\n]{1,200}\)", ("$t(key)", "$t(common:name)")),
    PlaceholderKind(
        "vue-link",
        rf"(?<![\w@])@(?:\.{_NAME})?:(?:\([\w.-]{{1,100}}\)|[\w-]{{1,60}}(?:\.[\w-]{{1,60}}){{0,8}})",
        ("@:a.b", "@.lower:a.b", "@:(a.b)"),
    ),
    PlaceholderKind(
        "dollar", rf"(?<![\w$\\])\$(?:{_NAME}\$|[A-Za-z_]\w{{1,60}})", ("$HOME", "$name", "$NAME$"), strict=False
    ),
    PlaceholderKind(
        "printf",
        rf"%#@{_NAME}@|%\({_NAME}\)[-+#0]{{0,4}}\d{{0,4}}(?:\.\d{{1,4}})?[a-zA-Z]"
        rf"|%<{_NAME}>[-+#0]{{0,4}}\d{{0,4}}(?:\.\d{{1,4}})?[a-zA-Z]"
        rf"|%\d{{1,3}}\$[-+#0']{{0,4}}\d{{0,4}}(?:\.\d{{1,4}})?{_LENGTH}[diouxXeEfFgGcCsSaAp@]"
        r"|(?<![\w%])%-?[YmdHMSyIpBbjZz](?:[-/:. T,]{0,2}%-?[YmdHMSyIpBbjZz]){1,8}(?!\w)"
        rf"|%(?!{_FORM}%[\w%(*.+#\[@$<{{-])[A-Za-z_]\w{{0,100}}%"  # %USER%, not %s%s or %d%%
        rf"|(?<!\d)%{_FORM}(?:(?![^\W\d_{SPACELESS}])|(?={_UNITS}))"
        r"|(?:(?<![\s\S])|(?<=[\n(\[\"'`]))%[sd](?=[^\W\d_])"  # %ssection
        r"|(?<=\d)%(?:0\d)?l{0,2}[sduxX@](?![\w-])"
        r"|(?<!\w)%(?:L?\d{1,2}|n)(?!\w)|%%",
        (
            "%s",
            "%d",
            "%-5d",
            "%ld",
            "%lld",
            "%@",
            "%#@name@",
            "%1$s",
            "%(name)s",
            "%<name>s",
            "%USER%",
            "%5.2f",
            "%1",
            "%Y-%m-%d",
            "%%",
        ),
    ),
    PlaceholderKind("dunder", r"(?<!\w)__[A-Za-z0-9](?:\w{0,60}[A-Za-z0-9])?__(?!\w)", ("__name__", "__user_name__")),
    PlaceholderKind("stand-in", r"\[X\d{1,9}X\]", ("[X6X]",)),
    PlaceholderKind(
        "tag",
        rf"{_TAG}|<!--[^<>]{{0,400}}-->",
        ("<b>", "</b>", '<a href="x">', "<br/>", "<0>", "</0>", '<xliff:g id="x">', "<t0>"),
    ),
    PlaceholderKind("cdata", r"<!\[CDATA\[|\]\]>", ("<![CDATA[", "]]>")),
    PlaceholderKind("server-page", r"<%[^<>%]{1,200}%>|<\?[^<>?]{1,200}\?>", ("<%= x %>", "<?= $x ?>")),
    PlaceholderKind("swift", r"\\\([^()\n]{1,100}\)", ("\\(name)",)),
    PlaceholderKind("path", r"(?<![A-Za-z])[A-Za-z]:\\[^\s<>\"|?*]{1,200}", ("C:\\new\\table.txt",)),
    PlaceholderKind(
        "escape",
        r"\\(?:[nrt\"'\\]|u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}|x[0-9A-Fa-f]{2})",
        ("\\n", "\\t", "\\u00e9", '\\"'),
    ),
    PlaceholderKind(
        "entity",
        r"&(?:[A-Za-z][A-Za-z0-9]{1,30}|#\d{1,7}|#[xX][0-9A-Fa-f]{1,6});",
        ("&nbsp;", "&amp;", "&#39;", "&#x2014;"),
    ),
    PlaceholderKind("code", r"(?<![`\w])`(?=[^\s`])[^`'\n]{0,99}(?<=[^\s`'])`(?![`\w])", ("`ls -l`",), strict=False),
    PlaceholderKind("shortcode", r"(?<![\w:/.]):[a-z][a-z0-9_+-]{1,40}:(?![\w:/])", (":smile:",), strict=False),
    PlaceholderKind(
        "colon",
        r"(?:(?<=[\s(\[\"'«“‘/-])|(?<![\s\S])):[A-Za-z_]\w{1,60}(?![\w:])",
        (":name", ":user_name"),
        strict=False,
    ),
    PlaceholderKind(
        "identifier",
        r"(?<![\w/.-])(?:_[a-z]|[A-Za-z][A-Za-z0-9]{0,60}_(?=[A-Za-z0-9]))\w{0,60}(?![\w-])"
        r"|(?<![\w&])[A-Za-z]{1,30}&[A-Za-z]{1,30}(?![\w&;])",
        ("user_id", "_source", "MAX_SIZE", "AT&T"),
        strict=False,
    ),
    PlaceholderKind(
        "option",
        r"(?<![^\s(\[\"'`\u2018\u201c|,/])(?:--[A-Za-z][\w-]{1,60}(?:\[?=[\w<>.-]{0,40}[\w>]\]?)?|-[A-Za-z](?=[\s,]|$))",
        ("--help", "--output=FILE", "--color[=WHEN]"),
        strict=False,
    ),
    PlaceholderKind("mention", r"(?<![\w@./])@[A-Za-z_]\w{1,60}(?![\w@])(?!\.\w+@)", ("@count",), strict=False),
)
"""All other placeholders; the first kind that matches at a position is taken."""

SEQUENTIAL = rf"%{_FORM}|\{{(?:![rsa])?(?::[^{{}}\s]{{0,40}})?\}}"
"""Pattern of those that take the next argument of a program: in another order they would format other values."""

KINDS = (*ADDRESS_KINDS, *PLACEHOLDER_KINDS)


class Mnemonic(NamedTuple):
    """The marker of a mnemonic and its letter."""

    marker: str
    letter: str

    def add_to(self, text: str) -> str:
        """Mark a letter of a translated label: the same one at the start of a word, otherwise the first.

        A label without Latin letters gets the letter in brackets, ``文件(&F)``, as Qt and GTK have it.
        """
        if not _LATIN.search(text):
            end = _TAIL.search(text)
            at = end.start() if end else len(text)
            return f"{text[:at]}({self.marker}{self.letter.upper()}){text[at:]}"
        letter = re.escape(self.letter)
        found = re.search(rf"(?i)(?<!\w){letter}", text) or _LATIN.search(text)
        assert found is not None
        return f"{text[: found.start()]}{self.marker}{text[found.start() :]}"


def find_mnemonic(text: str) -> tuple[str, Mnemonic] | None:
    """Return a label without its mnemonic, and the mnemonic; None if the text is no such label."""
    markers = text.count("_") + text.count("&")
    if markers != 1 or len(text) > _MAX_LETTERS or len(text.split()) > _MAX_WORDS or _SENTENCE.search(text):
        return None
    found = _AT_WORD.search(text) or _IN_WORD.search(text)
    if found is None:
        return None
    at = found.start(found.lastindex or 0)
    return text[:at] + text[at + 1 :], Mnemonic(text[at], text[at + 1])
