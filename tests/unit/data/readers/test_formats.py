"""What the formats do with good files; tests/hostile has the bad ones."""

import io
import itertools
import json
import re
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.config.corpus import CorpusConfig
from dragoman.data.reader_protocol import ChunkPairs
from dragoman.data.readers.corpus_reader import open_corpus
from dragoman.data.readers.formats import parquet
from dragoman.data.readers.formats.parquet import page_sizes
from dragoman.data.reason_counts import Tally
from dragoman.errors import DataError

CELL = st.text(st.characters(codec="utf-8", exclude_characters="\0\n\r\t"), max_size=20).filter(lambda t: t != "\ufeff")
PAIRS = st.lists(st.tuples(CELL, CELL), min_size=1, max_size=30)
XML_CELL = st.text(st.characters(categories=["L", "N", "P", "Zs"]), max_size=20)


def read(folder: Path, *files: str, rows: int = 7, source: str = "de", **settings) -> list[ChunkPairs]:
    corpus = CorpusConfig(files=list(files), **settings)
    reader = open_corpus(corpus, source=source, target="en", folder=folder)
    return [chunk.read(max_line_bytes=10_000) for chunk in reader.chunks(rows)]


def pairs(chunks: list[ChunkPairs]) -> list[tuple[str, str]]:
    assert not any(lines.faults.total for lines in chunks)
    frame = pl.concat([lines.frame for lines in chunks])
    assert frame.schema == {"source": pl.String, "target": pl.String, "line": pl.UInt32}
    assert frame["line"].to_list() == list(range(1, frame.height + 1))
    return frame.select("source", "target").rows()


def notes(chunks: list[ChunkPairs]) -> Tally:
    together = Tally()
    for lines in chunks:
        together.merge(lines.notes)
    return together


def without_mark(texts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    (source, target), *rest = texts
    return [(source.removeprefix("\ufeff"), target), *rest]


@given(PAIRS, st.integers(1, 10))
def test_lines_come_back(tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str]], rows: int):
    folder = tmp_path_factory.mktemp("lines")
    for side, name in enumerate(("a.de", "a.en")):
        (folder / name).write_bytes("".join(f"{pair[side]}\n" for pair in texts).encode())
    (source, target), *rest = without_mark(texts)
    assert pairs(read(folder, "a.de", "a.en", rows=rows)) == [(source, target.removeprefix("\ufeff")), *rest]


@given(PAIRS, st.integers(1, 10))
def test_tsv_comes_back(tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str]], rows: int):
    folder = tmp_path_factory.mktemp("tsv")
    (folder / "a.tsv").write_bytes("".join(f"{source}\t{target}\n" for source, target in texts).encode())
    assert pairs(read(folder, "a.tsv", rows=rows)) == without_mark(texts)


@given(PAIRS, st.integers(1, 10), st.booleans())
def test_jsonl_comes_back(
    tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str]], rows: int, is_ascii: bool
):
    folder = tmp_path_factory.mktemp("jsonl")
    records = [{"translation": {"de": source, "en": target}} for source, target in texts]
    lines = "".join(f"{json.dumps(record, ensure_ascii=is_ascii)}\n" for record in records)
    (folder / "a.jsonl").write_bytes(lines.encode())
    assert pairs(read(folder, "a.jsonl", rows=rows)) == texts


@given(PAIRS, st.integers(1, 10))
def test_parquet_comes_back(tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str]], rows: int):
    folder = tmp_path_factory.mktemp("parquet")
    table = pa.table({"en": [target for _, target in texts], "de": [source for source, _ in texts]})
    pq.write_table(table, folder / "a.parquet", row_group_size=4)
    assert pairs(read(folder, "a.parquet", rows=rows)) == texts


@given(st.lists(st.tuples(XML_CELL, XML_CELL), min_size=1), st.integers(1, 10), st.sampled_from(["utf-8", "utf-16"]))
def test_tmx_comes_back(
    tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str]], rows: int, encoding: str
):
    folder = tmp_path_factory.mktemp("tmx")
    escaped = [
        [text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") for text in pair] for pair in texts
    ]
    units = "\n".join(
        f'<tu><tuv xml:lang="EN-US"><seg>{target}</seg></tuv><tuv xml:lang="de"><seg>{source}</seg></tuv></tu>'
        for source, target in escaped
    )
    head = f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE tmx SYSTEM "tmx14.dtd">'
    (folder / "a.tmx").write_bytes(f"{head}<tmx><header/><body>{units}</body></tmx>".encode(encoding))
    assert pairs(read(folder, "a.tmx", rows=rows)) == texts


def tmx(folder: Path, *variants: tuple[str, str]) -> list[ChunkPairs]:
    inner = "".join(f'<tuv xml:lang="{name}"><seg>{text}</seg></tuv>' for name, text in variants)
    (folder / "a.tmx").write_text(f"<tmx><body><tu>{inner}</tu></body></tmx>")
    return read(folder, "a.tmx")


def test_tmx_takes_the_variant_that_is_meant_or_none(tmp_path: Path):
    chunks = tmx(tmp_path, *((name, name) for name in ("en-US", "de-AT", "de-DE", "fr")))
    (example,) = chunks[0].faults.examples["ambiguous language"]
    assert example.detail == "de-at, de-de may each be de; name one of them in data.source or data.target"
    assert pairs(read(tmp_path, "a.tmx", source="de-DE")) == [("de-DE", "en-US")]


def test_tmx_takes_the_first_variant_with_text_and_says_so(tmp_path: Path):
    chunks = tmx(tmp_path, ("de", " "), ("en", "one"), ("DE", "zwei"), ("de", "drei"))
    assert pairs(chunks) == [("zwei", "one")]
    (example,) = notes(chunks).examples["several variants in one language, the first with text taken"]
    assert example.detail == "de, en, DE, de"
    assert pairs(tmx(tmp_path, ("de", ""), ("en", "one"), ("de-AT", "zwei"))) == [("zwei", "one")]
    assert pairs(tmx(tmp_path, ("de", ""), ("en", "one"))) == [("", "one")]


@pytest.mark.parametrize(
    ("segment", "text"),
    [
        ("eins<ph/>zwei", "eins zwei"),
        ("eins<ph>x</ph><it>y</it>zwei", "eins zwei"),
        ("eins<br/>zwei", "eins zwei"),
        ("eins <ph/>zwei, <ph/>", "eins zwei, "),
        ("<ph/>eins<ph/>.", "eins."),
        ("zwei<hi>fel</hi>los", "zweifellos"),
        ("你<ph/>好", "你好"),
    ],
)
def test_words_do_not_grow_together_where_tmx_had_a_code(segment: str, text: str, tmp_path: Path):
    assert pairs(tmx(tmp_path, ("de", segment), ("en", "one"))) == [(text, "one")]


def test_tmx_chunks_are_bounded_by_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    unit = f'<tu><tuv lang="de"><seg>{"x" * 300}</seg></tuv><tuv lang="en"><seg>y</seg></tuv></tu>'
    (tmp_path / "a.tmx").write_text(f"<tmx><body>{unit * 50}</body></tmx>")
    monkeypatch.setattr("dragoman.data.readers.formats.tmx.MOST_BYTES", 2000)
    monkeypatch.setattr("dragoman.data.readers.streams._BLOCK", 1000)
    chunks = read(tmp_path, "a.tmx", rows=1000)
    assert sum(lines.records for lines in chunks) == 50
    assert max(lines.records for lines in chunks) <= 12


@pytest.mark.parametrize("inside", ["<tuv/>", "<tuv><seg/></tuv>", "<tuv><seg><ph/></seg></tuv>"])
def test_a_tmx_unit_of_many_empty_elements_is_refused(inside: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a.tmx").write_text(f"<tmx><body><tu>{inside * 1000}</tu></body></tmx>")
    monkeypatch.setattr("dragoman.data.readers.formats.tmx.MOST_BYTES", 100_000)
    with pytest.raises(DataError, match="must be a translation unit"):
        read(tmp_path, "a.tmx")


def test_a_parquet_column_that_is_there_twice(tmp_path: Path):
    text = pa.array(["x"])
    for names, columns in ((["de", "en", "de"], []), (["s", "t", "t"], ["s", "t"])):
        pq.write_table(pa.table([text, text, text], names=names), tmp_path / "a.parquet")
        with pytest.raises(DataError, match=r"a\.parquet must have one column (de|t), got 2 of that name"):
            read(tmp_path, "a.parquet", columns=columns)
    struct = pa.array([{"de": "x", "en": "y"}])
    pq.write_table(pa.table([struct, struct], names=["translation", "translation"]), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="must have one column translation, got 2"):
        read(tmp_path, "a.parquet")


def test_many_keys_are_looked_at_once(tmp_path: Path):
    keys = ", ".join(f'"{number}": 0' for number in range(100_000))
    (tmp_path / "a.jsonl").write_text(f'{{{keys}, "last": 0, "last": 1}}\n')
    corpus = CorpusConfig(files=["a.jsonl"])
    (chunk,) = open_corpus(corpus, source="de", target="en", folder=tmp_path).chunks(10)
    before = time.process_time()
    lines = chunk.read(max_line_bytes=10_000_000)
    assert time.process_time() - before < 5.0, "a minute, if each key is compared with each"
    assert lines.faults.examples["repeated key"][0].detail == "last occurs more than once"


@pytest.mark.parametrize(
    "row", ["de\ten", "EN\tDE", "German\tEnglish", "source\ttarget", "de_text\ten_text", "Source sentence\tTranslation"]
)
def test_a_tsv_header_is_told(row: str, tmp_path: Path):
    (tmp_path / "a.tsv").write_text(f"{row}\nsource\ttarget\n")
    (example,) = notes(read(tmp_path, "a.tsv")).examples["looks like a header"]
    assert example.line == 1
    assert example.source == row.partition("\t")[0]


@pytest.mark.parametrize("row", ["Der Text\tThe text", "text\tHello", "\t", "...\t..."])
def test_a_sentence_is_no_header(row: str, tmp_path: Path):
    (tmp_path / "a.tsv").write_text(f"{row}\n")
    assert notes(read(tmp_path, "a.tsv")).counts == {}


def test_jsonl_and_parquet_by_columns(tmp_path: Path):
    (tmp_path / "a.jsonl").write_text('{"translation": "x", "t": "y"}\n')
    assert pairs(read(tmp_path, "a.jsonl", columns=["translation", "t"])) == [("x", "y")]
    pq.write_table(pa.table({"s": pa.array(["x"]).dictionary_encode(), "t": ["y"]}), tmp_path / "a.parquet")
    assert pairs(read(tmp_path, "a.parquet", columns=["s", "t"])) == [("x", "y")]


def test_tsv_notes_rows_of_another_width(tmp_path: Path):
    (tmp_path / "a.tsv").write_text("a\tb\tc\n" * 9 + "a\tb\n" + "a\tb\tc\td\n")
    found = notes(read(tmp_path, "a.tsv", rows=4)).examples["number of columns differs from the first row's"]
    assert [(example.line, example.detail) for example in found] == [
        (10, "2 columns; the first row has 3"),
        (11, "4 columns; the first row has 3"),
    ]


def test_a_shift_is_told_by_lines(tmp_path: Path):
    from tests.hostile.malformed_lines import joined, sentences

    source, target = sentences(900)
    (tmp_path / "a.de").write_bytes(joined(source))
    (tmp_path / "a.en").write_bytes(joined([*target[:300], b"stray", *target[300:599], *target[600:]]))
    (note,) = notes(read(tmp_path, "a.de", "a.en", rows=1000)).examples["looks shifted against the other side"]
    assert note.place.endswith("a.de:301")
    assert re.fullmatch(r"lines 301–(59|60)\d fit the other side better one line later", note.detail)


def test_both_bad_sides_of_a_pair_are_told(tmp_path: Path):
    (tmp_path / "a.de").write_bytes(b"Stra\xdfe\n")
    (tmp_path / "a.en").write_bytes(b"a\0b c d\n")
    (lines,) = read(tmp_path, "a.de", "a.en")
    (example,) = lines.faults.examples["not UTF-8"]
    assert example.detail.startswith("byte 5 of the line is 0xDF; ")
    assert example.detail.endswith(f"; and {tmp_path}/a.en:1: NUL byte, byte 2 of the line")
    assert (example.source, example.target) == ("Stra\ufffde", "a\ufffdb c d")


def test_a_small_parquet_file_of_long_texts_is_read_in_small_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(parquet, "_SMALL_BYTES", 2 << 30)
    text = "a" * 3_000_000
    table = pa.table({"de": [text] * 200, "en": [text] * 200})
    pq.write_table(table, tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 1_000_000
    corpus = CorpusConfig(files=["a.parquet"])
    chunks = open_corpus(corpus, source="de", target="en", folder=tmp_path).chunks(10_000)
    sizes = [chunk.source.nbytes + chunk.target.nbytes for chunk in chunks]  # type: ignore[attr-defined]
    assert max(sizes) < 80 << 20
    assert sum(sizes) > 200 * 6_000_000


def test_a_parquet_bomb_is_refused(tmp_path: Path):
    text = ["a" * 1_000_000] * 100
    options = {"compression": "zstd", "use_dictionary": False}
    pq.write_table(pa.table({"de": text, "en": text}), tmp_path / "a.parquet", **options)
    with pytest.raises(DataError, match="must not expand to more than 150 times its size"):
        read(tmp_path, "a.parquet")


def thrift_number(value: int, length: int = 0) -> bytes:
    """A positive number in Thrift's compact protocol, in at least this number of bytes."""
    value, found = value << 1, bytearray()
    while value >= 0x80 or len(found) + 1 < length:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


@pytest.mark.parametrize(
    ("count", "size", "message"),
    [
        (2_000_000, 10, r"at most 8 rows per byte, got 2,000,000 rows in \d\d?,\d\d\d bytes; check"),
        (100_000, 1, r"at most 8 rows per byte, got 100,000 rows in \d,\d\d\d bytes; check"),
        (1000, 1 << 18, r"more than 200 times its size of text, got more than 18,350,080 bytes in \d\d\d; check"),
    ],
)
def test_a_parquet_file_of_repeated_rows_is_refused_at_once(tmp_path: Path, count: int, size: int, message: str):
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int8)), pa.array(["x" * size]))
    pq.write_table(pa.table({"de": text, "en": text}), tmp_path / "a.parquet", compression="zstd")
    start = time.process_time()
    with pytest.raises(DataError, match=message):
        read(tmp_path, "a.parquet")
    assert time.process_time() - start < 5


def test_row_groups_of_large_dictionaries_are_refused_together(tmp_path: Path):
    """Each is small enough to be accepted alone, and is decoded although no row has its text."""
    schema = pa.schema([("de", pa.dictionary(pa.int8(), pa.string())), ("en", pa.string())])
    text = pa.DictionaryArray.from_arrays(pa.array([None], pa.int8()), pa.array(["x" * (15 << 20)]))
    with pq.ParquetWriter(tmp_path / "a.parquet", schema, compression="zstd", write_statistics=False) as writer:
        for _ in range(8):
            writer.write_table(pa.table([text, ["y"]], schema=schema))
    assert (tmp_path / "a.parquet").stat().st_size < 20_000
    with pytest.raises(DataError, match=r"must not expand to more than 150 times .* column de of row group 2; check"):
        read(tmp_path, "a.parquet")


def test_columns_that_name_the_same_pages_are_damage(tmp_path: Path):
    """Headers of pages would be read once for each row group: their number times that of the row groups."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"de": ["x"] * 200, "en": ["y"] * 200}), path, row_group_size=2, compression="none")
    metadata = pq.read_metadata(path)
    same = SimpleNamespace(num_row_groups=100, row_group=lambda _: metadata.row_group(0))
    with path.open("rb") as raw:
        parquet._check_compression("a", raw, path.stat().st_size, metadata, ("de", "en"))
        with pytest.raises(ValueError, match="larger than the file"):
            parquet._check_compression("a", raw, 5000, same, ("de", "en"))


@pytest.mark.parametrize("is_within", [False, True])
@pytest.mark.parametrize("kind", ["list<element: string>", "struct<a: string>", "int64"])
def test_a_parquet_column_of_something_else_is_refused_before_it_is_read(tmp_path: Path, kind: str, is_within: bool):
    values = {
        "list<element: string>": pa.array([["x"] * 1000]),
        "struct<a: string>": pa.array([{"a": "x"}]),
        "int64": pa.array([1]),
    }
    table = pa.table({"de": values[kind], "en": ["y"]})
    name = "translation.de" if is_within else "de"
    if is_within:
        table = pa.table({"translation": table.to_struct_array().combine_chunks()})
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(
        DataError, match=rf"a\.parquet: column {re.escape(name)} must hold text, got {kind}; set columns"
    ):
        read(tmp_path, "a.parquet")


def test_a_parquet_bomb_that_states_other_sizes_is_refused(tmp_path: Path):
    path, options = tmp_path / "a.parquet", {"compression": "zstd", "use_dictionary": False, "write_statistics": False}
    pq.write_table(pa.table({"de": ["a" * (70 << 20)], "en": ["b"]}), path, **options)
    group = pq.read_metadata(path).row_group(0)
    data = path.read_bytes()
    for size in (group.column(0).total_uncompressed_size, group.total_byte_size):
        stated = thrift_number(size)
        assert data.count(stated) == 1
        data = data.replace(stated, thrift_number(1000, len(stated)))
    path.write_bytes(data)

    assert pq.read_metadata(path).row_group(0).column(0).total_uncompressed_size == 1000
    with pytest.raises(
        DataError, match=r"must not expand to more than 150 times its size, got 73,4\d\d,\d\d\d bytes up to column de"
    ):
        read(tmp_path, "a.parquet")


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_the_headers_of_all_pages_are_read(version: str, compression: str, tmp_path: Path):
    path = tmp_path / "a.parquet"
    texts = [f"text {number} " * 20 for number in range(5000)]
    options = {
        "data_page_version": version,
        "compression": compression,
        "data_page_size": 10_000,
        "write_batch_size": 50,
    }
    table = pa.table({"de": texts, "en": texts[::-1]})
    pq.write_table(table, path, row_group_size=2000, use_dictionary=["en"], **options)
    metadata = pq.read_metadata(path)
    with path.open("rb") as raw:
        for group, number in itertools.product(range(metadata.num_row_groups), range(2)):
            column = metadata.row_group(group).column(number)
            start = min(filter(None, (column.dictionary_page_offset, column.data_page_offset)))
            found = list(page_sizes(raw, start, column.total_compressed_size))
            assert len(found) > (1 if number else 10)
            headers = column.total_compressed_size - sum(size.compressed for size in found)
            assert sum(size.uncompressed for size in found) + headers == column.total_uncompressed_size
    assert len(pairs(read(tmp_path, "a.parquet", rows=1000))) == 5000


@pytest.mark.parametrize("header", [b"", b"\x15\x00", b"\x00", b"\x1f\x00", b"\x15" + b"\xff" * 20, b"\x1c" * 100])
def test_a_damaged_page_header_is_an_error(header: bytes):
    with pytest.raises(ValueError, match="a page header"):
        list(page_sizes(io.BytesIO(header), 0, 100))


def test_parts_keep_the_numbers_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(parquet, "_PART_BYTES", 20)
    texts = [("x" * (number % 9), "y" * (number % 7)) for number in range(100)]
    pq.write_table(pa.table({"de": [de for de, _ in texts], "en": [en for _, en in texts]}), tmp_path / "a.parquet")
    assert pairs(read(tmp_path, "a.parquet", rows=50)) == texts
    struct = pa.table({"translation": [{"de": de, "en": en} for de, en in texts]})
    pq.write_table(struct, tmp_path / "b.parquet")
    assert pairs(read(tmp_path, "b.parquet", rows=50)) == texts
