"""Prepared pairs on disk."""

import copy
import hashlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.shards import Shards, ShardWriter
from dragoman.data.token_pairs import Pairs, Sentences
from dragoman.errors import DataError

Pair = tuple[list[int], list[int]]
tokens = st.lists(st.integers(0, 2**16 - 1), max_size=5)
chunks = st.lists(st.lists(st.tuples(tokens, tokens), max_size=6), max_size=4)


def flat(pairs: list[Pair], side: int) -> Sentences:
    sentences = [pair[side] for pair in pairs]
    return Sentences(
        np.array([token for sentence in sentences for token in sentence], dtype=np.int64),
        np.array([len(sentence) for sentence in sentences], dtype=np.int64),
    )


def write(path: Path, parts: list[list[Pair]], vocab_sizes: tuple[int, int] = (2**16, 2**16)) -> Path:
    with ShardWriter(path, vocab_sizes) as writer:
        for part in parts:
            writer.append(Pairs(flat(part, 0), flat(part, 1)))
    assert writer.rows == sum(map(len, parts))
    return path


def read(pairs: Pairs) -> list[Pair]:
    sides = (pairs.source.split(), pairs.target.split())
    return [(source.tolist(), target.tolist()) for source, target in zip(*sides, strict=True)]


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    return write(tmp_path / "0.arrow", [[([1, 2], [3]), ([], [4, 5, 6])], [([7], [])]])


@given(files=st.lists(chunks, min_size=1, max_size=3), data=st.data())
def test_any_rows_can_be_read_back_in_any_order(tmp_path_factory, files: list[list[list[Pair]]], data: st.DataObject):
    folder = tmp_path_factory.mktemp("shards")
    shards = Shards([write(folder / f"{n}.arrow", parts) for n, parts in enumerate(files)])
    known = [pair for parts in files for part in parts for pair in part]
    assert len(shards) == len(known)
    wanted = data.draw(st.lists(st.integers(0, len(known) - 1), max_size=10) if known else st.just([]))
    rows = np.array(wanted, dtype=np.int64)
    assert read(shards.gather(rows)) == [known[row] for row in wanted]
    assert shards.lengths(rows).tolist() == [
        [len(source), len(target)] for source, target in (known[r] for r in wanted)
    ]


def test_nothing_is_copied_into_memory(shard: Path):
    before = pa.total_allocated_bytes()
    shards = Shards([shard] * 100)
    assert pa.total_allocated_bytes() == before
    assert len(shards) == 300
    assert read(shards.gather(np.array([299, 1]))) == [([7], []), ([], [4, 5, 6])]


@pytest.mark.parametrize(("size", "kind"), [(2**16, pa.uint16()), (2**16 + 1, pa.uint32())])
def test_numbers_are_as_wide_as_the_vocabulary_needs(tmp_path: Path, size: int, kind: pa.DataType):
    path = write(tmp_path / "a.arrow", [[([1], [size - 1])]], (8000, size))
    with pa.memory_map(str(path)) as file:
        schema = pa.ipc.open_file(file).schema
    assert schema.field("source").type == pa.list_(pa.uint16())
    assert schema.field("target").type == pa.list_(kind)
    assert read(Shards([path]).gather(np.array([0]))) == [([1], [size - 1])]


def test_the_same_pairs_give_the_same_bytes(tmp_path: Path):
    parts = [[([1, 2], [3])], [([4], [5, 6])]]
    digests = {hashlib.sha256(write(tmp_path / f"{n}", parts).read_bytes()).hexdigest() for n in range(2)}
    assert len(digests) == 1


def test_a_shard_has_its_name_only_when_it_is_whole(tmp_path: Path):
    path = tmp_path / "a.arrow"

    def interrupted() -> None:
        with ShardWriter(path, (10, 10)) as writer:
            writer.append(Pairs(flat([([1], [2])], 0), flat([([1], [2])], 1)))
            assert not path.exists()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_an_empty_shard_is_a_shard(tmp_path: Path):
    shards = Shards([write(tmp_path / "a.arrow", [])])
    assert len(shards) == 0
    assert len(shards.gather(np.array([], dtype=np.int64))) == 0


def test_another_process_opens_the_files_again(shard: Path):
    shards = copy.copy(Shards([shard, shard], rows=[3, 3]))  # what copying leaves out is not sent to a process either
    assert read(shards.gather(np.array([4]))) == [([], [4, 5, 6])]
    shard.unlink()
    late = copy.copy(shards)
    with pytest.raises(DataError, match="is missing; run"):
        late.gather(np.array([4]))


def test_a_shard_that_is_missing(tmp_path: Path):
    with pytest.raises(DataError, match=r"gone\.arrow is missing; run dragoman pre"):
        Shards([tmp_path / "gone.arrow"])


def test_a_shard_that_was_cut_short_anywhere(shard: Path):
    whole = shard.read_bytes()
    for end in range(0, len(whole), 7):
        shard.write_bytes(whole[:end])
        with pytest.raises(DataError, match=r"0\.arrow, a shard of prepared pairs, is damaged"):
            Shards([shard])


def test_a_shard_with_another_number_of_pairs_than_the_manifest_says(shard: Path):
    assert len(Shards([shard], rows=[3])) == 3
    with pytest.raises(DataError, match=r"0\.arrow must have 4 pairs, got 3; run dragoman prepare again"):
        Shards([shard], rows=[4])


def test_an_arrow_file_of_someone_else(tmp_path: Path):
    path = tmp_path / "a.arrow"
    batch = pa.record_batch({"source": [[1]], "target": [[2]]})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    with pytest.raises(DataError, match="is no shard of prepared pairs"):
        Shards([path])


@pytest.mark.parametrize("row", [-1, 3])
def test_a_row_that_is_not_there(shard: Path, row: int):
    with pytest.raises(DataError, match="rows must be from 0 to 2"):
        Shards([shard]).gather(np.array([row]))
