import io
import sys
from pathlib import Path

import fsspec
import pytest

from dragoman.config.corpus import CorpusConfig
from dragoman.data.reader_protocol import CorpusReader
from dragoman.data.readers.corpus_reader import open_corpus
from dragoman.data.readers.formats.csv import TsvReader
from dragoman.data.readers.formats.jsonl import JsonReader
from dragoman.data.readers.formats.line_pairs import LinePairReader
from dragoman.data.readers.formats.parquet import ParquetReader
from dragoman.data.readers.formats.tmx import TmxReader
from dragoman.errors import ConfigError, DataError


def opened(folder: Path, *files: str, **settings) -> CorpusReader:
    return open_corpus(CorpusConfig(files=list(files), **settings), source="de", target="en", folder=folder)


def pairs(reader: CorpusReader, rows: int = 10) -> list[tuple[str, str]]:
    frames = [chunk.read(max_line_bytes=1000).frame for chunk in reader.chunks(rows)]
    return [row for frame in frames for row in frame.select("source", "target").rows()]


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        (["a.de", "a.en"], LinePairReader),
        (["a.de.gz", "a.en.zst"], LinePairReader),
        (["train.txt", "train.ref"], LinePairReader),
        (["a.tsv.xz"], TsvReader),
        (["a.TAB", "b.tsv"], TsvReader),
        (["a.tmx"], TmxReader),
        (["a.jsonl.gz"], JsonReader),
        (["a.parquet", "b.pq"], ParquetReader),
    ],
)
def test_the_format_goes_by_the_names(files: list[str], kind: type, tmp_path: Path):
    assert isinstance(opened(tmp_path, *files), kind)


def test_a_given_format_wins(tmp_path: Path):
    assert isinstance(opened(tmp_path, "a.txt", format="tsv"), TsvReader)
    assert isinstance(opened(tmp_path, "a.tsv", "b.tsv", format="lines"), LinePairReader)


def test_globs_are_sorted_and_paired(tmp_path: Path):
    for number in (10, 2, 1):
        (tmp_path / f"{number:02}.de").write_text(f"d{number}\n")
        (tmp_path / f"{number:02}.en").write_text(f"e{number}\n")
    reader = opened(tmp_path, "*.de", "*.en")
    assert [Path(name).name for name in reader.files()] == ["01.de", "01.en", "02.de", "02.en", "10.de", "10.en"]
    assert pairs(reader) == [("d1", "e1"), ("d2", "e2"), ("d10", "e10")]


def test_a_file_with_brackets_in_its_name_is_no_glob(tmp_path: Path):
    (tmp_path / "a[1].tsv").write_text("x\ty\n")
    (tmp_path / "a1.tsv").write_text("z\tz\n")
    assert pairs(opened(tmp_path, "a[1].tsv")) == [("x", "y")]


def test_absolute_paths_and_folders_in_globs(tmp_path: Path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "a.tsv").write_text("x\ty\n")
    (tmp_path / "deep.tsv").mkdir()
    assert pairs(opened(Path("/nowhere"), f"{tmp_path}/**/*.tsv")) == [("x", "y")]


def test_urls_and_their_globs():
    for name in ("b", "a"):
        with fsspec.open(f"memory://corpus/{name}.tsv", "wt") as file:
            file.write(f"{name}\t{name}!\n")
    reader = opened(Path("/nowhere"), "memory://corpus/*.tsv")
    assert pairs(reader) == [("a", "a!"), ("b", "b!")]
    with pytest.raises(DataError, match="matches nothing"):
        opened(Path("/nowhere"), "memory://corpus/*.tmx")
    with pytest.raises(DataError, match="must have one of the protocols"):
        opened(Path("/nowhere"), "nosuch://corpus/*.tmx")


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x\ty\nz\n")))
    reader = opened(tmp_path, "-", format="tsv")
    (chunk,) = reader.chunks(10)
    lines = chunk.read(max_line_bytes=100)
    assert (chunk.progress, lines.file, lines.faults.examples["missing column"][0].place) == (
        0.0,
        "standard input",
        "standard input:2",
    )


@pytest.mark.parametrize(
    ("files", "settings", "said"),
    [
        (["-"], {"format": "parquet"}, "files must be paths or URLs for parquet"),
        (["a.de", "a.en"], {"columns": ["1", "2"]}, "columns must be empty for lines"),
        (["a.tmx"], {"columns": ["de", "en"]}, "columns must be empty for tmx"),
        (["a.tsv"], {"columns": ["0", "1"]}, "columns must be numbers from 1 to 1000 for tsv, got '0'"),
        (["a.tsv"], {"columns": ["1", "9" * 20]}, "columns must be numbers from 1 to 1000 for tsv, got '9999"),
        (["a.tsv"], {"columns": ["1", "9" * 5000]}, "columns must be numbers from 1 to 1000 for tsv, got '9999"),
        (["a.tsv"], {"columns": ["1", "01"]}, "columns must be two different ones"),
        (["a.tsv"], {"columns": ["1", "1"]}, "columns must be two different ones"),
    ],
)
def test_settings_that_contradict_each_other(files: list[str], settings: dict, said: str, tmp_path: Path):
    with pytest.raises(ConfigError, match=said):
        opened(tmp_path, *files, **settings)


def test_a_file_named_twice(tmp_path: Path):
    (tmp_path / "a.tsv").touch()
    with pytest.raises(DataError, match=r"a\.tsv more than once"):
        opened(tmp_path, "a.tsv", "*.tsv")


def test_a_file_named_twice_by_different_paths(tmp_path: Path):
    (tmp_path / "a.tsv").touch()
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.tsv").symlink_to(tmp_path / "a.tsv")
    for other in ("sub/../a.tsv", "b.tsv", f"file://{tmp_path}/a.tsv"):
        with pytest.raises(DataError, match=r"named once each, got .* more than once, as .*a\.tsv too"):
            opened(tmp_path, "a.tsv", other)
        with pytest.raises(DataError, match=r"source and target must be different files, got .*a\.tsv for one and "):
            opened(tmp_path, "a.tsv", other, format="lines")


@pytest.mark.parametrize(
    ("globs", "names"),
    [
        (("*.en", "*.de"), ("news.en talk.en", "talk.de web.de")),
        (("*.en", "*.de"), ("news.en", "talk.de")),
        (("*.[e]n.gz", "*.de"), ("news.en.gz", "talk.de")),
        (("part-?.de", "part-?.en"), ("part-1.de part-2.de", "part-1.en part-3.en")),
        (("**/*.de", "**/*.en"), ("x/a.de", "y/a.en")),
    ],
)
def test_globs_whose_files_do_not_go_together(globs: tuple[str, str], names: tuple[str, str], tmp_path: Path):
    touch(tmp_path, *names)
    with pytest.raises(DataError, match=r"must go together by their names, got .* with .*; write what differs") as said:
        opened(tmp_path, *globs)
    wrong = [-1 if len(side.split()) == 2 and "part" in side else 0 for side in names]
    assert all(side.split()[place] in str(said.value) for side, place in zip(names, wrong, strict=True))


@pytest.mark.parametrize(
    ("globs", "names"),
    [
        (("*.de", "*.en"), ("news.de talk.de", "news.en talk.en")),
        (("*.de*", "*.en*"), ("a.de.gz b.de", "a.en b.en.xz")),
        (("de/*", "en/*"), ("de/a.de de/b.de", "en/a.en en/b.en")),
        (("src/*", "tgt/*"), ("src/a_src.txt", "tgt/a_tgt.txt")),
        (("**/*.de", "**/*.en"), ("x/a.de b.de", "x/a.en b.en")),
        (("*/german/*", "*/english/*"), ("x/german/1", "x/english/1")),
        (("*.de", "only.en"), ("news.de", "only.en")),
        (("corpus/*", "corpus-2/*"), ("corpus/a-de.txt", "corpus-2/a-en.txt")),
        (("a[1].german", "a[1].english"), ("a[1].german", "a[1].english")),
    ],
)
def test_globs_whose_files_go_together(globs: tuple[str, str], names: tuple[str, str], tmp_path: Path):
    touch(tmp_path, *names)
    assert len(opened(tmp_path, *globs).files()) == 2 * len(names[0].split())


def touch(folder: Path, *names: str) -> None:
    for name in " ".join(names).split():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def test_the_globs_of_urls_are_compared_too():
    for name in ("a.de", "a.en", "b.de", "c.en"):
        with fsspec.open(f"memory://globbed/{name}", "wt") as file:
            file.write("x\n")
    assert len(opened(Path("/nowhere"), "memory://globbed/a*.de", "memory://globbed/a*.en").files()) == 2
    with pytest.raises(DataError, match=r"go together by their names, got .*b\.de with .*c\.en"):
        opened(Path("/nowhere"), "memory://globbed/*.de", "memory://globbed/*.en")


def test_the_query_of_a_url_is_no_suffix_and_no_wildcard():
    with fsspec.open("memory://corpus/q.tsv?download=1", "wt") as file:
        file.write("x\ty\n")
    assert pairs(opened(Path("/nowhere"), "memory://corpus/q.tsv?download=1")) == [("x", "y")]


def test_the_folder_of_nobody(tmp_path: Path):
    with pytest.raises(DataError, match=r"~nobody42/x\.tsv must begin with an existing folder"):
        opened(tmp_path, "~nobody42/x.tsv")


def test_packed_parquet_is_refused_by_its_name(tmp_path: Path):
    with pytest.raises(DataError, match=r"a\.parquet\.gz is a compressed file; decompress it"):
        opened(tmp_path, "a.parquet.gz")


def test_a_glob_in_a_folder_that_is_not_there(tmp_path: Path):
    with pytest.raises(DataError, match="there is no folder"):
        opened(tmp_path, "none/*.tsv")
