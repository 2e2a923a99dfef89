"""Text: normalisation, tokenizers behind one protocol, and the way from pieces back to words."""

from dragoman.text.build import TOKENIZER_FILES, TOKENIZERS, load_tokenizer, tokenizer_class, tokenizer_from_bytes
from dragoman.text.extend import extend_tokenizer, piece_cutter
from dragoman.text.normalize import Normalizer
from dragoman.text.sentencepiece_tokenizer import SentencePieceTokenizer, train_sentencepiece
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.vocabulary import BOS_ID, EOS_ID, PAD_ID, SPECIALS, UNK_ID, Vocabulary
from dragoman.text.vocabulary_tokenizers import CharacterTokenizer, WordTokenizer, train_characters, train_words
from dragoman.text.words import WordMap, merge_alignment, piece_words

__all__ = [
    "BOS_ID",
    "CharacterTokenizer",
    "EOS_ID",
    "Normalizer",
    "PAD_ID",
    "SPECIALS",
    "SentencePieceTokenizer",
    "TOKENIZERS",
    "TOKENIZER_FILES",
    "Tokenizer",
    "UNK_ID",
    "Vocabulary",
    "WordMap",
    "WordTokenizer",
    "extend_tokenizer",
    "load_tokenizer",
    "merge_alignment",
    "piece_cutter",
    "piece_words",
    "tokenizer_class",
    "tokenizer_from_bytes",
    "train_characters",
    "train_sentencepiece",
    "train_words",
]
