"""Report of the ledger as Markdown, in English or Chinese, computed from records only."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from claims.ledger.claim import Claim, Comparison, Ledger, ReportLanguage, Term
from claims.ledger.effect import compute_effect
from claims.ledger.measures import has_counts, measure
from claims.ledger.peers import Peers
from claims.ledger.record import MAIN_SEARCH, ModelRecord, RecordStore
from claims.ledger.required_size import MAX_SEEDS, seeds_needed, sentence_count, sentence_factor
from claims.ledger.verdict import ClaimResult, ClaimVerdict, ComparisonResult, decide, decide_comparison
from claims.pool.missing_runs import RemainingRuns, remaining_runs
from claims.pool.pool_model import pool_models, variant_models
from claims.report.charts import Chart, claim_charts, condition_samples, is_geometric, sample_mean
from claims.report.figures import claim_figure
from claims.report.names import condition_name, probe_names
from claims.report.phrases import Phrases
from claims.report.screen import screen_html
from claims.report.summary import limit_text, size_note, verdict_table
from dragoman.evaluation.markdown import markdown_table
from dragoman.files import atomic_write

_MOST = 1000  # an estimate of more than this many times as many sentences is not given


@dataclass(frozen=True)
class LedgerReport:
    """Verdicts of claims whose variants have at least one model each, and the records behind them."""

    ledger: Ledger
    results: Mapping[str, ClaimResult]
    records: Mapping[str, ModelRecord]
    remaining: Mapping[str, RemainingRuns] = field(default_factory=dict)
    """Runs that a claim still requires, by claim; claims that require none are left out."""
    all_remaining: RemainingRuns | None = None
    """Runs that the claims together still require; several claims share runs."""

    @classmethod
    def compute(cls, ledger: Ledger, store: RecordStore, claims: Sequence[Claim] | None = None) -> LedgerReport:
        """Read the records and decide on the claims (default: all) that have enough of them."""
        claims = ledger.claims if claims is None else claims
        known = {model.key: store.read(model) for model in pool_models(ledger, ledger.claims) if store.has(model)}
        records = {model.key: known[model.key] for model in pool_models(ledger, claims) if model.key in known}
        peers = Peers.of(known.values())
        results, remaining = {}, {}
        for claim in claims:
            left = remaining_runs(ledger, [claim], store)
            if left.missing or left.incomplete:
                remaining[claim.id] = left
            result = decide(claim, claim_records(ledger, claim, records), peers)
            if result.comparisons:
                results[claim.id] = result
        return cls(ledger, results, records, remaining, remaining_runs(ledger, claims, store))

    def claim_records(self, claim: Claim) -> dict[str, list[ModelRecord]]:
        """Return the records of each variant of a claim, by seed."""
        return claim_records(self.ledger, claim, self.records) if self.records else {}


def claim_records(ledger: Ledger, claim: Claim, records: Mapping[str, ModelRecord]) -> dict[str, list[ModelRecord]]:
    """Return the records of each variant, by seed."""
    return {
        name: [records[model.key] for model in variant_models(ledger, claim, variant) if model.key in records]
        for name, variant in claim.variants.items()
    }


def remaining_text(remaining: RemainingRuns, word: Phrases) -> str:
    """Describe what claims lack, and what it costs."""
    if not (remaining.missing or remaining.incomplete):
        return word("complete", all=remaining.total)
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
    charts = {
        claim_id: claim_charts(result.claim, report.claim_records(result.claim), word)
        for claim_id, result in report.results.items()
    }
    figures |= {chart.name: chart.svg for some in charts.values() for chart in some}
    for name, figure in figures.items():
        if figure:
            _write(folder / f"{name}.svg", figure + "\n")
    _write(page, report_markdown(report, language, figures=folder.name, charts=charts))


def write_screen(report: LedgerReport, page: Path, language: ReportLanguage = "en") -> None:
    """Write the page with a tile per claim."""
    _write(page, screen_html(report.ledger, report.results, report.remaining, Phrases(language)))


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as draft:
        draft.write_text(text, encoding="utf-8", newline="\n")


def report_markdown(
    report: LedgerReport,
    language: ReportLanguage = "en",
    *,
    figures: str = "",
    charts: Mapping[str, Sequence[Chart]] | None = None,
) -> str:
    """Return the page: a table of verdicts, then each claim with its comparisons, then the models.

    `figures` is the folder of the figures, relative to the page; a page without it has none. `charts` are those of
    each claim, in addition to the figure of its effects.
    """
    word = Phrases(language)
    day = datetime.now(UTC).date().isoformat()
    own = report.ledger.introduction.get(language, "").strip()
    head = [
        f"# {word('title')}",
        f"{day}{word('sentence-end')}{word('intro')}",
        own,
        word("space").join(part for part in (word("table-note"), size_note(report.records.values(), word)) if part),
        verdict_table(report.ledger.claims, report.results, report.remaining, word),
    ]
    parts = ["\n\n".join(part for part in head if part)]
    if report.all_remaining is not None:
        parts.append(f"{word('all-claims')}{word('colon')}{remaining_text(report.all_remaining, word)}{word('stop')}\n")
    images = {
        claim_id: [f"![{claim_id}{word('colon')}{chart.title}]({figures}/{chart.name}.svg)\n" for chart in some]
        for claim_id, some in (charts or {}).items()
    }
    parts += [_claim_section(claim, report, word, figures, images.get(claim.id, [])) for claim in report.ledger.claims]
    parts.append(_models_section(report, word))
    if appendix := report.ledger.appendix.get(language, "").strip():
        parts.append(f"\n## {word('appendix')}\n\n{appendix}\n")
    return "\n".join(parts)


def _claim_section(claim: Claim, report: LedgerReport, word: Phrases, figures: str, images: Sequence[str] = ()) -> str:
    texts = claim.texts(word.language)
    languages: tuple[ReportLanguage, ...] = ("en", "zh") if word.language == "en" else ("zh",)
    lines = [
        f"\n## {claim.id}. {texts.title}\n",
        "\n>\n".join(f"> {claim.statement[each]}" for each in languages) + "\n",
    ]
    colon, stop = word("colon"), word("stop")
    if texts.figure:
        lines.append(f"{word('paper')} ([{claim.origin.paper}]){colon}{texts.figure}{stop}\n")
    rule = word("space").join(filter(None, (word("rule-any") if claim.holds_if == "any" else "", texts.decision)))
    if rule:
        lines.append(f"{word('rule')}{colon}{rule}\n")
    if texts.limits:
        lines.append(f"{word('limits')}{colon}{texts.limits}\n")
    if claim.id in report.remaining:
        lines.append(f"{word('remains')}{colon}{remaining_text(report.remaining[claim.id], word)}{stop}\n")
    result = report.results.get(claim.id)
    header = [word(name) for name in ("comparison", "measure", "expected", "least", "effect", "interval", "verdict")]
    if result is None:
        rows = [[*_expected(claim, each, word), "–", "–", word("untested")] for each in claim.comparisons]
        return "\n".join([*lines, markdown_table(header, rows), *_earlier(claim, word)])
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
    if choose := claim.choose.get(word.language):
        lines.append(f"**{choose}**\n")
    for name, text in (("unfit", claim.unfit), ("findings", claim.findings)):
        if text.get(word.language):
            lines.append(f"{word(name)}{colon}{text[word.language]}\n")
    lines += images
    lines += _earlier(claim, word)
    records = report.claim_records(claim)
    lines += _samples_tables(claim, records, word)
    if dates := _dates(records, word):
        lines.append(f"{dates}{stop}\n")
    return "\n".join([*lines, *(f"- {line}" for line in _what_would_decide(claim, result, records, word))])


def _earlier(claim: Claim, word: Phrases) -> list[str]:
    """Return a paragraph per verdict of an earlier round."""
    colon, stop = word("colon"), word("sentence-end")
    return [
        f"{word('earlier')}{colon}{each.date}{word('comma')}{word(ClaimVerdict(each.verdict))}{stop}"
        f"{each.effect[word.language]}{stop}{each.why[word.language]}\n"
        for each in claim.earlier
    ]


def _dates(records: Mapping[str, Sequence[ModelRecord]], word: Phrases) -> str:
    """Return the first and the last day on which a record of a claim was measured. Empty if unknown."""
    days = sorted(
        record.facts["dates"]["ended"][:10] for some in records.values() for record in some if "dates" in record.facts
    )
    if not days:
        return ""
    return word("measured-once" if days[0] == days[-1] else "measured", first=days[0], last=days[-1])


def _what_would_decide(
    claim: Claim, result: ClaimResult, records: Mapping[str, Sequence[ModelRecord]], word: Phrases
) -> Iterator[str]:
    """Yield what the open comparisons need; unless all preconditions hold, only what these need."""
    for each in result.unmet or result.comparisons:
        name = claim.comparison_name(each.effect.comparison, word.language)
        if result.unmet and each.effect.value < each.effect.comparison.smallest_effect:
            is_decided = each.verdict == ClaimVerdict.FAILS
            yield word("precondition" if is_decided else "precondition-open", name=name)
        elif each.verdict == ClaimVerdict.OPEN and each.effect.freedom >= 1:
            if decide_comparison(each.effect.comparison, each.interval) != ClaimVerdict.OPEN:
                if each.effect.seeds >= claim.seeds:  # else the missing seeds are listed
                    yield word("waits", name=name)
            elif (needed := seeds_needed(each)) is not None:
                yield word("more", name=name, seeds=needed)
            else:
                yield _estimate(claim, each, sentence_count(each.effect.comparison, records), word)


def _estimate(claim: Claim, result: ComparisonResult, sentences: int | None, word: Phrases) -> str:
    """Return how many sentences, or rounds of a probe, would decide a comparison with unlimited seeds."""
    comparison = result.effect.comparison
    name = claim.comparison_name(comparison, word.language)
    items = word("rounds" if claim.variants[comparison.terms[0].variant].probe else "sentences")
    factor = sentence_factor(result)
    if factor is None:
        return word("estimate", name=name, items=items, most=f"{MAX_SEEDS:,}")
    if factor > _MOST:
        return word("estimate-limit", name=name, items=items, most=f"{_MOST:,}")
    if sentences is None:
        return word("estimate-factor", name=name, items=items, factor=_rounded(factor))
    number = _rounded(factor * sentences)
    return word("estimate-number", name=name, items=items, number=number, now=f"{sentences:,}")


def _rounded(number: float) -> str:
    """Return a number of two significant digits."""
    rounded = float(f"{number:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"


def _samples_tables(claim: Claim, found_records: Mapping[str, Sequence[ModelRecord]], word: Phrases) -> list[str]:
    """Return a table per probe of a claim: the mean over rounds and seeds of each condition.

    The mean of values that are compared by their logarithms is the geometric one.
    """
    found = []
    for name, variant in claim.variants.items():
        records = found_records.get(name, ()) if variant.probe else ()
        if not records:
            continue
        names = probe_names(variant.probe)
        mean = sample_mean(claim, name)
        rows = [
            [condition_name(names, condition, word), f"{mean([mean(values) for values in by_seed]):.4g}"]
            for condition, by_seed in condition_samples(records).items()
        ]
        machines = {word.machine(record.facts["machine"]) for record in records}
        header = [names.unit[word.language], word("geometric-mean" if is_geometric(claim, name) else "mean")]
        found.append(f"{markdown_table(header, rows)}\n{word('semicolon').join(sorted(machines))}\n")
    return found


def _expected(claim: Claim, comparison: Comparison, word: Phrases) -> list[str]:
    name = claim.comparison_name(comparison, word.language)
    return [name, word.unit(measure(comparison.measure).unit), f"{comparison.hypothesis:g}", limit_text(comparison)]


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
    machines = {word.machine(record.facts["machine"]) for record in models}
    notes = "".join(f"- {line}\n" for line in sorted(signatures) + sorted(machines))
    return f"\n## {word('models')}\n\n{markdown_table(header, rows)}\n{notes}" if rows else ""
