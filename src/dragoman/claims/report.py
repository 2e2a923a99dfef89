"""Report of the ledger as Markdown, in English or Chinese, computed from records only."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

import numpy as np

from dragoman.claims.claim import Claim, Comparison, Ledger, Term
from dragoman.claims.effect import compute_effect
from dragoman.claims.measures import has_counts, measure
from dragoman.claims.pool.cost import expected_minutes
from dragoman.claims.pool.missing_runs import missing_runs
from dragoman.claims.pool.pool_model import pool_models, variant_models
from dragoman.claims.record import MAIN_SEARCH, ModelRecord, RecordStore
from dragoman.claims.verdict import ClaimResult, ClaimVerdict, ComparisonResult, decide, seeds_needed
from dragoman.reporting.markdown import markdown_table

__all__ = ["LedgerReport", "Phrases", "RemainingRuns", "ReportLanguage", "claim_records", "report_markdown"]

ReportLanguage = Literal["en", "zh"]

_WORDS: dict[str, dict[ReportLanguage, str]] = {
    "title": {"en": "Claims ledger", "zh": "论断记录"},
    "intro": {
        "en": "Each claim of the reading notes has an experiment, an interval and a verdict. The decision rules were "
        "committed before the first training. Computed from the records by `dragoman claims report`.",
        "zh": "笔记中的每个论断都有对应的实验、区间和结论。判定规则在第一次训练之前就已提交。"
        "本页由 `dragoman claims report` 根据记录生成。",
    },
    "claim": {"en": "claim", "zh": "论断"},
    "verdict": {"en": "verdict", "zh": "结论"},
    "seeds": {"en": "seeds", "zh": "种子数"},
    "minutes": {"en": "CPU minutes", "zh": "CPU 分钟"},
    "comparison": {"en": "comparison", "zh": "比较"},
    "measure": {"en": "measure", "zh": "度量"},
    "expected": {"en": "expected", "zh": "预期"},
    "least": {"en": "smallest effect", "zh": "最小效应"},
    "effect": {"en": "effect", "zh": "效应"},
    "interval": {"en": "interval", "zh": "区间"},
    "models": {"en": "Models", "zh": "模型"},
    "model": {"en": "model", "zh": "模型"},
    "mean": {"en": "mean", "zh": "平均"},
    "geometric-mean": {"en": "geometric mean", "zh": "几何平均"},
    "corpus": {"en": "corpus", "zh": "语料"},
    "parameters": {"en": "parameters", "zh": "参数量"},
    "updates": {"en": "updates", "zh": "更新次数"},
    "untested": {"en": "not measured yet", "zh": "尚未测量"},
    "partly": {"en": "partly measured", "zh": "部分测量"},
    "missing": {
        "en": "models to train: {missing} of {all}, about {hours} CPU hours",
        "zh": "待训练模型：{missing} / {all}，约 {hours} CPU 小时",
    },
    "repeated": {"en": "repeated words per 100", "zh": "每百词重复词"},
    "dropped": {"en": "dropped source words per 100", "zh": "每百源词漏译词"},
    "findings": {"en": "Findings", "zh": "发现"},
    "remains": {"en": "What remains", "zh": "剩余工作"},
    "paper": {"en": "The paper", "zh": "论文结果"},
    "rule": {"en": "Rule", "zh": "判定规则"},
    "limits": {"en": "Limits", "zh": "局限"},
    "more": {
        "en": "{name}: about {seeds} seeds per variant would decide it",
        "zh": "{name}：每个变体约需 {seeds} 个种子才能判定",
    },
    "sentences": {
        "en": "{name}: more seeds would not decide it; it needs more test sentences",
        "zh": "{name}：增加种子无法判定，需要更多测试句",
    },
    ClaimVerdict.HOLDS: {"en": ClaimVerdict.HOLDS, "zh": "在此成立"},
    ClaimVerdict.FAILS: {"en": ClaimVerdict.FAILS, "zh": "在此不成立"},
    ClaimVerdict.OPEN: {"en": ClaimVerdict.OPEN, "zh": "在此规模下无法判断"},
}


@dataclass(frozen=True)
class Phrases:
    """Phrases of the page in one language."""

    language: ReportLanguage

    def __call__(self, phrase: str, /, **values: object) -> str:
        """Return a phrase with its values."""
        return _WORDS[phrase][self.language].format(**values)


@dataclass(frozen=True)
class RemainingRuns:
    """The runs that a claim still requires: their number, the number of all its runs, and their expected CPU time."""

    missing: int
    total: int
    minutes: float

    def text(self, word: Phrases) -> str:
        """Describe what remains in a few words."""
        hours = f"{self.minutes / 60:.2g}"
        return word("missing", missing=self.missing, all=self.total, hours=hours)


@dataclass(frozen=True)
class LedgerReport:
    """Verdicts of all claims whose variants have at least one model each, and the records behind them."""

    ledger: Ledger
    results: Mapping[str, ClaimResult]
    records: Mapping[str, ModelRecord]
    remaining: Mapping[str, RemainingRuns] = field(default_factory=dict)
    """Runs that a claim still requires, by claim; claims that require none are left out."""

    @classmethod
    def compute(cls, ledger: Ledger, store: RecordStore) -> LedgerReport:
        """Read the records and decide on all claims that have enough of them."""
        models = pool_models(ledger, ledger.claims)
        records = {model.key: store.read(model) for model in models if store.has(model)}
        results, remaining = {}, {}
        for claim in ledger.claims:
            if missing := missing_runs(ledger, [claim], store):
                minutes = sum(expected_minutes(ledger, store, run) for run in missing)
                remaining[claim.id] = RemainingRuns(len(missing), len(pool_models(ledger, [claim])), minutes)
            result = decide(claim, claim_records(ledger, claim, records))
            if result.comparisons:
                results[claim.id] = result
        return cls(ledger, results, records, remaining)


def claim_records(ledger: Ledger, claim: Claim, records: Mapping[str, ModelRecord]) -> dict[str, list[ModelRecord]]:
    """Return the records of each variant, by seed."""
    return {
        name: [records[model.key] for model in variant_models(ledger, claim, variant) if model.key in records]
        for name, variant in claim.variants.items()
    }


def report_markdown(report: LedgerReport, language: ReportLanguage = "en") -> str:
    """Return the page: a table of verdicts, then each claim with its comparisons, then the models."""

    word = Phrases(language)
    rows = []
    for claim in report.ledger.claims:
        result = report.results.get(claim.id)
        remaining = report.remaining.get(claim.id)
        left = f" ({remaining.text(word)})" if remaining else ""
        if result is None:
            rows.append([claim.id, claim.title, f"{word('untested')}{left}", "–", "–"])
        else:
            minutes = f"{result.cpu_seconds / 60:.0f}"
            partly = f", {word('partly')}" if result.unmeasured else ""
            verdict = f"**{word(result.verdict)}**{partly}{left}"
            rows.append([claim.id, claim.title, verdict, str(result.seeds), minutes])
    header = [word(name) for name in ("claim", "claim", "verdict", "seeds", "minutes")]
    header[0] = "#"
    day = datetime.now(UTC).date().isoformat()
    parts = [f"# {word('title')}\n\n{day}. {word('intro')}\n\n{markdown_table(header, rows)}"]
    parts += [_claim_section(claim, report, word) for claim in report.ledger.claims]
    parts.append(_models_section(report, word))
    return "\n".join(parts)


def _claim_section(claim: Claim, report: LedgerReport, word: Phrases) -> str:
    languages: tuple[ReportLanguage, ...] = ("en", "zh") if word.language == "en" else ("zh", "en")
    lines = [
        f"\n## {claim.id}. {claim.title}\n",
        "\n>\n".join(f"> {claim.statement[each]}" for each in languages) + "\n",
    ]
    if claim.origin.figure:
        lines.append(f"{word('paper')} ([{claim.origin.paper}]): {claim.origin.figure}.\n")
    lines.append(f"{word('rule')}: {claim.decision}\n")
    if claim.limits:
        lines.append(f"{word('limits')}: {claim.limits}\n")
    if claim.id in report.remaining:
        lines.append(f"{word('remains')}: {report.remaining[claim.id].text(word)}.\n")
    result = report.results.get(claim.id)
    header = [word(name) for name in ("comparison", "measure", "expected", "least", "effect", "interval", "verdict")]
    if result is None:
        rows = [[*_expected(each), "–", "–", word("untested")] for each in claim.comparisons]
        lines.append(markdown_table(header, rows))
        return "\n".join(lines)
    rows = [
        [*_expected(each), f"{each.effect.value:.3g}", _interval(each), word(each.verdict)]
        for each in result.comparisons
    ]
    rows += [[*_expected(each), "–", "–", word("untested")] for each in result.unmeasured]
    lines.append(markdown_table(header, rows))
    if findings := claim.findings.get(word.language):
        lines.append(f"{word('findings')}: {findings}\n")
    lines += _samples_tables(claim, report, word)
    for each in result.comparisons:
        name = each.effect.comparison.name
        if each.verdict != ClaimVerdict.OPEN or each.effect.freedom < 1:
            continue
        needed = seeds_needed(each)
        lines.append(f"- {word('sentences', name=name) if needed is None else word('more', name=name, seeds=needed)}")
    return "\n".join(lines)


def _samples_tables(claim: Claim, report: LedgerReport, word: Phrases) -> list[str]:
    """Return a table per probe of a claim: the mean over rounds and seeds of each condition.

    The mean of values that are compared by their logarithms is the geometric one.
    """
    found = []
    for name, variant in claim.variants.items():
        records = claim_records(report.ledger, claim, report.records)[name] if variant.probe else []
        if not records:
            continue
        measures = {each.measure for each in claim.comparisons for term in each.terms if term.variant == name}
        is_geometric = "log2" in measures
        rows = []
        for condition in records[0].facts["samples"]:
            values = np.array([record.facts["samples"][condition] for record in records])
            mean = np.exp(np.log(values).mean()) if is_geometric else values.mean()
            rows.append([condition, f"{mean:.4g}"])
        machines = {record.facts["machine"] for record in records}
        header = [variant.probe, word("geometric-mean" if is_geometric else "mean")]
        found.append(f"{markdown_table(header, rows)}\n{'; '.join(sorted(machines))}\n")
    return found


def _expected(each: Comparison | ComparisonResult) -> list[str]:
    comparison = each.effect.comparison if isinstance(each, ComparisonResult) else each
    sign = "±" if comparison.rule == "equivalence" else "> "
    least = f"{sign}{comparison.smallest_effect:g}"
    return [comparison.name, measure(comparison.measure).unit, f"{comparison.hypothesis:g}", least]


def _interval(result: ComparisonResult) -> str:
    low, high = result.interval
    return "–" if math.isinf(low) else f"{low:.3g} … {high:.3g} ({100 * (1 - result.alpha):.3g} %)"


_TEXT_MEASURES = ("words-repeated", "words-dropped")


def _mean_score(name: str, records: Sequence[ModelRecord]) -> str:
    """Return the mean of a score over the records that have its statistics."""
    comparison = Comparison(name=name, measure=name, terms=[Term(variant="x")], hypothesis=0.0)
    usable = [record for record in records if has_counts(comparison, "x", record)]
    return f"{compute_effect(comparison, {'x': usable}, resamples=1).value:.2f}" if usable else "–"


def _models_section(report: LedgerReport, word: Phrases) -> str:
    """Return a table of all measured models: one row per variant, with the scores of its seeds."""
    groups: dict[tuple[str, str, str], list[ModelRecord]] = {}
    models = [record for record in report.records.values() if "searches" in record.facts]
    for record in models:
        facts = record.facts
        groups.setdefault((facts["base"], facts["corpus"], " ".join(facts["changes"])), []).append(record)
    rows = []
    for (base, corpus, changes), records in sorted(groups.items()):
        scores = [record.facts["searches"][MAIN_SEARCH]["scores"]["bleu"]["value"] for record in records]
        training = [record.facts["training"] for record in records]
        rows.append(
            [
                f"{base} {f'`{changes}`' if changes else ''}".strip(),
                corpus,
                f"{sum(scores) / len(scores):.2f} ({', '.join(f'{score:.2f}' for score in scores)})",
                f"{training[0]['parameters'] / 1e6:.2f} M",
                f"{training[0]['updates']:,}",
                f"{sum(each['cpu_seconds'] for each in training) / len(training) / 60:.1f}",
                *(_mean_score(name, records) for name in _TEXT_MEASURES),
            ]
        )
    header = [
        word("model"),
        word("corpus"),
        f"BLEU, {MAIN_SEARCH}",
        word("parameters"),
        word("updates"),
        word("minutes"),
        word("repeated"),
        word("dropped"),
    ]
    signatures = {record.facts["searches"][MAIN_SEARCH]["scores"]["bleu"]["signature"] for record in models}
    machines = {record.facts["machine"] for record in models}
    notes = "".join(f"- {line}\n" for line in sorted(signatures) + sorted(machines))
    return f"\n## {word('models')}\n\n{markdown_table(header, rows)}\n{notes}" if rows else ""
