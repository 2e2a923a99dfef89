"""What `screenshots` takes of the report of ``dragoman compare``."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from dragoman.api.evaluation.comparison import ScoredTestSet, compare_systems
from dragoman.api.evaluation.evaluator import evaluate_systems
from dragoman.api.evaluation.system_arguments import System, parse_systems
from dragoman.api.files.input_lines import read_lines
from dragoman.inspection.comparison.page import render_comparison_page

SAMPLES = (
    (
        (
            "A group of young men in bright orange vests are standing on the side of a busy street while a woman with "
            "a red umbrella walks her small dog past them."
        ),
        (
            "Eine Gruppe junger Männer in leuchtend orangefarbenen Westen steht am Rand einer belebten Straße, während "
            "eine Frau mit einem roten Regenschirm ihren kleinen Hund an ihnen vorbeiführt."
        ),
        (
            "Eine Gruppe von jungen Männern in hellen orangen Westen steht auf der Seite einer Straße, während eine "
            "Frau mit rotem Schirm mit ihrem Hund an ihnen vorbeigeht."
        ),
        (
            "Eine Gruppe junger Männer in leuchtend orangefarbenen Westen steht am Rand einer belebten Straße, während "
            "eine Frau mit rotem Regenschirm mit ihrem kleinen Hund an ihnen vorbeigeht."
        ),
    ),
    (
        "The committee will publish its report on the safety of the new bridge next Tuesday.",
        "委员会将于下周二公布关于新桥安全性的报告。",
        "委员会下星期二会发表新桥安全的报告。",
        "委员会将于下周二发布关于新桥安全性的报告。",
    ),
    (
        "The museum is closed on Mondays, but the garden stays open.",
        "المتحف مغلق أيام الاثنين، لكن الحديقة تبقى مفتوحة.",
        "المتحف مغلق يوم الاثنين ولكن الحديقة مفتوحة.",
        "المتحف مغلق أيام الاثنين، لكن الحديقة تظل مفتوحة.",
    ),
    (
        "She bought fresh bread and three oranges at the market.",
        "היא קנתה לחם טרי ושלושה תפוזים בשוק.",
        "היא קנתה לחם חדש ושלוש תפוזים בשוק.",
        "היא קנתה לחם טרי ושלושה תפוזים בשוק.",
    ),
)
"""Sources, references, and translations of two systems, all made by hand."""


def shots_by_hand() -> Iterable[dict[str, Any]]:
    """Sentences in several scripts, from files of translations."""
    sources, references, first, second = zip(*SAMPLES, strict=True)
    with tempfile.TemporaryDirectory() as scratch:
        systems = []
        for name, lines in (("earlier", first), ("later", second)):
            path = Path(scratch) / f"{name}.txt"
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            systems.append(System(name, (path,)))
        page = _page(systems, sources, references, "made by hand")
    seen = _scrolled("sentences")
    yield {"name": "comparison-sentences", "html": page, "steps": seen, "height": 1010}
    yield {
        "name": "comparison-sentences-phone-dark",
        "html": page,
        "steps": seen,
        "width": 390,
        "height": 1180,
        "dark": True,
    }


def shots_of_runs(texts: Sequence[str], source: Path, reference: Path) -> Iterable[dict[str, Any]]:
    """The report of trained runs."""
    page = _page(parse_systems(texts), read_lines(source), read_lines(reference), source.name.partition(".")[0])
    yield {"name": "comparison", "html": page, "height": 1000}
    yield {"name": "comparison-dark", "html": page, "height": 1000, "dark": True}
    yield {"name": "comparison-curves", "html": page, "steps": _scrolled("curves"), "height": 935}
    yield {"name": "comparison-curves-dark", "html": page, "steps": _scrolled("curves"), "height": 935, "dark": True}
    yield {"name": "comparison-maps", "html": page, "steps": _scrolled("maps"), "height": 900}
    yield {
        "name": "comparison-differences-dark",
        "html": page,
        "steps": _scrolled("sentences"),
        "height": 900,
        "dark": True,
    }
    yield {"name": "comparison-phone", "html": page, "width": 390, "height": 1180}


def _page(systems: Sequence[System], sources: Sequence[str], references: Sequence[str], name: str) -> str:
    evaluation = evaluate_systems(systems, sources, references, name=name)
    return render_comparison_page(
        compare_systems(systems, ScoredTestSet(evaluation, sources, references), command="dragoman compare …")
    )


def _scrolled(section: str) -> str:
    """Steps: a section is moved to the top; twice, for what is not in sight has no height of its own at first."""
    move = f"await page.evaluate(() => document.getElementById('{section}').scrollIntoView());"
    return f"{move} await page.waitForTimeout(300); {move} await page.waitForTimeout(300);"
