"""Constraints of glossary terms: a term that occurs very often, or next to many placeholders, is cheap."""

import pytest

from dragoman.api.translation.glossary_constraints import find_constraints
from dragoman.text import Normalizer
from dragoman.text.glossary import Glossary
from testkit.growth import growth
from tests.unit.data.preparation.test_start_tokenizer import learnt


@pytest.mark.parametrize("text", ["Hunde ", "Hunde {x} "])
def test_many_occurrences_take_linear_time(text: str):
    tokenizer, glossary = learnt("unigram")["source"], Glossary({"Hunde": "dogs"})

    def find(size: int) -> None:
        (places,) = find_constraints(glossary, text * size, tokenizer, tokenizer, Normalizer("nfc")).values()
        assert len(places) >= size

    assert growth(find, 100, factor=8) < 24, "quadratic: 64"


def test_a_term_inside_a_placeholder_is_none():
    tokenizer, glossary = learnt("unigram")["source"], Glossary({"Hunde": "dogs"})
    tools = (tokenizer, tokenizer, Normalizer("nfc"))
    assert not find_constraints(glossary, "{Hunde} {Hunde}", *tools)
    assert find_constraints(glossary, "{Hunde} Hunde {x}", *tools)
