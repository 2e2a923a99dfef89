"""Links between words of pairs, learned from the pairs."""

from dragoman.text.words import WordLinks
from tests.unit.data.preparation.corpus import GERMAN, pairs

WORDS = {source: target for source, target in GERMAN.items() if " " not in source}


def linked(links: WordLinks, source: str, target: str) -> dict[str, str]:
    return {one[0]: other[0] for one, other in links.find((source, target))}


def test_words_are_linked_to_their_translations_in_any_case():
    links = WordLinks.learn(pairs(300))
    source, target = "The old captain buys the heavy door", "Der alte Kapitän kauft die schwere Tür"
    found = linked(links, source.upper(), target)
    assert {"BUYS": "kauft"}.items() <= found.items()
    assert linked(links, " ".join(WORDS), " ".join(WORDS.values())) == WORDS
    assert not linked(WordLinks.learn(pairs(300)[:2]), source, target), "too few"
    assert not linked(WordLinks.learn([("我们在公园里。", "Wir sind im Park.")] * 10), "我们", "Wir"), "no words"


def test_of_equal_words_the_nearest_are_linked():
    links = WordLinks({"a": {"ein": 0.9}})
    found = links.find(("a dog and a cat", "ein Hund und ein Kater"))
    assert [(one.start(), other.start()) for one, other in found] == [(0, 0), (10, 13)]


def test_a_word_without_translation_has_no_link():
    corpus = [(f"{one} indeed", other) for one, other in WORDS.items() for _ in range(5)]
    assert set(linked(WordLinks.learn(corpus), "buys indeed", "kauft").items()) == {("buys", "kauft")}
