import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from testkit.generate_corpus import DUPLICATES, FAULT_KINDS, FAULTS, NEAR_DUPLICATES, Corpus, generate, make_words

PAIRS = 20_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    generate(folder, PAIRS, seed=1)
    return folder


def read_pairs(folder: Path, name: str = "train") -> list[tuple[bytes, bytes]]:
    source, target = ((folder / f"{name}.{side}").read_bytes().split(b"\n")[:-1] for side in ("en", "de"))
    return list(zip(source, target, strict=True))


@pytest.mark.parametrize("block", [1, 777, 50_000])
def test_the_size_of_blocks_does_not_matter(tmp_path: Path, folder: Path, block: int):
    pairs = 300 if block == 1 else PAIRS
    generate(tmp_path, pairs, seed=1, block=block)
    assert read_pairs(tmp_path) == read_pairs(folder)[:pairs]  # a small corpus is the beginning of a larger one


def test_another_seed_gives_another_corpus(tmp_path: Path, folder: Path):
    generate(tmp_path, 1000, seed=2)
    assert not set(read_pairs(tmp_path)) & set(read_pairs(folder))


def test_the_truth_adds_up(folder: Path):
    truth = json.loads((folder / "truth.json").read_text())
    assert sum(truth["counts"].values()) + sum(truth["faults"].values()) == PAIRS == len(read_pairs(folder))
    assert truth["bytes"] == sum((folder / f"train.{side}").stat().st_size for side in ("en", "de"))
    assert truth["bytes"] >= 150 * PAIRS
    assert truth["counts"]["duplicate"] / PAIRS == pytest.approx(DUPLICATES, abs=0.01)
    assert truth["counts"]["near-duplicate"] / PAIRS == pytest.approx(NEAR_DUPLICATES, abs=0.005)
    assert sum(truth["faults"].values()) / PAIRS == pytest.approx(FAULTS, abs=0.004)
    assert all(truth["faults"][kind] > 0 for kind in FAULT_KINDS)


def test_as_many_pairs_are_copies_as_it_says_and_all_over_the_corpus(folder: Path):
    truth, pairs = json.loads((folder / "truth.json").read_text()), read_pairs(folder)
    leaked = set(read_pairs(folder, "test"))
    first: dict[tuple[bytes, bytes], int] = {}
    distances = [row - first[pair] for row, pair in enumerate(pairs) if first.setdefault(pair, row) != row]
    leaked_twice = sum(count - 1 for pair, count in Counter(pairs).items() if pair in leaked)
    assert len(distances) - leaked_twice == truth["counts"]["duplicate"]
    assert np.median(distances) > PAIRS / 8  # 0.187 of the corpus is to be expected


def test_a_near_duplicate_differs_by_a_word():
    corpus, numbers = Corpus(seed=1), np.arange(1000)
    before = corpus.lines(numbers, np.full(1000, -1))
    after = corpus.lines(numbers, numbers + 5000)
    for old, new in zip(before[0], after[0], strict=True):
        assert len(old.split()) == len(new.split())
        assert sum(a != b for a, b in zip(old.split(), new.split(), strict=True)) == 1
    assert np.mean([old != new for old, new in zip(before[1], after[1], strict=True)]) > 0.5


def test_sentences_are_like_those_of_real_corpora(folder: Path):
    source, target = zip(*read_pairs(folder, "validation"), strict=True)
    words = [np.array([len(line.split()) for line in side]) for side in (source, target)]
    assert all(19 <= lengths.mean() <= 26 and lengths.min() >= 4 for lengths in words)
    assert np.corrcoef(words[0], words[1])[0, 1] > 0.9
    counts = Counter(word for line in source for word in line.lower().split())
    (_, most), (_, tenth) = counts.most_common(10)[0], counts.most_common(10)[9]
    assert 0.02 < most / counts.total() < 0.1
    assert 2 < most / tenth < 12
    assert re.search("[äöüß]", b"".join(target).decode())
    assert b"".join(source).isascii()


def test_numbers_and_addresses_are_the_same_on_both_sides(folder: Path):
    found = [[re.findall(rb"\d+|www\.\w+\.org", side) for side in pair] for pair in read_pairs(folder, "validation")]
    assert all(source == target for source, target in found)
    assert 0.08 < np.mean([bool(source) for source, _ in found]) < 0.18


def test_every_fault_alters_the_pair_but_a_leak():
    source, target = (lines[0] for lines in Corpus(seed=1).lines(np.arange(1), np.full(1, -1)))
    for kind, spoil in FAULT_KINDS.items():
        assert (spoil(source, target) == (source, target)) == (kind == "test-set leak")
        assert b"\n" not in b"".join(spoil(source, target))


@pytest.mark.parametrize("language", ["en", "de"])
def test_words_differ_in_more_than_case(language: str):
    words = make_words(language, 1)
    assert len({word.lower() for word in words}) == len(words)
