"""Translate and score a test set with the translation systems that are named on the command line."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dragoman.cli.console import echo
from dragoman.cli.options.arguments import argument
from dragoman.cli.options.derive import named_as_typed
from dragoman.config.engine import EngineSettings
from dragoman.config.evaluation import EvaluationSettings
from dragoman.errors import DataError

if TYPE_CHECKING:
    from dragoman.api.evaluation.run_test_sets import RunTestSet
    from dragoman.api.evaluation.system_arguments import System
    from dragoman.config.search import SearchSettings
    from dragoman.evaluation.results import Evaluation

TRANSLATION_ONLY = frozenset(
    {
        *("nbest", "groups", "diversity", "sample", "temperature", "top_k", "top_p", "seed"),
        *("source_language", "target_language", "min_confidence"),
    }
)
"""Settings that have no option where systems are scored."""

_LISTED_SETS = 5

Systems = Annotated[
    list[str],
    argument(
        "SYSTEM…",
        "[NAME=]PATH[,PATH…]: run or project folder, bundle, or file of translations. Several paths are one "
        "system trained with several seeds.",
    ),
]


def score_systems(
    systems: Sequence[System],
    test: tuple[Path, Path] | None,
    settings: EvaluationSettings,
    search: SearchSettings,
    engine: EngineSettings,
) -> tuple[Evaluation, list[str], list[str]]:
    """Score every system on the test set, or that of the first run; return evaluation, sources and references."""
    from dragoman.api.evaluation.evaluator import evaluate_systems
    from dragoman.cli.screens.progress import ProgressDisplay

    if test is None:
        found = _own_test_set(systems, settings.languages)
        name, sources, references = found.name, found.sources, found.references
        if settings.languages is None and found.languages is not None:
            settings = settings.model_copy(update={"languages": found.languages})
    else:
        name = _test_name(*test)
        sources, references = read_test_set(test)
    names = (*EvaluationSettings.model_fields, *EngineSettings.model_fields)
    with ProgressDisplay(unit="sentence") as progress, named_as_typed(*names):
        evaluation = evaluate_systems(
            systems,
            sources,
            references,
            settings,
            search=search,
            engine=engine,
            progress=progress,
            tell=print_message,
            name=name,
            command=typed_command(),
        )
    return evaluation, sources, references


def _own_test_set(systems: Sequence[System], languages: tuple[str, str] | None) -> RunTestSet:
    from dragoman.api.evaluation.run_test_sets import find_test_set

    found = find_test_set(systems[0].members[0], languages)
    print_message(f"test    {found.origin}")
    for other in found.others[:_LISTED_SETS]:
        print_message(f"note    the run has another test set; score it with --test {other}")
    if len(found.others) > _LISTED_SETS:
        print_message(f"note    the run has {len(found.others) - _LISTED_SETS:,} more test sets")
    return found


def typed_command() -> str:
    """Return the command line of this process."""
    return shlex.join(["dragoman", *sys.argv[1:]])


def print_message(line: str) -> None:
    """Print a message on stderr."""
    echo(line, err=True)


def read_test_set(test: tuple[Path, Path]) -> tuple[list[str], list[str]]:
    """Read the sources and the references of a test set."""
    from dragoman.api.files.input_lines import read_lines

    sources, references = (read_lines(path) for path in test)
    if len(sources) != len(references):
        raise DataError(
            f"{test[0]} and {test[1]} must have the same number of lines, got {len(sources):,} and "
            f"{len(references):,}; add the missing lines, or name the files of one test set"
        )
    if not sources:
        raise DataError(f"{test[0]} and {test[1]} have no lines; name the test set")
    return sources, references


def _test_name(source: Path, reference: Path) -> str:
    """Return the name of a test set: that of its files without suffixes, or both names if these differ."""
    names = [path.name.removesuffix(".gz") for path in (source, reference)]
    stems = {name.rsplit(".", 1)[0] or name for name in names}
    return stems.pop() if len(stems) == 1 else " and ".join(names)
