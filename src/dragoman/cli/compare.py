"""``dragoman compare``: systems side by side, in one page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli import search_options as options
from dragoman.cli import tested
from dragoman.cli.console import friendly, print_json, print_table
from dragoman.data.check.figures import brief, duration
from dragoman.data.check.visible import visible
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.api.comparing import Scored
    from dragoman.api.systems import System
    from dragoman.inspection.comparison import Comparison

__all__ = ["compare"]

_REPORT = Path("comparison.html")
_WIDTH = 80
_SENTENCES, _MAPS = 10, 2

Test = Annotated[
    tuple[Path, Path] | None,
    typer.Option("--test", metavar="SOURCE REFERENCE", help="Texts to score on; without, runs tell about themselves."),
]
Output = Annotated[Path, typer.Option("--output", "-o", help="Where the report goes: one HTML file.")]
Sentences = Annotated[
    int | None,
    typer.Option("--sentences", min=0, help="How many sentences that differ most.", show_default=str(_SENTENCES)),
]
Maps = Annotated[
    int | None,
    typer.Option("--maps", min=0, help="Of how many sentences the attention of each model.", show_default=str(_MAPS)),
]
Json = Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")]


def compare(  # noqa: PLR0913 -- an option each
    systems: tested.Systems,
    *,
    test: Test = None,
    output: Output = _REPORT,
    baseline: tested.Baseline = None,
    languages: tested.Languages = None,
    sentences: Sentences = None,
    maps: Maps = None,
    json: Json = False,
    engine: options.Engine = None,
    precision: options.Precision = None,
    threads: options.Threads = None,
    batch_tokens: options.BatchTokens = None,
    beam: options.Beam = None,
    length_penalty: options.LengthPenalty = None,
    alpha: options.Alpha = None,
    coverage_penalty: options.CoveragePenalty = None,
    patience: options.Patience = None,
    min_length: options.MinLength = None,
    max_length: options.MaxLength = None,
    no_repeat_ngram: options.NoRepeatNgram = None,
) -> None:
    """Compare runs, bundles or files of translations in one HTML page that needs nothing else.

    With a test: scores, whether they differ significantly, and sentences that set the systems apart. Always: settings
    that differ, learning curves, sizes and times, and all that is needed to do it again.
    """
    search = {
        "beam": beam,
        "length_penalty": length_penalty,
        "alpha": alpha,
        "coverage_penalty": coverage_penalty,
        "patience": patience,
        "min_length": min_length,
        "max_length": max_length,
        "no_repeat_ngram": no_repeat_ngram,
    }
    engines = {"engine": engine, "precision": precision, "threads": threads, "batch_tokens": batch_tokens}
    with friendly("there is nothing to go on from"):
        shown = {"sentences": sentences, "maps": maps}
        _check(output, test, {"baseline": baseline, "languages": languages, **shown, **search, **engines})
        from dragoman.api.comparing import compare as compared
        from dragoman.api.systems import parse_systems
        from dragoman.files import whole
        from dragoman.inspection.comparison_page import comparison_page

        parsed = parse_systems(systems)
        found = None
        if test is not None:
            given = engines | {"baseline": baseline, "settings": options.search_settings(search)}
            found = _scored(parsed, test, given, languages)
        comparison = compared(
            parsed,
            found,
            sentences=_SENTENCES if sentences is None else sentences,
            maps=_MAPS if maps is None else maps,
            threads=threads,
            command=tested.typed_command(),
            tell=tested.tell,
        )
        output.parent.mkdir(parents=True, exist_ok=True)
        with whole(output) as draft:
            draft.write_text(comparison_page(comparison), encoding="utf-8")
        _print(comparison, found, output, json=json)


def _check(output: Path, test: tuple[Path, Path] | None, given: dict[str, Any]) -> None:
    """Refuse what would do nothing, before anything is done."""
    if test is None:
        idle = [f"--{name.replace('_', '-')}" for name, value in given.items() if value is not None]
        if idle:
            raise ConfigError(f"{idle[0]} must come with --test, got it without; nothing is translated or scored else")
    options.check_counts(threads=given["threads"], batch_tokens=given["batch_tokens"])
    if output.is_dir():
        raise ConfigError(f"--output must be a file, got the folder {output}; name a file in it")


def _scored(systems: Sequence[System], test: tuple[Path, Path], given: dict[str, Any], languages: str | None) -> Scored:
    from dragoman.environment import require

    require("sacrebleu", "train", "dragoman compare --test")
    from dragoman.api.comparing import Scored

    return Scored(*tested.scored(systems, test, given, languages=languages))


def _print(comparison: Comparison, found: Scored | None, output: Path, *, json: bool) -> None:
    """The figures, and where the report is."""
    if json:
        print_json(_values(comparison, found, output))
        return
    if found is None:
        _print_runs(comparison)
    else:
        from dragoman.cli.evaluation_screen import print_evaluation

        print_evaluation(found.evaluation)
    from dragoman.inspection.comparison_findings import verdict

    typer.echo("\n" + fill(visible(verdict(comparison).text, 1000), _WIDTH))
    typer.echo(f"report  {output}")


def _values(comparison: Comparison, found: Scored | None, output: Path) -> dict[str, Any]:
    """What scripts read: the evaluation, and what the report says besides."""
    from dragoman.inspection.comparison_findings import setting_rows, verdict

    differing = {row.name: list(row.values) for row in setting_rows(comparison) if row.differs}
    members = [
        {
            "system": system.name,
            "member": member.name,
            "kind": member.kind,
            "digest": member.digest,
            "seed": member.seed,
            "parameters": member.parameters,
            "training": None if member.training is None else asdict(member.training),
        }
        for system in comparison.systems
        for member in system.members
    ]
    return {
        "report": str(output),
        "verdict": verdict(comparison).text,
        "members": members,
        "settings": differing,
        "sentences": [asdict(sentence) for sentence in comparison.differing],
        "evaluation": None if found is None else found.evaluation.to_json(),
    }


def _print_runs(comparison: Comparison) -> None:
    """What runs tell about themselves."""
    rows = [("run", "parameters", "updates", "time", "best in validation")]
    for system in comparison.systems:
        for member in system.members:
            training = member.training
            rows.append(
                (
                    visible(member.name, 20),
                    "–" if member.parameters is None else brief(member.parameters),
                    "–" if training is None else f"{training.updates:,}",
                    "–" if training is None else duration(training.seconds),
                    "–" if training is None else visible(training.best, 34),
                )
            )
    print_table(rows, right=frozenset({1, 2, 3}))
