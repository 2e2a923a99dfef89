"""Changes of pairs in training: words cut from them."""

from dragoman.config import DataConfig
from dragoman.config.corpus import AugmentConfig
from dragoman.data.augmentation import changed_examples, word_translations
from tests.unit.data.preparation.corpus import GERMAN, pairs

WORDS = {source: target for source, target in GERMAN.items() if " " not in source}


def test_words_that_are_usually_in_the_same_pairs_are_translations():
    found = word_translations(pairs(300))
    assert found.items() >= WORDS.items()
    assert found["neighbour"] in ("Mein", "Nachbar"), "words that only occur together cannot be told apart"
    assert not word_translations(pairs(300)[:4]), "too few"


def test_an_example_of_words_cut_from_a_pair():
    shares = AugmentConfig(**dict.fromkeys(AugmentConfig.model_fields, 0.0) | {"words": 0.1})
    data = DataConfig(source="en", target="de", augment=shares)
    kind, pair, (source, target) = next(changed_examples(data, pairs(300)))
    assert kind == "words"
    assert source in pair[0]
    assert target in pair[1]
    assert 1 <= len(source.split()) == len(target.split()) <= 3
    assert not list(changed_examples(data, [("我们在公园里。", "Wir sind im Park.")] * 10)), "no words without spaces"
