"""The report: undecided comparisons state what would decide them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from claims.ledger.claim import Claim, EarlierVerdict, Ledger, PoolSettings, ReportLanguage
from claims.ledger.record import ModelRecord
from claims.ledger.verdict import ClaimResult, ClaimVerdict, decide
from claims.pool.missing_runs import RemainingRuns
from claims.pool.pool_model import pool_models
from claims.report.ledger_report import LedgerReport, claim_records, report_markdown, write_report
from tests.claims.synthetic import claim, records


def page(new: float, noise: float, language: ReportLanguage = "en") -> str:
    found = {"new": records(new, 1, noise=noise), "old": records(0.6, 2, noise=noise)}
    ledger = Ledger(Path(), (claim(),), {}, PoolSettings())
    return report_markdown(LedgerReport(ledger, {"C1": decide(claim(), found)}, {}), language)


@pytest.mark.parametrize(
    ("language", "phrase"), [("en", "seeds per variant would decide it"), ("zh", "个种子才能判定")]
)
def test_an_effect_that_seeds_leave_open_states_how_many_would_decide_it(language: ReportLanguage, phrase: str):
    assert phrase in page(0.66, 0.06, language)


@pytest.mark.parametrize(
    ("language", "phrase"),
    [("en", r"it needs about [\d.,]+ times as many test sentences, and many seeds"), ("zh", r"约 [\d.,]+ 倍的测试句")],
)
def test_an_effect_that_sentences_leave_open_states_how_many_times_as_many_are_needed(
    language: ReportLanguage, phrase: str
):
    assert re.search(phrase, page(0.606, 0.0, language))


def test_a_decided_effect_shows_its_interval_and_level():
    text = page(0.7, 0.005)
    effect = r"new minus old: [\d.]+ BLEU \([\d.]+\s…\s[\d.]+; >\s0.5\)"
    assert re.search(rf"\| \*\*holds here\*\* \| {effect} \| – \| 3 \| 6 \|", text)
    assert "(95 %)" in text


@pytest.mark.parametrize(("language", "text"), [("en", "a precondition that is not met"), ("zh", "前提不满足")])
def test_an_unmet_precondition_is_stated_instead_of_what_would_decide(language: ReportLanguage, text: str):
    found = {"new": records(0.66, 1, noise=0.06), "old": records(0.6, 2, noise=0.06)}
    (first,) = claim().comparisons
    unmet = first.model_copy(update={"is_precondition": True, "smallest_effect": 1000.0})
    told = claim().model_copy(update={"comparisons": [first, unmet]})
    page = report_markdown(
        LedgerReport(Ledger(Path(), (told,), {}, PoolSettings()), {"C1": decide(told, found)}, {}), language
    )
    assert text in page
    assert "would decide it" not in page
    assert "才能判定" not in page


@pytest.mark.parametrize(("language", "text"), [("en", "Findings: It is so.\n"), ("zh", "发现：如此。\n")])
def test_findings_are_shown_in_the_language_of_the_page(language: ReportLanguage, text: str):
    found = {"new": records(0.7, 1), "old": records(0.6, 2)}
    told = claim().model_copy(update={"findings": {"en": "It is so.", "zh": "如此。"}})
    ledger = Ledger(Path(), (told,), {}, PoolSettings())
    assert text in report_markdown(LedgerReport(ledger, {"C1": decide(told, found)}, {}), language)


@pytest.mark.parametrize(
    ("remaining", "text"),
    [
        (RemainingRuns(4, 0, 6, 90.0), "4 of 6 records missing, about 90 CPU minutes of training"),
        (RemainingRuns(4, 2, 6, 150.0), "4 of 6 records missing, 2 more incomplete, about 2.5 CPU hours of training"),
    ],
)
def test_a_claim_without_all_of_its_records_states_how_many_and_their_cost(remaining: RemainingRuns, text: str):
    ledger = Ledger(Path(), (claim(),), {}, PoolSettings())
    page = report_markdown(LedgerReport(ledger, {}, {}, {"C1": remaining}, remaining))
    assert f"| not measured yet ({remaining.missing + remaining.incomplete} of 6 records missing) |" in page
    assert f"What remains: {text}." in page
    assert f"All claims together, which share records: {text}." in page


@pytest.mark.parametrize(("language", "text"), [("en", "Nothing was changed."), ("zh", "没有改动。")])
def test_the_page_begins_with_the_introduction_of_the_ledger(language: ReportLanguage, text: str):
    introduction: dict[ReportLanguage, str] = {"en": "Nothing was changed.\n", "zh": "没有改动。\n"}
    ledger = Ledger(Path(), (claim(),), {}, PoolSettings(), introduction)
    assert f"\n\n{text}\n\n" in report_markdown(LedgerReport(ledger, {}, {}), language)


CHINESE = {"title": "新的优于旧的", "decision": "整个区间高于最小效应", "comparisons": ["新的减旧的"]}


def decided() -> LedgerReport:
    found = {"new": records(0.7, 1), "old": records(0.6, 2)}
    translated = Claim.model_validate(claim().model_dump() | {"zh": CHINESE})
    return LedgerReport(Ledger(Path(), (translated,), {}, PoolSettings()), {"C1": decide(translated, found)}, {})


def test_the_chinese_page_has_no_english_texts_of_the_claim(tmp_path: Path):
    write_report(decided(), tmp_path / "page.md", "zh")
    for path in (tmp_path / "page.md", tmp_path / "page-figures" / "C1.svg"):
        text = path.read_text(encoding="utf-8")
        assert "新的减旧的" in text
        for english in ("New", "minus", "interval", "holds here"):
            assert english not in text


def test_the_page_shows_its_figures(tmp_path: Path):
    write_report(decided(), tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "![C1: holds here](page-figures/C1.svg)" in text
    assert "new minus old" in (tmp_path / "page-figures" / "C1.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("language", "phrase"),
    [("en", "Earlier: 2026-01-02, does not hold here. −1 BLEU. Too small."), ("zh", "先前：2026-01-02，在此不成立。")],
)
def test_an_earlier_verdict_stays_readable_with_its_date(language: ReportLanguage, phrase: str):
    old = EarlierVerdict(
        date="2026-01-02",
        verdict="does not hold here",
        effect={"en": "−1 BLEU", "zh": "−1 BLEU"},
        why={"en": "Too small.", "zh": "太小。"},
    )
    told = claim().model_copy(update={"earlier": [old]})
    ledger = Ledger(Path(), (told,), {}, PoolSettings(), appendix={"en": "An old note.", "zh": "旧的说明。"})
    for results in ({}, {"C1": decide(told, {"new": records(0.7, 1), "old": records(0.6, 2)})}):
        text = report_markdown(LedgerReport(ledger, results, {}), language)
        assert phrase in text
        assert ledger.appendix[language] in text


def test_a_single_seed_has_a_point_without_an_interval(tmp_path: Path):
    found = {"new": records(0.7, 1, seeds=1), "old": records(0.6, 2, seeds=1)}
    report = LedgerReport(Ledger(Path(), (claim(),), {}, PoolSettings()), {"C1": decide(claim(), found)}, {})
    write_report(report, tmp_path / "page.md")
    figure = (tmp_path / "page-figures" / "C1.svg").read_text(encoding="utf-8")
    assert "one seed: no interval" in figure
    assert "inf" not in figure


def probed(
    samples: Mapping[str, Sequence[float]], measure: str, least: float = 0.0, ended: Sequence[str] = ()
) -> LedgerReport:
    """A report on a claim about a probe whose three seeds have the same samples."""
    terms = [{"variant": "x", "search": "slow"}, {"variant": "x", "weight": -1.0, "search": "fast"}]
    comparison = {"name": "slow against fast", "measure": measure, "terms": terms, "hypothesis": 3.0}
    variants = {"x": {"probe": "head-cost"}}
    table = claim().model_dump() | {"variants": variants, "comparisons": [comparison | {"smallest_effect": least}]}
    asked = Claim.model_validate(table)
    ledger = Ledger(Path(), (asked,), {}, PoolSettings())
    found = {}
    for place, run in enumerate(pool_models(ledger, [asked])):
        facts = {"name": run.name, "key": run.key, "seed": run.seed, "samples": samples, "machine": "A, 2 cores; Linux"}
        dates = {"dates": {"ended": ended[place]}} if ended else {}
        found[run.key] = ModelRecord(facts | dates | {"training": {"cpu_seconds": 1.0}})
    return LedgerReport(ledger, {"C1": decide(asked, claim_records(ledger, asked, found))}, found)


@pytest.mark.parametrize(
    ("measure", "fast", "slow"),
    [("log2", "| fast | 2 |", "| slow | 16 |"), ("share", "| fast | 2.5 |", "| slow | 20 |")],
)
def test_a_claim_with_a_probe_shows_the_mean_of_every_condition(measure: str, fast: str, slow: str):
    report = probed({"fast": [1.0, 4.0], "slow": [8.0, 32.0]}, measure)
    text = report_markdown(report)
    assert report.results["C1"].verdict == "holds here"
    assert fast in text
    assert slow in text
    assert "| 3 | < 1 |" in text


def test_the_chinese_page_has_the_punctuation_of_its_language():
    text = report_markdown(probed({"fast": [1.0, 4.0], "slow": [8.0, 32.0]}, "log2"), "zh")
    assert "\nA，2 核；Linux\n" in text
    assert "; " not in text


def test_a_comparison_that_waits_for_another_one_needs_no_more_seeds():
    """Its own interval is beyond the limit, but the comparison before it in Holm's order is open."""
    (result,) = decide(claim(), {"new": records(0.7, 1), "old": records(0.6, 2)}).comparisons
    waiting = replace(result, verdict=ClaimVerdict.OPEN)
    found = ClaimResult(claim(), ClaimVerdict.OPEN, (waiting,), (), 3, 1.0)
    text = report_markdown(LedgerReport(Ledger(Path(), (claim(),), {}, PoolSettings()), {"C1": found}, {}))
    assert "- new minus old: its own interval would decide it, but in Holm's order" in text
    assert "seeds per variant would decide" not in text


def test_the_number_of_required_rounds_follows_from_the_records():
    """The mean of [0, 2, 0, 2] doublings is 1, its standard error 0.5, and the limit 0.9."""
    text = report_markdown(probed({"fast": [1.0] * 4, "slow": [1.0, 4.0, 1.0, 4.0]}, "log2", 0.9))
    found = re.search(
        r"if the effect is right, it needs about (\d+) rounds per seed instead of 4, and many seeds", text
    )
    assert found
    assert 300 < int(found[1]) < 500  # 4 · (1.96 · 0.5 / 0.1)² = 384


def test_an_effect_at_its_limit_needs_more_than_any_number():
    text = report_markdown(probed({"fast": [1.0] * 4, "slow": [1.0, 4.0, 1.0, 4.0]}, "log2", 1.0))
    assert "so near to its limit that it needs more than 1,000 times as many rounds per seed" in text


@pytest.mark.parametrize(
    ("days", "text"),
    [
        (["2026-11-18T01:02:03", "2026-11-16T04:05:06", "2026-11-17T07:08:09"], "Measured 2026-11-16 to 2026-11-18."),
        (["2026-11-18T01:02:03"] * 3, "Measured 2026-11-18."),
    ],
)
def test_a_claim_states_when_it_was_measured(days: list[str], text: str):
    assert text in report_markdown(probed({"fast": [1.0], "slow": [8.0]}, "log2", ended=days))


def test_charts_of_a_claim_are_written_and_shown(tmp_path: Path):
    write_report(probed({"fast": [1.0, 4.0], "slow": [8.0, 32.0]}, "log2"), tmp_path / "page.md")
    assert "](page-figures/C1-head-cost.svg)" in (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "slow" in (tmp_path / "page-figures" / "C1-head-cost.svg").read_text(encoding="utf-8")
