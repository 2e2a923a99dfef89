"""Find the test set of a run: the copy in its folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.api.evaluation.system_arguments import bundle_of, run_of
from dragoman.config import DataConfig, load_config
from dragoman.config.corpus import Direction
from dragoman.data.saved_test_sets import SavedTestSet, load_test_sets
from dragoman.engines.directions import list_directions
from dragoman.errors import ConfigError, DataError
from dragoman.language_codes import is_same_language
from dragoman.run_files import PROJECT

_FIX = "name one with --test SRC REF"


@dataclass(frozen=True)
class RunTestSet:
    """A test set as text; `origin` are its files."""

    name: str
    origin: str
    sources: list[str]
    references: list[str]
    others: tuple[str, ...] = ()
    """Options that name the further test sets of the run: their files, and the languages if there are several."""
    languages: Direction | None = None
    """Its languages, if the model has several directions."""


def find_test_set(member: Path, languages: Direction | None = None) -> RunTestSet:
    """Return the first test set of a run or of its bundle, in a direction if `languages` are given."""
    run = run_of(member)
    if member.is_file() and bundle_of(member) is None:
        raise ConfigError(
            f"{member} is a file of translations, which needs --test SRC REF; name the file of the sources and that of "
            "the references"
        )
    if run is None:
        bundle_of(member)  # explains a project that is not trained
    if run is None or not (run / PROJECT).is_file():
        raise ConfigError(f"{member} is no run, and has no test set of its own; {_FIX}")
    config = load_config(run / PROJECT)
    if config.data is None or not (config.data.test or config.data.test_pairs):
        raise ConfigError(
            f"{run} has no test set; {_FIX}, or set data.test or data.test_pairs, and prepare and train again"
        )
    if saved := load_test_sets(run):
        return _saved(saved, config.data, languages)
    raise DataError(f"the test set of {run} is no longer in its folder; {_FIX}")


def _saved(sets: Sequence[SavedTestSet], data: DataConfig, languages: Direction | None) -> RunTestSet:
    """Read the first of the copies in a run's folder that has the languages."""
    fitting = list(sets)
    if data.is_multilingual and languages is not None:
        fitting = [each for each in sets if all(map(is_same_language, each.languages, languages))]
    if not fitting:
        listed = list_directions([each.languages for each in sets])
        raise ConfigError(
            f"the languages must be those of a test set of the run ({listed}), got {'-'.join(languages or ())}; {_FIX}"
        )
    chosen = fitting[0]
    sources, references = (_lines(file, chosen.sentences) for file in (chosen.source, chosen.reference))
    others = tuple(_options(each, data) for each in sets if each is not chosen)
    origin = f"{chosen.source} {chosen.reference}"
    return RunTestSet(
        chosen.name, origin, sources, references, others, chosen.languages if data.is_multilingual else None
    )


def _lines(file: Path, count: int) -> list[str]:
    lines = file.read_text(encoding="utf-8").split("\n")[:-1] if file.is_file() else []
    if len(lines) != count:
        raise DataError(f"{file} must have {count:,} lines, got {len(lines):,}; {_FIX}")
    return lines


def _options(saved: SavedTestSet, data: DataConfig) -> str:
    """Return what follows --test to score a set."""
    files = f"{saved.source} {saved.reference}"
    return f"{files} --languages {':'.join(saved.languages)}" if data.is_multilingual else files
