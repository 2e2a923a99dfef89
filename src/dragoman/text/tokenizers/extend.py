"""Add tokens to a trained tokenizer; old tokens keep their ids, so embeddings stay valid.

New tokens are learnt from new text. Only tokens that occur more than once and make the text shorter are added:

- words and characters: those missing in the vocabulary, the most frequent first;
- SentencePiece, unigram: tokens of a model trained on the new text, with scores on the old model's scale;
- SentencePiece, BPE, and tokenizers of imported models: characters that were missing.

The segmentation of a text in which no new token occurs does not change.
"""

import re
import struct
from collections import Counter
from collections.abc import Callable, Sequence

from sentencepiece import SentencePieceProcessor

from dragoman.errors import ConfigError, TokenizerError
from dragoman.text.characters import check_unicode
from dragoman.text.tokenizers.base import Tokenizer
from dragoman.text.tokenizers.imported import ImportedTokenizer
from dragoman.text.tokenizers.notation import SPACE_MARK, mark_spaces
from dragoman.text.tokenizers.sentencepiece import SentencePieceTokenizer, train_sentencepiece
from dragoman.text.tokenizers.vocabulary import UNK_ID, Vocabulary, count_tokens
from dragoman.text.tokenizers.word_and_character import CharacterTokenizer, WordTokenizer

_MIN_COUNT = 2  # a rarer token would have too few training examples
_MAX_WORDS = 5_000_000  # distinct words counted at once
_CONTROL = b"\x18\x03"  # ``Type type = 3``, CONTROL
_NO_PREFIX = b"\x1a\x02\x18\x00"  # ``NormalizerSpec normalizer_spec = 3`` with ``bool add_dummy_prefix = 3``, false
_WORD = re.compile(f"{SPACE_MARK}?[^{SPACE_MARK}]+")


def extend_tokenizer(
    tokenizer: Tokenizer,
    sentences: Sequence[str],
    *,
    max_new_tokens: int,
    character_coverage: float = 0.9995,
    seed: int = 0,
) -> Tokenizer:
    """Return the tokenizer with up to ``max_new_tokens`` more tokens worth adding, learnt from sentences."""
    if max_new_tokens < 1:
        raise ConfigError(f'start.new_tokens must be at least 1, got {max_new_tokens}; vocabulary = "same" adds none')
    if isinstance(tokenizer, WordTokenizer | CharacterTokenizer):
        return _extend_vocabulary(tokenizer, sentences, max_new_tokens)
    if isinstance(tokenizer, ImportedTokenizer):
        return _extend_imported(tokenizer, sentences, max_new_tokens)
    if not isinstance(tokenizer, SentencePieceTokenizer):
        raise TokenizerError(f"tokenizer must be one of Dragoman's to be extended, got {tokenizer!r}; keep it the same")
    if tokenizer.can_sample:
        return _extend_unigram(tokenizer, sentences, max_new_tokens, character_coverage, seed)
    return _extend_bpe(tokenizer, sentences, max_new_tokens, character_coverage)


def add_control_tokens(tokenizer: Tokenizer, tokens: Sequence[str]) -> Tokenizer:
    """Return the tokenizer with tokens that no text has, after its own; those that it has already are left out."""
    new = [token for token in tokens if tokenizer.token_to_id(token) == tokenizer.unk_id]
    if not new:
        return tokenizer
    if not isinstance(tokenizer, SentencePieceTokenizer):
        raise TokenizerError(
            f"a tokenizer must be of SentencePiece to get language tokens, got {tokenizer.kind}; train another model"
        )
    return SentencePieceTokenizer.from_bytes(
        tokenizer.to_bytes() + b"".join(_entry(each, 0.0, _CONTROL) for each in new)
    )


def token_segmenter(tokenizer: Tokenizer) -> Callable[[str], list[int]]:
    """Return a function that segments the text of a token, possibly inside a word, into ids or ``<unk>``."""
    if not isinstance(tokenizer, SentencePieceTokenizer):
        return lambda token: [tokenizer.token_to_id(token)]
    # With a prefix, every token would be segmented like the start of a word. The last value of a field counts.
    processor = SentencePieceProcessor(model_proto=tokenizer.to_bytes() + _NO_PREFIX)

    def cut(token: str) -> list[int]:
        ids: list[int] = processor.encode(token, return_type=int)
        return ids

    return cut


def _extend_vocabulary(
    tokenizer: WordTokenizer | CharacterTokenizer, sentences: Sequence[str], max_new_tokens: int
) -> WordTokenizer | CharacterTokenizer:
    counts = count_tokens(map(tokenizer.tokens, sentences), max_distinct=_MAX_WORDS)
    lacking = {token: count for token, count in counts.items() if token not in tokenizer.vocabulary}
    tokens = (*tokenizer.vocabulary.tokens, *_most_frequent(lacking, max_new_tokens, minimum=_MIN_COUNT))
    return type(tokenizer)(Vocabulary(tokenizer.kind, tokens))


def _extend_imported(tokenizer: ImportedTokenizer, sentences: Sequence[str], max_new_tokens: int) -> ImportedTokenizer:
    """Add characters that were unknown. Longer tokens would change the segmentation that the model was trained with."""
    counts = Counter(character for text in sentences for character in tokenizer.unknown_characters(text))
    return tokenizer.with_characters(_most_frequent(counts, max_new_tokens, minimum=_MIN_COUNT), _entry)


def _most_frequent(amounts: dict[str, int], limit: int, *, minimum: int) -> list[str]:
    """The tokens with the largest amounts; equal ones are ordered by code points."""
    wanted = [token for token, amount in amounts.items() if amount >= minimum]
    return sorted(wanted, key=lambda token: (-amounts[token], token))[:limit]


# -------------------------------------------------------------------------------------------------------------- unigram


def _extend_unigram(
    tokenizer: SentencePieceTokenizer,
    sentences: Sequence[str],
    max_new_tokens: int,
    character_coverage: float,
    seed: int,
) -> SentencePieceTokenizer:
    """Add all tokens of a new model as candidates, and keep those that save the most tokens."""
    learnt = _learn_unigram(sentences, tokenizer.size + max_new_tokens, character_coverage, seed)
    scores = _rescaled(_scores(learnt), _scores(tokenizer))
    offered = {token: score for token, score in scores.items() if token not in tokenizer.vocabulary}
    chosen = _worthwhile(tokenizer, offered, _count_words(sentences), max_new_tokens)
    return _appended(tokenizer, {token: offered[token] for token in chosen})


def _worthwhile(
    tokenizer: SentencePieceTokenizer, offered: dict[str, float], words: Counter[str], max_new_tokens: int
) -> list[str]:
    """Return the tokens that save the most; unused candidates stay, as they may be needed after a removal."""
    cut = token_segmenter(tokenizer)
    saving = {token: _saving(cut(token)) for token in offered}
    offer = dict(offered)
    while True:
        counts = _new_tokens(_appended(tokenizer, offer), tokenizer.size, words)
        saved = {token: count * saving[token] for token, count in counts.items() if count >= _MIN_COUNT}
        ranked = _most_frequent(saved, len(saved), minimum=1)
        if len(ranked) <= max_new_tokens:
            return ranked
        for token in ranked[max(max_new_tokens, len(ranked) * 4 // 5) :]:
            del offer[token]


def _new_tokens(tokenizer: SentencePieceTokenizer, old_size: int, words: Counter[str]) -> Counter[str]:
    """Return how often the words use each new token."""
    cut = token_segmenter(tokenizer)
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for number in cut(word):
            if number >= old_size:
                counts[tokenizer.id_to_token(number)] += count
    return counts


def _learn_unigram(sentences: Sequence[str], size: int, character_coverage: float, seed: int) -> SentencePieceTokenizer:
    try:
        return train_sentencepiece(
            sentences, size=size, character_coverage=character_coverage, sample_size=len(sentences) or 1, seed=seed
        )
    except ConfigError as error:  # more characters than tokens
        raise ConfigError(
            f"start.new_tokens must leave room for the characters of the new corpora, got too few: {error}"
        ) from None


def _rescaled(new: dict[str, float], old: dict[str, float]) -> dict[str, float]:
    """Return new scores, shifted so that shared tokens agree on average, and clipped to the old model's range.

    A score is a log-probability in the training text of a model. The shift compensates for texts in which all shared
    tokens are rarer. The range keeps the cost of an unknown character, which SentencePiece derives from the lowest
    score.
    """
    shared = new.keys() & old.keys()
    from statistics import fmean  # noqa: PLC0415 -- for training only

    shift = fmean(old[token] - new[token] for token in sorted(shared)) if shared else 0.0
    lowest, highest = min(old.values(), default=0.0), max(old.values(), default=0.0)
    return {token: min(max(score + shift, lowest), highest) for token, score in new.items()}


def _saving(ids: Sequence[int]) -> int:
    """Return how many tokens one token saves compared with this segmentation; at least 1 if it was unknown."""
    return max(len(ids) - 1, int(UNK_ID in ids))


# ------------------------------------------------------------------------------------------------------------------ BPE


def _extend_bpe(
    tokenizer: SentencePieceTokenizer, sentences: Sequence[str], max_new_tokens: int, character_coverage: float
) -> SentencePieceTokenizer:
    """Add characters, with scores below all old ones: SentencePiece applies the merge with the highest score first."""
    characters = _new_characters(tokenizer, _count_words(sentences), character_coverage)[:max_new_tokens]
    lowest = min(_scores(tokenizer).values(), default=0.0)
    return _appended(tokenizer, {token: lowest - place for place, token in enumerate(characters, start=1)})


def _new_characters(tokenizer: SentencePieceTokenizer, words: Counter[str], coverage: float) -> list[str]:
    """Return characters missing in the tokenizer, among the frequent ones that make up ``coverage`` of the text."""
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            counts[character] += count
    wanted, cut = coverage * counts.total(), token_segmenter(tokenizer)
    saved: dict[str, int] = {}
    for character in _most_frequent(counts, len(counts), minimum=_MIN_COUNT):
        if wanted <= 0:
            break
        wanted -= counts[character]
        if character not in tokenizer.vocabulary:
            saved[character] = counts[character] * _saving(cut(character))
    return _most_frequent(saved, len(saved), minimum=1)


# ------------------------------------------------------------------------------------------------------- SentencePiece


def _count_words(sentences: Sequence[str]) -> Counter[str]:
    """Return the frequency of each word, with the mark of the space before it. No token extends beyond a word."""
    marked = (SPACE_MARK + mark_spaces(check_unicode(text)) for text in sentences)
    return count_tokens(map(_WORD.findall, marked), max_distinct=_MAX_WORDS)


def _processor_of(tokenizer: SentencePieceTokenizer) -> SentencePieceProcessor:
    return SentencePieceProcessor(model_proto=tokenizer.to_bytes())


def _scores(tokenizer: SentencePieceTokenizer) -> dict[str, float]:
    """Return the score of each token that has text."""
    processor = _processor_of(tokenizer)
    others = (processor.is_control, processor.is_unknown, processor.is_byte, processor.is_unused)
    scores: list[float] = processor.get_score(list(range(tokenizer.size)))
    return {
        tokenizer.id_to_token(number): score
        for number, score in enumerate(scores)
        if not any(other(number) for other in others)
    }


def _appended(tokenizer: SentencePieceTokenizer, scores: dict[str, float]) -> SentencePieceTokenizer:
    """Return the model, a protocol buffer whose repeated fields may be anywhere, with these tokens appended."""
    return SentencePieceTokenizer.from_bytes(
        tokenizer.to_bytes() + b"".join(_entry(token, score) for token, score in scores.items())
    )


def _entry(token: str, score: float, kind: bytes = b"") -> bytes:
    """Encode an entry of ``repeated SentencePiece pieces = 1``, with ``string piece = 1`` and ``float score = 2``."""
    text = token.encode()
    message = b"\x0a" + _varint(len(text)) + text + b"\x15" + struct.pack("<f", score) + kind
    return b"\x0a" + _varint(len(message)) + message


def _varint(number: int) -> bytes:
    groups = bytearray()
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*groups, number])
