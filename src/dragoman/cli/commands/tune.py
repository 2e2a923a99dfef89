"""`dragoman tune`: search hyper-parameters."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.console import EXIT_STOPPED, echo, print_json, print_next, print_table, report_errors
from dragoman.cli.options.arguments import (
    DEFAULT_CONFIG,
    ConfigFile,
    Json,
    On,
    Overrides,
    Workers,
    config_file,
    number,
    option,
)
from dragoman.cli.options.cluster import check_cluster, cluster_session

if TYPE_CHECKING:
    from dragoman.api.tuning.tuning import RunTrials, TuningResult

_SPACE = Path("tune.toml")
_FOLDER = Path("tune")

Space = Annotated[
    Path | None,
    option("TOML", "File of the search space.", "--space", default=f"{_SPACE}, in the folder of the configuration"),
]
Output = Annotated[
    Path | None,
    option("DIR", "Folder of the trials.", "--output", "-o", default=f"{_FOLDER}, in the folder of the configuration"),
]
Threads = Annotated[int | None, number("CPU threads per trial.", default="those of the configuration; on a cluster 1")]


def tune(
    config: ConfigFile = DEFAULT_CONFIG,
    overrides: Overrides = None,
    space: Space = None,
    output: Output = None,
    threads: Threads = None,
    json: Json = False,
    on: On = None,
    workers: Workers = None,
) -> None:
    """Search hyper-parameters by successive halving; every trial is a run.

    All trials are trained for a few updates, and the best of them for longer. tuned.toml has the best settings, for
    dragoman train. The same command continues an interrupted search.
    """
    from dragoman.environment import limit_kernel_caches, require

    limit_kernel_caches()
    with report_errors():
        check_cluster(on, workers)
        for module in ("torch", "polars", "sacrebleu"):
            require(module, "train", "dragoman tune")
        from dragoman.api.tuning.search_space import load_tuning

        path = config_file(config)
        folder = path.parent if on is None else path.parent.absolute()  # workers have another working folder
        path = folder / path.name
        settings = load_tuning(space or folder / _SPACE)
        count = threads or (1 if on else None)
        given, machine = overrides or [], [f"training.threads={count}"] if count else []
        _check_prepared(path, given)
        from dragoman.api.tuning.tuning import Tuning
        from dragoman.cli.screens.progress import ProgressDisplay

        target = output or folder / _FOLDER
        with _trial_runner(on, workers, count or 1) as run_trials, ProgressDisplay(unit="update") as progress:
            trials = target if on is None else target.absolute()
            search = Tuning(settings, path, trials, given, machine, progress)
            result = search.run(run_trials)
    if result.best is None:
        echo("run the same command to continue", err=True)
        raise typer.Exit(EXIT_STOPPED[result.stopped])
    _print(result, json=json)
    print_next(f"dragoman translate {shlex.quote(str(result.folder / result.trials[result.best].name))}")


def _check_prepared(config: Path, overrides: Sequence[str]) -> None:
    """Check the prepared data before torch is imported, which takes seconds."""
    from dragoman.config import load_config
    from dragoman.data.preparation.prepared_data import PreparedData, data_of
    from dragoman.errors import ConfigError

    prepared = PreparedData.open(config.parent / data_of(load_config(config, overrides)).folder)
    if "validation" not in prepared.manifest["splits"]:
        raise ConfigError(
            "there is no validation set to compare trials on; set data.validation or data.validation_pairs"
        )


@contextmanager
def _trial_runner(address: str | None, workers: int | None, threads: int) -> Iterator[RunTrials]:
    """Train trials in this process, or on workers of a cluster."""
    if address is None:
        from dragoman.api.tuning.tuning import run_in_process

        yield run_in_process
        return
    with cluster_session(address, workers, threads) as report:
        from dragoman.cluster.trial_pool import TrialPool
        from dragoman.cluster.worker_pool import default_workers

        count = workers or default_workers(threads)
        with TrialPool(workers=count, processors=threads) as pool:
            report(count, threads)
            yield pool


def _print(result: TuningResult, *, json: bool) -> None:
    """Print the trials, the best first, and the written files."""

    if json:
        print_json(result.to_json())
        return
    names = list(result.trials[0].values)
    rows = [("trial", *names, "updates", result.metric)]
    for trial in result.ranked():
        score = result.score(trial.number)
        values = (f"{value:.4g}" if isinstance(value, float) else str(value) for value in trial.values.values())
        updates = f"{result.records[trial.number].updates:,}"
        rows.append((trial.name, *values, updates, "failed" if score is None else f"{score:.3f}"))
    print_table(rows, right=frozenset({len(names) + 1, len(names) + 2}))
    for trial in result.trials:
        if error := result.records[trial.number].error:
            echo(f"{trial.name} failed: {error}")
    echo(f"\ncurves  dragoman compare {shlex.quote(str(result.folder))}/trial-*")
    echo(f"config  {result.tuned}")
