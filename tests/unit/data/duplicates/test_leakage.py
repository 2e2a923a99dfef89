"""Leakage, against sets."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.config import CleaningConfig
from dragoman.data.cleaning.pipeline import normalize_frame, repair
from dragoman.data.duplicates import leakage
from dragoman.data.duplicates.decisions import Decision
from dragoman.data.duplicates.leakage import HeldOutPairs, mark_leaks
from dragoman.data.reason_counts import Example
from dragoman.data.worker_processes import Workers
from dragoman.text import Normalizer
from tests.unit.data.duplicates.stored import corpora_of_few_texts, cuts, folded, frame_of, read_lines, store

FOLDED = "pair except for case and punctuation"


def both_folded(pair):
    return folded(pair[0]), folded(pair[1])


def kind_of(pair, held_out, rule):
    if pair in held_out:
        return "pair"
    if both_folded(pair) in map(both_folded, held_out):
        return FOLDED
    if rule == "pair":
        return None
    source = folded(pair[0]) in {folded(each) for each, _ in held_out}
    target = folded(pair[1]) in {folded(each) for _, each in held_out}
    return {(True, True): "both sides", (True, False): "source", (False, True): "target"}.get((source, target))


@given(corpora_of_few_texts, cuts, corpora_of_few_texts, st.sampled_from(["side", "pair", "keep"]))
def test_as_sets_do(tmp_path_factory, pairs, cuts, held_out, rule):
    stored = store(tmp_path_factory.mktemp("leaks"), pairs, cuts)
    found = mark_leaks(stored.key_files, stored.starts, [held_out_of(held_out)], stored.decisions, rule=rule)["test"]
    kinds = [kind_of(pair, held_out, rule) for pair in pairs]
    assert found.pairs.counts == {kind: kinds.count(kind) for kind in set(kinds) - {None}}
    assert found.held_out["pair"] == sum(pair in pairs for pair in held_out)
    assert found.held_out[FOLDED] == sum(both_folded(pair) in map(both_folded, pairs) for pair in held_out)
    expected = [Decision.LEAKED if kind and rule != "keep" else Decision.KEPT for kind in kinds]
    assert stored.decisions.bytes.tolist() == expected


def held_out_of(pairs, name="test", **options):
    return HeldOutPairs(name, [(f"{name}.en", frame_of(pairs))], **options)


def repaired(frame):
    frame, _ = repair(frame, CleaningConfig(), "test.en")
    return normalize_frame(frame, Normalizer(), "test.en")[0]


DAMAGED = [("I don &apos;t know", "Ich weiÃŸ nicht"), ("&quot;x&quot;", "&amp;quot;y&amp;quot;"), ("whole", "ganz")]


@pytest.mark.parametrize("rule", ["side", "pair"])
@pytest.mark.parametrize("is_mended", [True, False], ids=["mended", "as given"])
def test_a_leak_is_found_whether_or_not_training_text_was_mended(tmp_path, rule, is_mended):
    train = [*DAMAGED, ("other", "anders")]
    if is_mended:
        train = repaired(frame_of(train)).select("source", "target").rows()
        assert train[:2] == [("I don 't know", "Ich weiß nicht"), ('"x"', '"y"')]
    stored = store(tmp_path, train, [1])
    sets = [held_out_of(DAMAGED * 2, also=repaired)]
    found = mark_leaks(stored.key_files, stored.starts, sets, stored.decisions, rule=rule)["test"]
    assert found.pairs.counts == {"pair": 3}
    assert found.held_out == {"pair": 6, FOLDED: 6, "source": 6, "target": 6}
    assert stored.decisions.counts() == {Decision.LEAKED: 3, Decision.KEPT: 1}


def test_a_held_out_pair_counts_once_though_training_has_both_its_forms(tmp_path):
    stored = store(tmp_path, [("a&amp;b", "x"), ("a&b", "x")])

    def locate(position):
        return Example("train.en", position + 1, *stored.pairs[position])

    sets = [held_out_of([("filler", "."), ("a&amp;b", "x")], also=repaired)]
    found = mark_leaks(stored.key_files, stored.starts, sets, stored.decisions, locate=locate)["test"]
    assert found.held_out == {"pair": 1, FOLDED: 1, "source": 1, "target": 1}
    assert [each.detail for each in found.pairs.examples["pair"]] == ["held out at test.en:2"] * 2


def test_another_form_has_the_same_rows():
    with pytest.raises(AssertionError, match="same rows"):
        held_out_of(DAMAGED, also=lambda frame: frame[:1])


def test_another_form_may_be_a_part_of_its_own(tmp_path):
    """What normalising took away no function of the text can bring back; then the part has to hold the other form."""
    stored = store(tmp_path, [("don’t", "x"), ("y", "z")])
    frame = frame_of([("dont", "q")]).with_columns(mended=pl.lit("don’t go"))

    def mended(part):
        return part.with_columns(source=pl.col("mended").str.head(5))

    sets = [HeldOutPairs("test", [("a", frame), ("b", frame)], also=mended)]
    found = mark_leaks(stored.key_files, stored.starts, sets, stored.decisions)["test"]
    assert found.pairs.counts == {"source": 1}
    assert found.held_out["source"] == 2


@pytest.mark.parametrize("rule", ["side", "pair"])
def test_pairs_are_compared_without_case_and_punctuation(tmp_path, rule):
    stored = store(tmp_path, [("One way.", "Eine Straße."), ("one way", "EINE STRASSE!"), ("one", "Weg")])
    sets = [held_out_of([("One way.", "Eine Straße.")])]
    found = mark_leaks(stored.key_files, stored.starts, sets, stored.decisions, rule=rule)["test"]
    assert found.pairs.counts == {"pair": 1, FOLDED: 1}
    assert stored.decisions.bytes.tolist() == [Decision.LEAKED, Decision.LEAKED, Decision.KEPT]


def test_examples_name_both_places(tmp_path):
    pairs = [("x", "y"), ("One.", "Eins."), ("ONE", "una"), ("z", "zwei"), ("one", "ZWEI")]
    stored = store(tmp_path, pairs, [2])
    sets = [held_out_of([("One.", "Eins."), ("Two.", "Zwei.")]), held_out_of([("x", "x")], "validation")]

    def locate(position):
        return Example("train.en", position + 1, *pairs[position])

    shares: list[float] = []
    found = mark_leaks(stored.key_files, stored.starts, sets, stored.decisions, locate=locate, progress=shares.append)
    assert found["test"].pairs.examples == {
        "pair": [Example("train.en", 2, "One.", "Eins.", "held out at test.en:1")],
        "source": [Example("train.en", 3, "ONE", "una", "held out at test.en:1")],
        "target": [Example("train.en", 4, "z", "zwei", "held out at test.en:2")],
        "both sides": [Example("train.en", 5, "one", "ZWEI", "held out at test.en:1")],
    }
    assert found["test"].held_out == {"pair": 1, FOLDED: 1, "source": 1, "target": 2}
    assert found["validation"].pairs.counts == {"source": 1}
    assert stored.decisions.counts() == {Decision.LEAKED: 5}
    assert shares == [1.0]


def test_pairs_with_another_fate_are_left_alone(tmp_path):
    stored = store(tmp_path, [("a", "b"), ("a", "c")])
    stored.decisions.bytes[0] = Decision.TEST
    found = mark_leaks(stored.key_files, stored.starts, [held_out_of([("a", "b")])], stored.decisions)
    assert found["test"].pairs.counts == {"source": 1}
    assert stored.decisions.bytes.tolist() == [Decision.TEST, Decision.LEAKED]


def test_two_processes_do_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(leakage, "_CHUNKS_A_TASK", 1)
    pairs = [(str(at), str(at % 77)) for at in range(500)]
    sets = [held_out_of([("5", "x"), ("6", "6"), ("y", "76")])]
    alone, together = store(tmp_path / "1", pairs, [200, 300]), store(tmp_path / "2", pairs, [100, 450])
    first = mark_leaks(alone.key_files, alone.starts, sets, alone.decisions)
    with Workers(2) as workers:
        second = mark_leaks(together.key_files, together.starts, sets, together.decisions, workers=workers)
    assert first == second
    assert alone.decisions.bytes.tolist() == together.decisions.bytes.tolist()


def test_no_pairs(tmp_path):
    stored = store(tmp_path, [])
    assert mark_leaks([], [], [held_out_of([("a", "b")])], stored.decisions)["test"].held_out["pair"] == 0
    stored = store(tmp_path, [("a", "b")])
    assert (
        mark_leaks(stored.key_files, stored.starts, [HeldOutPairs("test", [])], stored.decisions)["test"].pairs.total
        == 0
    )


def test_the_leaked_pairs_of_a_published_corpus(corpora, tmp_path):
    """3AM was published with 95 of its 1,000 test pairs in its training set."""
    folder = corpora / "3am"
    train = list(zip(read_lines(folder / "train.en.gz"), read_lines(folder / "train.zh.gz"), strict=True))
    test = list(zip(read_lines(folder / "test.en.gz"), read_lines(folder / "test.zh.gz"), strict=True))
    assert (len(train), len(test)) == (23_931, 1000)
    stored = store(tmp_path, train, [8000, 16_000])
    found = mark_leaks(stored.key_files, stored.starts, [held_out_of(test)], stored.decisions, rule="pair")["test"]
    assert found.held_out["pair"] == 95
    assert found.held_out[FOLDED] == 96
    assert found.pairs.counts["pair"] == sum(pair in set(test) for pair in train)
    assert stored.decisions.counts()[Decision.LEAKED] == found.pairs.total


def test_a_side_of_a_chunk_with_many_equal_keys(tmp_path):
    stored = store(tmp_path, [("a", str(at)) for at in range(300)] + [("b", "x")], [150])
    found = mark_leaks(stored.key_files, stored.starts, [held_out_of([("A!", "q")])], stored.decisions)["test"]
    assert found.pairs.counts == {"source": 300}
    assert len(found.pairs.examples["source"]) == 0


@pytest.mark.parametrize("rule", ["side", "pair"])
def test_equal_held_out_pairs_all_count(tmp_path, rule):
    stored = store(tmp_path, [("a", "b")])
    found = mark_leaks(stored.key_files, stored.starts, [held_out_of([("a", "b")] * 3)], stored.decisions, rule=rule)
    assert found["test"].held_out["pair"] == 3
    assert found["test"].pairs.counts == {"pair": 1}
