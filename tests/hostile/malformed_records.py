"""Malformed corpora that hold both sides in one file: TSV, JSONL, TMX and Parquet."""

import gzip
import io
import json
import struct

import pyarrow as pa
import pyarrow.parquet as pq

from tests.hostile.malformed_lines import TEXTS, Case, good, good_with, joined, side

TABLE = [f"{source}\t{target}" for source, target in TEXTS]


def tsv_row_cases() -> list[Case]:
    """TSV files with one row that is bad or odd."""

    def tsv(name: str, line: str, **expected) -> Case:
        return Case(name, {"a.tsv": joined([text.encode() for text in [*TABLE[:2], line, *TABLE[3:]]])}, **expected)

    width = "number of columns differs from the first row's"
    return [
        tsv("tsv-missing-column", "one column only", good=good(3), faults={"missing column": ["a.tsv:3"]}),
        tsv("tsv-empty-row", "", good=good(3), faults={"missing column": ["a.tsv:3"]}),
        tsv("tsv-extra-column", "drei\tthree\t3", good=good_with(3, "drei", "three"), notes={width: ["a.tsv:3"]}),
        tsv("tsv-quotes-are-text", '"drei\t"three"', good=good_with(3, '"drei', '"three"')),
        tsv("tsv-empty-cell", "\tthree", good=good_with(3, "", "three")),
        tsv(
            "tsv-odd-separator",
            "drei\u2028\tthree",
            good=good_with(3, "drei\u2028", "three"),
            notes={"line separator inside a line": ["a.tsv:3"]},
        ),
    ]


def tsv_file_cases() -> list[Case]:
    """TSV files with something about them as a whole."""
    return [
        Case(
            "tsv-header",
            {"a.tsv": joined([b"de\ten", *(text.encode() for text in TABLE)])},
            good=[(1, "de", "en"), *good(first=2)],
            notes={"looks like a header": ["a.tsv:1"]},
        ),
        Case(
            "tsv-blank-last-line",
            {"a.tsv": joined([text.encode() for text in TABLE]) + b"\n"},
            good=good(),
            notes={"blank line at the end": ["a.tsv:6"]},
        ),
        Case("tsv-carriage-returns-only", {"a.tsv": b"x\ty\rx\tz\r"}, says=("a.tsv", "2 carriage returns", "tr ")),
        Case(
            "tsv-bad-bytes",
            {"a.tsv": b"x\ty\n\xe4\ty\nx\tz\n"},
            good=[(1, "x", "y"), (3, "x", "z")],
            faults={"not UTF-8": ["a.tsv:2"]},
        ),
        Case(
            "tsv-columns-swapped",
            {"a.tsv": b"1\tx\ty\n2\tz\n"},
            good=[(1, "y", "x")],
            faults={"missing column": ["a.tsv:2"]},
            columns=("3", "2"),
        ),
        Case("tsv-column-by-name", {"a.tsv": b"x\ty\n"}, says=("columns", "de"), columns=("de", "en")),
        Case("tsv-column-beyond-all", {"a.tsv": b"x\ty\n"}, says=("columns", "1000"), columns=("1", "9" * 20)),
        Case("tsv-one-column-named", {"a.tsv": b"x\ty\n"}, says=("columns", "two"), columns=("1",)),
    ]


RECORDS = [json.dumps({"translation": {"de": source, "en": target}}) for source, target in TEXTS]


def jsonl(name: str, line: str, **expected) -> Case:
    """A JSONL file of five lines, of which the third is given."""
    return Case(name, {"a.jsonl": joined([text.encode() for text in [*RECORDS[:2], line, *RECORDS[3:]]])}, **expected)


def jsonl_fault_cases() -> list[Case]:
    """JSONL files with one bad record."""

    def faulty(name: str, line: str, reason: str) -> Case:
        return jsonl(name, line, good=good(3), faults={reason: ["a.jsonl:3"]})

    return [
        faulty("jsonl-not-json", '{"translation": {"de": "x"', "not JSON"),
        faulty("jsonl-empty-line", "", "not JSON"),
        faulty("jsonl-missing-language", '{"translation": {"de": "x", "fr": "y"}}', "missing language"),
        faulty("jsonl-empty-object", "{}", "missing language"),
        faulty("jsonl-array", '["x", "y"]', "not a JSON object"),
        faulty("jsonl-number", '{"translation": {"de": "x", "en": 3}}', "not a string"),
        faulty("jsonl-null", '{"translation": {"de": "x", "en": null}}', "not a string"),
        faulty("jsonl-lone-surrogate", '{"translation": {"de": "x\\ud800", "en": "y"}}', "lone surrogate"),
        faulty("jsonl-nul-escape", '{"translation": {"de": "x\\u0000", "en": "y"}}', "NUL byte"),
        faulty("jsonl-repeated-key", '{"translation": {"de": "x", "de": "z", "en": "y"}}', "repeated key"),
        faulty("jsonl-endless-brackets", "[" * 50_000, "not JSON"),
        faulty("jsonl-endless-number", '{"translation": ' + "1" * 10_000 + "}", "not JSON"),
        faulty(
            "jsonl-ambiguous", '{"de_id": "d1", "de_text": "x", "en_id": "e1", "en_text": "y"}', "ambiguous language"
        ),
    ]


def jsonl_cases() -> list[Case]:
    """JSONL files that are odd, or bad in other ways."""
    return [
        jsonl(
            "jsonl-flat-and-regional",
            '{"de-AT": "drei", "en_GB": "three", "id": 3}',
            good=good_with(3, "drei", "three"),
        ),
        jsonl("jsonl-paired-surrogates", '{"de": "\\ud83d\\ude00", "en": "y"}', good=good_with(3, "😀", "y")),
        jsonl(
            "jsonl-line-feed-in-text",
            '{"de": "x\\ny", "en": "y"}',
            good=good_with(3, "x\ny", "y"),
            notes={"line separator inside a line": ["a.jsonl:3"]},
        ),
        Case(
            "jsonl-blank-last-line",
            {"a.jsonl": joined([text.encode() for text in RECORDS]) + b" \r\n"},
            good=good(),
            notes={"blank line at the end": ["a.jsonl:6"], "carriage return removed": ["a.jsonl:6"]},
        ),
        Case(
            "jsonl-columns",
            {"a.jsonl": b'{"s": "x", "t": "y"}\n{"s": "x"}\n'},
            good=[(1, "x", "y")],
            faults={"missing language": ["a.jsonl:2"]},
            columns=("s", "t"),
        ),
    ]


def unit(source: str, target: str) -> str:
    """A translation unit."""
    return f'<tu><tuv xml:lang="de-DE"><seg>{source}</seg></tuv><tuv lang="EN"><seg>{target}</seg></tuv></tu>'


def tmx(name: str, line: str, *, head: str = "", **expected) -> Case:
    """A TMX file of five lines, of which the third is given."""
    table = [unit(*pair) for pair in TEXTS]
    body = "\n".join([f"{head}<tmx><body>{table[0]}", table[1], line, table[3], f"{table[4]}</body></tmx>"])
    return Case(name, {"a.tmx": body.encode()}, **expected)


def tmx_document_cases() -> list[Case]:
    """TMX files that are refused as a whole."""
    bomb = '<!DOCTYPE tmx [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'
    outside = '<!DOCTYPE tmx [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    return [
        tmx("tmx-not-well-formed", "<tu><tuv></tu>", says=("a.tmx:3", "well-formed")),
        tmx("tmx-bare-ampersand", unit("drei & vier", "three"), says=("a.tmx:3", "well-formed")),
        Case("tmx-cut-off", {"a.tmx": b"<tmx><body>\n<tu>"}, says=("a.tmx:2", "well-formed")),
        Case("tmx-bad-bytes", {"a.tmx": b"<tmx><body>\n<tu>\xe4</tu></body></tmx>"}, says=("a.tmx:2", "well-formed")),
        tmx("tmx-entity-bomb", unit("&b;", "three"), head=bomb, says=("a.tmx:1", "entities")),
        tmx("tmx-outside-entity", unit("&x;", "three"), head=outside, says=("a.tmx:1", "entities")),
        tmx(
            "tmx-undeclared-entity",
            unit("a&nbsp;b", "three"),
            head='<!DOCTYPE tmx SYSTEM "tmx14.dtd">',
            says=("a.tmx:3", "&nbsp;"),
        ),
        Case("tmx-other-document", {"a.tmx": b"<html></html>"}, says=("a.tmx", "<html>")),
        Case("tmx-without-units", {"a.tmx": b"<tmx><body></body></tmx>"}, says=("a.tmx", "without translation units")),
    ]


def tmx_unit_cases() -> list[Case]:
    """TMX files with one unit that is bad or odd."""

    def faulty(name: str, line: str, reason: str) -> Case:
        return tmx(name, line, good=good(3), faults={reason: ["a.tmx:3"]})

    coded = unit('<bpt i="1">&lt;b&gt;</bpt>drei<ept i="1">&lt;/b&gt;</ept>', "th<hi>re</hi>e<ph>x<sub>y</sub></ph>")
    separator = {"line separator inside a line": ["a.tmx:3"]}
    prefixed = unit("drei", "three").replace("</", "</x:").replace("<t", "<x:t").replace("<s", "<x:s")
    prefixed = prefixed.replace("<x:tu>", '<x:tu xmlns:x="u">')
    return [
        faulty("tmx-missing-variant", '<tu><tuv lang="de"><seg>drei</seg></tuv></tu>', "missing language"),
        faulty(
            "tmx-missing-segment",
            '<tu><tuv lang="de"><seg>drei</seg></tuv><tuv lang="en"/></tu>',
            "missing language",
        ),
        faulty("tmx-no-language", "<tu><tuv><seg>drei</seg></tuv></tu>", "missing language"),
        faulty("tmx-unknown-element", "<unit><seg>drei</seg></unit>", "unknown element"),
        faulty("tmx-two-segments", unit("drei</seg><seg>vier", "three"), "several segments"),
        faulty("tmx-segment-in-segment", unit("drei<seg>vier</seg>fünf", "three"), "several segments"),
        faulty(
            "tmx-several-regions",
            unit("drei", 'three</seg></tuv><tuv lang="de-AT"><seg>dreie'),
            "ambiguous language",
        ),
        tmx(
            "tmx-upper-case",
            unit("drei", "three").upper().replace("XML:LANG", "xml:lang"),
            good=good_with(3, "DREI", "THREE"),
        ),
        tmx("tmx-prefixes", prefixed, good=good_with(3, "drei", "three")),
        tmx("tmx-inline-tags", coded, good=good_with(3, "drei", "three"), notes={"inline tags removed": ["a.tmx:3"]}),
        tmx("tmx-line-feed", unit("a&#10;b", "three"), good=good_with(3, "a\nb", "three"), notes=separator),
    ]


COLUMNS = {"de": [source for source, _ in TEXTS], "en": [target for _, target in TEXTS]}


def refused_parquet_cases() -> list[Case]:
    """Parquet files that are refused as a whole."""
    whole = parquet(COLUMNS)
    return [
        Case("parquet-cut-off", {"a.parquet": whole[:-20]}, says=("a.parquet", "Parquet")),
        Case("parquet-damaged", {"a.parquet": whole[:4] + bytes(60) + whole[64:]}, says=("a.parquet", "Parquet")),
        Case("parquet-not-parquet", {"a.parquet": side(0)}, says=("a.parquet", "Parquet")),
        Case("parquet-empty", {"a.parquet": b""}, says=("a.parquet", "Parquet")),
        Case(
            "parquet-missing-column",
            {"a.parquet": parquet({"de": ["x"], "fr": ["y"]})},
            says=("a.parquet", "en", "fr (string)"),
        ),
        Case(
            "parquet-ambiguous",
            {"a.parquet": parquet({"de": ["x"], "en_id": ["y"], "en_text": ["z"]})},
            says=("a.parquet", "en_id, en_text may each be en", "columns"),
        ),
        Case(
            "parquet-column-twice",
            {"a.parquet": parquet(pa.table([["x"], ["y"], ["z"]], names=["de", "en", "en"]))},
            says=("a.parquet", "one column en", "got 2"),
        ),
        Case("parquet-packed", {"a.parquet.gz": gzip.compress(whole)}, says=("a.parquet.gz", "decompress it")),
        Case("parquet-numbers", {"a.parquet": parquet({"de": ["x"], "en": [1]})}, says=("a.parquet", "en", "int64")),
        Case(
            "parquet-without-rows",
            {"a.parquet": parquet(pa.schema([("de", pa.string()), ("en", pa.string())]).empty_table())},
            says=("a.parquet", "without rows"),
        ),
    ]


def parquet_row_cases() -> list[Case]:
    """Parquet files with bad rows."""
    broken = pa.table({"de": invalid_string(b"\xe4"), "en": ["x"]})
    structs = [{"de": "x", "en": "y"}, None, {"de": None, "en": "y"}]
    return [
        Case(
            "parquet-null",
            {"a.parquet": parquet(COLUMNS | {"en": [*COLUMNS["en"][:2], None, *COLUMNS["en"][3:]]})},
            good=good(3),
            faults={"null": ["a.parquet:3"]},
        ),
        Case("parquet-bad-bytes", {"a.parquet": parquet(broken)}, faults={"not UTF-8": ["a.parquet:1"]}),
        Case(
            "parquet-struct",
            {"a.parquet": parquet({"translation": structs})},
            good=[(1, "x", "y")],
            faults={"null": ["a.parquet:2", "a.parquet:3"]},
        ),
    ]


def parquet(table: dict | pa.Table) -> bytes:
    """A Parquet file."""
    out = io.BytesIO()
    pq.write_table(table if isinstance(table, pa.Table) else pa.table(table), out)
    return out.getvalue()


def invalid_string(data: bytes) -> pa.Array:
    """A column of one string that is not UTF-8, as careless writers leave it."""
    offsets = pa.py_buffer(struct.pack("<ii", 0, len(data)))
    return pa.StringArray.from_buffers(1, offsets, pa.py_buffer(data))


CASES = [
    *tsv_row_cases(),
    *tsv_file_cases(),
    *jsonl_fault_cases(),
    *jsonl_cases(),
    *tmx_document_cases(),
    *tmx_unit_cases(),
    *refused_parquet_cases(),
    *parquet_row_cases(),
]
"""All of them."""
