"""`dragoman evaluate`: score translation systems on a test set and test whether their scores differ significantly."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dragoman.cli.console import echo, print_json, print_next, report_errors
from dragoman.cli.options.arguments import AllowNetwork, flag, option
from dragoman.cli.options.derive import settings_options
from dragoman.cli.options.outputs import check_folder, check_output, force_option
from dragoman.cli.score_systems import TRANSLATION_ONLY, Systems, print_message, score_systems, typed_command
from dragoman.config.engine import EngineSettings
from dragoman.config.evaluation import EvaluationSettings
from dragoman.config.search import SearchSettings
from dragoman.errors import ConfigError
from dragoman.network_access import network_access

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dragoman.api.evaluation.system_arguments import System
    from dragoman.evaluation.results import Evaluation

_OUTPUT = "Output"
_ENDINGS = (".json", ".md")

Test = Annotated[
    tuple[Path, Path] | None,
    option(
        "SRC REF", "Test set: two text files, one sentence per line.", "--test", default="the first run's own test set"
    ),
]
Matrix = Annotated[
    Path | None,
    option(
        "PREFIX",
        "Score a model with several directions in all of them. Test set: PREFIX.en, PREFIX.de and so on, one "
        "file per language.",
    ),
]
Json = Annotated[bool, flag("--json", "Print the evaluation as JSON.", _OUTPUT)]
Output = Annotated[
    list[Path] | None,
    option(
        "PATH",
        "Write the result to this file: .json or .md. A name without an ending is a folder for the "
        "translations, evaluation.json and table.md. May be repeated.",
        "--output",
        "-o",
        panel=_OUTPUT,
    ),
]
Force = Annotated[bool, force_option(_OUTPUT)]


@settings_options(
    settings=EvaluationSettings,
    engine=EngineSettings,
    search=SearchSettings,
    exclude=TRANSLATION_ONLY | {"trials"},
)
def evaluate(  # noqa: PLR0913 -- one parameter per option
    systems: Systems,
    *,
    test: Test = None,
    matrix: Matrix = None,
    json: Json = False,
    output: Output = None,
    force: Force = False,
    allow_network: AllowNetwork = False,
    settings: EvaluationSettings,
    engine: EngineSettings,
    search: SearchSettings,
) -> None:
    """Score systems on a test set: BLEU, chrF++ and TER of sacreBLEU, with intervals.

    Several systems are compared with the baseline by paired significance tests. Models translate the sources; files of
    translations are scored unchanged.
    """
    outputs = output or []
    with report_errors("start it again"), network_access(allow_network):
        for path in outputs:
            if _is_folder(path):
                check_folder(path, force=force)
            else:
                check_output(path, _ENDINGS, force=force)
        from dragoman.environment import require

        require("sacrebleu", "train", "dragoman evaluate")
        from dragoman.api.evaluation.system_arguments import parse_systems

        parsed = parse_systems(systems, tell=print_message)
        if matrix is not None:
            if test is not None:
                raise ConfigError(
                    "--matrix cannot be combined with --test, since a matrix has its own test set; leave one out"
                )
            _evaluate_matrix(parsed, matrix, outputs, settings, search, engine, json=json)
            return
        evaluation, _, _ = score_systems(parsed, test, settings, search, engine)
        for path in outputs:
            (_save if _is_folder(path) else _write)(evaluation, path)
            echo(f"wrote   {path}", err=True)
        if json:
            print_json(evaluation.to_json())
        else:
            from dragoman.cli.screens.evaluation import print_evaluation

            print_evaluation(evaluation)
    given = [] if test is None else ["--test", *map(str, test)]
    if len(systems) > 1 and test is not None:
        print_next(shlex.join(["dragoman", "compare", *systems, *given]))
    elif len(systems) == 1 and evaluation.members[0].parameters:
        print_next(shlex.join(["dragoman", "inspect", str(parsed[0].members[0]), "TEXT", "-o", "page.html"]))


def _evaluate_matrix(
    systems: Sequence[System],
    prefix: Path,
    outputs: Sequence[Path],
    settings: EvaluationSettings,
    search: SearchSettings,
    engine: EngineSettings,
    *,
    json: bool,
) -> None:
    """Score systems in all directions, and print a table of each metric."""
    from dragoman.api.evaluation.direction_matrix import evaluate_directions
    from dragoman.cli.screens.evaluation import print_markdown
    from dragoman.files import atomic_write, write_json

    if any(_is_folder(path) for path in outputs):
        raise ConfigError("--output must end in .json or .md with --matrix; name such a file")
    found = evaluate_directions(
        systems,
        prefix,
        settings,
        on_direction=lambda direction: print_message(f"test    {' → '.join(direction)}"),
        search=search,
        engine=engine,
        name=prefix.name,
        command=typed_command(),
    )
    for path in outputs:
        if path.suffix.lower() == ".json":
            write_json(path, found.to_json())
        else:
            with atomic_write(path) as draft:
                draft.write_text(found.to_markdown(), encoding="utf-8")
        echo(f"wrote   {path}", err=True)
    if json:
        print_json(found.to_json())
    else:
        print_markdown(found.to_markdown())


def _is_folder(path: Path) -> bool:
    return path.suffix.lower() not in _ENDINGS and (not path.suffix or path.is_dir())


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


def _unique(name: str, taken: set[str]) -> str:
    """Return the name, numbered if it is taken; some file systems ignore case."""
    found, number = name, 1
    while found.casefold() in taken:
        number += 1
        found = f"{name}-{number}"
    taken.add(found.casefold())
    return found
