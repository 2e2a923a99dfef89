"""The file of decisions on pairs."""

from dragoman.data.duplicates.drop_decisions import Decision, DecisionFile


def test_all_are_kept_at_first(tmp_path):
    decisions = DecisionFile.create(tmp_path / "decisions", 5)
    assert decisions.counts() == {Decision.KEPT: 5}
    assert [path.name for path in tmp_path.iterdir()] == ["decisions"]


def test_a_chunk_writes_to_the_file(tmp_path):
    decisions = DecisionFile.create(tmp_path / "decisions", 5)
    decisions.chunk(2, 3)[[0, 2]] = Decision.LEAKED
    decisions.flush()
    assert (tmp_path / "decisions").read_bytes() == bytes([0, 0, 3, 0, 3])
    assert DecisionFile(tmp_path / "decisions").counts() == {Decision.KEPT: 3, Decision.LEAKED: 2}


def test_making_it_anew_forgets(tmp_path):
    DecisionFile.create(tmp_path / "decisions", 5).bytes[:] = Decision.TEST
    assert DecisionFile.create(tmp_path / "decisions", 3).counts() == {Decision.KEPT: 3}


def test_no_pairs(tmp_path):
    decisions = DecisionFile.create(tmp_path / "decisions", 0)
    decisions.flush()
    assert decisions.counts() == {}
    assert len(decisions.chunk(0, 0)) == 0


def test_labels():
    assert [decision.label for decision in (Decision.KEPT, Decision.DUPLICATE_PAIR, Decision.NEAR_DUPLICATE)] == [
        "kept",
        "duplicate pair",
        "near-duplicate",
    ]
