"""`python -m claims` in a clone: test statements about translation models."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from claims.ledger.claim import Claim, Ledger, ReportLanguage
from claims.ledger.record import RecordStore
from claims.pool.cost import expected_minutes
from claims.pool.missing_runs import missing_runs, remaining_runs
from claims.pool.pool_model import PoolRun, code_commit, pool_models
from claims.pool.record_texts import add_word_counts, without_word_counts
from claims.pool.training_pool import TrainingPool
from claims.report.ledger_report import (
    LedgerReport,
    figures_folder,
    remaining_text,
    report_markdown,
    write_report,
    write_screen,
)
from claims.report.phrases import Phrases
from dragoman.cli.console import echo, print_json, print_table, report_errors
from dragoman.cli.help_pages import HELP_NAMES
from dragoman.cli.options.arguments import Json, flag
from dragoman.cli.options.outputs import Force, check_folder, check_output, output_option
from dragoman.errors import ConfigError, DataError

app = typer.Typer(
    help="Test claims about translation models: list, run and report.",
    context_settings=HELP_NAMES,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

LedgerFolder = Annotated[Path, typer.Option("--ledger", metavar="DIR", help="Folder of the claims.")]
Names = Annotated[list[str] | None, typer.Argument(metavar="CLAIM…", help="Numbers of claims, such as C6.")]
DataFolder = Annotated[Path, typer.Option("--data", metavar="DIR", help="Folder of the corpora.")]
WorkFolder = Annotated[Path, typer.Option("--work", metavar="DIR", help="Folder of runs and prepared data.")]
Jobs = Annotated[int, typer.Option("--jobs", metavar="INT", min=1, help="Number of trainings at a time.")]
Language = Annotated[str, typer.Option("--language", metavar="en|zh", help="Language of the page.")]
PageFile = Annotated[Path | None, output_option([".md", ".html"])]

_LEDGER, _WORK = Path("claims"), Path("claims-work")


@app.command("list")
def list_(ledger: LedgerFolder = _LEDGER, json: Json = False) -> None:
    """List the claims, the number of records that each of them still lacks, and their CPU time."""
    with report_errors():
        found = Ledger.read(ledger)
        store = _store(ledger)
        remaining = [(claim, remaining_runs(found, [claim], store)) for claim in found.claims]
        if json:
            print_json([{"id": claim.id, "title": claim.title, **asdict(left)} for claim, left in remaining])
            return
        word = Phrases("en")
        print_table([[claim.id, claim.title, remaining_text(left, word)] for claim, left in remaining])
        echo(f"\nall claims: {remaining_text(remaining_runs(found, found.claims, store), word)}")


@app.command()
def run(
    claims: Names = None,
    ledger: LedgerFolder = _LEDGER,
    data: DataFolder = Path("data"),
    work: WorkFolder = _WORK,
    jobs: Jobs = 2,
    every: Annotated[bool, flag("--all", "Run all claims.")] = False,
    fresh: Annotated[bool, flag("--fresh", "Train in WORK/fresh, independent of existing records and models.")] = False,
    dry_run: Annotated[bool, flag("--dry-run", "Only print what would be trained.")] = False,
) -> None:
    """Train the missing models of claims, and print the verdicts.

    Models that have a record are not trained again. A stopped run continues with the same command.
    """
    with report_errors():
        found = Ledger.read(ledger)
        chosen = _chosen(found, claims or [], every=every)
        if fresh:
            work /= "fresh"  # models of the ledger may exist in the folder itself
        store = _store(work if fresh else ledger)
        models = pool_models(found, chosen)
        missing = missing_runs(found, chosen, store)
        _print_plan(found, store, _store(ledger), models, missing, jobs)
        if dry_run:
            return
        if missing:
            _train(found, missing, store, data, work, jobs)
            if lacking := missing_runs(found, chosen, store):
                raise DataError(
                    f"the records of {', '.join(each.label for each in lacking)} lack the statistics of their claims "
                    "after measuring; correct the claims"
                )
        if uncounted := without_word_counts(models, store):
            echo(f"counting the words of {len(uncounted)} models")
            add_word_counts(uncounted, store, data, work)
        _print_verdicts(found, chosen, store)


@app.command()
def report(
    ledger: LedgerFolder = _LEDGER, language: Language = "en", output: PageFile = None, force: Force = False
) -> None:
    """Compute the verdicts of all claims from the records.

    With --output FILE.md the long report and a folder of its figures are written, with FILE.html one page with a tile
    per claim.
    """
    with report_errors():
        if language not in ("en", "zh"):
            raise ConfigError(f"--language must be en or zh, got {language}; choose one of them")
        if output is not None:
            check_output(output, [".md", ".html"], force=force)
            if output.suffix == ".md":
                check_folder(figures_folder(output), force=force)
        chosen: ReportLanguage = "zh" if language == "zh" else "en"
        computed = LedgerReport.compute(Ledger.read(ledger), _store(ledger))
        if output is None:
            echo(report_markdown(computed, chosen), nl=False)
        elif output.suffix == ".html":
            write_screen(computed, output, chosen)
            echo(f"wrote   {output}", err=True)
        else:
            write_report(computed, output, chosen)
            echo(f"wrote   {output}", err=True)


def _store(folder: Path) -> RecordStore:
    return RecordStore(folder.resolve() / "records")


def _chosen(ledger: Ledger, names: list[str], *, every: bool) -> list[Claim]:
    if every == bool(names):
        raise ConfigError("claims must be named, or else --all given; `python -m claims list` lists them")
    return list(ledger.claims) if every else [ledger.claim(name) for name in names]


def _print_plan(
    ledger: Ledger, store: RecordStore, known: RecordStore, models: list[PoolRun], missing: list[PoolRun], jobs: int
) -> None:
    """Print what is trained, and for how long: as long as the `known` records of the same variant took."""
    minutes = {model.key: expected_minutes(ledger, known, model) for model in missing}
    for model in models:
        if model.key in minutes:
            task = "measure" if store.has(model) else "train  "
            echo(f"{task}  {model.label}, about {minutes[model.key]:.0f} CPU minutes")
        else:
            echo(f"trained  {model.label}")
    if not missing:
        echo(f"all {len(models)} records exist")
        return
    total = sum(minutes.values())
    echo(
        f"{len(missing)} of {len(models)} records missing: about {total:.0f} CPU minutes of training, at least "
        f"{total / jobs:.0f} minutes with {jobs} at a time"
    )


def _train(ledger: Ledger, missing: list[PoolRun], store: RecordStore, data: Path, work: Path, jobs: int) -> None:
    incomplete = {model.key for model in missing if store.has(model)}
    pool = TrainingPool(ledger, data, work, store, jobs=jobs, commit=code_commit(), incomplete=incomplete, report=echo)
    if not pool.train(missing):
        echo("stopped; the same command continues", err=True)
        raise typer.Exit(75)


def _print_verdicts(ledger: Ledger, chosen: list[Claim], store: RecordStore) -> None:
    report = LedgerReport.compute(ledger, store, chosen)
    for claim in chosen:
        result = report.results[claim.id]
        echo(f"\n{claim.id}  {claim.title}: {result.verdict} ({result.seeds} seeds)")
        for each in result.comparisons:
            low, high = each.interval
            name = each.effect.comparison.name
            echo(f"  {name}: {each.effect.value:.3g} ({low:.3g} to {high:.3g}), {each.verdict}")


if __name__ == "__main__":
    app(prog_name="python -m claims")
