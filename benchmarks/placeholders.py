"""Translate generated texts with placeholders of every kind, and count those that are lost, doubled or broken.

Each text is a sentence with one to three placeholders of the kinds in `dragoman.markup.placeholders.kinds`, pairs of
tags, an ICU message or a mnemonic. It is translated as a line (`Translator.translate`) or as a part of a document of
each format. Whether a translation kept its placeholders is decided without the code under test: the strings that were
put into the text are counted in the text of the written file, and pairs of tags must be in order. A text that is
marked, and is its own source, is counted apart. The control translates lines with `protect=False`: losses must occur.
"""

from __future__ import annotations

import html
import io
import json
import random
import re
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import polib
from lxml import etree

from benchmarks.reporting import heading, parser, table, write
from dragoman import Translator
from dragoman.api.translation.markup import translate_markup
from dragoman.api.translation.text_translator import TextTranslator
from dragoman.documents.formats import read_document
from dragoman.markup.placeholders.icu_message import parse_icu
from dragoman.markup.placeholders.kinds import KINDS

PAIRED = {"<b>": "</b>", "<0>": "</0>", '<a href="x">': "</a>", '<xliff:g id="x">': "</xliff:g>", "<t0>": "</t0>"}
EXAMPLES = [
    (kind.name, example) for kind in KINDS for example in kind.examples if example not in {*PAIRED, *PAIRED.values()}
]
FRAMES = [
    "Hello {}, welcome back.",
    "The file {} was not found.",
    "You can change {} in the settings.",
    "{} is not a valid name.",
    "Please enter {} and press {}.",
    "Copy {} to {} before you delete {}.",
    "The server has sent {} to your account, and {} is now open.",
    "Are you sure that you want to remove {}?",
    "Error: {} could not be read",
    "Last changed by {}",
]
LABELS = ["_Open", "&File", "Save _As…", "E&xit", "Cu_t", "&Print preview", "Find and _Replace", "Pre_ferences"]
MESSAGES = [
    "{n, plural, one {# file} other {# files}}",
    "You have {n, plural, =0 {no messages} one {# message} other {# messages}} from {name}.",
    "{gender, select, male {He likes this.} female {She likes this.} other {They like this.}}",
    "{who} sent {n, plural, one {a photo} other {# photos}} to {place, select, home {your house} other {your office}}.",
]
WORDS = ["the report", "your house", "this page", "a new account", "the red door"]

NOTE = """A text that Markdown reads otherwise (`<b>` is a tag of its own, for instance) is not compared by this method.
Neither are mnemonics with a prefix, and subtitles that begin with a dash."""


Result = tuple[str, bool] | None
"""A translation, and whether it is marked; None for a text that is not compared."""


@dataclass(frozen=True)
class Unit:
    """A text and the strings that its translation must have equally often."""

    kind: str
    text: str
    kept: tuple[str, ...]


def units(count: int, seed: int) -> list[Unit]:
    """Generate texts: each kind comes in turn, in a random sentence with others."""
    draw = random.Random(seed)
    kinds = [*EXAMPLES, *(("pair", start) for start in PAIRED), ("icu", ""), ("mnemonic", "")]
    found = []
    while len(found) < count:
        kind, example = kinds[len(found) % len(kinds)]
        if kind == "icu":
            found.append(Unit(kind, draw.choice(MESSAGES), ()))
        elif kind == "mnemonic":
            found.append(Unit(kind, draw.choice(LABELS), ()))
        else:
            frame = draw.choice(FRAMES)
            chosen = [example, *(draw.choice(kinds[:-2])[1] for _ in range(frame.count("{}") - 1))]
            draw.shuffle(chosen)
            strings = [*chosen, *(PAIRED[each] for each in chosen if each in PAIRED)]
            pieces = [f"{each}{draw.choice(WORDS)}{PAIRED[each]}" if each in PAIRED else each for each in chosen]
            found.append(Unit(kind, frame.format(*pieces), tuple(strings)))
    return found


def fault(unit: Unit, translation: str) -> str | None:
    """Return what is wrong with a translation, by counting strings."""
    if unit.kind == "mnemonic":
        marker = "_" if "_" in unit.text else "&"
        return None if translation.count(marker) == 1 and not translation.endswith(marker) else "mnemonic"
    if unit.kind == "icu":
        return _icu_fault(unit.text, translation)
    pattern = "|".join(re.escape(each) for each in sorted(set(unit.kept), key=len, reverse=True))
    before, after = (Counter(re.findall(pattern, text)) for text in (unit.text, translation))
    for start, end in PAIRED.items():
        order = re.findall(f"{re.escape(start)}|{re.escape(end)}", translation)
        if order != [start, end] * (len(order) // 2):
            return "order of tags"
    if before == after:
        return None
    return "lost" if before - after else "doubled"


def _icu_fault(source: str, translation: str) -> str | None:
    """Compare arguments, selectors and the placeholders of each branch."""
    before, after = parse_icu(source), parse_icu(translation)
    if before is None or after is None or before.fragments != after.fragments:
        same = before is not None and after is not None and len(before.texts) == len(after.texts)
        selectors = [re.findall(r"(?:=\d+|\w+)\s*\{|, (?:plural|select),", text) for text in (source, translation)]
        if not same or not set(selectors[0]) <= set(selectors[1]):
            return "ICU syntax"
    assert before is not None
    assert after is not None
    for one, other in zip(before.texts, after.texts, strict=True):
        if Counter(re.findall(r"\{\w+\}|#", one)) != Counter(re.findall(r"\{\w+\}|#", other)):
            return "lost"
    return None


def as_lines(translator: Translator, some: list[Unit], *, protect: bool = True) -> list[Result]:
    """Translate texts as lines: the translations, and whether each is marked."""
    found = translator.translate([each.text for each in some], split_sentences=False, protect=protect)
    return [(each.text, each.damage is not None) for each in found]


def alternatives(translator: Translator, some: list[Unit]) -> list[Result]:
    """Return the worst of three translations of each text."""
    found = translator.translate([each.text for each in some], beam=3, nbest=3)
    results: list[Result] = []
    for unit, each in zip(some, found, strict=True):
        texts = [each.text, *(other.text for other in each.nbest)]
        worst = next((text for text in texts if fault(unit, text)), each.text)
        results.append((worst, each.damage is not None))
    return results


def streamed(translator: Translator, some: list[Unit]) -> list[Result]:
    """Translate texts as streams; one that stays unchanged counts as marked."""
    found = ["".join(translator.translate_stream(each.text)) for each in some]
    return [(text, text == unit.text) for unit, text in zip(some, found, strict=True)]


def with_prefix(translator: Translator, some: list[Unit]) -> list[Result]:
    """Translate texts with a given beginning; a mnemonic is then a matter of who wrote it."""
    texts = [each for each in some if each.kind != "mnemonic"]
    found = iter(translator.translate([each.text for each in texts], prefix=["Sim,"] * len(texts)))
    results: list[Result] = []
    for unit in some:
        each = None if unit.kind == "mnemonic" else next(found)
        results.append(None if each is None else (each.text, each.damage is not None))
    return results


@dataclass(frozen=True)
class Format:
    """How a text becomes a document, and how its translation is read from the written file."""

    write: Callable[[str], bytes]
    read: Callable[[bytes], str]
    is_literal: Callable[[str], bool] = lambda _: True
    """Whether a text is in the file unchanged; Markdown has own syntax for some."""


def in_documents(suffix: str, form: Format, translator: TextTranslator, some: list[Unit]) -> list[Result]:
    """Translate each text in a document of a format: the texts of the written files, and whether they are marked."""
    results: list[Result] = []
    for start in range(0, len(some), 50):
        part = some[start : start + 50]
        documents = [read_document(f"unit{suffix}", form.write(each.text)) for each in part]
        segments = [document.segments for document in documents]
        done = translate_markup(translator, [segment for each in segments for segment in each])
        place = 0
        for unit, document, each in zip(part, documents, segments, strict=True):
            places = range(place, place + len(each))
            place += len(each)
            data = document.write([done.texts[number] for number in places], language="pt")
            is_marked = any(number in done.damaged for number in places)
            is_literal = [segment.text for segment in each] == [unit.text] and not each[0].spans
            results.append((form.read(data), is_marked) if form.is_literal(unit.text) or is_literal else None)
    return results


def _office(main: str, part: str, xml: str) -> Format:
    """Return a format of Office Open XML with one part of text; ``@`` is the text."""
    kinds = {f"{main}.main": "main.xml", part: "part.xml"}  # of a document one part is both
    entries = "".join(
        f'<Override PartName="/{name}" ContentType="{OFFICE_TYPE}{kind}+xml"/>' for kind, name in kinds.items()
    )
    types = {"[Content_Types].xml": f"<Types>{entries}</Types>", "main.xml": "<x/>"}

    def write(text: str) -> bytes:
        return _packed(types | {"part.xml": xml.replace("@", html.escape(text), 1)})

    return Format(write, lambda data: _xml_text(_unpacked(data, "part.xml")))


def _packed(files: dict[str, str]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return target.getvalue()


def _unpacked(data: bytes, part: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.read(part)


def _xml_text(data: bytes, tag: str = "*") -> str:
    """Return the text of the last element with a name that has any."""
    found = ["".join(each.itertext()) for each in etree.fromstring(data).iter(f"{{*}}{tag}", tag)]
    return next((text for text in reversed(found) if text), "") if tag != "*" else found[0]


def _po_text(data: bytes) -> str:
    (entry,) = polib.pofile(data.decode())
    return entry.msgstr or entry.msgid


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


OFFICE_TYPE = "application/vnd.openxmlformats-officedocument."
ODF = "urn:oasis:names:tc:opendocument:xmlns"
ODT = (
    f'<o:document-content xmlns:o="{ODF}:office:1.0" xmlns:t="{ODF}:text:1.0"><o:body><o:text><t:p>@</t:p></o:text>'
    "</o:body></o:document-content>"
)
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
XLIFF = (
    '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file source-language="en" '
    'target-language="pt" datatype="plaintext" original="x"><body><trans-unit id="1"><source>@</source></trans-unit>'
    "</body></file></xliff>"
)
XLIFF_2 = (
    '<xliff version="2.0" srcLang="en" trgLang="pt" xmlns="urn:oasis:names:tc:xliff:document:2.0"><file id="f">'
    '<unit id="1"><segment><source>@</source></segment></unit></file></xliff>'
)
TMX = '<tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>@</seg></tuv></tu></body></tmx>'


def _xml(template: str, tag: str) -> Format:
    def read(data: bytes) -> str:
        return _xml_text(data, tag) or _xml_text(data, "source")  # without a word there is no target

    return Format(lambda text: template.replace("@", html.escape(text), 1).encode(), read)


def _strings(before: str, after: str, escapes: dict[str, str], *, braces: bool = False) -> Format:
    """Return a format of strings: what is before and after a text, and how characters of it are written."""

    def read(data: bytes) -> str:
        pattern = "|".join(map(re.escape, sorted(escapes.values(), key=len, reverse=True)))
        inner = data.decode().removeprefix(before).removesuffix(after)
        back = {written: character for character, written in escapes.items()}
        return re.sub(pattern, lambda found: back[found[0]], inner) if escapes else inner

    def write(text: str) -> bytes:
        return (before + "".join(escapes.get(character, character) for character in text) + after).encode()

    return Format(write, read, lambda text: not (braces and re.search(r"[{}]", text)))


_QUOTED_STRING = {"\\": "\\\\", '"': '\\"'}
_XML_STRING = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_APPLE = "<plist><dict><key>a</key><dict><key>other</key><string>", "</string></dict></dict></plist>"

_PO = Format(
    lambda text: (
        f'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid {_quoted(text)}\nmsgstr ""\n'
    ).encode(),
    _po_text,
)
QT = (
    '<TS version="2.1" language="pt"><context><name>a</name><message><source>@</source>'
    '<translation type="unfinished"/></message></context></TS>'
)


def _xcstrings(text: str) -> bytes:
    return json.dumps({"sourceLanguage": "en", "strings": {text: {}}, "version": "1.0"}).encode()


def _xcstrings_text(data: bytes) -> str:
    ((key, entry),) = json.loads(data)["strings"].items()
    return str(entry["localizations"]["pt"]["stringUnit"]["value"]) if entry else key


def _prose(suffix: str) -> Format:
    """Return a format of prose, which has own syntax for some placeholders: its reader returns the text."""

    def read(data: bytes) -> str:
        return "".join(each.text for each in read_document(f"x{suffix}", data).segments)

    return Format(lambda text: f"{text}\n".encode(), read, is_literal=lambda _: False)


FORMATS: dict[str, Format] = {
    ".arb": _strings('{"@@locale": "pt", "a": "', '"}', _QUOTED_STRING),
    ".ftl": _strings("a = ", "\n", {}, braces=True),
    ".json": _strings('{"a": {"message": "', '"}}', _QUOTED_STRING),
    ".php": _strings("<?php return ['a' => '", "'];", {"\\": "\\\\", "'": "\\'"}),
    ".properties": _strings("a = ", "\n# \u00e9", {"\\": "\\\\"}),
    ".resx": _strings('<root><data name="a"><value>', "</value></data></root>", _XML_STRING),
    ".strings": _strings('"a" = "', '";\n', _QUOTED_STRING),
    ".stringsdict": _strings(*_APPLE, _XML_STRING),
    ".xml": _strings(
        '<resources><string name="a">',
        "</string></resources>",
        _XML_STRING | {"\\": "\\\\", '"': '\\"', "'": "\\'", "@": "\\@", "?": "\\?"},
    ),
    ".yaml": _strings('pt:\n  a: "', '"\n', _QUOTED_STRING),
    ".txt": Format(lambda text: f"{text}\n".encode(), lambda data: data.decode().removesuffix("\n")),
    ".po": _PO,
    ".pot": _PO,
    ".ts": Format(
        lambda text: QT.replace("@", html.escape(text), 1).encode(),
        lambda data: _xml_text(data, "translation") or _xml_text(data, "source"),
    ),
    ".xcstrings": Format(_xcstrings, _xcstrings_text),
    ".html": Format(
        lambda text: f"<p>{html.escape(text)}</p>".encode(), lambda data: html.unescape(data.decode()[3:-4])
    ),
    ".srt": Format(
        lambda text: f"1\n00:00:01,000 --> 00:00:02,000\n{text}\n".encode(),
        lambda data: " ".join(data.decode().splitlines()[2:]),
        is_literal=lambda text: not text.startswith("-"),  # a speaker's dash
    ),
    ".md": _prose(".md"),
    ".rst": _prose(".rst"),
    ".xlf": _xml(XLIFF, "target"),
    ".xliff": _xml(XLIFF_2, "target"),
    ".tmx": _xml(TMX, "seg"),
    ".docx": _office(
        "wordprocessingml.document",
        "wordprocessingml.document.main",
        f'<w:document xmlns:w="{W}"><w:body><w:p><w:r><w:t>@</w:t></w:r></w:p></w:body></w:document>',
    ),
    ".pptx": _office(
        "presentationml.presentation",
        "presentationml.slide",
        f'<p xmlns:a="{A}"><a:p><a:r><a:t>@</a:t></a:r></a:p></p>',
    ),
    ".odt": Format(
        lambda text: _packed(
            {
                "mimetype": "application/vnd.oasis.opendocument.text",
                "content.xml": ODT.replace("@", html.escape(text), 1),
            }
        ),
        lambda data: _xml_text(_unpacked(data, "content.xml")),
    ),
}


def measure(name: str, some: list[Unit], run: Callable[[list[Unit]], list[Result]]) -> dict[str, object]:
    """Translate texts and count faults."""
    begun = time.perf_counter()
    found = run(some)
    faults: Counter[str] = Counter()
    by_kind: Counter[str] = Counter()
    marked = other = 0
    examples: list[str] = []
    for unit, result in zip(some, found, strict=True):
        if result is None:
            other += 1
            continue
        text, is_marked = result
        wrong = fault(unit, text)
        if is_marked:
            marked += 1
            wrong = None if text == unit.text else "marked but changed"
        if wrong is not None:
            faults[wrong] += 1
            by_kind[unit.kind] += 1
            examples += [f"{unit.text} → {text}"] if len(examples) < 8 else []
    return {
        "name": name,
        "units": len(some) - other,
        "otherwise": other,
        "marked": marked,
        "faults": dict(faults),
        "kinds": dict(by_kind.most_common()),
        "examples": examples,
        "seconds": round(time.perf_counter() - begun, 1),
    }


def main() -> None:
    """Measure lines, formats and the control."""
    options = parser(__doc__)
    options.add_argument("bundle", type=Path)
    options.add_argument("--units", type=int, default=10_000)
    options.add_argument("--seed", type=int, default=1)
    arguments = options.parse_args()
    warnings.simplefilter("ignore")
    translator = Translator.open(arguments.bundle, threads=arguments.threads)
    every = units(arguments.units, arguments.seed)
    share = len(every) // (len(FORMATS) + 8)
    runs: list[tuple[str, int, Callable[[list[Unit]], list[Result]]]] = [
        ("lines", len(every) - share * (len(FORMATS) + 3), partial(as_lines, translator)),
        ("three alternatives each", share, partial(alternatives, translator)),
        ("streams", share, partial(streamed, translator)),
        ("with a prefix", share, partial(with_prefix, translator)),
        *((suffix, share, partial(in_documents, suffix, form, translator)) for suffix, form in FORMATS.items()),
    ]
    rows = []
    rest = iter(every)
    for name, count, run in runs:
        rows.append(measure(name, [*islice(rest, count)], run))
        print(rows[-1], flush=True)
    control = partial(as_lines, translator, protect=False)
    rows.append(measure("control: protect=False", every[:1000], control))
    report(rows, arguments)


def report(rows: list[dict[str, object]], arguments: object) -> None:
    """Write the page."""
    threads = getattr(arguments, "threads", 1)
    count, seed = getattr(arguments, "units", 0), getattr(arguments, "seed", 0)
    command = f"python -m benchmarks.placeholders BUNDLE --units {count} --seed {seed} --threads {threads}"
    faults = sum(sum(each["faults"].values()) for each in rows[:-1])  # type: ignore[attr-defined]
    verdict = "**None is lost, doubled or broken unless marked.**" if not faults else f"**{faults} texts are damaged.**"
    cells = [
        [
            str(each["name"]),
            f"{each['units']:,}",
            f"{each['otherwise']:,}",
            f"{each['marked']:,}",
            f"{sum(each['faults'].values()):,}",  # type: ignore[attr-defined]
            f"{each['seconds']}",
        ]
        for each in rows
    ]
    head = ["translated as", "texts", "read otherwise by the format", "marked", "damaged", "seconds"]
    kinds = ", ".join(f"{name} {number}" for name, number in rows[-1]["kinds"].items())  # type: ignore[attr-defined]
    text = "\n".join(
        [
            heading("Placeholders are kept", command, threads),
            (__doc__ or "").partition("\n\n")[2].strip(),
            "",
            f"{verdict} The student en → pt of Firefox Translations, {count:,} texts.",
            "",
            table(head, cells),
            NOTE,
            "",
            f"Damaged in the control, by kind: {kinds}.",
            "",
        ]
    )
    write("placeholders", text, rows)


if __name__ == "__main__":
    main()
