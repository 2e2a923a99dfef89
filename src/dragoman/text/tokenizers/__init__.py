"""Tokenizers and vocabularies."""

from dragoman.text.tokenizers.base import PrefixedTokenizer, Tokenizer, language_token_id
from dragoman.text.tokenizers.build import (
    TOKENIZER_FILES,
    TOKENIZERS,
    load_tokenizer,
    sentencepiece_model,
    tokenizer_class,
    tokenizer_from_bytes,
)
from dragoman.text.tokenizers.extend import add_control_tokens, extend_tokenizer, token_segmenter
from dragoman.text.tokenizers.imported import ImportedTokenizer
from dragoman.text.tokenizers.sentencepiece import SentencePieceTokenizer, train_sentencepiece
from dragoman.text.tokenizers.vocabulary import BOS_ID, EOS_ID, PAD_ID, SPECIALS, UNK_ID, Vocabulary
from dragoman.text.tokenizers.word_and_character import CharacterTokenizer, WordTokenizer, train_characters, train_words
