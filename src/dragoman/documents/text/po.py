"""gettext messages (po): translate messages without a translation and mark them as fuzzy.

Fuzzy marks a translation that has not been reviewed; programs do not show it. A translator's comment has the mark of
`translation_marks`: msgmerge keeps these comments and takes all others from the template. The lines of a file are
edited in place, because the library `polib` wraps all lines again when it writes.
"""

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import polib

from dragoman.documents.document import DeclaredLanguages, Document, changed_segments, parse_declared_code, target_tag
from dragoman.documents.inline_markup import InlineText
from dragoman.documents.limits import DocumentLimits
from dragoman.documents.strings.plurals import (
    OTHER_NUMBER,
    find_count,
    gettext_forms,
    parse_plural_rule,
    swap_count,
    with_count,
)
from dragoman.documents.text.simple_tags import parse_tags, render_tags
from dragoman.documents.text.text_file import LINE, TextEdits, TextFile, decode_file
from dragoman.documents.translation_marks import EarlierTranslation, UnreviewedCount, find_mark
from dragoman.errors import DataError
from dragoman.markup.placeholders.icu_message import restore_count
from dragoman.markup.tagged_text import TaggedText
from dragoman.text.characters import has_letters

_KEYWORD = re.compile(r'\s*(msgctxt|msgid_plural|msgid|msgstr)(?:\[(\d{1,2})\])?\s+(".*")\s*$')
_CREDITS = "translator-credits"  # names of people; they are in no language
_COMMENT_TYPES = (".", ":", ",", "|", "=")  # of a message; "~" is an obsolete message, others are a translator's
_MORE = re.compile(r'\s*(".*")\s*$')
_QUOTED = re.compile(r'"(?:[^"\\]++|\\.)*+"')  # possessive: no memory per character
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_PLURALS = re.compile(r"nplurals\s*=\s*(\d+)(?:\s*;\s*plural\s*=([^;\n]*))?")
_PLURAL_LINE = re.compile(r"^Plural-Forms:.*$", re.MULTILINE)
_FUZZY_LINE = re.compile(r"#,\s*fuzzy\s*?(?:\r\n|\r|\n)")
_LANGUAGE = re.compile(r"^Language:.*$", re.MULTILINE)
_CHARSET = re.compile(r"^(Content-Type:.*?charset=)(.*)$", re.MULTILINE | re.IGNORECASE)
_BREAK = re.compile(r"(\n|\t+| {2,})")  # line ends, and the columns of help texts
_ESCAPE = re.compile(r'\\([abfnrtv"\\])|((?:\\(?:x[0-9A-Fa-f]{1,2}|[0-7]{1,3}))+)')
_CODE = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|([0-7]{1,3}))")
_CHARACTERS = dict(zip('abfnrtv"\\', '\a\b\f\n\r\t\v"\\', strict=True))
_CONTROL = re.compile(r"[\0-\x1f\x7f]")
_MAX_PLURALS = 6
_MAX_TAGS = 100_000
_MAX_ESCAPES = 400_000


@dataclass
class _Entry:
    """A message: its texts by keyword, and the positions of the lines that a translation replaces."""

    start: int
    """Position of its first line."""
    flags: int | None = None
    """Position of the line of flags, if any."""
    mark: tuple[int, int, str] | None = None
    """Position of the line with the mark of an earlier run, and the mark."""
    body: int | None = None
    """Position after the translator's comments."""
    old: list[tuple[int, int]] = field(default_factory=list)
    """Positions of lines with the previous source text (``#|``); a new translation removes them."""
    fragments: dict[str, list[str]] = field(default_factory=dict)
    """Quoted strings by keyword, in order."""
    strings: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Positions of the lines with translations, by plural form."""
    keywords: int = 0
    """Position of its first keyword."""
    is_fuzzy: bool = False

    @functools.cached_property
    def texts(self) -> dict[str, str]:
        """Texts by keyword; only of a complete message."""
        return {keyword: "".join(fragments) for keyword, fragments in self.fragments.items()}

    @property
    def sources(self) -> list[str]:
        return [self.texts[keyword] for keyword in ("msgid", "msgid_plural") if keyword in self.texts]

    @property
    def is_message(self) -> bool:
        return bool(self.texts.get("msgid")) and bool(self.strings)

    def form_text(self, form: int) -> str:
        """Return the text of a plural form; empty if the file does not have it."""
        return self.texts.get(f"msgstr[{form}]") or self.texts.get("msgstr", "") if form in self.strings else ""

    def earlier(self, plurals: int) -> EarlierTranslation:
        """Return its translation so far, with as many forms as it should have; only of a complete message."""
        forms = tuple(map(self.form_text, self.forms(plurals)))
        return EarlierTranslation("\0".join(self.sources), forms, self.mark[2] if self.mark else "", not self.is_fuzzy)

    def forms(self, plurals: int) -> list[int]:
        """Return the numbers of its forms: as many as the header declares, and others in the file that have text."""
        count = plurals or len(self.strings) or 2
        written = {form for form in self.strings if not plurals or self.form_text(form)}
        return sorted({*range(count if "msgid_plural" in self.texts else 1), *written})

    @property
    def has_translation(self) -> bool:
        """Whether it has a translation; a copy of the source is none."""
        copies = {text.strip() for text in self.sources}
        done = {self.form_text(form).strip() for form in self.strings}
        return self.texts["msgid"] != _CREDITS and any(map(has_letters, done - copies))


def read_po(name: str, data: bytes, limits: DocumentLimits, *, again: bool = False) -> Document:
    """Read a gettext file, or a template of one; with `again`, fuzzy messages are translated again."""
    return _Messages(name, data, limits, again=again)


def reviewed_messages(name: str, data: bytes, limits: DocumentLimits) -> tuple[str, list[tuple[str, str]]]:
    """Return the target language that a file states, and the messages whose translation is not fuzzy."""
    read = _Messages(name, data, limits, again=False)
    return read.language, [
        (source, text)
        for entry in read.messages
        if not entry.is_fuzzy
        for source, form in zip(entry.sources, (0, max(entry.strings)), strict=False)
        if (text := entry.form_text(form))
    ]


class _Messages:
    def __init__(self, name: str, data: bytes, limits: DocumentLimits, *, again: bool) -> None:
        self.name = name
        self._data = data
        self._again = again
        self._file: TextFile = decode_file(name, data, limits)
        limits.check("tags", self._file.text.count("<"), _MAX_TAGS)
        limits.check("escapes", self._file.text.count("\\"), _MAX_ESCAPES)
        entries = list(_entries(name, self._file.text))
        if not any("msgid" in entry.texts for entry in entries):
            raise DataError(f"{name} has no messages (msgid, msgstr); check the suffix")
        self._end = "\r\n" if "\r\n" in self._file.text else "\n"
        self._header = next((entry for entry in entries if entry.texts.get("msgid") == "" and entry.strings), None)
        header = self._header.texts.get("msgstr", "") if self._header else ""
        plurals = _PLURALS.search(header)
        self._plurals = min(int(plurals[1][:3]), _MAX_PLURALS) if plurals else 0
        self._rule = parse_plural_rule(self._plurals, (plurals[2] or "").strip()) if plurals and self._plurals else None
        self._plural_line = ""  # of the header, if it has no rule
        self._is_selected = False
        self.messages = messages = [entry for entry in entries if entry.is_message]
        self._prepare(limits)
        stated = _LANGUAGE.search(header)
        self.language = target = parse_declared_code(stated[0].partition(":")[2]) if stated else ""
        pending = {id(entry) for entry in self._entries}
        done = sum(entry.has_translation for entry in messages if id(entry) not in pending)
        self.declared = (DeclaredLanguages("", target, done),) if self.segments else ()
        self.unreviewed = UnreviewedCount()
        for entry in messages:
            self.unreviewed.add(entry.earlier(self._plurals), again=again)

    def select(self, language: str) -> None:
        """Make the segments of plural forms for a target language; its rule is used if the header has none."""
        if self._rule is None:
            if (named := gettext_forms(language)) is None:
                return
            self._plural_line, self._rule = f"Plural-Forms: {named[0]}", named[1]
            self._plurals = len(self._rule.numbers) if self._header else 0
        self._is_selected = True
        self._prepare(DocumentLimits(self.name))

    def _prepare(self, limits: DocumentLimits) -> None:
        self._entries = [entry for entry in self.messages if any(self._is_new(entry))]
        self._texts = [
            [_lines_of(text, limits, *rest) for _, text, *rest in self._forms(entry)] for entry in self._entries
        ]
        found = [
            (part.tagged, "\x04".join(filter(None, (entry.texts.get("msgctxt"), entry.texts["msgid"]))))
            for entry, texts in zip(self._entries, self._texts, strict=True)
            for text in texts
            for part in text
            if isinstance(part, _Line)
        ]
        self.segments = tuple(tagged for tagged, _ in found)
        self.keys = tuple(key for _, key in found)
        """The context and the source of each segment's message, as in compiled catalogs."""

    def _forms(self, entry: _Entry) -> list[tuple[int, str, int | None]]:
        """Return what is translated of a message: the number of a form, its source, and a number that takes it.

        Before `select` these are the singular and the plural.
        """
        if len(entry.sources) == 1 or self._rule is None or not self._is_selected:
            return [(form, text, None) for form, text in enumerate(entry.sources)]
        singular, plural = entry.sources
        one = singular if self._rule.is_one_unique or find_count(singular) else with_count(singular, plural)
        return [
            (form, one if number == 1 else plural, number)
            for form, new in zip(entry.forms(self._plurals), self._is_new(entry), strict=True)
            if new
            for number in [self._rule.numbers.get(str(form), OTHER_NUMBER)]
        ]

    def write(self, translated: Sequence[TaggedText], *, language: str) -> bytes:
        if not any(changed_segments(self.segments, translated)):
            return self._data
        new = iter(zip(self.segments, translated, strict=True))
        edits = TextEdits(self._file.text)
        if self._header:
            self._write_header(edits, language)
        for entry, texts in zip(self._entries, self._texts, strict=True):
            lines = [[(part, *next(new)) if isinstance(part, _Line) else part for part in text] for text in texts]
            found = [part for text in lines for part in text if not isinstance(part, str)]
            done = [[_written(part) for part in text] for text in lines]
            is_whole = found and all(old is not translation for _, old, translation in found)
            if is_whole and not any(part is None for text in done for part in text):
                self._write_entry(edits, entry, ["".join(filter(None, text)) for text in done])
        return self._file.encoded(edits.joined())

    def _is_new(self, entry: _Entry) -> list[bool]:
        """Return for each form of a message whether it may be written."""
        return entry.earlier(self._plurals).writable(again=self._again)

    def _write_header(self, edits: TextEdits, language: str) -> None:
        assert self._header is not None
        text = self._header.texts["msgstr"]
        stated = _LANGUAGE.search(text)
        named = target_tag(stated[0].partition(":")[2] if stated else "", language, separator="_")
        line = f"Language: {named}"
        if stated is None:
            text = f"{text}{line}\n"
        elif stated[0].partition(":")[2].strip() != named:
            text = text[: stated.start()] + line + text[stated.end() :]
        if self._plural_line:
            text, count = _PLURAL_LINE.subn(lambda _: self._plural_line, text)
            text = text if count else f"{text}{self._plural_line}\n"
            if self._header.flags is not None and (flags := _FUZZY_LINE.match(self._file.text, self._header.flags)):
                edits.replace(*flags.span(), "")  # that of a template: programs ignore a header with it
        text = _CHARSET.sub(r"\g<1>UTF-8", text) if not _is_utf8(text) else text  # msginit writes that of the locale
        if text != self._header.texts["msgstr"]:
            edits.replace(*self._header.strings[0], self._keyword("msgstr", text))

    def _write_entry(self, edits: TextEdits, entry: _Entry, written: Sequence[str]) -> None:
        numbers, is_new = entry.forms(self._plurals), self._is_new(entry)
        count = self._plurals or len(numbers)
        made = {form: text for (form, *_), text in zip(self._forms(entry), written, strict=True)}
        by_form = self._is_selected and self._rule is not None and len(entry.sources) > 1
        lines, forms = [], []
        for form, new in zip(numbers, is_new, strict=True):
            if new:
                forms.append(made[form] if by_form else written[0] if form == 0 and count > 1 else written[-1])
                lines.append(self._keyword("msgstr" if len(entry.sources) == 1 else f"msgstr[{form}]", forms[-1]))
            else:
                forms.append(entry.form_text(form))
                raw = self._file.text[slice(*entry.strings[form])]
                lines.append(raw if raw.endswith(("\n", "\r")) else raw + self._end)
        positions = entry.strings.values()
        edits.replace(min(start for start, _ in positions), max(end for _, end in positions), "".join(lines))
        for old in entry.old if all(is_new) else ():
            edits.replace(*old, "")
        self._write_comments(edits, entry, entry.earlier(self._plurals).new_mark(forms, is_new))

    def _write_comments(self, edits: TextEdits, entry: _Entry, mark: str) -> None:
        line = f"# {mark}{self._end}"
        flags = f"#, fuzzy{self._end}" if entry.flags is None and not entry.is_fuzzy else ""
        if entry.mark is not None:
            edits.replace(*entry.mark[:2], line)
        elif entry.body is not None and entry.body != entry.keywords:
            edits.replace(entry.body, entry.body, line)
        else:
            flags = line + flags
        if flags:
            edits.replace(entry.keywords, entry.keywords, flags)
        if entry.flags is not None and not entry.is_fuzzy:
            edits.replace(entry.flags, entry.flags + 2, "#, fuzzy,")

    def _keyword(self, keyword: str, text: str) -> str:
        """Format a keyword and its text, with one line of the file per line of the text."""
        fragments = text.splitlines(keepends=True) if "\n" in text else [text]
        quoted = [f'"{_CONTROL.sub(_octal, polib.escape(fragment))}"' for fragment in fragments]
        first = quoted if len(quoted) == 1 else ['""', *quoted]
        return f"{keyword} {first[0]}{self._end}" + "".join(f"{line}{self._end}" for line in first[1:])


def _is_utf8(header: str) -> bool:
    found = _CHARSET.search(header)
    return found is not None and found[2].strip().lower() in {"utf-8", "utf8"}


def _unescaped(escape: re.Match[str]) -> str:
    """Return the character of an escape sequence, or the characters of a run of bytes."""
    if escape[1]:
        return _CHARACTERS[escape[1]]
    codes = [int(one, 16) if one else int(other, 8) & 0xFF for one, other in _CODE.findall(escape[2])]
    return bytes(codes).decode("utf-8", "replace")


def _octal(control: re.Match[str]) -> str:
    return f"\\{ord(control[0]):03o}"


@dataclass(frozen=True)
class _Line:
    """A line of a text; a `number` may stand for the placeholder `count` in it."""

    inline: InlineText
    tagged: TaggedText
    number: str = ""
    count: str = ""


def _lines_of(text: str, limits: DocumentLimits, number: int | None = None) -> list[_Line | str]:
    """Split a message at line ends and columns, which programs rely on, into translatable texts and other strings."""
    shown, swapped = swap_count(text, number)
    parts: list[_Line | str] = []
    for line in _BREAK.split(shown):
        limits.check_paragraph(len(line))
        inline = parse_tags(line, _TAG, limits) if has_letters(line) else None
        place = inline.tagged.text.find(swapped[0]) if swapped and inline is not None else -1
        if inline is not None and inline.tagged.has_words:
            limits.add(inline.tagged)
            if swapped and place >= 0:
                kept = tuple(sorted({*inline.tagged.kept, (place, place + len(swapped[0]))}))
                parts.append(_Line(inline, replace(inline.tagged, kept=kept), *swapped))
            else:
                parts.append(_Line(inline, inline.tagged))
        else:
            parts.append(line.replace(*swapped) if swapped else line)
    return parts


def _written(part: tuple[_Line, TaggedText, TaggedText] | str) -> str | None:
    """Return a part of a translation; None if a number that is for a placeholder is not once in it."""
    if isinstance(part, str):
        return part
    line, _, translated = part
    return restore_count(render_tags(line.inline.tree(translated)), line.number, line.count)


def _entries(name: str, text: str) -> Iterator[_Entry]:
    """Yield the messages of a file; obsolete messages are comments."""
    entry: _Entry | None = None
    keyword = ""
    for number, line in enumerate(LINE.finditer(text), 1):
        bare = line[1].strip()
        if not bare or bare.startswith("#"):
            if entry is not None and (not bare or entry.strings):
                yield entry
                entry = None
            if bare:
                entry = entry or _Entry(line.start())
                _add_comment(entry, bare, line)
            continue
        found = _KEYWORD.match(line[1])
        if found and entry is not None and entry.strings and found[1] in ("msgctxt", "msgid"):
            yield entry
            entry = None
        more = None if found else _MORE.match(line[1])
        quoted = found[3] if found else more[1] if more else ""
        entry = entry or (_Entry(line.start()) if found else None)
        if entry is None or not _QUOTED.fullmatch(quoted) or (more and not keyword):
            raise DataError(
                f"{name}:{number} must be a line of a message, got {bare[:60]!r}; fix it, or check the file with msgfmt"
            )
        if found:
            keyword = found[1] + (f"[{found[2]}]" if found[2] is not None else "")
            entry.keywords = entry.keywords if entry.fragments else line.start()
        entry.fragments.setdefault(keyword, []).append(_ESCAPE.sub(_unescaped, quoted[1:-1]))
        if keyword.startswith("msgstr"):
            form = int(keyword[7:-1] or 0)
            entry.strings[form] = (entry.strings.get(form, line.span())[0], line.end())
    if entry is not None:
        yield entry


def _add_comment(entry: _Entry, bare: str, line: re.Match[str]) -> None:
    kind = bare[1:2]
    if kind in _COMMENT_TYPES and entry.body is None:
        entry.body = line.start()
    if kind in (",", "="):
        entry.is_fuzzy |= "fuzzy" in re.split(r"[,\s]+", bare[2:])
        entry.flags = line.start() + line[0].index("#") if kind == "," else entry.flags
    elif kind == "|":
        entry.old.append(line.span())
    elif kind not in (".", ":", "~") and (mark := find_mark(bare)):
        entry.mark = (*line.span(), mark)
