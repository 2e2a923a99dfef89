"""What becomes of every pair."""

from dragoman.data.duplicates.fates import Fate, Fates


def test_all_are_kept_at_first(tmp_path):
    fates = Fates.create(tmp_path / "fates", 5)
    assert fates.counts() == {Fate.KEPT: 5}
    assert [path.name for path in tmp_path.iterdir()] == ["fates"]


def test_a_chunk_writes_to_the_file(tmp_path):
    fates = Fates.create(tmp_path / "fates", 5)
    fates.chunk(2, 3)[[0, 2]] = Fate.LEAKED
    fates.flush()
    assert (tmp_path / "fates").read_bytes() == bytes([0, 0, 3, 0, 3])
    assert Fates(tmp_path / "fates").counts() == {Fate.KEPT: 3, Fate.LEAKED: 2}


def test_making_it_anew_forgets(tmp_path):
    Fates.create(tmp_path / "fates", 5).bytes[:] = Fate.TEST
    assert Fates.create(tmp_path / "fates", 3).counts() == {Fate.KEPT: 3}


def test_no_pairs(tmp_path):
    fates = Fates.create(tmp_path / "fates", 0)
    fates.flush()
    assert fates.counts() == {}
    assert len(fates.chunk(0, 0)) == 0


def test_labels():
    assert [fate.label for fate in (Fate.KEPT, Fate.DUPLICATE_PAIR, Fate.NEAR_DUPLICATE)] == [
        "kept",
        "duplicate pair",
        "near-duplicate",
    ]
