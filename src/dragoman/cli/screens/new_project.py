"""Ask for the parts of a new project in a terminal."""

import shlex
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path
from typing import TypeVar

import typer

from dragoman.bundle import Bundle
from dragoman.cli.console import echo
from dragoman.config.corpus import CorpusConfig
from dragoman.data.corpus_survey import CorpusSurvey, check_files, survey_corpus
from dragoman.data.project_template import (
    bundle_languages,
    check_held_out,
    check_side,
    preset_for,
    suggested_pairs,
)
from dragoman.data.readers.corpus_reader import lacks_translations
from dragoman.errors import ConfigError, DragomanError
from dragoman.language_codes import check_language
from dragoman.run_files import PROJECT

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class ProjectAnswers:
    """Everything that a new project needs; None and empty parts are not known yet."""

    folder: Path | None
    train: tuple[str, ...]
    source: str | None
    target: str | None
    validation: tuple[str, ...]
    test: tuple[str, ...]
    preset: str | None
    form: str
    columns: tuple[str, ...] = ()
    survey: CorpusSurvey | None = None
    bundle: Bundle | Path | None = None
    language_check: bool = True

    @property
    def corpus(self) -> CorpusConfig:
        return CorpusConfig(files=[*self.train], format=self.form, columns=[*self.columns])


def can_ask() -> bool:
    """Return whether there is a terminal for questions and answers."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def lacks_second(known: ProjectAnswers) -> bool:
    """Return whether one file of text was given, without the file of its translations."""
    has_comma = "," in "".join(known.train) and not Path(known.train[0]).exists()  # two names written as one
    return len(known.train) == 1 and not has_comma and lacks_translations(known.corpus)


def ask_project(known: ProjectAnswers) -> ProjectAnswers:
    """Ask for everything that is not known, with a default for all but the training files."""
    if known.bundle is not None:
        if known.train and not lacks_second(known):
            check_files(known.train, known.form, known.columns)  # opening the bundle takes longer
        bundle = Bundle.open(known.bundle) if isinstance(known.bundle, Path) else known.bundle
        source, target = bundle_languages(bundle, known.source, known.target)
        known = replace(known, source=source, target=target, bundle=bundle)
    if known.train and not lacks_second(known):
        survey = survey_corpus(known.train, known.source, known.target, known.form, known.columns)
    else:
        echo("Enter accepts the value in [brackets], Ctrl-C ends without writing anything.", err=True)
        known, survey = _ask_translations(known) if known.train else _ask_training(known)
    source = known.source or _ask_language("source", survey, known, known.target)
    target = known.target or _ask_language("target", survey, known, source)
    known = replace(known, source=source, target=target, survey=survey)
    many = "" if survey.is_exact else "more than "
    echo(f"{source} → {target}, {many}{survey.pairs:,} pairs", err=True)
    some = f"{suggested_pairs(survey.pairs):,} training pairs"
    known = replace(known, validation=known.validation or _ask_held_out("Validation", some, known))
    known = replace(known, test=known.test or _ask_held_out("Test", some, known))
    preset = known.preset
    if known.bundle is None and preset is None:
        preset = _ask("Preset for this number of pairs", preset_for(survey.pairs), _check_preset)
    folder = known.folder or Path(_ask("Folder of the project", _new_folder(f"{source}-{target}"), _check_folder))
    return replace(known, preset=preset, folder=folder)


def offer_check() -> bool:
    """Return whether the corpus should be checked now."""
    echo("The next step reads the whole corpus and runs a few updates of training.", err=True)
    _let_interrupts_end_questions()
    return typer.confirm("Check the corpus and estimate time and memory now?", default=True, err=True)


def _let_interrupts_end_questions() -> None:
    """Let Ctrl-C end a question at once: after polars was imported, reading an answer would continue until Enter."""
    if hasattr(signal, "siginterrupt"):  # not on Windows
        signal.siginterrupt(signal.SIGINT, True)


def _ask(question: str, default: str | None, parse: Callable[[str], Answer]) -> Answer:
    _let_interrupts_end_questions()
    while True:
        answer = typer.prompt(question, default=default, err=True)
        try:
            return parse(str(answer).strip())
        except DragomanError as error:
            for line in str(error).splitlines():
                echo(f"  {line}", err=True)


def _ask_training(known: ProjectAnswers) -> tuple[ProjectAnswers, CorpusSurvey]:
    def parse(answer: str) -> tuple[ProjectAnswers, CorpusSurvey]:
        files = _split(answer)
        survey = survey_corpus(files, known.source, known.target, known.form, known.columns)
        return replace(known, train=files), survey

    echo(
        "A corpus is two files, such as train.en train.de: line 7 of the second translates line 7 of the first.\n"
        "Or it is one file with both sides: .tsv, .csv, .tmx, .jsonl or .parquet.",
        err=True,
    )
    question = "Training files: source and target with a space between them, or one file with both"
    return _ask(question, None, parse)


def _ask_translations(known: ProjectAnswers) -> tuple[ProjectAnswers, CorpusSurvey]:
    """Ask for the second file of a corpus, of which the first is given."""

    def parse(answer: str) -> tuple[ProjectAnswers, CorpusSurvey]:
        files = (*known.train, *_split(answer))
        survey = survey_corpus(files, known.source, known.target, known.form, known.columns)
        return replace(known, train=files), survey

    (first,) = known.train
    echo(
        f"{first} is one side of a corpus: line 7 of a second file must translate its line 7.\n"
        "If it has both sides, end with Ctrl-C and add its format, such as --format tsv.",
        err=True,
    )
    return _ask(f"File with the translations of {first}", None, parse)


def _ask_language(side: str, survey: CorpusSurvey, known: ProjectAnswers, other: str | None) -> str:
    """Ask for the language of a side again if the text is certainly in another one."""

    def parse(answer: str) -> str:
        code = check_language(answer)
        check_side(survey, known.corpus, side, code, other, is_checked=known.language_check)
        return code

    source, target = survey.complete_languages(*((None, other) if side == "source" else (other, None)))
    found = source if side == "source" else target
    how = "detected" if found else "not recognised; a code such as en or zh-Hant"
    return _ask(f"{side.capitalize()} language ({how})", found, parse)


def _ask_held_out(name: str, some: str, known: ProjectAnswers) -> tuple[str, ...]:
    def parse(answer: str) -> tuple[str, ...]:
        if answer == default:
            return ()
        assert known.source is not None
        assert known.target is not None
        files = _split(answer)
        check_held_out(name.lower(), files, known.source, known.target, language_check=known.language_check)
        return files

    default = f"take {some}"
    return _ask(f"{name} files", default, parse)


def _check_preset(answer: str) -> str:
    from dragoman.config import load_config, preset_names

    if answer not in preset_names():
        load_config(answer)  # raises an error that lists the presets
        raise ConfigError(f"preset must be one of {', '.join(preset_names())}, got {answer}; choose one of them")
    return answer


def _new_folder(name: str) -> str:
    """Return the name, or with the first number from 2 for which there is no such file, and no folder with files."""
    numbered = (f"{name}-{number}" for number in count(2))
    paths = map(Path, chain([name], numbered))
    return str(next(path for path in paths if not path.exists() or (path.is_dir() and not any(path.iterdir()))))


def _check_folder(answer: str) -> str:
    path = Path(answer).expanduser()
    if (path / PROJECT).exists():
        raise ConfigError(f"{path / PROJECT} already exists; name another folder")
    return str(path)


def _split(answer: str) -> tuple[str, ...]:
    try:
        files = tuple(shlex.split(answer))
    except ValueError as error:
        raise ConfigError(
            f"files must be names separated by spaces, got {answer!r} ({error}); close the quote"
        ) from None
    if not files:
        raise ConfigError("no file is named; for instance train.en train.de")
    return tuple(str(Path(file).expanduser()) if file.startswith("~") else file for file in files)
