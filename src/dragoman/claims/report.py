"""Report of the ledger as Markdown, in English or Chinese, computed from records only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

import numpy as np

from dragoman.claims.claim import Claim, Comparison, Ledger
from dragoman.claims.measures import measure
from dragoman.claims.pool.pool_model import pool_models, variant_models
from dragoman.claims.record import MAIN_SEARCH, ModelRecord, RecordStore
from dragoman.claims.verdict import ClaimResult, ClaimVerdict, ComparisonResult, decide, seeds_needed
from dragoman.reporting.markdown import markdown_table

__all__ = ["LedgerReport", "Phrases", "ReportLanguage", "claim_records", "report_markdown"]

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
    "missing": {"en": "models to train: {missing} of {all}", "zh": "待训练模型：{missing} / {all}"},
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
class LedgerReport:
    """Verdicts of all claims whose variants have at least one model each, and the records behind them."""

    ledger: Ledger
    results: Mapping[str, ClaimResult]
    records: Mapping[str, ModelRecord]
    missing: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Number of models without a record, and of all models, by claim."""

    @classmethod
    def compute(cls, ledger: Ledger, store: RecordStore) -> LedgerReport:
        """Read the records and decide on all claims that have enough of them."""
        models = pool_models(ledger, ledger.claims)
        records = {model.key: store.read(model) for model in models if store.has(model)}
        results, missing = {}, {}
        for claim in ledger.claims:
            of_claim = pool_models(ledger, [claim])
            missing[claim.id] = (sum(model.key not in records for model in of_claim), len(of_claim))
            found = claim_records(ledger, claim, records)
            if any(all(found[term.variant] for term in each.terms) for each in claim.comparisons):
                results[claim.id] = decide(claim, found)
        return cls(ledger, results, records, missing)


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
        if result is None:
            missing, total = report.missing[claim.id]
            state = f"{word('untested')} ({word('missing', missing=missing, all=total)})"
            rows.append([claim.id, claim.title, state, "–", "–"])
        else:
            minutes = f"{result.cpu_seconds / 60:.0f}"
            partly = f" ({word('partly')})" if result.unmeasured else ""
            verdict = f"**{word(result.verdict)}**{partly}"
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
            ]
        )
    header = [
        word("model"),
        word("corpus"),
        f"BLEU, {MAIN_SEARCH}",
        word("parameters"),
        word("updates"),
        word("minutes"),
    ]
    signatures = {record.facts["searches"][MAIN_SEARCH]["scores"]["bleu"]["signature"] for record in models}
    machines = {record.facts["machine"] for record in models}
    notes = "".join(f"- {line}\n" for line in sorted(signatures) + sorted(machines))
    return f"\n## {word('models')}\n\n{markdown_table(header, rows)}\n{notes}" if rows else ""
