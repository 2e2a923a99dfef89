"""Malformed corpora that hold both sides in one file: TSV, JSONL, TMX and Parquet."""

import io
import json
import struct

import pyarrow as pa
import pyarrow.parquet as pq

from tests.hostile.malformed_lines import TEXTS, Case, good, good_with, joined, side


def tsv_cases() -> list[Case]:
    """TSV files."""
    table = [f"{source}\t{target}" for source, target in TEXTS]

    def tsv(name: str, line: str, **expected) -> Case:
        return Case(name, {"a.tsv": joined([text.encode() for text in [*table[:2], line, *table[3:]]])}, **expected)

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
        Case("tsv-one-column-named", {"a.tsv": b"x\ty\n"}, says=("columns", "two"), columns=("1",)),
    ]


def jsonl_cases() -> list[Case]:
    """JSONL files."""
    table = [json.dumps({"translation": {"de": source, "en": target}}) for source, target in TEXTS]

    def jsonl(name: str, line: str, **expected) -> Case:
        return Case(name, {"a.jsonl": joined([text.encode() for text in [*table[:2], line, *table[3:]]])}, **expected)

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
            "jsonl-columns",
            {"a.jsonl": b'{"s": "x", "t": "y"}\n{"s": "x"}\n'},
            good=[(1, "x", "y")],
            faults={"missing language": ["a.jsonl:2"]},
            columns=("s", "t"),
        ),
    ]


def tmx_cases() -> list[Case]:
    """TMX files."""

    def unit(source: str, target: str) -> str:
        return f'<tu><tuv xml:lang="de-DE"><seg>{source}</seg></tuv><tuv lang="EN"><seg>{target}</seg></tuv></tu>'

    def tmx(name: str, line: str, *, head: str = "", **expected) -> Case:
        table = [unit(*pair) for pair in TEXTS]
        body = "\n".join([f"{head}<tmx><body>{table[0]}", table[1], line, table[3], f"{table[4]}</body></tmx>"])
        return Case(name, {"a.tmx": body.encode()}, **expected)

    bomb = '<!DOCTYPE tmx [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'
    outside = '<!DOCTYPE tmx [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    coded = unit('<bpt i="1">&lt;b&gt;</bpt>drei<ept i="1">&lt;/b&gt;</ept>', "th<hi>re</hi>e<ph>x<sub>y</sub></ph>")
    separator = {"line separator inside a line": ["a.tmx:3"]}
    return [
        tmx("tmx-not-well-formed", "<tu><tuv></tu>", says=("a.tmx:3", "well-formed")),
        tmx("tmx-bare-ampersand", unit("drei & vier", "three"), says=("a.tmx:3", "well-formed")),
        Case("tmx-cut-off", {"a.tmx": b"<tmx><body>\n<tu>"}, says=("a.tmx:2", "well-formed")),
        Case("tmx-bad-bytes", {"a.tmx": b"<tmx><body>\n<tu>\xe4</tu></body></tmx>"}, says=("a.tmx:2", "well-formed")),
        tmx(
            "tmx-missing-variant",
            '<tu><tuv lang="de"><seg>drei</seg></tuv></tu>',
            good=good(3),
            faults={"missing language": ["a.tmx:3"]},
        ),
        tmx(
            "tmx-missing-segment",
            '<tu><tuv lang="de"><seg>drei</seg></tuv><tuv lang="en"/></tu>',
            good=good(3),
            faults={"missing language": ["a.tmx:3"]},
        ),
        tmx(
            "tmx-no-language",
            "<tu><tuv><seg>drei</seg></tuv></tu>",
            good=good(3),
            faults={"missing language": ["a.tmx:3"]},
        ),
        tmx("tmx-entity-bomb", unit("&b;", "three"), head=bomb, says=("a.tmx:1", "entities")),
        tmx("tmx-outside-entity", unit("&x;", "three"), head=outside, says=("a.tmx:1", "entities")),
        tmx(
            "tmx-undeclared-entity",
            unit("a&nbsp;b", "three"),
            head='<!DOCTYPE tmx SYSTEM "tmx14.dtd">',
            says=("a.tmx:3", "&nbsp;"),
        ),
        tmx("tmx-inline-tags", coded, good=good_with(3, "drei", "three"), notes={"inline tags removed": ["a.tmx:3"]}),
        tmx("tmx-line-feed", unit("a&#10;b", "three"), good=good_with(3, "a\nb", "three"), notes=separator),
        Case("tmx-other-document", {"a.tmx": b"<html></html>"}, says=("a.tmx", "<html>")),
        Case("tmx-without-units", {"a.tmx": b"<tmx><body></body></tmx>"}, says=("a.tmx", "without any")),
    ]


def parquet_cases() -> list[Case]:
    """Parquet files."""
    columns = {"de": [source for source, _ in TEXTS], "en": [target for _, target in TEXTS]}
    whole = parquet(columns)
    broken = pa.table({"de": invalid_string(b"\xe4"), "en": ["x"]})
    structs = [{"de": "x", "en": "y"}, None, {"de": None, "en": "y"}]
    return [
        Case("parquet-cut-off", {"a.parquet": whole[:-20]}, says=("a.parquet", "Parquet")),
        Case("parquet-damaged", {"a.parquet": whole[:4] + bytes(60) + whole[64:]}, says=("a.parquet", "Parquet")),
        Case("parquet-not-parquet", {"a.parquet": side(0)}, says=("a.parquet", "Parquet")),
        Case("parquet-empty", {"a.parquet": b""}, says=("a.parquet", "Parquet")),
        Case(
            "parquet-null",
            {"a.parquet": parquet(columns | {"en": [*columns["en"][:2], None, *columns["en"][3:]]})},
            good=good(3),
            faults={"null": ["a.parquet:3"]},
        ),
        Case(
            "parquet-missing-column",
            {"a.parquet": parquet({"de": ["x"], "fr": ["y"]})},
            says=("a.parquet", "en", "fr (string)"),
        ),
        Case("parquet-numbers", {"a.parquet": parquet({"de": ["x"], "en": [1]})}, says=("a.parquet", "en", "int64")),
        Case("parquet-bad-bytes", {"a.parquet": parquet(broken)}, faults={"not UTF-8": ["a.parquet:1"]}),
        Case(
            "parquet-struct",
            {"a.parquet": parquet({"translation": structs})},
            good=[(1, "x", "y")],
            faults={"null": ["a.parquet:2", "a.parquet:3"]},
        ),
        Case(
            "parquet-without-rows",
            {"a.parquet": parquet(pa.schema([("de", pa.string()), ("en", pa.string())]).empty_table())},
            says=("a.parquet", "without rows"),
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


CASES = [*tsv_cases(), *jsonl_cases(), *tmx_cases(), *parquet_cases()]
"""All of them."""
