"""Report of the ledger as Markdown, in English or Chinese, computed from records only."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from dragoman.claims.claim import Claim, Comparison, Ledger, ReportLanguage, Term
from dragoman.claims.effect import compute_effect
from dragoman.claims.measures import has_counts, measure
from dragoman.claims.pool.missing_runs import RemainingRuns, remaining_runs
from dragoman.claims.pool.pool_model import pool_models, variant_models
from dragoman.claims.record import MAIN_SEARCH, ModelRecord, RecordStore
from dragoman.claims.report_figures import claim_figure, overview_figure, without_unit
from dragoman.claims.report_phrases import Phrases
from dragoman.claims.verdict import ClaimResult, ClaimVerdict, ComparisonResult, decide, seeds_needed
from dragoman.files import atomic_write
from dragoman.reporting.markdown import markdown_table

__all__ = ["LedgerReport", "claim_records", "figures_folder", "remaining_text", "report_markdown", "write_report"]

_OVERVIEW = "overview"


@dataclass(frozen=True)
class LedgerReport:
    """Verdicts of all claims whose variants have at least one model each, and the records behind them."""

    ledger: Ledger
    results: Mapping[str, ClaimResult]
    records: Mapping[str, ModelRecord]
    remaining: Mapping[str, RemainingRuns] = field(default_factory=dict)
    """Runs that a claim still requires, by claim; claims that require none are left out."""
    all_remaining: RemainingRuns | None = None
    """Runs that all claims together still require; several claims share runs."""

    @classmethod
    def compute(cls, ledger: Ledger, store: RecordStore) -> LedgerReport:
        """Read the records and decide on all claims that have enough of them."""
        models = pool_models(ledger, ledger.claims)
        records = {model.key: store.read(model) for model in models if store.has(model)}
        results, remaining = {}, {}
        for claim in ledger.claims:
            left = remaining_runs(ledger, [claim], store)
            if left.missing or left.incomplete:
                remaining[claim.id] = left
            result = decide(claim, claim_records(ledger, claim, records))
            if result.comparisons:
                results[claim.id] = result
        return cls(ledger, results, records, remaining, remaining_runs(ledger, ledger.claims, store))


def claim_records(ledger: Ledger, claim: Claim, records: Mapping[str, ModelRecord]) -> dict[str, list[ModelRecord]]:
    """Return the records of each variant, by seed."""
    return {
        name: [records[model.key] for model in variant_models(ledger, claim, variant) if model.key in records]
        for name, variant in claim.variants.items()
    }


def remaining_text(remaining: RemainingRuns, word: Phrases) -> str:
    """Describe what a claim lacks, and what it costs."""
    phrase = "incomplete" if remaining.incomplete else "missing"
    return word(
        phrase,
        missing=remaining.missing,
        incomplete=remaining.incomplete,
        all=remaining.total,
        time=word.cpu_time(remaining.minutes),
    )


def figures_folder(page: Path) -> Path:
    """Return the folder of the figures of a page."""
    return page.with_name(f"{page.stem}-figures")


def write_report(report: LedgerReport, page: Path, language: ReportLanguage = "en") -> None:
    """Write the page, and its figures into a folder next to it."""
    word = Phrases(language)
    folder = figures_folder(page)
    folder.mkdir(exist_ok=True)
    figures = {claim_id: claim_figure(result, word) for claim_id, result in report.results.items()}
    figures |= {_OVERVIEW: overview_figure(report.results, word)}
    for name, figure in figures.items():
        if figure:
            _write(folder / f"{name}.svg", figure + "\n")
    _write(page, report_markdown(report, language, figures=folder.name))


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as draft:
        draft.write_text(text, encoding="utf-8", newline="\n")


def report_markdown(report: LedgerReport, language: ReportLanguage = "en", *, figures: str = "") -> str:
    """Return the page: a table of verdicts, then each claim with its comparisons, then the models.

    `figures` is the folder of the figures, relative to the page; a page without it has none.
    """
    word = Phrases(language)
    rows = []
    for claim in report.ledger.claims:
        result = report.results.get(claim.id)
        remaining = report.remaining.get(claim.id)
        left = word("bracketed", text=remaining_text(remaining, word)) if remaining else ""
        title = claim.texts(language).title
        if result is None:
            rows.append([claim.id, title, f"{word('untested')}{left}", "–", "–"])
        else:
            minutes = f"{result.cpu_seconds / 60:.0f}"
            partly = f"{word('comma')}{word('partly')}" if result.unmeasured else ""
            verdict = f"**{word(result.verdict)}**{partly}{left}"
            rows.append([claim.id, title, verdict, str(result.seeds), minutes])
    header = [word(name) for name in ("claim", "claim", "verdict", "seeds", "minutes")]
    header[0] = "#"
    day = datetime.now(UTC).date().isoformat()
    own = report.ledger.introduction.get(language, "").strip()
    head = [
        f"# {word('title')}",
        f"{day}{word('sentence-end')}{word('intro')}",
        own,
        markdown_table(header, rows, left=(0, 1, 2)),
    ]
    parts = ["\n\n".join(part for part in head if part)]
    if report.all_remaining is not None:
        parts.append(f"{word('all-claims')}{word('colon')}{remaining_text(report.all_remaining, word)}{word('stop')}\n")
    if figures:
        parts += _overview(report, word, figures)
    parts += [_claim_section(claim, report, word, figures) for claim in report.ledger.claims]
    parts.append(_models_section(report, word))
    return "\n".join(parts)


def _overview(report: LedgerReport, word: Phrases, figures: str) -> list[str]:
    if not overview_figure(report.results, word):
        return []
    parts = [f"![{word('overview')}]({figures}/{_OVERVIEW}.svg)\n"]
    if names := without_unit(report.results, word):
        parts.append(f"{word('overview-note', names='; '.join(names))}\n")
    return parts


def _claim_section(claim: Claim, report: LedgerReport, word: Phrases, figures: str) -> str:
    texts = claim.texts(word.language)
    languages: tuple[ReportLanguage, ...] = ("en", "zh") if word.language == "en" else ("zh",)
    lines = [
        f"\n## {claim.id}. {texts.title}\n",
        "\n>\n".join(f"> {claim.statement[each]}" for each in languages) + "\n",
    ]
    colon, stop = word("colon"), word("stop")
    if texts.figure:
        lines.append(f"{word('paper')} ([{claim.origin.paper}]){colon}{texts.figure}{stop}\n")
    lines.append(f"{word('rule')}{colon}{texts.decision}\n")
    if texts.limits:
        lines.append(f"{word('limits')}{colon}{texts.limits}\n")
    if claim.id in report.remaining:
        lines.append(f"{word('remains')}{colon}{remaining_text(report.remaining[claim.id], word)}{stop}\n")
    result = report.results.get(claim.id)
    header = [word(name) for name in ("comparison", "measure", "expected", "least", "effect", "interval", "verdict")]
    if result is None:
        rows = [[*_expected(claim, each, word), "–", "–", word("untested")] for each in claim.comparisons]
        lines.append(markdown_table(header, rows))
        return "\n".join(lines)
    if figures:
        lines.append(f"![{claim.id}{colon}{word(result.verdict)}]({figures}/{claim.id}.svg)\n")
    rows = [
        [
            *_expected(claim, each.effect.comparison, word),
            f"{each.effect.value:.3g}",
            _interval(each),
            word(each.verdict),
        ]
        for each in result.comparisons
    ]
    rows += [[*_expected(claim, each, word), "–", "–", word("untested")] for each in result.unmeasured]
    lines.append(markdown_table(header, rows))
    if findings := claim.findings.get(word.language):
        lines.append(f"{word('findings')}{colon}{findings}\n")
    lines += _samples_tables(claim, report, word)
    return "\n".join([*lines, *(f"- {line}" for line in _what_would_decide(claim, result, word))])


def _what_would_decide(claim: Claim, result: ClaimResult, word: Phrases) -> Iterator[str]:
    """Yield what the open comparisons need; if a precondition is not met, only that."""
    named = [(claim.comparison_name(each.effect.comparison, word.language), each) for each in result.comparisons]
    unmet = [
        name for name, each in named if each.effect.comparison.is_precondition and each.verdict == ClaimVerdict.FAILS
    ]
    yield from (word("precondition", name=name) for name in unmet)
    for name, each in named:
        if not unmet and each.verdict == ClaimVerdict.OPEN and each.effect.freedom >= 1:
            needed = seeds_needed(each)
            yield word("sentences", name=name) if needed is None else word("more", name=name, seeds=needed)


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


def _expected(claim: Claim, comparison: Comparison, word: Phrases) -> list[str]:
    sign = "±" if comparison.rule == "equivalence" else "> "
    least = f"{sign}{comparison.smallest_effect:g}"
    name = claim.comparison_name(comparison, word.language)
    return [name, word.unit(measure(comparison.measure).unit), f"{comparison.hypothesis:g}", least]


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
