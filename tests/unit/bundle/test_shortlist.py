"""Lexical shortlists: the candidates of a sentence, and a checked file of a bundle."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load, save

from dragoman.bundle import Bundle, write_bundle
from dragoman.bundle.shortlist import Shortlist
from dragoman.errors import BundleError
from dragoman.text import EOS_ID

LISTS = [[], [], [], [9], [5, 6], [6, 7], []]


def test_a_sentence_has_the_tokens_of_its_words_of_its_end_and_of_every_sentence():
    shortlist = Shortlist.of_lists([8], LISTS)
    always = {0, 1, 2, 3, 8, *LISTS[EOS_ID]}
    assert set(shortlist.candidates([4, 5, 4]).tolist()) == {*always, 5, 6, 7}
    assert set(shortlist.candidates([6]).tolist()) == always
    assert set(shortlist.candidates([]).tolist()) == always


def test_a_bundle_keeps_it(bundle: Bundle, tmp_path: Path):
    size = bundle.tokenizers()["source"].size
    shortlist = Shortlist.of_lists([8], [[token] for token in range(size)])
    kept = write_bundle(
        tmp_path / "b", bundle.config, bundle.weights(), bundle.tokenizers(), "card", shortlist=shortlist
    )
    found = Bundle.open(kept.folder).shortlist()
    assert found is not None
    assert set(found.candidates([20, 30]).tolist()) == {0, 1, 2, 3, 8, 20, 30}
    assert bundle.shortlist() is None


def numbers(*values: int) -> np.ndarray:
    return np.asarray(values, np.int32)


@pytest.mark.parametrize(
    ("arrays", "complaint"),
    [
        ({}, "does not hold three lists of integers"),
        ({"always": numbers(1), "offsets": numbers(0, 1)}, "does not hold three lists of integers"),
        ({"always": numbers(1), "offsets": numbers(0, 0, 0), "tokens": numbers().astype(np.int64)}, "three lists"),
        ({"always": numbers(1), "offsets": numbers(0, 0), "tokens": numbers()}, "one list per source token, got 2"),
        ({"always": numbers(1), "offsets": numbers(0, 1, 1), "tokens": numbers()}, "one list per source token"),
        ({"always": numbers(1), "offsets": numbers(0, 5, 2), "tokens": numbers(1, 2)}, "are not in order"),
        ({"always": numbers(1), "offsets": numbers(0, 1, 2), "tokens": numbers(1, 9)}, "tokens that are not below 9"),
        ({"always": numbers(-1), "offsets": numbers(0, 1, 2), "tokens": numbers(1, 2)}, "tokens that are not below 9"),
    ],
)
def test_other_files_are_refused(arrays: dict[str, np.ndarray], complaint: str):
    with pytest.raises(BundleError, match=complaint):
        Shortlist.from_bytes(save(arrays), 2, 9)
    with pytest.raises(BundleError, match="must be safetensors"):
        Shortlist.from_bytes(b"text", 2, 9)


def test_tokens_take_16_bits_if_they_suffice_and_those_of_earlier_versions_are_read():
    shortlist = Shortlist.of_lists([8], LISTS)
    arrays = load(shortlist.to_bytes())
    assert arrays["tokens"].dtype == np.uint16
    for tokens in (arrays["tokens"], arrays["tokens"].astype(np.int32)):
        read = Shortlist.from_bytes(save(arrays | {"tokens": tokens}), len(LISTS), 10)
        assert sorted(read.candidates([4]).tolist()) == sorted(shortlist.candidates([4]).tolist())
    wide = Shortlist.of_lists([8], [[70_000]])
    assert load(wide.to_bytes())["tokens"].dtype == np.int32
