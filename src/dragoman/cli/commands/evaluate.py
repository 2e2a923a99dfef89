"""`dragoman evaluate`: score translation systems on a test set and test whether their scores differ significantly."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dragoman.cli.console import echo, print_json, print_next, report_errors
from dragoman.cli.options.arguments import AllowNetwork, flag, option
from dragoman.cli.options.derive import settings_options
from dragoman.cli.options.outputs import check_output, force_option, output_option
from dragoman.cli.score_systems import TRANSLATION_ONLY, Systems, print_message, score_systems, typed_command
from dragoman.config.engine import EngineSettings
from dragoman.config.evaluation import EvaluationSettings
from dragoman.config.search import SearchSettings
from dragoman.errors import ConfigError
from dragoman.network_access import network_access

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dragoman.api.evaluation.system_arguments import System

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
Output = Annotated[list[Path] | None, output_option(_ENDINGS, panel=_OUTPUT, repeated=True)]
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
        from dragoman.cli.screens.evaluation import print_evaluation
        from dragoman.evaluation.markdown import evaluation_markdown

        _write(outputs, evaluation.to_json(), evaluation_markdown(evaluation))
        if json:
            print_json(evaluation.to_json())
        else:
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
    _write(outputs, found.to_json(), found.to_markdown())
    if json:
        print_json(found.to_json())
    else:
        print_markdown(found.to_markdown())


def _write(outputs: Sequence[Path], values: Any, tables: str) -> None:
    from dragoman.files import atomic_write, write_json

    for path in outputs:
        if path.suffix.lower() == ".json":
            write_json(path, values)
        else:
            with atomic_write(path) as draft:
                draft.write_text(tables, encoding="utf-8")
        echo(f"wrote   {path}", err=True)
