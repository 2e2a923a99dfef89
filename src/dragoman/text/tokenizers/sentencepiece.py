"""SentencePiece tokenizer: lossless, with seeded sampling that gives the same result in every process.

SentencePiece only segments. Normalization, the escape for ``▁``, decoding and random numbers are implemented here: the
seeded sampling of SentencePiece 0.2.2 gives different draws in different processes.
"""

import functools
import io
import math
import random
import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Literal, NamedTuple, Self, get_args

from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from dragoman.errors import ConfigError, TokenizerError
from dragoman.text.characters import check_unicode
from dragoman.text.tokenizers.base import VocabularyTokenizer
from dragoman.text.tokenizers.notation import SPACE_MARK, escape
from dragoman.text.tokenizers.vocabulary import BOS_ID, EOS_ID, PAD_ID, SPECIALS, UNK_ID, Vocabulary, fitting_size


class ScoredToken(NamedTuple):
    """A token of the vocabulary: its id and its log-probability."""

    id: int
    score: float


class UnigramTable:
    """Tokens of a unigram model by their text, and the score of unknown characters."""

    def __init__(self, tokens: Mapping[str, ScoredToken], strange: float) -> None:
        beginnings = {token[:end] for token in tokens for end in range(1, len(token))}
        self.tokens: Mapping[str, ScoredToken | None] = {**dict.fromkeys(beginnings), **tokens}
        """None for the beginning of a token that is no token itself; no token begins with any other text."""
        self.strange = strange


class UnigramLattice:
    """All segmentations of a text: by end position, start, id (-1: unknown) and cumulative weight in flat arrays."""

    __slots__ = ("_begins", "_firsts", "_ids", "_totals", "text")

    def __init__(self, text: str, table: UnigramTable, temperature: float) -> None:
        self.text = text
        self._begins, self._ids, self._totals, self._firsts = array("i"), array("i"), array("d"), array("i", [0, 0])
        known, size, alpha = table.tokens, len(text), 0.0
        ends: list[list[tuple[int, int, float]]] = [[] for _ in range(size + 1)]
        for begin in range(size):
            for end in range(begin + 1, size + 1):
                if (part := text[begin:end]) in known:
                    token = known[part]
                elif end > begin + 1:
                    break
                else:
                    token = None
                if token is not None:
                    ends[end].append((begin, token.id, alpha + token.score / temperature))
                elif end == begin + 1:
                    ends[end].append((begin, -1, alpha + table.strange / temperature))
            alpha = self._finish(ends[begin + 1])
            ends[begin + 1].clear()

    def _finish(self, tokens: list[tuple[int, int, float]]) -> float:
        """Store the tokens that end at the next position; return the log-weight of all segmentations up to it."""
        begins, ids, logs = zip(*tokens, strict=True)
        highest: float = max(logs)
        self._begins.extend(begins)
        self._ids.extend(ids)
        self._totals.extend(accumulate([math.exp(log - highest) for log in logs]))
        self._firsts.append(len(self._ids))
        return highest + math.log(self._totals[-1])

    def draw(self, generator: random.Random) -> list[tuple[int, int]]:
        """Draw one segmentation: id and start of each token. An unknown character has the id -1."""
        drawn: list[tuple[int, int]] = []
        begins, ids, totals, firsts = self._begins, self._ids, self._totals, self._firsts
        end = len(self.text)
        while end:
            first, after = firsts[end], firsts[end + 1]
            chosen = first
            if after > first + 1:
                chosen = bisect_left(totals, generator.random() * totals[after - 1], first, after)
            end = begins[chosen]
            drawn.append((ids[chosen], end))
        drawn.reverse()
        return drawn


SubwordModel = Literal["unigram", "bpe"]

_STRANGE = 10.0  # SentencePiece subtracts this from the lowest score for a character that is not a token
_SYMBOL = 1e4  # log-probability in sampling: no other segmentation of a symbol is drawn
_CACHED_WORDS = 32_768  # with both limits the cache stays below about 40 MB
_CACHED_LENGTH = 24
_LONGEST = 1000  # characters: longer sentences are cut, because on repetitive ones the trainer takes quadratic time
_FEW_REPEATS = 500  # sentences: a sequence of 600 takes the trainer 6 s
_FEW_REPEATED = 0.2  # share of the sentences
_THREADS = 4  # fixed because it affects the result: sums are computed per thread
_RESERVED = "\u2585"  # "unknown" in the trainer, which drops sentences that contain it
_PROBE = (" \ufb01  x ", "▁▁\ufb01▁▁x▁")  # a ligature and spaces, which a normaliser would change


class SentencePieceTokenizer(VocabularyTokenizer):
    """A unigram or BPE model, with byte tokens for unknown characters, so that no text is lost."""

    kind = "sentencepiece"
    file_name = "tokenizer.model"

    def __init__(self, processor: SentencePieceProcessor) -> None:
        super().__init__(Vocabulary(self.kind, tuple(processor.id_to_piece(list(range(len(processor)))))))
        text, normalized = _PROBE
        if processor.normalize(text) != normalized:
            raise TokenizerError(
                "tokenizer.model has a normalizer, but must leave text unchanged and add one space in front; "
                "train it with Dragoman"
            )
        self._processor = processor
        self._space = tuple(processor.encode(" "))[1:]
        self._cached_lattice = functools.lru_cache(maxsize=_CACHED_WORDS)(self._lattice)

    @functools.cached_property
    def can_sample(self) -> bool:
        """Whether the model is a unigram model, which gives probabilities of several segmentations."""
        try:
            self._processor.nbest_encode("a", nbest_size=2, return_type=int)
        except RuntimeError:
            return False
        return True

    def tokens(self, text: str) -> list[str]:
        """Split text into tokens; an unknown token keeps its surface form."""
        tokens: list[str] = self._processor.encode(escape(check_unicode(text)), return_type=str)
        return tokens

    def encode(self, text: str) -> list[int]:
        """Return the ids of the tokens, without adding special ones."""
        ids: list[int] = self._processor.encode(escape(check_unicode(text)), return_type=int)
        return ids

    def sample(self, text: str, *, seed: tuple[int, ...], temperature: float = 1.0) -> list[int]:
        """Return the ids of one possible segmentation: subword regularisation. Paper: [kudo2018b].

        Each word (between two spaces) is segmented independently: segmentation s is drawn with a probability
        proportional to p(s)^(1 / temperature). 1 samples from the model, a larger temperature more uniformly, and 0
        gives the best segmentation, like `encode`. The seed may be any number of integers, such as (seed, epoch,
        sentence); the same seed gives the same draw in every process.
        """
        if not self.can_sample:
            return super().sample(text, seed=seed, temperature=temperature)
        if not (math.isfinite(temperature) and temperature >= 0):
            raise ConfigError(f"temperature must be 0 or more, got {temperature}; the paper uses 2 to 10")
        if temperature == 0 or not text:
            return self.encode(text)
        generator = random.Random(" ".join(map(str, seed)))  # a string is hashed, the same on every machine
        ids: list[int] = []
        for word in escape(check_unicode(text)).split(" "):
            if not word:
                ids += self._space
                continue
            find = self._cached_lattice if len(word) <= _CACHED_LENGTH else self._lattice
            lattice = find(word, temperature)
            for token, place in lattice.draw(generator):
                if token >= 0:
                    ids.append(token)
                else:
                    ids += self._spelt(lattice.text[place])
        return ids

    def _lattice(self, word: str, temperature: float) -> UnigramLattice:
        return UnigramLattice(SPACE_MARK + word, self._table, temperature)

    def _spelt(self, character: str) -> list[int]:
        """Return the byte tokens of a character that is not a token, or ``<unk>`` if there are none."""
        spelt = [self.vocabulary.id_of(f"<0x{byte:02X}>") for byte in character.encode()]
        return [self.unk_id] if self.unk_id in spelt else spelt

    @functools.cached_property
    def _table(self) -> UnigramTable:
        processor, scores = self._processor, self._processor.get_score(list(range(self.size)))
        tokens = {
            self.vocabulary.token_of(number): ScoredToken(number, score or _SYMBOL)  # only symbols have the score 0
            for number, score in enumerate(scores)
            if not any(
                kind(number)
                for kind in (processor.is_control, processor.is_unknown, processor.is_byte, processor.is_unused)
            )
        }
        lowest = min((token.score for token in tokens.values()), default=0.0)
        return UnigramTable(tokens, lowest - _STRANGE)

    def to_bytes(self) -> bytes:
        """Return the content of ``tokenizer.model``."""
        return self._processor.serialized_model_proto()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read a model. The parser is native code: verify the hash of an untrusted file first."""
        try:
            processor = SentencePieceProcessor(model_proto=data)
        except (RuntimeError, ValueError):
            processor = None
        if processor is None or len(processor) == 0:
            raise TokenizerError(
                f"tokenizer.model must be a SentencePiece model, got {len(data)} bytes of other data; "
                "restore the file that was saved with the model"
            )
        return cls(processor)


def train_sentencepiece(  # noqa: PLR0913 -- one keyword per setting
    sentences: Iterable[str],
    *,
    size: int,
    model: SubwordModel = "unigram",
    character_coverage: float = 0.9995,
    byte_fallback: bool = True,
    sample_size: int = 1_000_000,
    seed: int = 0,
    grow: bool = False,
    symbols: Sequence[str] = (),
    control_tokens: Sequence[str] = (),
) -> SentencePieceTokenizer:
    """Train subwords on normalized sentences; the same sentences and settings give the same model.

    ``size`` includes 4 special tokens, 256 bytes, the characters that make up ``character_coverage`` of the text, and
    subwords. A small corpus gives a smaller vocabulary. From a larger corpus, ``sample_size`` sentences are drawn by
    the seed, and only those are in memory. Without ``byte_fallback`` rare characters become ``<unk>`` and are lost.
    If the characters do not fit, ``grow`` chooses a larger size; otherwise this is an error. ``symbols`` are always one
    token, wherever they are in a text; ``control_tokens`` are tokens that no text has.
    """
    _check_settings(size, model, character_coverage, sample_size)
    chosen = _scatter_repeats(_draw(_trainable(sentences), sample_size, seed), seed)
    if not chosen:
        raise TokenizerError("the sentences have no text; check the path of the corpus")
    written = io.BytesIO()
    more: dict[str, Any] = {"user_defined_symbols": list(symbols)} if symbols else {}
    if control_tokens:
        more["control_symbols"] = list(control_tokens)
    train = functools.partial(
        SentencePieceTrainer.train,
        model_writer=written,
        model_type=model,
        hard_vocab_limit=False,
        character_coverage=character_coverage,
        byte_fallback=byte_fallback,
        normalization_rule_name="identity",
        add_dummy_prefix=True,
        remove_extra_whitespaces=False,
        max_sentence_length=4 * _LONGEST,
        num_threads=_THREADS,
        minloglevel=2,
        pad_id=PAD_ID,
        unk_id=UNK_ID,
        bos_id=BOS_ID,
        eos_id=EOS_ID,
        pad_piece=SPECIALS[PAD_ID],
        unk_piece=SPECIALS[UNK_ID],
        bos_piece=SPECIALS[BOS_ID],
        eos_piece=SPECIALS[EOS_ID],
        **more,
    )
    needed = _train_or_count(train, chosen, size)
    if needed and grow:
        needed = _train_or_count(train, chosen, fitting_size(needed, size))
    if needed:
        raise ConfigError(
            f"tokenizer.size must be at least {needed} for this text, got {size}; raise it, or lower "
            "tokenizer.character_coverage"
        )
    return SentencePieceTokenizer.from_bytes(written.getvalue())


def _train_or_count(train: Callable[..., None], sentences: list[str], size: int) -> int:
    """Train, or return the number of tokens needed if the size is too small for the characters."""
    try:
        train(sentence_iterator=iter(sentences), vocab_size=size)
    except RuntimeError as error:
        if too_small := re.search(r"(\d+) vs (\d+)", str(error)):
            return int(too_small[2])
        raise TokenizerError(f"SentencePiece cannot learn a tokenizer from these sentences: {error}") from None
    return 0


def _check_settings(size: int, model: str, character_coverage: float, sample_size: int) -> None:
    if model not in (legal := get_args(SubwordModel)):
        raise ConfigError(f"model must be one of {', '.join(legal)}, got {model!r}; unigram allows subword sampling")
    if size <= len(SPECIALS):
        raise ConfigError(f"size must be more than the {len(SPECIALS)} special tokens, got {size}; start with 8000")
    if not 0.98 <= character_coverage <= 1:
        raise ConfigError(
            f"character_coverage must be from 0.98 to 1, got {character_coverage}; 0.9995 suits large alphabets"
        )
    if sample_size < 1:
        raise ConfigError(f"sample_size must be at least 1, got {sample_size}; a million sentences is enough")


def _trainable(sentences: Iterable[str]) -> Iterator[str]:
    for sentence in sentences:
        text = escape(check_unicode(sentence)).replace(_RESERVED, " ")
        for start in range(0, len(text), _LONGEST):
            yield text[start : start + _LONGEST]


def _scatter_repeats(sentences: list[str], seed: int) -> list[str]:
    """Move repeated sentences to the end, if many: long repeated sequences take the trainer quadratic time."""
    first = dict.fromkeys(sentences)
    if len(sentences) - len(first) <= max(_FEW_REPEATS, _FEW_REPEATED * len(sentences)):
        return sentences
    seen: set[str] = set()
    repeats = [sentence for sentence in sentences if sentence in seen or seen.add(sentence)]  # type: ignore[func-returns-value]
    random.Random(seed).shuffle(repeats)
    return [*first, *repeats]


def _draw(sentences: Iterable[str], most: int, seed: int) -> list[str]:
    """Return up to ``most`` sentences, each with the same chance, in their order (reservoir sampling)."""
    generator = random.Random(seed)
    kept: list[tuple[int, str]] = []
    for index, sentence in enumerate(sentences):
        if index < most:
            kept.append((index, sentence))
        elif (place := generator.randrange(index + 1)) < most:
            kept[place] = (index, sentence)
    return [sentence for _, sentence in sorted(kept)]
