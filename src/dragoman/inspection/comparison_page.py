"""The report of a comparison as one HTML file that needs nothing else: no network, no script, no fonts of its own."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.data.check.figures import counted
from dragoman.data.check.markup import plain, shown, table
from dragoman.data.check.scores import SIGNIFICANT
from dragoman.inspection.comparison import Compared, ComparedSystem, Comparison, Measured
from dragoman.inspection.comparison_findings import (
    best_systems,
    in_digits,
    metric_name,
    p_value,
    score_of,
    sets_better,
    verdict,
)
from dragoman.inspection.comparison_page_charts import curve_charts, length_charts
from dragoman.inspection.comparison_page_facts import costs, repeat, settings
from dragoman.inspection.comparison_page_sentences import differing_sentences, side_by_side_maps
from dragoman.inspection.comparison_page_style import STYLE
from dragoman.inspection.frame import html_page
from dragoman.inspection.line_chart import swatch

__all__ = ["comparison_page"]

_FOOTER = (
    "Made by <code>dragoman compare</code>. Characters that cannot be seen are spelt out "
    '<span class="spelt">\\x85</span>, and long texts are cut.'
)


def comparison_page(comparison: Comparison, *, title: str = "") -> str:
    """The whole page, to be written as UTF-8. All texts are plain: whatever they hold is shown, never run."""
    sections = [(name, heading, body) for name, heading, body in _sections(comparison) if body]
    contents = "".join(f'<li><a href="#{name}">{heading}</a></li>' for name, heading, _ in sections)
    drawn = "\n".join(
        f'<section aria-labelledby="{name}"><h2 id="{name}">{heading}</h2>\n{body}\n</section>'
        for name, heading, body in sections
    )
    body = f'{_summary(comparison)}\n<nav aria-label="Contents"><ul class="contents">{contents}</ul></nav>\n{drawn}'
    return html_page(title or _title(comparison), body, style=STYLE, footer=_FOOTER)


def _title(comparison: Comparison) -> str:
    names = [system.name for system in comparison.systems]
    return f"{', '.join(names[:3])}{' …' if len(names) > 3 else ''}: compared"


def _sections(comparison: Comparison) -> Iterator[tuple[str, str, str]]:
    yield "scores", "Scores", _scores(comparison)
    yield "curves", "Learning curves", curve_charts(comparison)
    yield "length", "By length of the source", length_charts(comparison)
    yield "settings", "What differs in the configurations", settings(comparison)
    yield "maps", "The same sentence under each model", side_by_side_maps(comparison)
    yield "sentences", "Where they differ most", differing_sentences(comparison)
    yield "costs", "Size, speed and training", costs(comparison)
    yield "repeat", "To do it again", repeat(comparison)


def _summary(comparison: Comparison) -> str:
    """What was compared, and the verdict."""
    found = verdict(comparison)
    members = sum(len(system.members) for system in comparison.systems)
    what = counted(len(comparison.systems), "system")
    if members > len(comparison.systems):
        what += f" of {counted(members, 'member')}"
    if comparison.test:
        test = comparison.test
        what += f", on <bdi>{shown(test.name)}</bdi>, {counted(test.sentences, 'sentence')}"
    if comparison.baseline and comparison.test:
        what += f"; the baseline is <bdi>{shown(comparison.baseline)}</bdi>"
    detail = f"<p>{shown(found.detail, 2000)}</p>" if found.detail else ""
    notes = "".join(f'<p class="soft">{shown(note, 1000)}</p>' for note in comparison.notes)
    return (
        f'<p class="introduction">{what}.</p>\n<div class="card verdict {found.level}">'
        f"<strong>{shown(found.text, 1000)}</strong>{detail}{notes}</div>"
    )


def _scores(comparison: Comparison) -> str:
    """A row a system, and folded away a row a member."""
    metrics = comparison.metrics
    if not metrics:
        return ""
    best = {metric: best_systems(comparison.systems, metric) for metric in metrics}
    rows = [
        [
            _named(number, system, comparison),
            *(_score(score_of(system, metric), is_best=system.name in best[metric]) for metric in metrics),
        ]
        for number, system in enumerate(comparison.systems)
    ]
    head = ["system", *(_arrowed(metric) for metric in metrics)]
    drawn = table(_caption(comparison), head, rows, classes=["", *["number"] * len(metrics)], name="narrow")
    return f'<div class="card">{drawn}{_members(comparison)}</div>'


def _arrowed(metric: str) -> str:
    arrow, words = ("↓", "lower is better") if sets_better(metric, -1.0) else ("↑", "higher is better")
    return f'{shown(metric_name(metric), 40)} <span title="{words}">{arrow}</span>'


def _caption(comparison: Comparison) -> str:
    several = any(len(system.members) > 1 for system in comparison.systems)
    seeds = " of several seeds the mean, ± half the 95 % interval of that mean (Student's t);" if several else ""
    return (
        f"Scores ± half the 95 % interval over sentences (bootstrap);{seeds} below, the difference from the baseline: "
        f"<span class='better'>▲</span> better, <span class='worse'>▼</span> worse (p &lt; {SIGNIFICANT}), "
        "= not shown to differ. Bold: the best figure."
    )


def _named(number: int, system: ComparedSystem, comparison: Comparison) -> str:
    """The name beside the line that is the system's in charts."""
    name = f"<bdi>{shown(system.name)}</bdi>{_tags(system, comparison)}"
    return f'<span class="named">{swatch(number)}<span>{name}</span></span>'


def _tags(system: ComparedSystem, comparison: Comparison) -> str:
    tags = ["baseline"] if system.name == comparison.baseline else []
    tags += [f"{len(system.members)} seeds"] if len(system.members) > 1 else []
    return "".join(f' <span class="tag">{tag}</span>' for tag in tags)


def _score(score: Measured | None, *, is_best: bool = False) -> str:
    """A figure, its interval, and how it stands to the baseline."""
    if score is None:
        return '<span class="soft">–</span>'
    half = score.estimate.half_width
    figure = in_digits(score.metric, score.estimate.value)
    figure = f'<span class="best">{figure}</span>' if is_best else figure
    interval = "" if half is None else f' <span class="soft">± {in_digits(score.metric, half)}</span>'
    return f"{figure}{interval}{_stand(score)}"


def _stand(score: Measured) -> str:
    versus = score.versus
    if versus is None:
        return ""
    mark, kind = "=", ""
    if versus.is_significant:
        mark, kind = ("▲", "better") if sets_better(score.metric, versus.difference) else ("▼", "worse")
    difference = _signed(score.metric, versus.difference)
    words = f'<span class="{kind}" title="{plain(versus.test, 120)}">{mark} {difference}</span>'
    return f"<small>{words}, <span>{p_value(versus.p_value).replace('<', '&lt;')}</span></small>"


def _signed(metric: str, difference: float) -> str:
    return f"{'−' if difference < 0 else '+'}{in_digits(metric, abs(difference))}"


def _members(comparison: Comparison) -> str:
    """Every member by itself, where some system has several."""
    if all(len(system.members) == 1 for system in comparison.systems):
        return ""
    metrics = comparison.metrics
    rows = [
        [
            f"<bdi>{shown(member.name)}</bdi>",
            "–" if member.seed is None else str(member.seed),
            *(_score(_member_score(member, metric)) for metric in metrics),
        ]
        for system in comparison.systems
        for member in system.members
    ]
    head = ["member", "seed", *(shown(metric_name(metric), 40) for metric in metrics)]
    drawn = table("Each by itself.", head, rows, classes=["", *["number"] * (len(metrics) + 1)])
    return f"<details><summary>Every member by itself</summary>{drawn}</details>"


def _member_score(member: Compared, metric: str) -> Measured | None:
    return next((score for score in member.scores if score.metric == metric), None)
