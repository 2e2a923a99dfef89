"""``dragoman compare``: systems side by side, in one page."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from dragoman.cli import search_options as options
from dragoman.cli.console import friendly, print_json, print_table
from dragoman.data.check.figures import brief, duration
from dragoman.data.check.visible import visible
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.api.comparing import Scored
    from dragoman.api.systems import System
    from dragoman.engines.choose import EngineName, PrecisionName
    from dragoman.inspection.comparison import Comparison

__all__ = ["compare"]

_REPORT = Path("comparison.html")
_WIDTH = 80
_SENTENCES, _MAPS = 10, 2

Systems = Annotated[
    list[str],
    typer.Argument(
        metavar="SYSTEM…", help="[NAME=]PATH[,PATH…]: runs, bundles or files of translations; , joins the seeds of one."
    ),
]
Test = Annotated[
    tuple[Path, Path] | None,
    typer.Option("--test", metavar="SOURCE REFERENCE", help="Texts to score on; without, runs tell about themselves."),
]
Output = Annotated[Path, typer.Option("--output", "-o", help="Where the report goes: one HTML file.")]
Baseline = Annotated[
    str | None, typer.Option("--baseline", help="The system to hold the others against.", show_default="the first")
]
Languages = Annotated[
    str | None, typer.Option(metavar="SRC-REF", help="Such as en-de.", show_default="what the bundles say")
]
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
    systems: Systems,
    *,
    test: Test = None,
    output: Output = _REPORT,
    baseline: Baseline = None,
    languages: Languages = None,
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
        tested = (
            None
            if test is None
            else _tested(parsed, test, search, engines, {"baseline": baseline, "languages": languages})
        )
        comparison = compared(
            parsed,
            tested,
            sentences=_SENTENCES if sentences is None else sentences,
            maps=_MAPS if maps is None else maps,
            threads=threads,
            command=_command(),
            tell=_tell,
        )
        output.parent.mkdir(parents=True, exist_ok=True)
        with whole(output) as draft:
            draft.write_text(comparison_page(comparison), encoding="utf-8")
        _print(comparison, tested, output, json=json)


def _check(output: Path, test: tuple[Path, Path] | None, given: dict[str, Any]) -> None:
    """Refuse what would do nothing, before anything is done."""
    if test is None:
        idle = [f"--{name.replace('_', '-')}" for name, value in given.items() if value is not None]
        if idle:
            raise ConfigError(f"{idle[0]} must come with --test, got it without; nothing is translated or scored else")
    for name in ("threads", "batch_tokens"):
        if given[name] is not None and given[name] < 1:
            typed = f"--{name.replace('_', '-')}"
            raise ConfigError(f"{typed} must be at least 1, got {given[name]}; leave it out to have it chosen")
    if output.is_dir():
        raise ConfigError(f"--output must be a file, got the folder {output}; name a file in it")


def _tested(
    systems: Sequence[System],
    test: tuple[Path, Path],
    search: dict[str, Any],
    engines: dict[str, Any],
    chosen: dict[str, Any],
) -> Scored:
    """Translate and score."""
    from dragoman.api.comparing import Scored
    from dragoman.api.evaluating import evaluate
    from dragoman.api.systems import read_lines
    from dragoman.cli.progress import ScreenProgress

    settings = options.search_settings(search)
    sources, references = (read_lines(path) for path in test)
    with ScreenProgress(unit="sentence") as progress:
        evaluation = evaluate(
            systems,
            sources,
            references,
            settings=settings,
            engine=cast("EngineName", engines["engine"] or "auto"),
            precision=cast("PrecisionName", engines["precision"] or "auto"),
            threads=engines["threads"],
            batch_tokens=engines["batch_tokens"],
            baseline=chosen["baseline"],
            progress=progress,
            tell=_tell,
            languages=_languages(chosen["languages"]),
            name=_set_name(test[0]),
            command=_command(),
        )
    return Scored(evaluation, sources, references)


def _languages(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    source, _, target = text.partition("-")
    if not source or not target:
        raise ConfigError(f"--languages must be two languages, as en-de, got {text}; write both, with - between them")
    return source, target


def _set_name(source: Path) -> str:
    """What the test set is called: its source without its endings."""
    return source.name.removesuffix(".gz").rsplit(".", 1)[0] or source.name


def _tell(text: str) -> None:
    typer.echo(text, err=True)


def _command() -> str:
    return shlex.join(["dragoman", *sys.argv[1:]])


def _print(comparison: Comparison, tested: Scored | None, output: Path, *, json: bool) -> None:
    """The figures, and where the report is."""
    if json:
        print_json(_values(comparison, tested, output))
        return
    if tested is None:
        _print_runs(comparison)
    else:
        from dragoman.cli.evaluation_screen import print_evaluation

        print_evaluation(tested.evaluation)
    from dragoman.inspection.comparison_findings import verdict

    typer.echo("\n" + fill(visible(verdict(comparison).text, 1000), _WIDTH))
    typer.echo(f"report  {output}")


def _values(comparison: Comparison, tested: Scored | None, output: Path) -> dict[str, Any]:
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
        "evaluation": None if tested is None else tested.evaluation.to_json(),
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
