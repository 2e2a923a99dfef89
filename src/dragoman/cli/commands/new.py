"""`dragoman new`: write the configuration file of a new project."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from dragoman.cli.console import echo, print_next, print_warning, report_errors
from dragoman.cli.help_pages import PAIR_OF_FILES
from dragoman.cli.options.arguments import AllowNetwork, argument, option
from dragoman.cli.options.models import locate_bundle
from dragoman.errors import ConfigError
from dragoman.network_access import network_access

if TYPE_CHECKING:
    from dragoman.data.project_template import Project

Corpus = Annotated[
    list[str] | None,
    option(PAIR_OF_FILES, "Training files: source and target, or one file with both (TSV, CSV, TMX, JSONL, Parquet)."),
]
From = Annotated[
    Path | None,
    option("BUNDLE", "Fine-tune this bundle, the best one of a run or a project, or a stored model.", "--from"),
]
Format = Annotated[
    str, option("FORMAT", "Format of the training files: lines, tsv, csv, tmx, jsonl or parquet.", "--format")
]
Columns = Annotated[
    tuple[str, str] | None,
    option("SRC TGT", "Columns of the training files: numbers from 1, or names.", default="by language code, or 1 2"),
]
LanguageCheck = Annotated[bool, option("", "Reject text that is certainly in another language than the declared one.")]


def new(  # noqa: PLR0913, PLR0917 -- one parameter per option
    folder: Annotated[Path | None, argument("[DIR]", "Folder for dragoman.toml.")] = None,
    source: Annotated[str | None, option("CODE", "Source language code: en. Detected by default.")] = None,
    target: Annotated[str | None, option("CODE", "Target language code: de. Detected by default.")] = None,
    corpus: Corpus = None,
    more: Annotated[list[str] | None, typer.Argument(metavar="", hidden=True)] = None,
    validation: Annotated[list[str] | None, option(PAIR_OF_FILES, "Files of the validation set.")] = None,
    test: Annotated[list[str] | None, option(PAIR_OF_FILES, "Files of the test set.")] = None,
    preset: Annotated[str | None, option("NAME", "Preset to extend; by default the one for the corpus size.")] = None,
    start: From = None,
    form: Format = "auto",
    columns: Columns = None,
    language_check: LanguageCheck = True,
    allow_network: AllowNetwork = False,
) -> None:
    """Write a commented dragoman.toml for a corpus, with a preset for its size.

    With --from, the project fine-tunes an existing model: it takes over tokenizer, model and languages. Languages that
    are not given are detected.
    """
    from dragoman.environment import require

    with report_errors("nothing was written"), network_access(allow_network):
        require("polars", "train", "dragoman new")
        if start is not None and start.exists():  # the imports, and the verification of its files, take seconds
            echo(f"opening {start}", err=True)
        from dragoman.config.corpus import FileFormat
        from dragoman.data.project_template import new_project
        from dragoman.plugins import plugin_names

        formats = (*get_args(FileFormat), *plugin_names("corpus_readers"))
        if form not in formats:
            raise ConfigError(f"--format must be one of {', '.join(formats)}, got {form!r}; leave it out to detect it")
        bundle = None if start is None else locate_bundle(start)
        files = [*(corpus or []), *(more or [])]
        if folder is not None and folder.is_file():  # the second of two files after --corpus, without a folder
            _check_not_complete(folder, corpus or [])
            files, folder = [*(corpus or []), str(folder), *(more or [])], None
        if folder is None or not files:
            missing = "a folder" if folder is None else "--corpus"
            named = shlex.join(files) if files else "train.en train.de"
            raise ConfigError(f"{missing} is missing; write dragoman new project --corpus {named}")
        project = new_project(
            folder,
            train=files,
            source=source,
            target=target,
            validation=validation or (),
            test=test or (),
            preset=preset,
            bundle=bundle,
            form=form,
            columns=columns or (),
            language_check=language_check,
        )
    _print_project(project)
    network = " --allow-network" if allow_network else ""
    print_next(f"cd {shlex.quote(str(project.config.parent))} && dragoman check{network}")


def _check_not_complete(file: Path, corpus: Sequence[str]) -> None:
    """Reject a file in the place of the folder if the training files are complete without it."""
    from dragoman.config import CorpusConfig
    from dragoman.data.readers.corpus_reader import lacks_translations

    if corpus and not lacks_translations(CorpusConfig(files=[*corpus])):
        raise ConfigError(
            f"{file} is a file, not the folder of the new project; for instance dragoman new project --corpus "
            f"{shlex.join(corpus)}"
        )


def _print_project(project: Project) -> None:
    count = f"{project.pairs:,} pairs" if project.is_exact else f"more than {project.pairs:,} pairs"
    echo(f"{project.config}: {project.source} → {project.target}, {count}, starting from {project.base}")
    for warning in project.warnings:
        print_warning(warning)
