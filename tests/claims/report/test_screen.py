"""The page with a tile per claim: guesses, bars and what it hides."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from claims.ledger.claim import Claim, Ledger, NextExperiment, PoolSettings, ReportLanguage
from claims.ledger.verdict import ClaimVerdict, decide
from claims.pool.missing_runs import RemainingRuns
from claims.report.phrases import Phrases
from claims.report.screen import screen_html, written_guess
from tests.claims.synthetic import claim, records

FOUND = {"new": records(0.7, 1), "old": records(0.5, 2)}


def page(*claims: Claim, language: ReportLanguage = "en", measured: bool = True) -> str:
    results = {each.id: decide(each, FOUND) for each in claims} if measured else {}
    return screen_html(Ledger(Path(), claims, {}, PoolSettings()), results, {}, Phrases(language))


def tile(html: str) -> str:
    found = re.search(r'<li class="tile.*?</li>', html, re.DOTALL)
    assert found is not None
    return found.group()


@pytest.mark.parametrize(
    ("hypothesis", "least", "rule", "guess"),
    [
        (1.0, 0.5, "difference", ClaimVerdict.HOLDS),
        (0.0, 0.5, "difference", ClaimVerdict.FAILS),
        (0.5, 0.5, "difference", None),
        (0.1, 0.5, "equivalence", ClaimVerdict.HOLDS),
        (-0.9, 0.5, "equivalence", ClaimVerdict.FAILS),
    ],
)
def test_the_written_guess_follows_from_the_expected_effect(hypothesis, least, rule, guess):
    (comparison,) = claim(least=least, rule=rule).comparisons
    expected = comparison.model_copy(update={"hypothesis": hypothesis})
    assert written_guess(claim().model_copy(update={"comparisons": [expected]})) == guess


def test_a_written_guess_of_several_comparisons_follows_the_rule_of_the_claim():
    (good,) = claim().comparisons
    both = [good, good.model_copy(update={"hypothesis": -1.0})]
    for holds_if, guess in (("all", ClaimVerdict.FAILS), ("any", ClaimVerdict.HOLDS)):
        assert written_guess(claim().model_copy(update={"comparisons": both, "holds_if": holds_if})) == guess


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_claim_has_a_tile_and_a_section_with_its_verdict_and_effect(language: ReportLanguage):
    html = page(claim(), language=language)
    assert 'data-verdict="holds" data-guess="holds"' in tile(html)
    assert Phrases(language)(ClaimVerdict.HOLDS) in html
    assert re.search(r"<td>[\d.]+ BLEU", html)
    assert html.count('class="interval"') == 3  # tile, section and key


def test_a_verdict_against_the_written_guess_is_a_surprise():
    assert "data-surprise" not in tile(page(claim()))
    assert "data-surprise" in tile(page(claim(swapped=True)))


def test_a_claim_that_is_not_decided_states_what_it_would_cost():
    upcoming = NextExperiment(experiment={"en": "train longer", "zh": "训练更久"}, cpu_hours=4.3)
    asked = claim().model_copy(update={"next": upcoming})
    assert "4.3 CPU hours: train longer" in tile(page(asked, measured=False))
    assert "data-undecided" in tile(page(asked, measured=False))
    assert "train longer" not in page(asked)


def test_a_claim_without_records_states_how_many_are_missing_and_their_time():
    left = {"C1": RemainingRuns(missing=4, incomplete=1, total=6, minutes=30.0)}
    html = screen_html(Ledger(Path(), (claim(),), {}, PoolSettings()), {}, left, Phrases("en"))
    assert "30 CPU minutes: the rule is committed, 5 of 6 records are missing" in tile(html)


def test_an_unfit_experiment_is_shown_as_not_tested_with_its_reason():
    html = page(claim().model_copy(update={"unfit": {"en": "The models are too small.", "zh": "模型太小。"}}))
    assert 'data-verdict="untested"' in tile(html)
    assert "The models are too small." in html


def test_the_texts_of_a_claim_are_escaped():
    assert "<script>alert" not in page(claim().model_copy(update={"title": "<script>alert(1)</script>"}))
