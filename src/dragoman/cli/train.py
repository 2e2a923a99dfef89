"""``dragoman train``: from prepared data to a bundle."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.config import Json, Overrides
from dragoman.cli.console import friendly, print_json, print_table
from dragoman.cli.prepare import DEFAULT_CONFIG, ConfigFile, config_in
from dragoman.errors import TrainingError

if TYPE_CHECKING:
    from dragoman.api.held_out import SetScore
    from dragoman.api.training import Trained
    from dragoman.config import Config

__all__ = ["EXIT_STOPPED", "train"]

EXIT_STOPPED = {"terminated": 75, "interrupted": 130}

Run = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="DIR", help="The folder of the run: run, beside the configuration, by default."
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from the newest checkpoint, if there is one.")]
Workers = Annotated[int, typer.Option(min=0, help="Processes that read ahead; worth it with subword regularisation.")]
VerifyResume = Annotated[
    bool, typer.Option("--verify-resume", help="Train a few updates, stopped and not, and compare every bit.")
]


def train(
    config: ConfigFile = DEFAULT_CONFIG,
    overrides: Overrides = None,
    run: Run = None,
    resume: Resume = False,
    loader_workers: Workers = 0,
    verify_resume: VerifyResume = False,
    json: Json = False,
) -> None:
    """Train on prepared data; write checkpoints, curves and, at the end, a bundle.

    Ctrl-C and SIGTERM stop it after the update at hand, with a checkpoint; --resume goes on from there and ends with
    the same weights, to the bit. torchrun starts it on several processes: torchrun --nproc-per-node 2 -m dragoman train
    """
    from dragoman.environment import require

    with friendly("type the same with --resume to go on from the last checkpoint"):
        from dragoman.config import load_config

        config = config_in(config)
        settings = load_config(config, overrides or [])
        require("torch", "train", "dragoman train")
        if verify_resume:
            _verify(settings, config.parent)
            return
        from dragoman.api.training import train as train_
        from dragoman.cli.training_screen import TrainingScreen

        folder = run or config.parent / "run"
        with TrainingScreen(stops_early=settings.training.patience > 0 or settings.training.max_epochs > 0) as screen:
            trained = train_(
                settings,
                config.parent,
                run=folder,
                resume=resume,
                observers=[screen],
                loader_workers=loader_workers,
            )
    if trained.bundle is not None:
        _print(trained, json=json)
    elif not trained.ended.is_complete:
        raise typer.Exit(EXIT_STOPPED[trained.ended.why])


def _print(trained: Trained, *, json: bool) -> None:
    """Where the translator is, how good it is, and what to type next."""
    bundle, ended = trained.bundle, trained.ended
    assert bundle is not None
    if json:
        scores = [asdict(score) for score in trained.scores]
        shown = {"bundle": str(bundle.folder), "digest": bundle.digest, "ended": ended.why, "update": ended.update}
        print_json(shown | {"best_update": ended.best_update, "scores": scores})
        return
    if trained.scores:
        print_table(_score_rows(trained.scores), right=frozenset({1, 3, 4}))
        typer.echo(f"greedy translations, {'; '.join(score.signature for score in trained.scores[0].scores)}\n")
    typer.echo(f"bundle    {bundle.folder}    (its card.md says what it is)")
    typer.echo(f"curves    tensorboard --logdir {shlex.quote(str(trained.run / 'curves'))}")


def _score_rows(scores: Sequence[SetScore]) -> list[tuple[str, ...]]:
    """A row for each set and model, those of one set together: what fine-tuning gained and what it cost."""
    rows: list[tuple[str, ...]] = [("set", "sentences", "model", *(score.name for score in scores[0].scores))]
    for name in dict.fromkeys(each.name for each in scores):
        for each in sorted((each for each in scores if each.name == name), key=lambda each: each.model):
            model = "this one" if each.model == "new" else "the one it began with"
            rows.append((name, f"{each.sentences:,}", model, *(f"{score.value:.1f}" for score in each.scores)))
    return rows


def _verify(settings: Config, folder: Path) -> None:
    from dragoman.api.resume_check import verify_resume

    verdict = verify_resume(settings, folder)
    stops = ", ".join(str(stop) for stop in verdict.stops)
    what = f"{verdict.updates} updates, stopped after {stops}"
    if verdict.differences:
        named = ", ".join(verdict.differences[:5])
        raise TrainingError(
            f"a resumed run must be the same as one never stopped, got other bits in {named} ({what}); "
            "please report it, with what dragoman doctor prints"
        )
    typer.echo(f"resumed = never stopped: {what}; {verdict.tensors} tensors, counters and place in the data compared")
