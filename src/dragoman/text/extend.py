"""More pieces for a tokenizer that a model was trained with: the old ones keep their numbers, new ones come at the end.

So the vectors that the model has learnt stay where they are. New pieces are learnt from new text, in the way of the
tokenizer's kind; only those are added that occur more than once and make the text shorter:

- words and characters: what the vocabulary lacks, the most frequent first;
- SentencePiece, unigram: pieces of a model learnt from the new text, with their scores put on the old model's scale;
- SentencePiece, BPE: the old merges are left as they are, and further ones are learnt on top of them.

A text in which no new piece occurs is cut as before, piece by piece.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from statistics import fmean

from sentencepiece import SentencePieceProcessor

from dragoman.errors import ConfigError, TokenizerError
from dragoman.text.characters import check_unicode
from dragoman.text.merges import CutWord, learn_merges
from dragoman.text.notation import SPACE_MARK, mark_spaces
from dragoman.text.sentencepiece_tokenizer import SentencePieceTokenizer, train_sentencepiece
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.vocabulary import UNK_ID, Vocabulary, count_pieces
from dragoman.text.vocabulary_tokenizers import CharacterTokenizer, WordTokenizer

__all__ = ["extend_tokenizer", "piece_cutter"]

_OFTEN = 2  # a piece that is seen less often has nothing to learn from
_MOST_WORDS = 5_000_000  # different ones that are counted at once
_WORD = re.compile(f"{SPACE_MARK}?[^{SPACE_MARK}]+")


def extend_tokenizer(
    tokenizer: Tokenizer, sentences: Sequence[str], *, most: int, character_coverage: float = 0.9995, seed: int = 0
) -> Tokenizer:
    """Return the tokenizer with up to ``most`` pieces more, which these normalised sentences need.

    ``character_coverage`` is what SentencePiece makes of it: new characters that are rarer stay spelt in bytes. The
    same sentences and settings give the same tokenizer; where nothing is worth adding, it is the old one.
    """
    if most < 1:
        raise ConfigError(f'start.new_pieces must be at least 1, got {most}; vocabulary = "same" adds none')
    if isinstance(tokenizer, WordTokenizer | CharacterTokenizer):
        return _extend_vocabulary(tokenizer, sentences, most)
    if not isinstance(tokenizer, SentencePieceTokenizer):
        raise TokenizerError(f"tokenizer must be one of Dragoman's to be extended, got {tokenizer!r}; keep it the same")
    if tokenizer.can_sample:
        return _extend_unigram(tokenizer, sentences, most, character_coverage, seed)
    return _extend_bpe(tokenizer, sentences, most, character_coverage)


def piece_cutter(tokenizer: Tokenizer) -> Callable[[str], list[int]]:
    """Return a function that cuts the text of a stranger's piece, which may stand inside a word, into known ids.

    A tokenizer that cannot cut it gives ``<unk>``.
    """
    if not isinstance(tokenizer, SentencePieceTokenizer):
        return lambda piece: [tokenizer.piece_to_id(piece)]
    processor = _processor_of(tokenizer)
    processor.override_normalizer_spec(add_dummy_prefix=False)  # else every piece would be cut like the start of a word

    def cut(piece: str) -> list[int]:
        ids: list[int] = processor.encode(piece, return_type=int)
        return ids

    return cut


def _extend_vocabulary(
    tokenizer: WordTokenizer | CharacterTokenizer, sentences: Sequence[str], most: int
) -> WordTokenizer | CharacterTokenizer:
    counts = count_pieces(map(tokenizer.pieces, sentences), most=_MOST_WORDS)
    lacking = {piece: count for piece, count in counts.items() if piece not in tokenizer.vocabulary}
    pieces = tokenizer.vocabulary.pieces + tuple(_most_of(lacking, most, least=_OFTEN))
    return type(tokenizer)(Vocabulary(tokenizer.kind, pieces))


def _most_of(amounts: dict[str, int], most: int, *, least: int) -> list[str]:
    """The pieces with the largest amounts; equal ones are ordered by code points."""
    wanted = [piece for piece, amount in amounts.items() if amount >= least]
    return sorted(wanted, key=lambda piece: (-amounts[piece], piece))[:most]


# -------------------------------------------------------------------------------------------------------------- unigram


def _extend_unigram(
    tokenizer: SentencePieceTokenizer, sentences: Sequence[str], most: int, character_coverage: float, seed: int
) -> SentencePieceTokenizer:
    """Offer all pieces of a new model beside the old ones, and keep those that save the most pieces."""
    learnt = _learn_unigram(sentences, tokenizer.size + most, character_coverage, seed)
    scores = _rescaled(_scores(learnt), _scores(tokenizer))
    offered = {piece: score for piece, score in scores.items() if piece not in tokenizer.vocabulary}
    chosen = _worthwhile(tokenizer, offered, _count_words(sentences), most)
    return _appended(tokenizer, {piece: offered[piece] for piece in chosen})


def _worthwhile(
    tokenizer: SentencePieceTokenizer, offered: dict[str, float], words: Counter[str], most: int
) -> list[str]:
    """The pieces that save the most, found by leaving out those that save little, some at a time.

    A piece that is not used may be needed once a longer one has gone, so unused ones stay in the offer until the end.
    """
    cut = piece_cutter(tokenizer)
    saving = {piece: _saving(cut(piece)) for piece in offered}
    offer = dict(offered)
    while True:
        counts = _new_pieces(_appended(tokenizer, offer), tokenizer.size, words)
        saved = {piece: count * saving[piece] for piece, count in counts.items() if count >= _OFTEN}
        ranked = _most_of(saved, len(saved), least=1)
        if len(ranked) <= most:
            return ranked
        for piece in ranked[max(most, len(ranked) * 4 // 5) :]:
            del offer[piece]


def _new_pieces(tokenizer: SentencePieceTokenizer, old_size: int, words: Counter[str]) -> Counter[str]:
    """How often the words use each of the pieces beyond the old ones."""
    cut = piece_cutter(tokenizer)
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for number in cut(word):
            if number >= old_size:
                counts[tokenizer.id_to_piece(number)] += count
    return counts


def _learn_unigram(sentences: Sequence[str], size: int, character_coverage: float, seed: int) -> SentencePieceTokenizer:
    try:
        return train_sentencepiece(
            sentences, size=size, character_coverage=character_coverage, sample_size=len(sentences) or 1, seed=seed
        )
    except ConfigError as error:  # more characters than pieces
        raise ConfigError(
            f"start.new_pieces must leave room for the characters of the new corpora, got too few: {error}"
        ) from None


def _rescaled(new: dict[str, float], old: dict[str, float]) -> dict[str, float]:
    """New scores, shifted so that pieces of both models agree on average, and kept within the old model's range.

    A score is the logarithm of a probability in the text a model was learnt from. The shift makes up for texts in
    which all shared pieces are rarer. The range keeps the price of a strange character what it was: SentencePiece
    derives it from the lowest score.
    """
    shared = new.keys() & old.keys()
    shift = fmean(old[piece] - new[piece] for piece in sorted(shared)) if shared else 0.0
    lowest, highest = min(old.values(), default=0.0), max(old.values(), default=0.0)
    return {piece: min(max(score + shift, lowest), highest) for piece, score in new.items()}


def _saving(ids: Sequence[int]) -> int:
    """How many pieces fewer it takes to write as one what was written like this; to know it at all counts as one."""
    return max(len(ids) - 1, int(UNK_ID in ids))


# ------------------------------------------------------------------------------------------------------------------ BPE


def _extend_bpe(
    tokenizer: SentencePieceTokenizer, sentences: Sequence[str], most: int, character_coverage: float
) -> SentencePieceTokenizer:
    """Add characters, then merges that go on from the old cut of each word.

    Their scores are below all old ones. SentencePiece makes the merge with the highest score first, so a text is cut by
    the old merges until none is left, and by the new ones after that.
    """
    words = _count_words(sentences)
    characters = _new_characters(tokenizer, words, character_coverage)[:most]
    merges = learn_merges(
        _cut_words(tokenizer, words, frozenset(characters)),
        most=most - len(characters),
        least_count=_OFTEN,
        known=tokenizer.vocabulary.pieces,
    )
    lowest = min(_scores(tokenizer).values(), default=0.0)
    return _appended(tokenizer, {piece: lowest - place for place, piece in enumerate([*characters, *merges], start=1)})


def _new_characters(tokenizer: SentencePieceTokenizer, words: Counter[str], coverage: float) -> list[str]:
    """Characters that the tokenizer lacks, among the frequent ones that make up ``coverage`` of the text."""
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            counts[character] += count
    wanted, cut = coverage * counts.total(), piece_cutter(tokenizer)
    saved: dict[str, int] = {}
    for character in _most_of(counts, len(counts), least=_OFTEN):
        if wanted <= 0:
            break
        wanted -= counts[character]
        if character not in tokenizer.vocabulary:
            saved[character] = counts[character] * _saving(cut(character))
    return _most_of(saved, len(saved), least=1)


def _cut_words(tokenizer: SentencePieceTokenizer, words: Counter[str], characters: frozenset[str]) -> Iterator[CutWord]:
    """Stretches of words without a strange character, as the old pieces and the new characters that spell them."""
    cut, vocabulary = piece_cutter(tokenizer), tokenizer.vocabulary
    for word, count in words.items():
        pieces: list[str] = []
        for is_old, run in groupby(word, vocabulary.__contains__):  # no old piece goes beyond such a run
            text = "".join(run)
            pieces += map(vocabulary.piece_of, cut(text)) if is_old else text
        for is_known, stretch in groupby(pieces, lambda piece: piece in vocabulary or piece in characters):
            if is_known:
                yield list(stretch), count


# ------------------------------------------------------------------------------------------------------- SentencePiece


def _count_words(sentences: Sequence[str]) -> Counter[str]:
    """How often each word occurs, with the mark of the space before it. No piece goes beyond a word."""
    marked = (SPACE_MARK + mark_spaces(check_unicode(text)) for text in sentences)
    return count_pieces(map(_WORD.findall, marked), most=_MOST_WORDS)


def _processor_of(tokenizer: SentencePieceTokenizer) -> SentencePieceProcessor:
    return SentencePieceProcessor(model_proto=tokenizer.to_bytes())


def _scores(tokenizer: SentencePieceTokenizer) -> dict[str, float]:
    """The score of each piece that stands for text."""
    processor = _processor_of(tokenizer)
    others = (processor.is_control, processor.is_unknown, processor.is_byte, processor.is_unused)
    scores: list[float] = processor.get_score(list(range(tokenizer.size)))
    return {
        tokenizer.id_to_piece(number): score
        for number, score in enumerate(scores)
        if not any(other(number) for other in others)
    }


def _appended(tokenizer: SentencePieceTokenizer, scores: dict[str, float]) -> SentencePieceTokenizer:
    """The model with these pieces at its end.

    A model is a protocol buffer: its pieces are a repeated field, and entries of one may stand anywhere in the file.
    """
    return SentencePieceTokenizer.from_bytes(
        tokenizer.to_bytes() + b"".join(_entry(piece, score) for piece, score in scores.items())
    )


def _entry(piece: str, score: float) -> bytes:
    """One entry of ``repeated SentencePiece pieces = 1``, with ``string piece = 1`` and ``float score = 2``."""
    text = piece.encode()
    message = b"\x0a" + _varint(len(text)) + text + b"\x15" + struct.pack("<f", score)
    return b"\x0a" + _varint(len(message)) + message


def _varint(number: int) -> bytes:
    groups = bytearray()
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*groups, number])
