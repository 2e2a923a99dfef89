"""`dragoman train`: train a model."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.commands.prepare import prepare_first
from dragoman.cli.console import EXIT_STOPPED, echo, print_json, print_next, print_table, report_errors
from dragoman.cli.options.arguments import (
    DEFAULT_CONFIG,
    AllowNetwork,
    ConfigFile,
    Json,
    On,
    Overrides,
    Workers,
    config_file,
    flag,
    number,
    option,
)
from dragoman.cli.options.cluster import check_cluster, training_function
from dragoman.errors import ConfigError
from dragoman.network_access import network_access
from dragoman.run_files import REPORT

if TYPE_CHECKING:
    from dragoman.api.training.training_run import TrainResult
    from dragoman.config import Config
    from dragoman.evaluation.results import SetScore, SignificanceTest

Run = Annotated[
    Path | None,
    option("DIR", "Folder of the run; by default run, in the folder of the configuration.", "--output", "-o"),
]
Resume = Annotated[bool, flag("--resume", "Continue from the newest checkpoint, if any.")]
LoaderWorkers = Annotated[int, number("Number of loader processes; useful with subword regularisation.", least=0)]
Threads = Annotated[int | None, number("Fixed number of CPU threads; by default it adapts to the machine's load.")]
Checkpoints = Annotated[
    str | None, option("URL", "Copy checkpoints to this folder or URL; --resume downloads them if the run has none.")
]
Page = Annotated[bool, flag("--page", "Write a page of the training, report.html in the run, for a browser.")]


def train(  # noqa: PLR0913, PLR0917 -- one parameter per option
    config: ConfigFile = DEFAULT_CONFIG,
    overrides: Overrides = None,
    run: Run = None,
    resume: Resume = False,
    checkpoints: Checkpoints = None,
    loader_workers: LoaderWorkers = 0,
    threads: Threads = None,
    page: Page = False,
    allow_network: AllowNetwork = False,
    json: Json = False,
    on: On = None,
    workers: Workers = None,
) -> None:
    """Train a model and write a bundle.

    Data that were never prepared are prepared first. Ctrl-C and SIGTERM stop after the current update with a
    checkpoint; --resume continues and ends with bit-identical weights. Several processes: torchrun --nproc-per-node 2
    -m dragoman train
    """
    from dragoman.environment import limit_kernel_caches, require

    limit_kernel_caches()
    advice = "run the same command with --resume to continue from the last checkpoint"
    with report_errors(advice), network_access(allow_network):
        check_cluster(on, workers)
        path = config_file(config)  # before the imports, which take a second
        if on is not None and "WORLD_SIZE" in os.environ:
            raise ConfigError(f"--on {on} cannot be combined with torchrun; --workers sets the number of processes")
        for module in ("torch", "polars", "sacrebleu"):
            require(module, "train", "dragoman train")
        from dragoman.api.training.checked_training import open_training

        options: dict[str, int | str | None] = {"loader-workers": loader_workers, "page": page}
        options |= {"allow-network": allow_network, "on": on, "workers": workers, "checkpoints": checkpoints}
        again = _resume_command(config, run, options)
        given = [*(overrides or []), *([f"training.threads={threads}"] if threads else [])]
        prepare = _prepare if on is None else None
        training = open_training(path, None, given, run, resume=resume, prepare=prepare)
        settings, folder = training.config, training.run
        _print_recorded(training.overrides, given)
        from dragoman.cli.screens.training import TrainingScreen

        with ExitStack() as opened:
            live = None
            if page and _is_main():
                from dragoman.api.training.report_page import ReportPage

                live = opened.enter_context(ReportPage(folder))
                echo(f"page    {folder / REPORT}", err=True)
            train_ = opened.enter_context(training_function(settings, on, workers, allow_network=allow_network))
            screen = opened.enter_context(TrainingScreen())
            trained = train_(
                training,
                callbacks=[screen] if live is None else [screen, live],
                loader_workers=loader_workers,
                checkpoint_url=checkpoints,
            )
            if live is not None:
                live.finish(trained)
    if trained.bundle is not None:
        _print(trained, settings, json=json)
        print_next(f"dragoman translate {shlex.quote(str(folder))}")
    elif not trained.ended.is_complete:
        if _is_main():
            echo(again, err=True)
        raise typer.Exit(EXIT_STOPPED[trained.ended.why])


def _prepare(settings: Config, folder: Path) -> None:
    with report_errors("run the same command again to continue"):
        prepare_first(settings, folder)


def _print_recorded(recorded: Sequence[str] | None, given: Sequence[str]) -> None:
    """Print the overrides that a resumed run has from its first start."""
    if kept := [each for each in recorded or () if each not in given]:
        echo(f"settings of the run: {' '.join(f'--set {shlex.quote(each)}' for each in kept)}", err=True)


def _is_main() -> bool:
    return os.environ.get("RANK", "0") == "0"


def _resume_command(config: Path, run: Path | None, options: Mapping[str, int | str | None]) -> str:
    """Return a line with the command that continues a stopped run, which has recorded its settings."""
    if "WORLD_SIZE" in os.environ:
        return "continue with: the same torchrun command and --resume"
    parts = ["dragoman", "train"]
    if config != DEFAULT_CONFIG:
        parts.append(str(config))
    if run is not None:
        parts += ["--output", str(run)]
    for name, value in options.items():
        parts += [f"--{name}"] if value is True else [f"--{name}", str(value)] if value else []
    return f"continue with: {shlex.join([*parts, '--resume'])}"


def _print(trained: TrainResult, settings: Config, *, json: bool) -> None:
    """Print the bundle, its scores and the next command."""
    bundle, ended = trained.bundle, trained.ended
    assert bundle is not None
    if json:
        scores = [asdict(score) for score in trained.scores]
        shown = {"bundle": str(bundle.folder), "digest": bundle.digest, "ended": ended.why, "update": ended.update}
        print_json(shown | {"best_update": ended.best_update, "scores": scores})
        return
    if trained.scores:
        print_table(_score_rows(trained.scores), right=frozenset({1, 3, 4}))
        echo("greedy translations, ± 95 % interval")
        for score in trained.scores[0].scores:
            echo(score.signature)
        if tests := [test for score in trained.scores for test in score.tests]:
            echo(_significance_note(tests))
        if worse := _worse_note(trained.scores):
            echo(f"note    {worse}")
        elif not _translates(trained.scores, settings.data.target if settings.data else ""):
            echo(f"note    the model does not translate yet: {_more_training(settings)}")
        echo("")
    echo(f"bundle  {bundle.folder}    (card.md describes it)")
    if (report := trained.run / REPORT).is_file():
        echo(f"report  {report}")
    else:
        echo(f"curves  dragoman compare {shlex.quote(str(trained.run))}")


def _more_training(settings: Config) -> str:
    if settings.training.has_fixed_end:  # the learning rate has reached 0
        return "train again with a larger training.max_updates and another --output, or on more text"
    return "continue with --resume and a larger training.max_updates"


def _translates(scores: Sequence[SetScore], target: str) -> bool:
    """Return whether a score of the trained model is that of a model that translates."""
    from dragoman.evaluation.results import MIN_USEFUL_BLEU, is_bleu_unsuited

    found = [
        score.value for each in scores if each.model == "trained" for score in each.scores if score.metric == "bleu"
    ]
    return not found or is_bleu_unsuited(target) or max(found) >= MIN_USEFUL_BLEU


def _significance_note(tests: Sequence[SignificanceTest]) -> str:
    """Explain the mark of the scores that differ from those of the base, or state that there is none."""
    from dragoman.evaluation.results import SIGNIFICANCE_LEVEL, SIGNIFICANCE_MARK

    is_marked = any(test.is_significant for test in tests)
    begin = f"{SIGNIFICANCE_MARK} differs" if is_marked else "no score differs"
    return f"{begin} from the base, p < {SIGNIFICANCE_LEVEL}, paired bootstrap"


def _worse_note(scores: Sequence[SetScore]) -> str:
    """Return a note on the sets with a score that is significantly lower than that of the base; empty if none is."""
    from dragoman.evaluation.results import format_metric_value
    from dragoman.reporting.number_format import metric_title

    found = []
    for each in scores:
        for score, test in zip(each.scores, each.tests, strict=False):
            if test.is_significant and test.difference < 0:
                before, after = (
                    format_metric_value(score.metric, value) for value in (score.value - test.difference, score.value)
                )
                found.append(f"{each.name}: {metric_title(score.metric)} {before} → {after}")
    if not found:
        return ""
    return (
        f"the trained model is worse than the base ({', '.join(found)}): keep the base for such text, or train again "
        "with a lower training.learning_rate, fewer training.max_updates or more pairs"
    )


def _score_rows(scores: Sequence[SetScore]) -> list[tuple[str, ...]]:
    """Return one row per set and model, so that fine-tuned and base models of one set are adjacent."""
    from dragoman.evaluation.results import format_score

    rows: list[tuple[str, ...]] = [("set", "sentences", "model", *(score.metric for score in scores[0].scores))]
    for name in dict.fromkeys(each.name for each in scores):
        for each in sorted((each for each in scores if each.name == name), key=lambda each: each.model):
            tests = each.tests or (None,) * len(each.scores)
            cells = (format_score(score, test) for score, test in zip(each.scores, tests, strict=True))
            rows.append((name, f"{each.sentences:,}", each.model, *cells))
    return rows
