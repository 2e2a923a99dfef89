"""Score systems in every direction between the languages of a parallel test set."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

from dragoman.api.evaluation.evaluator import evaluate_systems
from dragoman.api.evaluation.system_arguments import System, bundle_of
from dragoman.api.files.input_lines import read_lines
from dragoman.bundle import Bundle
from dragoman.config.corpus import Direction
from dragoman.config.evaluation import EvaluationSettings
from dragoman.errors import ConfigError, DataError
from dragoman.evaluation.markdown import escape_markdown, markdown_table
from dragoman.evaluation.results import Evaluation, column_title, format_score


@dataclass(frozen=True)
class DirectionMatrix:
    """Evaluations by direction. `untrained` are those that the first system translates without training (zero-shot)."""

    evaluations: Mapping[Direction, Evaluation]
    untrained: frozenset[Direction] = frozenset()

    def table(self, system: str, metric: str) -> tuple[list[str], list[list[str]]]:
        """Return header and rows: a row for each source language, a column for each target language."""
        codes = list(dict.fromkeys(code for direction in self.evaluations for code in direction))
        rows = [[source, *(self._cell((source, target), system, metric) for target in codes)] for source in codes]
        return [f"{column_title(metric)}, from / to", *codes], rows

    def _cell(self, direction: Direction, system: str, metric: str) -> str:
        evaluation = self.evaluations.get(direction)
        found = None if evaluation is None else next(each for each in evaluation.systems if each.name == system)
        score = None if found is None else found.score(metric)
        mark = " *" if direction in self.untrained else ""
        return "" if score is None else f"{format_score(score)}{mark}"

    def to_markdown(self) -> str:
        first = next(iter(self.evaluations.values()))
        parts = []
        for system in first.systems:
            for score in system.scores:
                header, rows = self.table(system.name, score.metric)
                table = markdown_table(header, rows)
                parts.append(f"{escape_markdown(system.name)}\n\n{table}" if len(first.systems) > 1 else table)
        if self.untrained:
            parts.append("\\* not trained (zero-shot)\n")
        for (source, target), evaluation in self.evaluations.items():
            parts += [f"**Warning, {source} → {target}: {escape_markdown(note)}**\n" for note in evaluation.notes]
        return "\n".join(parts)

    def to_json(self) -> list[dict[str, Any]]:
        return [
            {"source": source, "target": target, "trained": (source, target) not in self.untrained}
            | {"evaluation": each.to_json()}
            for (source, target), each in self.evaluations.items()
        ]


def read_parallel_test_set(prefix: Path, languages: Sequence[str]) -> dict[str, list[str]]:
    """Return the lines of PREFIX.LANGUAGE, or PREFIX.LANGUAGE.gz, of each language that has such a file."""
    found: dict[str, list[str]] = {}
    for code in languages:
        files = [prefix.with_name(f"{prefix.name}.{code}{end}") for end in ("", ".gz")]
        file = next((each for each in files if each.is_file()), None)
        if file is not None:
            found[code] = read_lines(file)
    if len(found) < 2:
        raise DataError(
            f"{prefix} must be the beginning of the names of at least two files, such as {prefix.name}.{languages[0]}, "
            f"got {len(found)} of {', '.join(languages[:10])}; check the path"
        )
    if len({len(lines) for lines in found.values()}) > 1:
        listed = ", ".join(f"{len(lines):,} ({code})" for code, lines in found.items())
        raise DataError(f"the files of {prefix} must have the same number of lines, got {listed}; repair them")
    return found


def evaluate_directions(
    systems: Sequence[System],
    prefix: Path,
    settings: EvaluationSettings,
    *,
    on_direction: Callable[[Direction], None] = lambda _: None,
    **options: Any,
) -> DirectionMatrix:
    """Evaluate systems in all directions between the languages of a parallel test set.

    The directions are those of the first system, and those between its languages that were not trained. `options` are
    those of `evaluate_systems`.
    """
    bundle = bundle_of(systems[0].members[0])
    data = None if bundle is None else Bundle.open(bundle).config.data
    trained = [] if data is None else data.all_directions()
    if len(trained) < 2:
        raise ConfigError(
            f"{systems[0].name} must be a model with several directions, got {len(trained)}; name a test set instead"
        )
    sources, targets = ({direction[side] for direction in trained} for side in range(2))
    lines = read_parallel_test_set(prefix, list(dict.fromkeys(code for each in trained for code in each)))
    evaluations: dict[Direction, Evaluation] = {}
    for source, target in permutations(lines, 2):
        if source in sources and target in targets:
            on_direction((source, target))
            chosen = settings.model_copy(update={"languages": (source, target)})
            evaluations[source, target] = evaluate_systems(systems, lines[source], lines[target], chosen, **options)
    if not evaluations:
        raise DataError(
            f"the files of {prefix} must be of source and target languages of the model, got {', '.join(lines)}; add "
            "another language"
        )
    return DirectionMatrix(evaluations, frozenset(evaluations.keys() - set(trained)))
