import pytest
from hypothesis import given

from dragoman.errors import ConfigError, TokenizerError
from dragoman.text import SPECIALS, CharacterTokenizer, Vocabulary, WordTokenizer, train_characters, train_words
from tests.unit.text.samples import corpus, texts


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Hello, you!", "▁Hello|,|▁you|!"),
        ("  a  ", "▁|▁|▁a|▁|▁"),
        ("don't (3.14)", "▁don|'|t|▁(|3|.|14|)"),
        ("snake_case", "▁snake_case"),
        ("我用Python写。", "▁我|用|Python|写|。"),
        ("नमस्ते दुनिया", "▁नमस्ते|▁दुनिया"),
        ("سلام\u200cدنیا", "▁سلام\u200cدنیا"),
        ("กินข้าว", "▁กิ|น|ข้|า|ว"),
        ("\u0301a", "▁\u0301|a"),
        ("❤\ufe0f!", "▁❤\ufe0f|!"),
        ("a▁b", "▁a|\x1b|_b"),
        ("<s>", "▁<|s|>"),
        ("", ""),
    ],
)
def test_words_are_split_at_punctuation_and_keep_their_spaces(words: WordTokenizer, text: str, tokens: str):
    assert "|".join(words.tokens(text)) == tokens


@given(text=texts)
def test_no_character_falls_between_two_words(words: WordTokenizer, text: str):
    known = WordTokenizer(Vocabulary("word", SPECIALS + tuple(sorted(set(words.tokens(text))))))
    assert known.decode(known.encode(text)) == text


def test_an_unknown_word_keeps_its_surface_form_in_tokens_only(words: WordTokenizer):
    assert words.tokens("the xyzzy dog")[1] == "▁xyzzy"
    ids = words.encode("the dog xyzzy, dog")
    assert ids.count(words.unk_id) == 2  # "the" was not learnt either
    assert words.decode(ids) == "<unk> dog <unk>, dog"


@pytest.mark.parametrize(
    ("text", "tokens"), [("a b", ["a", "▁", "b"]), (" a", ["▁", "a"]), ("▁", ["\x1b", "_"]), ("", [])]
)
def test_characters(characters: CharacterTokenizer, text: str, tokens: list[str]):
    assert characters.tokens(text) == tokens


def test_an_unknown_character_stays_in_its_word(characters: CharacterTokenizer):
    assert characters.decode(characters.encode("ho\u0416use")) == "ho<unk>use"


def test_training_keeps_the_most_frequent():
    tokenizer = train_words(["b a a", "a b c"], size=6)
    assert [tokenizer.id_to_token(token_id) for token_id in range(4, tokenizer.size)] == ["▁a", "▁b"]
    assert train_words(["b a a", "a b c"], size=None, min_frequency=3).size == 5
    assert train_characters(["aab"], size=5).encode("ab") == [4, 1]


def test_training_does_not_depend_on_the_order_of_sentences():
    assert train_words(corpus(), size=50) == train_words(reversed(corpus()), size=50)
    assert train_characters(corpus(), size=50) == train_characters(reversed(corpus()), size=50)


def test_training_holds_no_more_words_than_it_may():
    sentences = (f"the word{number}" for number in range(1000))
    assert train_words(sentences, size=5, max_distinct=20).vocabulary.tokens[4:] == ("▁the",)


@pytest.mark.parametrize("train", [train_words, train_characters])
@pytest.mark.parametrize("sentences", [[], ["", ""]])
def test_training_needs_text(train, sentences: list[str]):
    with pytest.raises(TokenizerError, match="the sentences have no text; check the path"):
        train(sentences, size=None)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"size": 4}, "size must be at least 5, got 4"),
        ({"size": 10, "min_frequency": 0}, "min_frequency must be at least 1, got 0"),
        ({"size": 10, "max_distinct": 9}, "max_distinct must be at least the size, 10, got 9"),
        ({"size": None, "max_distinct": 0}, "max_distinct must be at least the size"),
    ],
)
def test_settings_are_checked_before_the_corpus_is_read(settings: dict, match: str):
    def never_read():
        raise AssertionError
        yield

    with pytest.raises(ConfigError, match=match):
        train_words(never_read(), **settings)


def test_neither_has_segmentations_to_draw_from(words: WordTokenizer, characters: CharacterTokenizer):
    for tokenizer in (words, characters):
        assert not tokenizer.can_sample
        with pytest.raises(TokenizerError, match="must be a sentencepiece unigram model to sample from, got"):
            tokenizer.sample("dog", seed=(1,), temperature=1.0)


def test_a_character_vocabulary_holds_characters():
    with pytest.raises(TokenizerError, match="tokens must be single characters, got 'ab'"):
        CharacterTokenizer(Vocabulary("character", (*SPECIALS, "a", "ab")))
