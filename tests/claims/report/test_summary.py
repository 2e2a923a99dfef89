"""The comparison that the table of verdicts shows."""

from __future__ import annotations

import math

import pytest

from claims.ledger.claim import Comparison
from claims.ledger.effect import compute_effect
from claims.ledger.record import ModelRecord
from claims.ledger.verdict import ClaimResult, ClaimVerdict, ComparisonResult
from claims.report.phrases import Phrases
from claims.report.summary import deciding_comparison, limit_text, size_note, verdict_table
from tests.claims.synthetic import claim, records

HOLDS, FAILS, OPEN = ClaimVerdict.HOLDS, ClaimVerdict.FAILS, ClaimVerdict.OPEN
(COMPARISON,) = claim().comparisons
EFFECT = compute_effect(COMPARISON, {"new": records(0.7, 1), "old": records(0.6, 2)}, resamples=20)


def measured(least: float, verdict: ClaimVerdict, *, width: float = 1.0, is_precondition: bool = False):
    comparison = COMPARISON.model_copy(update={"smallest_effect": least, "is_precondition": is_precondition})
    effect = type(EFFECT)(comparison, 1.0, ((1.0,),), EFFECT.sentence_part, 0.0, 4)
    return ComparisonResult(effect, (1 - width / 2, 1 + width / 2), 0.05, verdict)


def shown(verdict: ClaimVerdict, *comparisons: ComparisonResult) -> int:
    found = deciding_comparison(ClaimResult(claim(), verdict, comparisons, (), 3, 1.0))
    return [each is found for each in comparisons].index(True)


def test_the_shown_comparison_has_the_verdict_of_the_claim():
    assert shown(FAILS, measured(0.9, HOLDS), measured(9.0, FAILS), measured(1.1, OPEN)) == 1


def test_of_several_the_nearest_to_its_limit_is_shown_relative_to_its_interval():
    assert shown(HOLDS, measured(0.0, HOLDS), measured(0.4, HOLDS, width=0.1), measured(0.2, HOLDS)) == 2
    assert shown(HOLDS, measured(0.0, HOLDS), measured(0.4, HOLDS, width=10.0), measured(0.2, HOLDS)) == 1


def test_an_effect_with_an_interval_is_preferred():
    assert shown(OPEN, measured(1.0, OPEN, width=math.inf), measured(5.0, OPEN)) == 1


def test_an_unmet_precondition_is_shown():
    assert shown(OPEN, measured(1.1, OPEN), measured(9.0, FAILS, is_precondition=True)) == 1
    assert shown(HOLDS, measured(0.2, HOLDS), measured(0.9, HOLDS, is_precondition=True)) == 0


def test_a_partly_measured_claim_shows_what_is_measured():
    assert shown(OPEN, measured(0.2, HOLDS), measured(0.5, HOLDS)) == 1


@pytest.mark.parametrize(("rule", "text"), [("difference", "> 0.5"), ("equivalence", "±0.5")])
def test_the_limit_is_a_condition(rule: str, text: str):
    assert limit_text(Comparison.model_validate(COMPARISON.model_dump() | {"rule": rule})) == text


def test_the_figure_of_the_paper_is_shown_with_its_key():
    table = claim().model_dump()
    table["origin"] |= {"paper": "luong2015", "short_figure": "16.8 → 18.1 BLEU"}
    told = type(claim()).model_validate(table)
    assert "| not measured yet | – | 16.8 → 18.1 BLEU [luong2015] | – | – |" in verdict_table(
        [told], {}, {}, Phrases("en")
    )


def test_the_size_of_the_models_is_a_range():
    models = [
        ModelRecord({"training": {"parameters": 1_900_000, "updates": 3600}}),
        ModelRecord({"training": {"parameters": 3_230_000, "updates": 2000}}),
        ModelRecord({"training": {"cpu_seconds": 1.0}}),
    ]
    assert "1.9 to 3.2 million parameters and 2,000 to 3,600 updates" in size_note(models, Phrases("en"))
    assert size_note(models[2:], Phrases("en")) == ""
