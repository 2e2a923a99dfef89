"""MBR decoding: the sample that agrees most with the others."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from sacrebleu.metrics.chrf import CHRF

from dragoman.api.translation.options import TranslateOptions
from dragoman.config.search import MBR_TEMPERATURE, InferenceConfig, SearchSettings, candidate_search, search_for_model
from dragoman.engines.ctranslate2.engine import CTranslate2Engine
from dragoman.errors import ConfigError
from tests.unit.api.test_translator_bundles import translator_of

MBR = SearchSettings(search="mbr", candidates=6, seed=3, max_length=8)
TEXTS = ["the house is small", "a house", "the small man"]


def chosen(texts: Sequence[str]) -> str:
    metric = CHRF()
    sums = [sum(metric.sentence_score(ours, [theirs]).score for theirs in texts) for ours in texts]
    return texts[max(range(len(texts)), key=lambda place: (round(sums[place], 6), -place))]


def test_a_translation_is_the_best_of_the_samples(tmp_path: Path):
    translator = translator_of(tmp_path, "luong2015-desk")
    samples = translator.translate(TEXTS, search=candidate_search(MBR), split_sentences=False)
    wanted = [chosen([each.text for each in sample.nbest]) for sample in samples]
    found = translator.translate(TEXTS, search=MBR, split_sentences=False)
    assert [each.text for each in found] == wanted
    assert len({each.text for sample in samples for each in sample.nbest}) > len(TEXTS)
    alone = [translator.translate(text, search=MBR, split_sentences=False, first=n) for n, text in enumerate(TEXTS)]
    assert [each.text for each in alone] == wanted, "it depends on the seed and the number of the sentence alone"


def test_an_nbest_list_has_different_texts(tmp_path: Path):
    translator = translator_of(tmp_path, "vaswani2017-desk")
    (found,) = translator.translate(TEXTS[:1], search=MBR, nbest=4, split_sentences=False)
    texts = [each.text for each in found.nbest]
    assert texts[0] == found.text
    assert len(set(texts)) == len(texts) <= 4


def test_samples_have_a_low_temperature_unless_settings_say_otherwise():
    assert candidate_search(MBR).temperature == MBR_TEMPERATURE
    assert candidate_search(MBR).nbest == 6
    given: dict[str, Any] = {"top_p": 0.9, "top_k": 5, "temperature": 0.9}
    for name, value in given.items():
        own = candidate_search(SearchSettings(search="mbr", **{name: value}))
        assert getattr(own, name) == value
        assert own.temperature == (value if name == "temperature" else 1.0)
    beam = SearchSettings(beam=3)
    assert candidate_search(beam) is beam
    assert search_for_model(MBR, InferenceConfig(beam=1)) is MBR


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"sample": True}, "sample must be left out with search mbr"),
        ({"nbest": 7, "candidates": 6}, "nbest must be at most the candidates, 6, got 7"),
        ({"candidates": 1}, "greater than or equal to 2"),
        ({"candidates": 129}, "less than or equal to 128"),
    ],
)
def test_settings_that_do_not_fit_are_errors(values: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        SearchSettings(search="mbr", **values)


def test_candidates_need_mbr():
    with pytest.raises(ConfigError, match="candidates needs search"):
        SearchSettings(candidates=8)
    with pytest.raises(ConfigError, match="no search tree"):
        TranslateOptions(search_tree=True, search=MBR)


def test_ctranslate2_has_no_samples():
    assert "sampling" in (CTranslate2Engine.unsupported(candidate_search(MBR)) or "")
