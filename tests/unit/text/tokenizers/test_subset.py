"""A tokenizer without some tokens segments texts that need none of them as before."""

import io
import random

import pytest
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from dragoman.errors import TokenizerError
from dragoman.text import SPECIALS, ImportedTokenizer, SentencePieceTokenizer, Tokenizer, WordTokenizer
from dragoman.text.tokenizers import subset
from dragoman.text.tokenizers.sentencepiece import SubwordModel, train_sentencepiece
from dragoman.text.tokenizers.subset import needed_tokens, subset_tokenizer
from dragoman.text.tokenizers.vocabulary import Vocabulary
from testkit.random_bundle import words

KNOWN = words(3, 300)
"""The first half is the language that is kept."""
LINES = [" ".join(random.Random(n).choices(KNOWN[:150], k=6)) for n in range(60)]
OTHERS = [" ".join(random.Random(n).choices(KNOWN[150:], k=6)) + " 你好 ☃" for n in range(60)]


def imported(kind: str) -> ImportedTokenizer:
    """A tokenizer with a vocabulary in another order, and language tokens that no text has."""
    written = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter([*LINES, *OTHERS]),
        model_writer=written,
        vocab_size=200,
        model_type=kind,
        user_defined_symbols=["<sep>"],
        num_threads=1,
        minloglevel=2,
    )
    processor = SentencePieceProcessor(model_proto=written.getvalue())
    pieces = [processor.id_to_piece(number) for number in range(3, len(processor))]
    return ImportedTokenizer((*SPECIALS, *reversed(pieces), ">>de<<", ">>fr<<"), written.getvalue())


def trained(kind: SubwordModel) -> SentencePieceTokenizer:
    return train_sentencepiece([*LINES, *OTHERS], size=420, model=kind, control_tokens=["<2de>", "<2fr>"])


def pruned(tokenizer: Tokenizer, *extra: str, removed: frozenset[str] = frozenset()) -> tuple[Tokenizer, list[int]]:
    used = {token for line in LINES for token in tokenizer.tokens(line)}
    needed = needed_tokens(tokenizer, used)
    return subset_tokenizer(tokenizer, (needed | set(extra)) - removed, needed)


TOKENIZERS = {
    "unigram": lambda: trained("unigram"),
    "bpe": lambda: trained("bpe"),
    "imported unigram": lambda: imported("unigram"),
    "imported bpe": lambda: imported("bpe"),
}


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_segmentations_are_those_of_the_original(kind: str):
    tokenizer = TOKENIZERS[kind]()
    found, rows = pruned(tokenizer)
    assert found.size == len(rows) < tokenizer.size
    assert rows[: len(SPECIALS)] == list(range(len(SPECIALS)))
    assert [found.id_to_token(number) for number in range(found.size)] == [tokenizer.id_to_token(n) for n in rows]
    draw = random.Random(5)
    seen = sorted({word for line in LINES for word in line.split()})
    unseen = [" ".join(draw.choices(seen, k=9)) for _ in range(300)]  # the same words in another order
    for line in [*LINES, *unseen]:
        assert [rows[number] for number in found.encode(line)] == tokenizer.encode(line)
    for line in OTHERS[:5]:
        assert found.decode(found.encode(line)).split() == tokenizer.decode(tokenizer.encode(line)).split()


def test_merged_tokens_are_kept():
    """Without the tokens that BPE merges on the way, it does not reach the longer ones."""
    tokenizer = trained("bpe")
    used = {token for line in LINES for token in tokenizer.tokens(line)}
    longest = max(used, key=len)
    needed = needed_tokens(tokenizer, {longest})
    inner = {token for token in needed if 1 < len(token) < len(longest) and token in longest and token not in used}
    assert longest in needed
    assert inner
    found, _ = subset_tokenizer(tokenizer, needed, needed)
    text = longest.replace("▁", "")
    assert longest in found.tokens(text)
    broken, _ = subset_tokenizer(tokenizer, needed - inner, needed)
    assert longest not in broken.tokens(text)


def test_the_cost_of_unknown_characters_does_not_change():
    """SentencePiece derives it from the lowest score."""
    tokenizer = trained("unigram")
    found, _ = pruned(tokenizer)
    assert isinstance(found, SentencePieceTokenizer)
    assert found._table.strange == tokenizer._table.strange


def test_language_tokens_are_removed_with_their_language():
    found, _ = pruned(trained("unigram"), removed=frozenset(["<2fr>"]))
    assert found.token_to_id("<2de>") != found.unk_id
    assert found.token_to_id("<2fr>") == found.unk_id
    found, _ = pruned(imported("unigram"), ">>de<<")
    assert found.token_to_id(">>de<<") != found.unk_id
    assert found.token_to_id(">>fr<<") == found.unk_id
    assert found.token_to_id("<sep>") != found.unk_id


def test_words():
    tokenizer = WordTokenizer(Vocabulary("word", (*SPECIALS, *dict.fromkeys([*KNOWN, "!"]))))
    found, rows = pruned(tokenizer)
    assert found.token_to_id("!") != found.unk_id
    assert found.size < 200
    assert [rows[number] for number in found.encode(LINES[0])] == tokenizer.encode(LINES[0])


@pytest.mark.parametrize("data", [b"\x0a", b"\x0a\xff", b"\x0b", b"\xff" * 12, b"\x0d\x01"])
def test_a_damaged_model_is_an_error(data: bytes):
    with pytest.raises(TokenizerError, match=r"the subword model (must be|is not) .*; import or train"):
        subset._pieces(data)
