"""`dragoman adapt`: adapt a model to translation memories, and use the result only if it is better."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dragoman.cli.console import echo, print_json, print_next, print_table, report_errors
from dragoman.cli.options.arguments import Json, Overrides, argument, flag, option
from dragoman.cli.options.memories import DatabaseUrl, open_memories
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.api.adaptation import Adaptation, AdaptationFolder


def adapt(  # noqa: PLR0913, PLR0917 -- one parameter per option
    folder: Annotated[Path, argument("DIR", "Folder of the adaptations; DIR/bundle is the model in use.")],
    base: Annotated[
        str | None, option("MODEL", "First time: the model that every adaptation starts from.", "--from")
    ] = None,
    memory: Annotated[
        list[str] | None, option("NAME", "First time: a memory to learn from. May be repeated.", "--memory")
    ] = None,
    general: Annotated[
        tuple[Path, Path] | None,
        option("SRC TGT", "First time: general text on which the model must not become worse.", "--general"),
    ] = None,
    key: Annotated[
        str, option("NAME", "First time: API key whose memories are read.", "--key", default="the operator")
    ] = "",
    overrides: Overrides = None,
    back: Annotated[bool, flag("--back", "Use the version before the one in use again.")] = False,
    reviewed: Annotated[
        bool, flag("--reviewed", "Train also if most new units are unlike the translations of the model in use.")
    ] = False,
    history: Annotated[bool, flag("--history", "List all adaptations.")] = False,
    database: DatabaseUrl = None,
    json: Json = False,
) -> None:
    """Adapt a model to the approved units of translation memories.

    Every time, training starts from the same base model. The new model is used only if it is significantly better on
    units that it was not trained with, and not significantly worse on general text. A server of DIR with
    --reload-interval loads it without a restart. Run it every night: deploy/systemd has a timer.
    """
    from dragoman.environment import limit_kernel_caches, require

    limit_kernel_caches()
    with report_errors("the model in use is unchanged; run the same command again"):
        from dragoman.api.adaptation import AdaptationFolder, AdaptationSettings

        given = [
            name
            for name, value in (("--from", base), ("--memory", memory), ("--general", general), ("--set", overrides))
            if value
        ]
        if given and (back or history):
            raise ConfigError(f"{given[0]} starts adaptations; leave out --back and --history")
        if given:
            if base is None or not memory or general is None:
                raise ConfigError(
                    f"the first adaptation needs --from, --memory and --general, got only {' and '.join(given)}"
                )
            with open_memories(database) as store:
                for name in memory:
                    store.get(key, name)
            settings = AdaptationSettings(
                base, tuple(memory), (str(general[0]), str(general[1])), key, tuple(overrides or ())
            )
            found = AdaptationFolder.create(folder, settings)
        else:
            found = AdaptationFolder(folder)
        if history:
            _print_history(found, json=json)
            return
        if back:
            made = found.back()
        else:
            for module in ("torch", "polars", "sacrebleu"):
                require(module, "train", "dragoman adapt")
            from dragoman.cli.screens.progress import ProgressDisplay
            from dragoman.cli.screens.training import TrainingScreen

            with open_memories(database) as store, ProgressDisplay() as progress, TrainingScreen() as screen:
                made = found.adapt(
                    store,
                    callbacks=[screen],
                    progress=progress,
                    tell=lambda line: echo(line, err=True),
                    is_reviewed=reviewed,
                )
    _print(made, folder, json=json)


def _print(made: Adaptation, folder: Path, *, json: bool) -> None:
    if json:
        print_json(asdict(made))
        return
    if made.scores:
        rows = [("test set", "sentences", "metric", "in use, base", "new", "difference", "p")]
        for name, each in made.scores.items():
            for metric in ("chrf++", "bleu"):
                is_tested = metric == "chrf++"
                rows.append((
                    name,
                    f"{each['sentences']:,.0f}",
                    metric,
                    f"{each[f'{metric}_before']:.1f}",
                    f"{each[f'{metric}_after']:.1f}",
                    f"{each[f'{metric}_after'] - each[f'{metric}_before']:+.1f}",
                    f"{each['p']:.3f}" if is_tested else "",
                ))  # fmt: skip
        print_table(rows, right=frozenset({1, 3, 4, 5, 6}))
    used = f"version {made.version} is in use" if made.is_used else "the model in use is unchanged"
    echo(made.reason if made.reason.startswith("back") else f"{used}: {made.reason}")
    if made.is_used:
        name = shlex.quote(str(folder))
        print_next(f"dragoman serve {name} --reload-interval 60    or back: dragoman adapt {name} --back")


def _print_history(found: AdaptationFolder, *, json: bool) -> None:
    records = found.records
    if json:
        print_json([asdict(each) for each in records])
        return
    rows = [("version", "time", "by", "units", "used", "why")]
    rows += [
        (str(each.version), each.time, each.user, f"{each.units:,}", "yes" if each.is_used else "no", each.reason)
        for each in records
    ]
    print_table(rows, right=frozenset({0, 3}))
