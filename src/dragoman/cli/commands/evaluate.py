"""`dragoman evaluate`: score translation systems on a test set and test whether their scores differ significantly."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.console import print_json, report_errors
from dragoman.cli.options.arguments import check_output, flag, output_option
from dragoman.cli.options.derive import settings_options
from dragoman.cli.score_systems import TRANSLATION_ONLY, Systems, score_systems
from dragoman.config.engine import EngineSettings
from dragoman.config.evaluation import EvaluationSettings
from dragoman.config.search import SearchSettings
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.evaluation.results import Evaluation

__all__ = ["evaluate"]

_OUTPUT = "Output"
_ENDINGS = (".json", ".md")

Test = Annotated[
    tuple[Path, Path],
    typer.Option("--test", metavar="SRC REF", help="Test set: two text files, one sentence per line."),
]
Json = Annotated[bool, flag("--json", "Print the evaluation as JSON.", _OUTPUT)]
Output = Annotated[list[Path] | None, output_option(_ENDINGS, panel=_OUTPUT, repeated=True)]
Save = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Write translations, evaluation.json and table.md to this folder.", rich_help_panel=_OUTPUT
    ),
]


@settings_options(
    settings=EvaluationSettings,
    engine=EngineSettings,
    search=SearchSettings,
    exclude=TRANSLATION_ONLY | {"trials"},
)
def evaluate(
    systems: Systems,
    *,
    test: Test,
    json: Json = False,
    output: Output = None,
    save: Save = None,
    settings: EvaluationSettings,
    engine: EngineSettings,
    search: SearchSettings,
) -> None:
    """Score systems on a test set: BLEU, chrF++ and TER of sacreBLEU, with intervals.

    Several systems are compared with the baseline by paired significance tests. Models translate the sources; files of
    translations are scored unchanged.
    """
    outputs = output or []
    with report_errors("start it again"):
        for path in outputs:
            check_output(path, _ENDINGS)
        if save is not None and save.exists() and (not save.is_dir() or any(save.iterdir())):
            raise ConfigError(f"--save must be a new or an empty folder, got {save}; name another")
        from dragoman.environment import require

        require("sacrebleu", "train", "dragoman evaluate")
        from dragoman.api.evaluation.system_arguments import parse_systems

        evaluation, _, _ = score_systems(parse_systems(systems), test, settings, search, engine)
        for path in outputs:
            _write(evaluation, path)
            typer.echo(f"wrote   {path}", err=True)
        if save is not None:
            _save(evaluation, save)
        if json:
            print_json(evaluation.to_json())
        else:
            from dragoman.cli.screens.evaluation import print_evaluation

            print_evaluation(evaluation)


def _write(evaluation: Evaluation, path: Path) -> None:
    from dragoman.evaluation.markdown import evaluation_markdown
    from dragoman.files import atomic_write, write_json

    if path.suffix.lower() == ".json":
        write_json(path, evaluation.to_json())
    else:
        with atomic_write(path) as draft:
            draft.write_text(evaluation_markdown(evaluation), encoding="utf-8")


def _save(evaluation: Evaluation, folder: Path) -> None:
    from dragoman.files import atomic_write

    folder.mkdir(parents=True, exist_ok=True)
    taken: set[str] = set()
    for system in evaluation.systems:
        for member in system.members:
            name = _unique(re.sub(r"[^\w.+-]+", "-", member.name).strip("-.") or "system", taken)
            with atomic_write(folder / f"{name}.txt") as draft:
                draft.write_text("".join(f"{line}\n" for line in member.hypotheses), encoding="utf-8", newline="\n")
    for name in ("evaluation.json", "table.md"):
        _write(evaluation, folder / name)
    typer.echo(f"saved   {folder}", err=True)


def _unique(name: str, taken: set[str]) -> str:
    """Return the name, numbered if it is taken; some file systems ignore case."""
    found, number = name, 1
    while found.casefold() in taken:
        number += 1
        found = f"{name}-{number}"
    taken.add(found.casefold())
    return found
