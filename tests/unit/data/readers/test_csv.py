"""CSV corpora."""

from pathlib import Path

import pytest

from dragoman.config import CorpusConfig
from dragoman.data.reader_protocol import ChunkPairs
from dragoman.data.readers.corpus_reader import open_corpus
from dragoman.errors import ConfigError, DataError


def read(path: Path, text: str, **settings: object) -> ChunkPairs:
    path.write_text(text, encoding="utf-8")
    corpus = CorpusConfig.model_validate({"files": [path.name], **settings})
    (chunk,) = open_corpus(corpus, source="en", target="de", folder=path.parent).chunks(1000)
    return chunk.read(max_line_bytes=1000)


@pytest.mark.parametrize(
    "text",
    [
        'one,eins\n"two, or ""more""",zwei\n',
        'one;eins\n"two, or ""more""";zwei\n',
        'en,de\none,eins\n"two, or ""more""",zwei\n',
        'id,de,en\n1,eins,one\n2,zwei,"two, or ""more"""\n',
        '\ufeffsource,target\r\none,eins\r\n"two, or ""more""",zwei\r\n',
        'German,Source,Target\nx,one,eins\ny,"two, or ""more""",zwei\n',
    ],
)
def test_cells_are_unquoted_and_headers_choose_the_columns(tmp_path: Path, text: str):
    found = read(tmp_path / "train.csv", text)
    assert found.frame["source"].to_list() == ["one", 'two, or "more"']
    assert found.frame["target"].to_list() == ["eins", "zwei"]
    assert found.faults.total == 0


def test_columns_may_be_named_or_numbered(tmp_path: Path):
    text = "id,question,answer\n1,one,eins\n"
    for columns in (["question", "answer"], ["2", "3"]):
        found = read(tmp_path / "train.csv", text, columns=columns).frame
        assert (found["source"].to_list()[-1], found["target"].to_list()[-1]) == ("one", "eins")
    with pytest.raises(DataError, match=r"must be numbers or names of the first row .* got reply; it has id, q"):
        read(tmp_path / "train.csv", text, columns=["question", "reply"])


def test_a_line_break_in_a_cell_becomes_a_space(tmp_path: Path):
    found = read(tmp_path / "train.csv", 'one,eins\n"two\nmore",zwei\nthree,drei\n')
    assert found.frame["source"].to_list() == ["one", "two more", "three"]
    assert found.frame["line"].to_list() == [1, 2, 4]
    assert found.notes.counts["line break in a cell"] == 1


def test_an_open_quotation_is_a_fault_and_the_next_lines_are_read(tmp_path: Path):
    found = read(tmp_path / "train.csv", 'one,eins\n"two,zwei\nthree,drei\n')
    assert found.frame["source"].to_list() == ["one", "three"]
    assert [example.line for example in found.faults.examples["open quotation"]] == [2]


def test_tabs_in_cells_are_text(tmp_path: Path):
    for first in ('"a\tb\tc","d"', "a\tb\tc,d"):
        assert read(tmp_path / "a.csv", f"{first}\nx,y\n").frame.rows()[0][:2] == ("a b c", "d")


def test_empty_cells_at_the_end_of_a_row_do_no_harm(tmp_path: Path):
    found = read(tmp_path / "a.csv", "en,de\none,eins\ntwo,zwei,, \n")
    assert [row[:2] for row in found.frame.rows()] == [("one", "eins"), ("two", "zwei")]
    assert found.faults.total == 0


def test_a_comma_that_is_not_quoted_is_a_bad_line(tmp_path: Path):
    found = read(tmp_path / "a.csv", "en,de\none,eins\ntwo, or more,zwei\nthree,drei\n")
    assert [row[:2] for row in found.frame.rows()] == [("one", "eins"), ("three", "drei")]
    (example,) = found.faults.examples["too many columns"]
    assert (example.line, example.detail) == (3, "3 cells; the first row has 2: quote cells that contain a comma")


def test_a_missing_column_names_the_separator(tmp_path: Path):
    found = read(tmp_path / "train.csv", "one,eins\ntwo\n")
    assert "a comma separates them" in found.faults.examples["missing column"][0].detail


def test_other_names_need_a_format_and_the_message_offers_it(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"that ends in \.csv.*--format tsv"):
        read(tmp_path / "train.data", "one,eins\n")
    assert read(tmp_path / "train.data", "one,eins\n", format="csv").frame.height == 1


def test_more_than_two_columns_must_be_chosen(tmp_path: Path):
    with pytest.raises(DataError, match=r"got 3 columns \(id, English, German\); choose two with --columns"):
        read(tmp_path / "train.csv", "id,English,German\n1,one,eins\n")


@pytest.mark.parametrize(("name", "separator"), [("train.csv", ","), ("train.tsv", "\t")])
def test_carriage_returns_are_noted_only_if_the_first_line_has_none(tmp_path: Path, name: str, separator: str):
    """CR LF is the standard line end of CSV (RFC 4180)."""
    rows = [f"one{separator}eins", f"two{separator}zwei", f"three{separator}drei"]
    (tmp_path / name).write_bytes("".join(f"{row}\r\n" for row in rows).encode())
    corpus = CorpusConfig(files=[name])
    for size in (1, 1000):
        for chunk in open_corpus(corpus, source="en", target="de", folder=tmp_path).chunks(size):
            found = chunk.read(max_line_bytes=1000)
            assert not found.notes.counts
            assert not found.frame["target"].str.ends_with("\r").any()
    (tmp_path / name).write_bytes(f"{rows[0]}\n{rows[1]}\r\n{rows[2]}\n".encode())
    (chunk,) = open_corpus(corpus, source="en", target="de", folder=tmp_path).chunks(1000)
    notes = chunk.read(max_line_bytes=1000).notes
    assert [example.line for example in notes.examples["carriage return removed"]] == [2]
