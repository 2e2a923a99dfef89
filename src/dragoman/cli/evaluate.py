"""``dragoman evaluate``: how good translators are, and whether one is better than another."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli import search_options as options
from dragoman.cli import tested
from dragoman.cli.console import friendly, print_json
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.evaluation.report import Evaluation

__all__ = ["evaluate"]

_FIGURES, _OUTPUT, _COMET = "Figures", "Output", "COMET"
_TESTS = ("bootstrap", "randomization")

Test = Annotated[
    tuple[Path, Path], typer.Option("--test", metavar="SRC REF", help="The test set: two texts, a sentence a line.")
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
    systems: tested.Systems,
    *,
    test: Test,
    baseline: tested.Baseline = None,
    languages: tested.Languages = None,
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
    runs = {"engine": engine, "precision": precision, "threads": threads, "batch_tokens": batch_tokens}
    with friendly("there is nothing to go on from"):
        _check(json=json, markdown=markdown, save=save, threads=threads, batch_tokens=batch_tokens, test_kind=test_kind)
        given: dict[str, Any] = figures | runs | {"settings": options.search_settings(search)}
        found = _evaluated(systems, test, given, languages, (comet, comet_python))
        if save is not None:
            _save(found, save)
        _print(found, json=json, markdown=markdown)


def _evaluated(
    texts: list[str],
    test: tuple[Path, Path],
    given: dict[str, Any],
    languages: str | None,
    comet: tuple[str | None, str | None],
) -> Evaluation:
    from dragoman.environment import require

    require("sacrebleu", "train", "dragoman evaluate")
    from dragoman.api.systems import parse_systems
    from dragoman.evaluation.comet import Comet

    systems = parse_systems(texts)
    model, python = comet
    if model is None and python is not None:
        raise ConfigError("--comet-python must come with --comet, got it without; name a model of COMET")
    if model is not None:
        given |= {"comet": Comet(model, python or "")}
    found, _, _ = tested.scored(systems, test, given, languages=languages)
    return found


def _check(
    *, json: bool, markdown: bool, save: Path | None, threads: int | None, batch_tokens: int | None, test_kind: str
) -> None:
    """What can be said before anything is read."""
    if json and markdown:
        raise ConfigError("--json must come without --markdown, got both; leave one of them out")
    if save is not None and save.exists() and (not save.is_dir() or any(save.iterdir())):
        raise ConfigError(f"--save must be a new or an empty folder, got {save}; name another")
    options.check_counts(threads=threads, batch_tokens=batch_tokens)
    if test_kind not in _TESTS:
        raise ConfigError(f"--test-kind must be one of {', '.join(_TESTS)}, got {test_kind}; bootstrap is usual")


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip().lower() for name in text.split(",") if name.strip()))


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
