"""Keys of pairs and the files they are written to."""

import numpy as np
import pytest
import xxhash
from hypothesis import given

from dragoman.data.duplicates.pair_keys import KINDS, PARTS, frame_keys, read_keys, write_keys
from dragoman.errors import DataError
from tests.unit.data.duplicates.stored import corpora_of_few_texts, frame_of


def words(pairs, kind):
    return [(int(key["high"]), int(key["low"])) for key in frame_keys(frame_of(pairs), [kind])[kind]]


def test_the_keys_are_those_of_xxh3_on_every_machine():
    expected = xxhash.xxh3_128_intdigest("Grüße".encode())
    assert words([("Grüße", "x")], "source") == [(expected >> 64, expected & (2**64 - 1))]
    both = xxhash.xxh3_128_digest(b"a") + xxhash.xxh3_128_digest(b"b")
    expected = xxhash.xxh3_128_intdigest(both)
    assert words([("a", "b")], "pair") == [(expected >> 64, expected & (2**64 - 1))]


def test_where_a_side_ends_matters():
    assert len(set(words([("ab", "c"), ("a", "bc"), ("abc", ""), ("", "abc"), ("c", "ab")], "pair"))) == 5


def test_folded_keys():
    assert len(set(words([("Ein Wort.", "x"), ("ein wort", "x"), ("EINWORT", "x")], "folded_source"))) == 1
    assert len(set(words([("?", "x"), ("!", "x"), ("", "x")], "folded_source"))) == 3


@given(corpora_of_few_texts)
def test_keys_tell_pairs_apart(pairs):
    assert len(set(words(pairs, "pair"))) == len(set(pairs))


@given(corpora_of_few_texts)
def test_a_file_holds_every_key_sorted(tmp_path_factory, pairs):
    path = tmp_path_factory.mktemp("keys") / "chunk.keys"
    write_keys(frame_of(pairs), path, KINDS)
    for kind, expected in frame_keys(frame_of(pairs), KINDS).items():
        whole = read_keys(path, kind)
        assert np.array_equal(np.sort(whole), np.sort(expected))
        assert (np.sort(whole["high"]) == whole["high"]).all()
        parts = [read_keys(path, kind, part, part + 1) for part in range(PARTS)]
        assert np.array_equal(np.concatenate(parts), whole)
        assert all((keys["high"] >> np.uint64(56) == part).all() for part, keys in enumerate(parts))


def test_equal_keys_are_in_the_order_of_rows(tmp_path):
    write_keys(frame_of([("a", "b")] * 100), tmp_path / "keys", ["pair"])
    assert read_keys(tmp_path / "keys", "pair")["row"].tolist() == list(range(100))


def test_nothing_unfinished_is_left(tmp_path):
    write_keys(frame_of([("a", "b")]), tmp_path / "keys", ["pair"])
    assert [path.name for path in tmp_path.iterdir()] == ["keys"]


def test_a_file_that_was_cut_off_is_refused(tmp_path):
    path = tmp_path / "keys"
    write_keys(frame_of([("a", "b")] * 9), path, ["pair"])
    whole = path.read_bytes()
    for length in (0, 10, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(DataError, match="is no complete key file"):
            read_keys(path, "pair")


def test_a_kind_that_was_not_written(tmp_path):
    write_keys(frame_of([("a", "b")]), tmp_path / "keys", ["pair"])
    with pytest.raises(DataError, match="must hold keys of kind source, got pair"):
        read_keys(tmp_path / "keys", "source")
