"""Recognise what a text contains, by its first lines: markup, code, data, subtitles; prose is none of these."""

import json
import re

_MAX_LINES = 400
_START, _END = 400, 100  # characters of a longer line that are read: some patterns take quadratic time
_FEW, _MANY, _MOST, _NEARLY_ALL = 0.1, 0.3, 0.6, 0.9
"""Shares of the lines that are not blank."""
_MAGIC = {
    b"PK\x03\x04": "a zip archive, such as .docx or .xlsx",
    b"%PDF-": "a PDF document",
    b"\x1f\x8b": "gzip data; rename it to end in .gz",
    b"{\\rtf": "an RTF document",
    b"\xd0\xcf\x11\xe0": "an old Office document, such as .doc",
    b"BZh": "bzip2 data",
    b"\xfd7zXZ": "xz data",
    b"\x28\xb5\x2f\xfd": "zstd data",
    b"7z\xbc\xaf": "a 7z archive",
    b"\x7fELF": "a program",
}
_PROBED = 1 << 13  # bytes that are searched for a zero byte

_TAG = re.compile(r"\s*<")
_HTML = re.compile(r"<!doctype html|<html\b|</(?:p|div|span|body|table|ul|li|h[1-6])>", re.IGNORECASE)
_CUE = re.compile(r"[\d:.,]+ --> [\d:.,]+|\[\d{1,3}:\d\d(?:[.:]\d+)?\]|\{\d+\}\{\d+\}|Dialogue: |[\d:.]+,[\d:.]+$")
_MARKDOWN = re.compile(r"#{1,6} \S|```|~~~|[-*] \[.\] |\|.*\|$|.*\]\([^)\s]+\)|> |!\[")
_RST = re.compile(r"\.\. (?:[\w-]+::|_[\w -]+:|\|)|:[\w-]+: |.*:(?:ref|class|func|doc|meth|term):`|.*``\S")
_TEX = re.compile(r"\s*(?:\\(?:begin|end|documentclass|usepackage|section|chapter|item|newcommand)\b|%)")
_TROFF = re.compile(r"\.(?:[A-Z]{2}|[A-Z][a-z]|\\\")(?:\s|$)")
_SETTING = re.compile(r"\s*(?:[\w.-]+ ?[=:]?= ?\S?|\"[^\"]*\" ?[=:] ?|[#;!] |\[[\w .:-]+\]$)")
_YAML = re.compile(r"\s*(?:- )*[\"']?[\w./-]*[a-z_][\w./-]*[\"']?:(?: |$)|\s*- \S|\s*# |---$")
_YAML_KEY = re.compile(r"\s*(?:- )*[\"']?[a-z_][\w./-]*[\"']?:(?: |$)")
_LOG = re.compile(r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_CODE = re.compile(
    r"\s*(?:#!|//|/\*|\*/|#\s*(?:include|define|if|ifdef|ifndef|endif|pragma|import)\b|;;|\(\*|<\?(?:php|=)|<%"
    r"|(?:import|from|using|package|use|require|include|export|module|namespace) [\w.:{*'\"/$<]+.*[;'\"})]\s*$"
    r"|(?:def|class|func|fn|function|sub|struct|enum|interface|trait|impl|proc) \w+\s*[(:{<].*"
    r"|(?:public|private|protected|static|const|let|var|my|our|export|async|return|typedef|extern|local|val) .*[;={(,]"
    r"|(?:if|for|while|switch|elif|elseif|foreach|catch|unless|until)\s*[(\[].*[){:]|(?:else|try|do|finally)\s*[:{]"
    r"|\((?:defun|defvar|setq|define|require|provide|let|let\*|defcustom|defmacro|if|when|cond|lambda)\b"
    r"|[\w.$@\[\]>*&:-]+\s*(?:[-+*/|&.?]?=|:=|<-|=>)\s*\S|[\w.]+\(.*\)[;:{]?\s*$|[\])}]+[;,)]*\s*$|@\w+[({]?"
    r"|[A-Z]+\s+\"[^\"]*\"|(?:[A-Z]+\s+)?(?:/[\w.+-]+){2,}/?$"
    r"|.*[;{}]\s*$|\$[\w{(]| \*(?: |/|$)|\.[\w-]+\s*\{|[\w.-]+:\s*[\w$./-]*\s*\\?$|fi$|done$|esac$|end;?$|endif$)"
)
_COMMENT = re.compile(r"\s*(?:# |#$|--|%|\t)|=\w+")


def binary_kind(data: bytes) -> str:
    """Return what the beginning of a file is if it is not text: an archive, a PDF, bytes with zeros; else nothing."""
    found = next((kind for magic, kind in _MAGIC.items() if data.startswith(magic)), "")
    return found or ("a zero byte: a binary file, or UTF-16" if b"\0" in data[:_PROBED] else "")


def content_kind(text: str, *, strictly: bool = False) -> str:
    """Return what the beginning of a text is: XML, HTML, JSON, code, …; nothing for prose.

    With `strictly` a tenth of the lines suffices, and comments are code: for endings that are mostly those of code.
    """
    lines = [
        line if len(line) <= _START + _END else line[:_START] + line[-_END:]
        for line in text.removeprefix("\ufeff").splitlines()[:_MAX_LINES]
        if line.strip()
    ]
    if not lines:
        return ""
    return _declared(text.lstrip("\ufeff \t\r\n"), lines) or _counted(lines, strictly=strictly)


def _declared(text: str, lines: list[str]) -> str:
    """Return the kind that the first characters declare."""
    start = text[:2000]
    for sign, kind in (("WEBVTT", "subtitles"), ("[Script Info]", "subtitles"), ("\\documentclass", "LaTeX")):
        if start.startswith(sign):
            return kind
    if re.search(r"<(?:\w+:)?xliff\b", start):
        return "XLIFF"
    if start.startswith("<?xml") or re.match(r"<!DOCTYPE (?!html)", start, re.IGNORECASE):
        return "HTML" if "<html" in start else "XML"
    if any(line.startswith('msgid "') for line in lines) and any(line.startswith('msgstr "') for line in lines):
        return "gettext messages"
    return "JSON" if _is_json(text, lines) else ""


def _is_json(text: str, lines: list[str]) -> bool:
    if text[:1] not in "{[":
        return False
    try:
        return isinstance(json.loads(text), dict | list) and '"' in text
    except (ValueError, RecursionError):
        pass
    starts = sum(bool(re.match(r'\s*(?:[{\[]\s*"|"[^"]*"\s*:|[{}\[\]]+,?\s*$)', line)) for line in lines)
    return starts > _MANY * len(lines)


def _counted(lines: list[str], *, strictly: bool) -> str:
    """Return the first kind that enough lines have."""

    def share(pattern: re.Pattern[str]) -> float:
        return sum(pattern.match(line) is not None for line in lines) / len(lines)

    if share(_TAG) > _MANY:
        return "HTML" if any(_HTML.search(line) for line in lines) else "XML"
    many = _FEW if strictly else _MANY
    code = share(_CODE) + (share(_COMMENT) if strictly else 0)
    if code * len(lines) < 2 <= len(lines) and not strictly:
        code = 0.0  # one line of several may be a message with braces
    has_arrows = any(" --> " in line for line in lines)
    found = {
        "subtitles": share(_CUE) > (_FEW if has_arrows else _MOST),
        "LaTeX": len(lines) > 1 and share(_TEX) > many,
        "a manual page": len(lines) > 1 and share(_TROFF) > _FEW,
        "YAML": share(_YAML) > _NEARLY_ALL and share(_YAML_KEY) > _MANY,
        "settings": code > many and share(_SETTING) > _MOST,
        "code": code > many,
        "a log": share(_LOG) > _MOST,
        "reStructuredText": len(lines) > 1 and share(_RST) > _FEW,
        "Markdown": share(_MARKDOWN) > _FEW,
    }
    return next((kind for kind, is_found in found.items() if is_found), "")
