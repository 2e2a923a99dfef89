"""`dragoman compare`: write a comparison report of several translation systems."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

from dragoman.cli.console import echo, print_json, print_next, print_table, report_errors
from dragoman.cli.options.arguments import Json, number, option
from dragoman.cli.options.derive import settings_options
from dragoman.cli.options.outputs import Force, check_output
from dragoman.cli.score_systems import TRANSLATION_ONLY, Systems, print_message, score_systems, typed_command
from dragoman.config.engine import EngineSettings
from dragoman.config.evaluation import EvaluationSettings
from dragoman.config.search import SearchSettings
from dragoman.config.settings_sources import flag_name
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.api.evaluation.comparison import ScoredTestSet
    from dragoman.inspection.comparison.report_types import ComparisonReport

_REPORT = Path("comparison.html")
_ENDINGS = (".html", ".json")
_WIDTH = 80
_MAX_NAME, _MAX_TEXT = 20, 1000  # characters
_SENTENCES, _MAPS = 10, 2
_EVALUATION_OPTIONS = ("baseline", "languages")

Test = Annotated[
    tuple[Path, Path] | None,
    option("SRC REF", "Test set to score. Without it, only training records are compared.", "--test"),
]
Output = Annotated[
    Path | None, option("FILE", "Report: .html or .json.", "--output", "-o", default=f"{_REPORT}; none with --json")
]
Sentences = Annotated[
    int | None, number("Number of sentences with the largest differences.", least=0, default=str(_SENTENCES))
]
Maps = Annotated[int | None, number("Number of sentences with attention maps.", least=0, default=str(_MAPS))]


@settings_options(
    settings=EvaluationSettings,
    engine=EngineSettings,
    search=SearchSettings,
    exclude=TRANSLATION_ONLY | (EvaluationSettings.model_fields.keys() - set(_EVALUATION_OPTIONS)),
)
def compare(  # noqa: PLR0913 -- one parameter per option
    systems: Systems,
    *,
    test: Test = None,
    output: Output = None,
    force: Force = False,
    sentences: Sentences = None,
    maps: Maps = None,
    json: Json = False,
    settings: EvaluationSettings,
    engine: EngineSettings,
    search: SearchSettings,
) -> None:
    """Compare runs, bundles or files of translations in one HTML page.

    The page has the settings that differ, learning curves, sizes and times, and everything that reproduces the report.
    With a test set it also has scores, significance tests and sentences with different translations.
    """
    with report_errors("start it again"):
        given = [flag_name(name) for each in (settings, search, engine) for name in each.model_fields_set]
        shown = {"--sentences": sentences, "--maps": maps}
        _check(test, [*given, *(name for name, value in shown.items() if value is not None)])
        if output is None and not json:
            output = _REPORT
        if output is not None:
            check_output(output, _ENDINGS, force=force)
        from dragoman.api.evaluation.comparison import compare_systems
        from dragoman.api.evaluation.system_arguments import parse_systems

        parsed = parse_systems(systems, tell=print_message)
        scored = None
        if test is not None:
            from dragoman.environment import require

            require("sacrebleu", "train", "dragoman compare --test")
            from dragoman.api.evaluation.comparison import ScoredTestSet

            scored = ScoredTestSet(*score_systems(parsed, test, settings, search, engine))
        comparison = compare_systems(
            parsed,
            scored,
            sentences=_SENTENCES if sentences is None else sentences,
            maps=_MAPS if maps is None else maps,
            threads=engine.threads,
            command=typed_command(),
            tell=print_message,
        )
        _write(comparison, scored, output)
        _print(comparison, scored, output, json=json)
    if output is not None and output.suffix.lower() == ".html":
        print_next(f"open {output} in a browser")


def _check(test: tuple[Path, Path] | None, given: list[str]) -> None:
    """Reject options without effect."""
    if test is None and given:
        raise ConfigError(
            f"{given[0]} needs --test: without a test set nothing is scored; add it, or leave {given[0]} out"
        )


def _write(comparison: ComparisonReport, scored: ScoredTestSet | None, output: Path | None) -> None:
    from dragoman.files import atomic_write, write_json
    from dragoman.inspection.comparison.page import render_comparison_page

    if output is None:
        return
    if output.suffix.lower() == ".json":
        write_json(output, _values(comparison, scored, output))
        return
    with atomic_write(output) as draft:
        draft.write_text(render_comparison_page(comparison), encoding="utf-8")


def _print(comparison: ComparisonReport, scored: ScoredTestSet | None, output: Path | None, *, json: bool) -> None:
    if json:
        print_json(_values(comparison, scored, output))
        return
    if scored is None:
        _print_runs(comparison)
    else:
        from dragoman.cli.screens.evaluation import print_evaluation

        print_evaluation(scored.evaluation)
    from dragoman.inspection.comparison.verdict import conclude
    from dragoman.reporting.safe_display_text import visible

    found = conclude(comparison)
    echo("")
    for text in filter(None, (found.text, found.detail)):
        echo(fill(visible(text, _MAX_TEXT), _WIDTH))
    echo(f"report  {output}")


def _values(comparison: ComparisonReport, scored: ScoredTestSet | None, output: Path | None) -> dict[str, Any]:
    from dragoman.inspection.comparison.model_tables import compare_settings
    from dragoman.inspection.comparison.verdict import conclude

    differing = {row.name: list(row.values) for row in compare_settings(comparison) if row.differs}
    members = [
        {
            "system": system,
            "member": member.name,
            "kind": member.kind,
            "digest": member.digest,
            "seed": member.seed,
            "parameters": member.parameters,
            "training": None if member.training is None else asdict(member.training),
        }
        for system, found in comparison.models.items()
        for member in found
    ]
    return {
        "report": None if output is None else str(output),
        "verdict": conclude(comparison).text,
        "members": members,
        "settings": differing,
        "sentences": [asdict(sentence) for sentence in comparison.sentences],
        "evaluation": None if scored is None else scored.evaluation.to_json(),
    }


def _print_runs(comparison: ComparisonReport) -> None:
    from dragoman.inspection.comparison.model_tables import format_best
    from dragoman.reporting.number_format import format_compact, format_duration
    from dragoman.reporting.safe_display_text import visible

    name_length = _MAX_NAME if sys.stdout.isatty() else _MAX_TEXT  # the last column is wrapped on a terminal
    rows = [("run", "parameters", "updates", "time", "best in validation")]
    for member in comparison.members:
        training = member.training
        rows.append(
            (
                visible(member.name, name_length),
                "–" if member.parameters is None else format_compact(member.parameters),
                "–" if training is None else f"{training.updates:,}",
                "–" if training is None else format_duration(training.seconds),
                "–" if training is None else visible(format_best(training), _MAX_TEXT),
            )
        )
    print_table(rows, right=frozenset({1, 2, 3}))
