"""Text processing: normalization, sentences, words, glossaries and tokenizers."""

from dragoman.text.normalize import Normalizer
from dragoman.text.tokenizers import (
    BOS_ID,
    EOS_ID,
    PAD_ID,
    SPECIALS,
    TOKENIZER_FILES,
    TOKENIZERS,
    UNK_ID,
    CharacterTokenizer,
    ImportedTokenizer,
    PrefixedTokenizer,
    SentencePieceTokenizer,
    Tokenizer,
    Vocabulary,
    WordTokenizer,
    add_control_tokens,
    extend_tokenizer,
    language_token_id,
    load_tokenizer,
    sentencepiece_model,
    token_segmenter,
    tokenizer_class,
    tokenizer_from_bytes,
    train_characters,
    train_sentencepiece,
    train_words,
)
from dragoman.text.words import WordMap, map_words, merge_token_weights
