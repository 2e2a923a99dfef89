"""Sentence pairs as padded tensors."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.batch import Batch
from dragoman.data.token_pairs import Pairs, Sentences
from dragoman.errors import DataError
from dragoman.text import BOS_ID, EOS_ID, PAD_ID

words = st.lists(st.integers(4, 99), max_size=6)


def linked() -> Batch:
    """A batch with links."""
    sides = (Sentences(np.array([7, 8, 9, 6]), np.array([3, 1])), Sentences(np.array([5, 4, 4]), np.array([1, 2])))
    links = Pairs(Sentences(np.array([0, 2, 0]), np.array([2, 1])), Sentences(np.array([0, 0, 1]), np.array([2, 1])))
    return Batch.from_flat(Pairs(*sides, links=links), np.arange(2))


def tensors(batch: Batch) -> dict[str, torch.Tensor]:
    """Everything that a batch has; links are optional."""
    return {name: tensor for name, tensor in vars(batch).items() if tensor is not None}


def test_a_batch_by_hand():
    batch = Batch.from_pairs([([7, 8, 9], [5]), ([6], [4, 4])])
    assert (PAD_ID, BOS_ID, EOS_ID) == (0, 2, 3)
    assert batch.source.tolist() == [[7, 8, 9, 3], [6, 3, 0, 0]]
    assert batch.source_lengths.tolist() == [4, 2]
    assert batch.inputs.tolist() == [[2, 5, 0], [2, 4, 4]]
    assert batch.labels.tolist() == [[5, 3, 0], [4, 4, 3]]
    assert batch.target_lengths.tolist() == [2, 3]
    assert batch.rows.tolist() == [0, 1]
    assert batch.target_tokens == 5


def test_an_empty_sentence_has_its_end():
    batch = Batch.from_pairs([([], [])])
    assert batch.source.tolist() == [[EOS_ID]]
    assert batch.inputs.tolist() == [[BOS_ID]]
    assert batch.labels.tolist() == [[EOS_ID]]
    assert batch.source_lengths.tolist() == batch.target_lengths.tolist() == [1]


@given(st.lists(st.tuples(words, words), min_size=1, max_size=5))
def test_every_pair_can_be_read_back(pairs: list[tuple[list[int], list[int]]]):
    batch = Batch.from_pairs(pairs)
    assert batch.source.size(1) == batch.source_lengths.max()
    assert batch.inputs.size(1) == batch.target_lengths.max()
    assert batch.inputs.shape == batch.labels.shape
    for row, (source, target) in enumerate(pairs):
        src, tgt = int(batch.source_lengths[row]), int(batch.target_lengths[row])
        assert batch.source[row, :src].tolist() == [*source, EOS_ID]
        assert batch.inputs[row, :tgt].tolist() == [BOS_ID, *target]
        assert batch.labels[row, :tgt].tolist() == [*target, EOS_ID]
        for tokens, length in ((batch.source, src), (batch.inputs, tgt), (batch.labels, tgt)):
            assert (tokens[row, length:] == PAD_ID).all()
    assert batch.target_tokens == sum(len(target) + 1 for _, target in pairs)
    for name, tensor in tensors(batch).items():
        assert tensor.dtype == torch.int64, name


def test_pairs_have_the_names_they_are_given():
    assert Batch.from_pairs([([4], [4]), ([5], [5])], rows=[2**40, 7]).rows.tolist() == [2**40, 7]


def test_a_batch_is_not_empty():
    with pytest.raises(DataError, match="a batch has no pairs"):
        Batch.from_pairs([])


def test_the_tokens_of_a_batch_go_to_another_device_and_its_lengths_stay():
    for name, tensor in tensors(linked().to("meta")).items():
        assert tensor.device.type == ("cpu" if name.endswith("lengths") else "meta"), name


def test_a_batch_on_its_own_device_is_itself():
    same = tensors(linked().to("cpu"))
    for name, tensor in tensors(linked()).items():
        assert torch.equal(same[name], tensor), name


@given(st.lists(st.tuples(words, words), min_size=1, max_size=5))
def test_flat_tokens_make_the_same_batch(pairs: list[tuple[list[int], list[int]]]):
    flat = Pairs(*(_flat([pair[side] for pair in pairs]) for side in range(2)))
    batch = Batch.from_flat(flat, np.arange(len(pairs), dtype=np.int32))
    expected = tensors(Batch.from_pairs(pairs))
    for name, tensor in tensors(batch).items():
        assert tensor.dtype == torch.int64, name
        assert torch.equal(tensor, expected[name]), name


def _flat(sentences: list[list[int]]) -> Sentences:
    """As shards give them: 16 bits a token."""
    tokens = [token for sentence in sentences for token in sentence]
    return Sentences(np.array(tokens, dtype=np.uint16), np.array([len(s) for s in sentences], dtype=np.int64))


def test_links_by_hand():
    batch = linked()
    assert batch.links is not None
    assert batch.links.tolist() == [[0, 0, 0], [0, 0, 2], [1, 1, 0]]
    first, second = batch.parts(1)
    assert first.links is not None
    assert second.links is not None
    assert first.links.tolist() == [[0, 0, 0], [0, 0, 2]]
    assert second.links.tolist() == [[0, 1, 0]]
    both = batch.twice().links
    assert both is not None
    assert both.tolist() == [[0, 0, 0], [0, 0, 2], [1, 1, 0], [2, 0, 0], [2, 0, 2], [3, 1, 0]]
    assert Batch.from_pairs([([4], [4])]).links is None
