"""``dragoman evaluate``: how good translators are, and whether one is better than another."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from dragoman.cli import search_options as options
from dragoman.cli.console import friendly, print_json
from dragoman.errors import ConfigError, DataError

if TYPE_CHECKING:
    from dragoman.api.evaluation_plan import EvaluateOptions
    from dragoman.evaluation.report import Evaluation

__all__ = ["evaluate"]

_FIGURES, _OUTPUT, _COMET = "Figures", "Output", "COMET"
_TESTS = ("bootstrap", "randomization")
_SETTINGS = ("baseline", "engine", "metrics", "precision", "resamples", "threads")

Systems = Annotated[
    list[str],
    typer.Argument(
        metavar="SYSTEM…",
        help="[NAME=]PATH[,PATH…]: a run folder, a bundle, or a file of translations; several paths are one system "
        "trained with several seeds.",
    ),
]
Test = Annotated[
    tuple[Path, Path], typer.Option("--test", metavar="SRC REF", help="The test set: two texts, a sentence a line.")
]
Baseline = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="What the others are held against.", show_default="the first"),
]
Languages = Annotated[
    str | None, typer.Option(metavar="SRC-REF", help="Such as en-de.", show_default="what the bundles say")
]
Metrics = Annotated[str, typer.Option(metavar="NAME,…", help="Of bleu, chrf, ter.", rich_help_panel=_FIGURES)]
Resamples = Annotated[
    int, typer.Option(metavar="N", help="For bootstrap intervals; 0 for none.", rich_help_panel=_FIGURES)
]
TestKind = Annotated[
    str,
    typer.Option("--test-kind", metavar="|".join(_TESTS), help="The paired test.", rich_help_panel=_FIGURES),
]
ByLength = Annotated[
    bool, typer.Option("--by-length/--no-by-length", help="By words of the source.", rich_help_panel=_FIGURES)
]
Flags = Annotated[bool, typer.Option("--flags/--no-flags", help="Count quality flags.", rich_help_panel=_FIGURES)]
Probes = Annotated[
    bool,
    typer.Option(
        "--probes",
        help="Typos, case, missing stops, single words, long input: what they cost.",
        rich_help_panel=_FIGURES,
    ),
]
CometModel = Annotated[
    str | None, typer.Option("--comet", metavar="MODEL", help="Score with COMET too.", rich_help_panel=_COMET)
]
CometPython = Annotated[
    str | None,
    typer.Option(
        "--comet-python",
        metavar="PATH",
        help="A Python that has unbabel-comet.",
        show_default="$DRAGOMAN_COMET_PYTHON",
        rich_help_panel=_COMET,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print all there is as JSON.", rich_help_panel=_OUTPUT)]
Markdown = Annotated[
    bool, typer.Option("--markdown", help="Print tables that are ready to be pasted.", rich_help_panel=_OUTPUT)
]
Save = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Write translations, evaluation.json and table.md there.", rich_help_panel=_OUTPUT
    ),
]


def evaluate(  # noqa: PLR0913 -- an option each
    systems: Systems,
    *,
    test: Test,
    baseline: Baseline = None,
    languages: Languages = None,
    metrics: Metrics = "bleu,chrf,ter",
    resamples: Resamples = 1000,
    test_kind: TestKind = "bootstrap",
    by_length: ByLength = True,
    flags: Flags = True,
    probes: Probes = False,
    comet: CometModel = None,
    comet_python: CometPython = None,
    json: Json = False,
    markdown: Markdown = False,
    save: Save = None,
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
    """Score systems against references: BLEU, chrF++ and TER as sacreBLEU computes them, with intervals.

    Of several systems each is tested against the baseline. Translators translate the sources; files of translations are
    scored as they are.
    """
    search = {"beam": beam, "length_penalty": length_penalty, "alpha": alpha, "patience": patience}
    search |= {"coverage_penalty": coverage_penalty, "min_length": min_length, "max_length": max_length}
    search |= {"no_repeat_ngram": no_repeat_ngram}
    figures = {"metrics": _names(metrics), "resamples": resamples, "test": test_kind, "by_length": by_length}
    figures |= {"flags": flags, "probes": probes, "baseline": baseline}
    runs = {"engine": engine or "auto", "precision": precision or "auto", "threads": threads}
    with friendly("there is nothing to go on from"):
        _check(json=json, markdown=markdown, save=save, threads=threads, batch_tokens=batch_tokens, test_kind=test_kind)
        given: dict[str, Any] = figures | runs | {"batch_tokens": batch_tokens, "languages": _pair(languages)}
        given["settings"] = options.search_settings(search)
        found = _evaluated(systems, test, cast("EvaluateOptions", given), (comet, comet_python))
        if save is not None:
            _save(found, save)
        _print(found, json=json, markdown=markdown)


def _evaluated(
    texts: list[str], test: tuple[Path, Path], given: EvaluateOptions, comet: tuple[str | None, str | None]
) -> Evaluation:
    from dragoman.environment import require

    require("sacrebleu", "train", "dragoman evaluate")
    from dragoman.api.evaluating import evaluate as evaluate_systems
    from dragoman.api.systems import parse_systems, read_lines
    from dragoman.cli.progress import ScreenProgress
    from dragoman.evaluation.comet import Comet

    systems = parse_systems(texts)
    sources, references = (read_lines(path) for path in test)
    _check_lines(test, len(sources), len(references))
    given = given | {"name": _set_name(test[0]), "command": shlex.join(["dragoman", *sys.argv[1:]])}
    if comet[0] is not None:
        given["comet"] = Comet(comet[0], comet[1] or "")
    elif comet[1] is not None:
        raise ConfigError("--comet-python must come with --comet, got it without; name a model of COMET")
    with ScreenProgress(unit="sentence") as progress, _named_as_typed():
        given["progress"], given["tell"] = progress, lambda line: typer.echo(line, err=True)
        return evaluate_systems(systems, sources, references, **given)


@contextmanager
def _named_as_typed() -> Iterator[None]:
    """Settings that a message begins with are named as they were typed."""
    try:
        yield
    except ConfigError as error:
        name, _, rest = str(error).removeprefix("the ").partition(" must ")
        if name not in _SETTINGS:
            raise
        raise ConfigError(f"--{name} must {rest}") from None


def _check(
    *, json: bool, markdown: bool, save: Path | None, threads: int | None, batch_tokens: int | None, test_kind: str
) -> None:
    """What can be said before anything is read."""
    if json and markdown:
        raise ConfigError("--json must come without --markdown, got both; leave one of them out")
    if save is not None and save.exists() and (not save.is_dir() or any(save.iterdir())):
        raise ConfigError(f"--save must be a new or an empty folder, got {save}; name another")
    for name, value in (("--threads", threads), ("--batch-tokens", batch_tokens)):
        if value is not None and value < 1:
            raise ConfigError(f"{name} must be at least 1, got {value}; leave it out to have it chosen")
    if test_kind not in _TESTS:
        raise ConfigError(f"--test-kind must be one of {', '.join(_TESTS)}, got {test_kind}; bootstrap is usual")


def _check_lines(test: tuple[Path, Path], sources: int, references: int) -> None:
    if sources != references:
        raise DataError(
            f"{test[0]} and {test[1]} must have the same number of lines, got {sources:,} and {references:,}; see "
            "which of them lacks some"
        )
    if not sources:
        raise DataError(f"{test[0]} and {test[1]} must hold at least one line, got none; name the test set")


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip().lower() for name in text.split(",") if name.strip()))


def _pair(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    source, _, target = text.partition("-")
    if not source or not target:
        raise ConfigError(f"--languages must be two languages, as en-de, got {text}; join them by -")
    return source, target


def _set_name(source: Path) -> str:
    """What the test set is called: its source without its endings."""
    return source.name.removesuffix(".gz").rsplit(".", 1)[0] or source.name


def _print(found: Evaluation, *, json: bool, markdown: bool) -> None:
    if json:
        print_json(found.to_json())
    elif markdown:
        from dragoman.evaluation.markdown import markdown as as_markdown

        typer.echo(as_markdown(found), nl=False)
    else:
        from dragoman.cli.evaluation_screen import print_evaluation

        print_evaluation(found)


def _free(name: str, taken: set[str]) -> str:
    """The name, or with the first number that no other has; some file systems do not tell A from a."""
    found, number = name, 1
    while found.casefold() in taken:
        number += 1
        found = f"{name}-{number}"
    taken.add(found.casefold())
    return found


def _save(found: Evaluation, folder: Path) -> None:
    from dragoman.evaluation.markdown import markdown as as_markdown
    from dragoman.files import whole, write_json

    folder.mkdir(parents=True, exist_ok=True)
    taken: set[str] = set()
    for system in found.systems:
        for member in system.members:
            name = _free(re.sub(r"[^\w.+-]+", "-", member.name).strip("-.") or "system", taken)
            with whole(folder / f"{name}.txt") as draft:
                draft.write_text("".join(f"{line}\n" for line in member.hypotheses), encoding="utf-8", newline="\n")
    write_json(folder / "evaluation.json", found.to_json())
    with whole(folder / "table.md") as draft:
        draft.write_text(as_markdown(found), encoding="utf-8")
    typer.echo(f"saved   {folder}", err=True)
