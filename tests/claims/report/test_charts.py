"""Charts of a claim follow from its variants and comparisons."""

from __future__ import annotations

from typing import Any

import pytest

from claims.ledger.claim import Claim, Term
from claims.ledger.record import MAIN_SEARCH, ModelRecord
from claims.report.charts import claim_charts, seed_scores
from claims.report.names import condition_name, probe_names, search_name, size_of, term_name
from claims.report.phrases import Phrases
from tests.claims.synthetic import claim, records

EN, ZH = Phrases("en"), Phrases("zh")
FOUND = {"new": records(0.7, 1), "old": records(0.6, 2)}


def changed(**fields: object) -> Claim:
    return Claim.model_validate(claim().model_dump() | fields)


def drawn(told: Claim, found: dict[str, list[ModelRecord]], word: Phrases = EN) -> dict[str, str]:
    return {chart.name: chart.svg for chart in claim_charts(told, found, word)}


def with_facts(some: list[ModelRecord], facts: dict[str, Any]) -> list[ModelRecord]:
    return [ModelRecord(dict(record.facts) | facts) for record in some]


def test_scores_have_a_point_per_seed_and_the_labels_of_the_claim():
    figure = drawn(changed(labels={"en": {"new": "the new model"}}), FOUND)["C1-scores"]
    assert figure.count('class="point"') == 6 + 1  # and one in the legend
    assert "the new model" in figure
    assert ">old<" in figure


def test_a_claim_without_records_has_no_charts():
    assert drawn(claim(), {}) == {}
    assert seed_scores("bleu", Term(variant="new", search="beam-99"), FOUND) == []


def test_a_variant_without_records_is_left_out():
    figure = drawn(claim(), {"new": FOUND["new"]})["C1-scores"]
    assert figure.count('class="point"') == 3 + 1


def test_three_widths_of_the_beam_are_a_curve():
    found = {}
    for name, some in FOUND.items():
        searches = some[0].facts["searches"]
        found[name] = with_facts(some, {"searches": {f"beam-{n}": searches[MAIN_SEARCH] for n in (1, 4, 8)}})
    figures = drawn(changed(searches=["beam-1", "beam-8"]), found)
    assert list(figures) == ["C1-scores", "C1-beam"]
    assert figures["C1-beam"].count('class="dot') == 2 * 3 * 3  # variants, widths, seeds
    assert figures["C1-beam"].count("<polyline") == 2 * (1 + 9)  # the mean, and a point per seed


def test_a_comparison_of_lengths_gives_bleu_by_length():
    (comparison,) = claim().model_dump()["comparisons"]
    comparison["terms"][0]["words"] = [1, 14]
    figure = drawn(changed(comparisons=[comparison]), FOUND)["C1-length"]
    assert "15–24" in figure
    assert "25–36" not in figure  # no text has more than 24 words
    assert "per group: 172, 128" in figure


def test_a_claim_about_coverage_shows_its_shares():
    coverage = {"attention": {"trained": {"coverage": [[10, 10], [1, 1], [2, 2], [1, 3]]}}}
    (comparison,) = claim().model_dump()["comparisons"]
    told = changed(comparisons=[comparison | {"measure": "coverage-uncovered"}])
    found = {name: with_facts(some, coverage) for name, some in FOUND.items()}
    figures = drawn(told, found)
    assert {"C1-scores", "C1-coverage"} == set(figures)
    assert "new: 0.2 (&lt; 0.5), 0.6 (0.5–1.5), 0.2 (&gt; 1.5)" in figures["C1-coverage"]


@pytest.mark.parametrize(("word", "axis"), [(EN, "source words"), (ZH, "源词数")])
def test_conditions_with_sizes_are_curves(word: Phrases, axis: str):
    terms = [{"variant": "x", "search": "global 8"}]
    comparison = {"name": "x", "measure": "log2", "terms": terms, "hypothesis": 0.0}
    told = changed(variants={"x": {"probe": "attention-step"}}, comparisons=[comparison])
    samples = {f"{name} {size}": [1.0, 4.0] for name in ("global", "local-p") for size in (8, 16, 32)}
    figure = drawn(told, {"x": [ModelRecord({"samples": samples})]}, word)["C1-attention-step"]
    assert axis in figure
    assert ": 2 (8), 2 (16), 2 (32)" in figure  # geometric means


@pytest.mark.parametrize(
    ("condition", "english", "chinese"),
    [
        ("global 32768", "global, 32,768 source words", "全局，32,768 个源词"),
        ("unknown", "unknown", "unknown"),
    ],
)
def test_conditions_have_names_in_both_languages(condition: str, english: str, chinese: str):
    names = probe_names("attention-step")
    assert [condition_name(names, condition, word) for word in (EN, ZH)] == [english, chinese]


def test_a_size_is_the_last_word_of_a_condition():
    assert size_of("global 32") == ("global", 32)
    assert size_of("16") == ("", 16)
    assert size_of("rnn copy longer") == ("rnn copy longer", None)


def test_terms_name_variant_search_and_lengths():
    assert search_name("beam-2", ZH) == "束宽 2"
    assert search_name("something", EN) == "something"
    assert term_name(claim(), Term(variant="new", search="beam-2", words=[1, 14]), EN) == "new, beam 2, up to 14 words"
    assert term_name(claim(), Term(variant="transformer", words=[37, 1000]), ZH) == "Transformer，37 词及以上"
