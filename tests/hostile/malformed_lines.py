"""Malformed corpora of line pairs: the bytes of their files, the expected message and the remaining pairs."""

import bz2
import gzip
import lzma
import random
import struct
from dataclasses import dataclass, field

import pyarrow as pa

from dragoman.config.corpus import FileFormat

Pairs = list[tuple[int, str, str]]
Places = dict[str, list[str]]  # by reason, as file:line


@dataclass(frozen=True)
class Case:
    """One malformed corpus. `says` are parts of the message where the corpus as a whole is refused."""

    name: str
    files: dict[str, bytes]
    good: Pairs = field(default_factory=list)
    faults: Places = field(default_factory=dict)
    notes: Places = field(default_factory=dict)
    says: tuple[str, ...] = ()
    named: tuple[str, ...] = ()  # what the configuration names, if not the files themselves
    columns: tuple[str, ...] = ()
    format: FileFormat = "auto"


TEXTS = [
    ("Grüße aus Köln", "Greetings from Cologne"),
    ("Das Haus ist groß.", "The house is big."),
    ("他们 — „so“", "They are “so”"),
    ("Ein Satz mit\u00a0Leerzeichen", "A sentence with a space "),
    (" Ende 😀", "The end 😀"),
]


def good(without: int = 0, *, first: int = 1) -> Pairs:
    """The five pairs by line, but the line that is left out."""
    return [(line, *pair) for line, pair in enumerate(TEXTS, first) if line != without]


def good_with(line: int, source: str, target: str) -> Pairs:
    """The five pairs, but with this one on its line."""
    return [(line, source, target) if at == line else (at, *pair) for at, pair in enumerate(TEXTS, 1)]


def side(number: int, *, line: int = 0, text: bytes = b"", end: bytes = b"\n") -> bytes:
    """One side of the five pairs as a file, with one line replaced."""
    lines = [pair[number].encode() for pair in TEXTS]
    if line:
        lines[line - 1] = text
    return b"".join(text + end for text in lines)


def pair(name: str, source: bytes | None = None, target: bytes | None = None, **expected) -> Case:
    """Two files of lines."""
    files = {"a.de": side(0) if source is None else source, "a.en": side(1) if target is None else target}
    return Case(name, files, **expected)


def odd(name: str, text: str) -> Case:
    """A character that is kept, and noted, in line 3 of the target: it must not end the line."""
    reason = "line separator inside a line"
    return pair(
        name,
        target=side(1, line=3, text=text.encode()),
        good=good_with(3, TEXTS[2][0], text),
        notes={reason: ["a.en:3"]},
    )


def bad(name: str, reason: str, text: bytes) -> Case:
    """An invalid line 3 of the source."""
    return pair(name, side(0, line=3, text=text), good=good(3), faults={reason: ["a.de:3"]})


def refused(name: str, source: bytes, *says: str, suffix: str = "") -> Case:
    """A source file that is rejected, with a valid target file."""
    return Case(name, {f"a.de{suffix}": source, "a.en": side(1)}, says=(f"a.de{suffix}", *says))


def sentences(count: int) -> tuple[list[bytes], list[bytes]]:
    """Made-up line pairs whose lengths go together as those of translations do."""
    chance = random.Random(7)
    source, target = [], []
    for _ in range(count):
        length = chance.lognormvariate(4.5, 0.6)
        source.append(b"s" * max(1, int(length)))
        target.append(b"t" * max(1, int(length * chance.lognormvariate(0.1, 0.2))))
    return source, target


def joined(lines: list[bytes]) -> bytes:
    """Lines as a file."""
    return b"".join(line + b"\n" for line in lines)


def rows(source: list[bytes], target: list[bytes]) -> Pairs:
    """Lines as the pairs they must become."""
    return [
        (line, one.decode(), other.decode()) for line, (one, other) in enumerate(zip(source, target, strict=True), 1)
    ]


def odd_cases() -> list[Case]:
    """Characters that are kept, and noted."""

    def kept(name: str, text: str, reason: str) -> Case:
        return pair(
            name,
            side(0, line=3, text=text.encode()),
            good=good_with(3, text, TEXTS[2][1]),
            notes={reason: ["a.de:3"]},
        )

    return [
        odd("line-separator-2028", "one x\u2028y two"),
        odd("paragraph-separator-2029", "one\u2029two"),
        odd("next-line-0085", "one\u0085two"),
        odd("vertical-tab", "one\vtwo"),
        odd("form-feed", "one\ftwo\f"),
        odd("lone-carriage-return", "one\rtwo"),
        odd("information-separators-are-kept-too", "one\x1c\x1d\x1etwo\u2028"),
        kept("mark-in-the-middle", "\ufeffzusammengefügt", "byte-order mark inside the text"),
        kept("already-replaced", "Stra\ufffde", "replacement character already there"),
        kept("c1-controls", "\x84so\x93", "C1 control character"),
    ]


def end_cases() -> list[Case]:
    """The ends of lines and the beginnings of files: normalized and noted."""
    everywhere = {"carriage return removed": [f"a.de:{line}" for line in range(1, 6)]}
    return [
        pair("crlf", side(0, end=b"\r\n"), good=good(), notes=everywhere),
        pair(
            "crlf-on-one-line",
            target=side(1, line=2, text=TEXTS[1][1].encode() + b"\r"),
            good=good(),
            notes={"carriage return removed": ["a.en:2"]},
        ),
        pair("crlf-without-last-line-feed", side(0, end=b"\r\n")[:-1], good=good(), notes=everywhere),
        refused("carriage-returns-only", side(0, end=b"\r"), "5 carriage returns", "tr "),
        pair("mark-at-start", b"\xef\xbb\xbf" + side(0), good=good(), notes={"byte-order mark removed": ["a.de:1"]}),
        pair("no-last-line-feed", side(0)[:-1], good=good()),
        pair("no-last-line-feed-on-either-side", side(0)[:-1], side(1)[:-1], good=good()),
    ]


def bad_cases() -> list[Case]:
    """Lines that are not text."""
    latin = TEXTS[0][0].encode("latin-1")
    return [
        bad("nul", "NUL byte", b"one\0two"),
        bad("latin-1", "not UTF-8", latin),
        bad("windows-1252-quotes", "not UTF-8", b"\x84so\x93"),
        bad("overlong-encoding", "not UTF-8", b"a\xc0\xafb"),
        bad("surrogate-bytes", "not UTF-8", b"a\xed\xa0\x80b"),
        bad("beyond-unicode", "not UTF-8", b"\xf4\x90\x80\x80"),
        bad("cut-within-a-character", "not UTF-8", "Köl😀".encode()[:-1]),
        bad("megabyte-line", "line too long", b"x" * 1_000_000),
        pair("cut-at-the-end-of-the-file", side(0)[:-2], good=good(5), faults={"not UTF-8": ["a.de:5"]}),
        pair(
            "all-latin-1",
            side(0, line=3, text=latin) + latin,
            side(1) + b"six\n",
            good=good(3),
            faults={"not UTF-8": ["a.de:3", "a.de:6"]},
        ),
        pair(
            "both-sides-bad",
            side(0, line=3, text=b"\xff"),
            side(1, line=3, text=b"a\0b"),
            good=good(3),
            faults={"not UTF-8": ["a.de:3"]},
        ),
        pair(
            "empty-lines",
            side(0, line=5, text=b""),
            side(1, line=1, text=b""),
            good=[(1, TEXTS[0][0], ""), *good()[1:4], (5, "", TEXTS[4][1])],
        ),
        pair(
            "utf-16-without-mark",
            "ab\n".encode("utf-16-le") * 2,
            b"x\ny\nz\n",
            faults={"NUL byte": ["a.de:1", "a.de:2", "a.de:3"]},
        ),
    ]


def packed_cases() -> list[Case]:
    """Files that are refused as a whole for their bytes."""
    text = side(0) * 2000
    packed, other = gzip.compress(text, mtime=0), lzma.compress(text)
    frame = pa.compress(text, codec="zstd", asbytes=True)
    wrong_sum = packed[:-8] + struct.pack("<I", 1) + packed[-4:]
    wrong_length = packed[:-4] + struct.pack("<I", 1)
    flipped = bytearray(packed)
    flipped[len(flipped) // 2] ^= 0xFF
    return [
        refused("utf-16", side(0).decode().encode("utf-16"), "UTF-16", "iconv"),
        refused("utf-16-big-endian", b"\xfe\xff" + side(0).decode().encode("utf-16-be"), "UTF-16BE", "iconv"),
        refused("utf-32", side(0).decode().encode("utf-32"), "UTF-32", "iconv"),
        refused("empty-file", b"", "empty"),
        refused("empty-gz", gzip.compress(b""), "empty", suffix=".gz"),
        refused("empty-file-named-gz", b"", "empty", suffix=".gz"),
        refused("truncated-gz", packed[:-100], "gzip", "after line", suffix=".gz"),
        refused("truncated-gz-trailer", packed[:-3], "gzip", "after line", suffix=".gz"),
        refused("one-byte-gz", packed[:1], "gzip", "truncated", suffix=".gz"),
        refused("five-bytes-gz", packed[:5], "gzip", "truncated", suffix=".gz"),
        refused("wrong-checksum-gz", wrong_sum, "gzip", "CRC", suffix=".gz"),
        refused("wrong-length-gz", wrong_length, "gzip", "ength", suffix=".gz"),
        refused("flipped-bit-gz", bytes(flipped), "gzip", suffix=".gz"),
        refused("garbage-after-gz", packed + b"garbage", "gzip", suffix=".gz"),
        refused("plain-text-named-gz", text, "gzip", "plain", suffix=".gz"),
        refused("xz-named-gz", other, "gzip", "xz", suffix=".gz"),
        refused("truncated-zst", frame[:-10], "zstd", "after line", suffix=".zst"),
        refused("garbage-after-zst", frame + b"garbage", "zstd", suffix=".zst"),
        refused("truncated-xz", other[:-10], "xz", "after line", suffix=".xz"),
        refused("garbage-after-xz", other + b"garbage garbage!", "xz", suffix=".xz"),
        refused("bz2", bz2.compress(text), "bzip2", "unpack", suffix=".bz2"),
        refused("zip-without-suffix", b"PK\x03\x04" + bytes(30), "zip"),
    ]


def naming_cases() -> list[Case]:
    """Corpora that are refused for how their files are named."""
    return [
        Case("missing-file", {"a.en": side(1)}, says=("a.de", "a.en"), named=("a.de", "a.en")),
        Case("folder", {"a.de/inside": b"x\n", "a.en": side(1)}, says=("a.de", "folder"), named=("a.de", "a.en")),
        Case("glob-without-match", {"b.de": b"x\n", "a.en": b"x\n"}, says=("a*.de", "b.de"), named=("a*.de", "a.en")),
        Case(
            "unequal-globs",
            {"1.de": b"x\n", "2.de": b"x\n", "1.en": b"x\n"},
            says=("2.de", "1.en", "got 2"),
            named=("*.de", "*.en"),
        ),
        Case(
            "globs-of-other-files",
            {"news.de": b"x\n", "talk.de": b"x\n", "talk.en": b"x\n", "web.en": b"x\n"},
            says=("news.de with", "talk.en", "wildcards"),
            named=("*.de", "*.en"),
        ),
        Case("nobody's-folder", {}, says=("~nobody42/x.tsv",), named=("~nobody42/x.tsv",)),
        Case(
            "same-file-by-two-paths",
            {"a.de": side(0), "sub/b": b""},
            says=("a.de", "sub/../a.de", "same file"),
            named=("a.de", "sub/../a.de"),
        ),
        Case("same-file-twice", {"a.de": side(0)}, says=("a.de", "different"), named=("a.de", "a.de")),
        Case("one-side-only", {"a.de": side(0)}, says=("a.de", "two files")),
        Case("three-files", {"a.de": b"x\n", "a.en": b"x\n", "a.fr": b"x\n"}, says=("two", "a.fr")),
        Case("mixed-formats", {"a.tsv": b"x\ty\n", "a.jsonl": b"{}\n"}, says=("jsonl", "tsv")),
        Case("stdin-for-lines", {"a.en": side(1)}, says=("standard input",), named=("-", "a.en"), format="lines"),
        Case("stdin-twice", {}, says=("standard input", "once"), named=("-", "-"), format="tsv"),
        Case("stdin-without-format", {}, says=("format", "standard input"), named=("-",)),
        Case("unknown-protocol", {}, says=("nosuch://a.de",), named=("nosuch://a.de", "nosuch://a.en")),
    ]


def count_cases() -> list[Case]:
    """Sides that are out of step."""
    source, target = sentences(900)
    shifted = [*target[:300], b"stray", *target[300:599], *target[600:]]
    shift = {"looks shifted against the other side": ["a.de:301"]}
    return [
        refused("one-side-empty", b"", "empty"),
        pair("last-line-missing", target=joined(TEXTS_EN[:-1]), says=("a.de", "a.en", "got 5 and 4", "last lines")),
        pair("one-line-too-many", target=side(1) + b"one more\n", says=("got 5 and 6",)),
        pair(
            "end-of-one-side-missing",
            joined(source),
            joined(target[:700]),
            says=("got 900 and 700", "last lines", "a.en"),
        ),
        pair(
            "line-missing-in-the-middle",
            joined(source),
            joined(target[:400] + target[401:]),
            says=("got 900 and 899", "about line 40", "a.en"),
        ),
        pair(
            "line-too-many-in-the-middle",
            joined(source),
            joined([*target[:400], b"stray", *target[400:]]),
            says=("got 900 and 901", "about line 40"),
        ),
        pair(
            "gap-of-twenty-lines",
            joined(source),
            joined(target[:400] + target[420:]),
            says=("got 900 and 880", "about line 40"),
        ),
        pair("shifted-in-the-middle", joined(source), joined(shifted), good=rows(source, shifted), notes=shift),
    ]


TEXTS_EN = [target.encode() for _, target in TEXTS]


CASES = [*odd_cases(), *end_cases(), *bad_cases(), *packed_cases(), *naming_cases(), *count_cases()]
"""All of them."""
