"""Changes of pairs in training: examples of each kind."""

import re
from collections import Counter

import pytest

from dragoman.config import DataConfig
from dragoman.config.corpus import AugmentConfig
from dragoman.data.augmentation import changed_examples
from tests.unit.data.preparation.corpus import pairs

_TAG = re.compile(r"<[^>]*>|\{\w+\}|%\(?\w+\)?s?|\$\{\w+\}")


def only(**shares: float) -> DataConfig:
    none = dict.fromkeys(AugmentConfig.model_fields, 0.0)
    return DataConfig(source="en", target="de", augment=AugmentConfig(**none | shares))


def test_ten_examples_with_each_kind():
    kinds = [name for name, share in AugmentConfig() if share]
    examples = list(changed_examples(DataConfig(source="en", target="de", augment=AugmentConfig()), pairs(300)))
    counts = Counter(kind for kind, _, _ in examples)
    assert len(examples) == 10
    assert list(counts) == kinds, "each kind, in the order of the settings"
    assert max(counts.values()) == 2
    assert len({before for _, before, _ in examples}) > 5, "of several pairs"
    assert all(before != after for _, before, after in examples)
    assert len(list(changed_examples(only(upper=0.1), pairs(300)))) == 10, "of one kind"
    assert not list(changed_examples(DataConfig(source="en", target="de"), pairs(300)))


def test_words_are_cut_from_a_pair():
    for kind, pair, (source, target) in changed_examples(only(words=0.1), pairs(300)):
        assert kind == "words"
        assert source in pair[0]
        assert target in pair[1]
        assert 1 <= len(source.split()) == len(target.split()) <= 3
    chinese = [("我们在公园里。", "Wir sind im Park.")] * 10
    assert not list(changed_examples(only(words=0.1, tags=0.1, terms=0.1, typos=0), chinese)), "no words without spaces"


def test_tags_and_placeholders_are_the_same_on_both_sides():
    forms = set()
    for _, pair, changed in changed_examples(only(tags=0.1), pairs(300)):
        source, target = (_TAG.findall(text) for text in changed)
        assert source == target
        assert source
        forms.add(source[0][0])
        for before, after in zip(pair, changed, strict=True):
            bare = _TAG.sub("", after)
            assert bare == before or len(bare) < len(before), "a placeholder stands for words"
    assert len(forms) > 1, "several forms"


def test_a_hint_is_the_translation_of_the_words_before_it():
    for _, pair, (source, target) in changed_examples(only(terms=0.1), pairs(300)):
        found = re.search(r" ⦅ ([^⦆]+) ⦆", source)
        assert found is not None
        assert found[1] in target
        assert target == pair[1]
        assert source.replace(found[0], "") == pair[0]


@pytest.mark.parametrize("kind", ["upper", "title", "lower", "typos"])
def test_scripts_without_cases_and_letters_stay(kind: str):
    assert not list(changed_examples(only(**{kind: 0.1}), [("我们在公园里。", "私たちは公園にいます。")] * 10))
