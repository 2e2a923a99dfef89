"""All claims on one page of HTML: a tile per claim with its verdict and deciding effect, and a dialog with the rest."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from claims.ledger.claim import Claim, Comparison, Ledger
from claims.ledger.measures import measure
from claims.ledger.verdict import ClaimResult, ClaimVerdict, ComparisonResult, decisive_verdicts
from claims.measurement.probes import TRAINING_PROBES
from claims.pool.missing_runs import RemainingRuns
from claims.report.phrases import Phrases
from claims.report.summary import deciding_comparison, has_unit, limit_text
from dragoman.reporting.html import inlined, json_for_script, read_asset

FOLDER = Path(__file__).parent / "templates"
COLUMNS = ("cells", "sequence", "attention", "transformer")
_WIDTH, _EDGE = 100.0, 8.0  # of a bar, and its empty ends
_STYLES = ("palette.css", "page.css")
_GLYPHS = {ClaimVerdict.HOLDS: "✓", ClaimVerdict.FAILS: "✗", ClaimVerdict.OPEN: "?", ClaimVerdict.NOT_TESTED: "–"}
_NAMES = {
    ClaimVerdict.HOLDS: "holds",
    ClaimVerdict.FAILS: "fails",
    ClaimVerdict.OPEN: "open",
    ClaimVerdict.NOT_TESTED: "untested",
}


def screen_html(
    ledger: Ledger, results: Mapping[str, ClaimResult], remaining: Mapping[str, RemainingRuns], word: Phrases
) -> str:
    """Return the page."""
    tiles = [_tile(claim, results.get(claim.id), remaining.get(claim.id), word) for claim in ledger.claims]
    counts = {name: sum(each["verdict"] == name for each in tiles) for name in _NAMES.values()}
    styles = [*map(read_asset, _STYLES), (FOLDER / "screen.css").read_text(encoding="utf-8")]
    parts = inlined(styles, (FOLDER / "screen.js").read_text(encoding="utf-8"))
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"word": word, "glyphs": {_NAMES[verdict]: glyph for verdict, glyph in _GLYPHS.items()}}
    page = environment.get_template("screen.html").render(
        language="zh-CN" if word.language == "zh" else "en",
        report="report.zh.md" if word.language == "zh" else "report.md",
        columns=[(name, [each for each in tiles if each["column"] == name]) for name in COLUMNS],
        counts=counts,
        introduction=[text for text in ledger.introduction.get(word.language, "").strip().split("\n\n") if text],
        data=json_for_script({key: word(f"screen-{key}") for key in ("score", "none-voted")}),
        **parts,
    )
    return page + "\n"


def written_guess(claim: Claim) -> ClaimVerdict | None:
    """Return the verdict that the expected effects would give; None if one of them is on its limit."""
    lone, together = decisive_verdicts(claim)
    guesses = []
    for each in claim.comparisons:
        if not each.is_precondition:
            distance = each.hypothesis - each.smallest_effect
            if each.rule == "equivalence":
                distance = each.smallest_effect - abs(each.hypothesis)
            if not distance:
                return None
            guesses.append(ClaimVerdict.HOLDS if distance > 0 else ClaimVerdict.FAILS)
    return lone if lone in guesses else together


def _tile(claim: Claim, result: ClaimResult | None, remaining: RemainingRuns | None, word: Phrases) -> dict[str, Any]:
    texts = claim.texts(word.language)
    verdict = _verdict(claim, result)
    guess = written_guess(claim)
    is_decided = verdict in (ClaimVerdict.HOLDS, ClaimVerdict.FAILS)
    deciding = deciding_comparison(result) if result else None
    return {
        "id": claim.id,
        "column": claim.column,
        "title": texts.title,
        "verdict": _NAMES[verdict],
        "verdict_text": word(verdict if result or claim.unfit else "untested"),
        "guess": _NAMES[guess] if guess else "",
        "guess_text": word(guess) if guess else "–",
        "is_surprise": is_decided and guess is not None and guess != verdict,
        "is_decided": is_decided,
        "bar": _bar(deciding) if deciding else None,
        "effort": _effort(claim),
        "statement": claim.statement[word.language],
        "decision": texts.decision,
        "limits": texts.limits,
        "finding": claim.findings.get(word.language, "") if result else "",
        "choose": claim.choose.get(word.language, "") if is_decided else "",
        "unfit": claim.unfit.get(word.language, ""),
        "paper": f"{texts.figure} [{claim.origin.paper}]" if texts.figure else "",
        "effects": _effects(claim, result, word),
        "earlier": [
            {
                "date": each.date,
                "verdict": word(ClaimVerdict(each.verdict)),
                "effect": each.effect[word.language],
                "why": each.why[word.language],
            }
            for each in claim.earlier
        ],
        "next": "" if is_decided else _next(claim, remaining, word),
        "next_time": word.cpu_time(60 * claim.next.cpu_hours if claim.next else remaining.minutes if remaining else 0),
        "command": f"python -m claims run {claim.id} --fresh --data DIR",
        "cost": word(
            "screen-cost",
            seeds=result.seeds if result else claim.seeds,
            time=word.cpu_time(_minutes(result, remaining)),
        ),
    }


def _verdict(claim: Claim, result: ClaimResult | None) -> ClaimVerdict:
    if result is not None:
        return result.verdict
    return ClaimVerdict.NOT_TESTED if claim.unfit else ClaimVerdict.OPEN


def _next(claim: Claim, remaining: RemainingRuns | None, word: Phrases) -> str:
    """Return what would decide a claim: the experiment that it names, or else its missing records."""
    if claim.next:
        return claim.next.experiment[word.language]
    missing = remaining.missing + remaining.incomplete if remaining else 0
    return word("screen-missing", missing=missing, all=remaining.total) if remaining and missing else ""


def _minutes(result: ClaimResult | None, remaining: RemainingRuns | None) -> float:
    return (result.cpu_seconds / 60 if result else 0.0) + (remaining.minutes if remaining else 0.0)


def _effort(claim: Claim) -> int:
    """Return how hard the test was: 1 measures parts, 2 trains on a small task, 3 trains on translations."""
    if any(variant.base for variant in claim.variants.values()):
        return 3
    return 2 if any(variant.probe in TRAINING_PROBES for variant in claim.variants.values()) else 1


def _effects(claim: Claim, result: ClaimResult | None, word: Phrases) -> list[dict[str, Any]]:
    found = {each.effect.comparison.name: each for each in result.comparisons} if result else {}
    rows = []
    for comparison in claim.comparisons:
        each = found.get(comparison.name)
        unit = f" {word.unit(measure(comparison.measure).unit)}" if has_unit(comparison) else ""
        row: dict[str, Any] = {
            "name": claim.comparison_name(comparison, word.language),
            "limit": f"{limit_text(comparison)}{unit}",
        }
        if each is None:
            rows.append(row | {"bar": None, "verdict": "open", "value": word("untested"), "expected": ""})
            continue
        low, high = each.interval
        interval = "" if math.isinf(low) else word("bracketed", text=f"{_short(low)} … {_short(high)}")
        row |= {"bar": _bar(each), "verdict": _NAMES[each.verdict], "expected": f"{comparison.hypothesis:g}"}
        rows.append(row | {"value": f"{_short(each.effect.value)}{unit}{interval}"})
    return rows


def _short(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")


def _bar(result: ComparisonResult) -> dict[str, Any] | None:
    """Return the places of an interval, its effect, its limits and zero on a line; None without an interval."""
    comparison, (low, high) = result.effect.comparison, result.interval
    if not all(map(math.isfinite, (low, high, result.effect.value))):
        return None
    limits = _limits(comparison)
    shown = [low, high, 0.0, *limits]
    first, span = min(shown), (max(shown) - min(shown)) or 1.0

    def place(value: float) -> float:
        return round(_EDGE + (_WIDTH - 2 * _EDGE) * (value - first) / span, 1)

    begin, end = (place(limits[0]), _WIDTH) if len(limits) == 1 else (place(limits[0]), place(limits[1]))
    return {
        "low": place(low),
        "width": max(round(place(high) - place(low), 1), 1.0),
        "value": place(result.effect.value),
        "zero": place(0.0),
        "limits": [place(each) for each in limits],
        "holds": [begin, round(end - begin, 1)],
    }


def _limits(comparison: Comparison) -> list[float]:
    least = comparison.smallest_effect
    return [-least, least] if comparison.rule == "equivalence" else [least]
