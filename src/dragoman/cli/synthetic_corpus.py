"""Translate a file into a synthetic corpus, and print how training uses it; shared by two commands."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli.console import EXIT_STOPPED, echo, print_next
from dragoman.errors import ConfigError, DataError

if TYPE_CHECKING:
    from dragoman.api.synthetic.synthetic_corpus import MakePair, SyntheticCorpus
    from dragoman.cli.options.line_work import LineWork, OpenWork

__all__ = ["Output", "check_input", "print_use", "translate_corpus"]

Output = Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder of the corpus and its record.")]


def check_input(source: Path, output: Path, *, resume: bool, force: bool) -> None:
    """Check the input and the output folder before a model is loaded."""
    from dragoman.api.files.folder_translation import check_output_folder
    from dragoman.api.files.table_columns import count_columns

    if not source.is_file():
        raise DataError(f"{source} must be a text file with one sentence per line, got none; check the path")
    if (columns := count_columns(str(source))[0]) > 1:
        raise DataError(
            f"{source} must be a text file with one sentence per line, got a table of {columns} columns; save one "
            "column in a file"
        )
    if source.resolve().is_relative_to(output.resolve()):
        raise ConfigError(f"the input must not be in the output folder, got {source}; name another folder")
    check_output_folder(output, resume=resume, force=force)


def translate_corpus(
    open_work: OpenWork,
    source: Path,
    output: Path,
    describe: Callable[[LineWork], tuple[tuple[str, str], MakePair, Mapping[str, Any]]],
    *,
    resume: bool,
    force: bool,
) -> SyntheticCorpus:
    """Translate the lines of a file, and write the pairs that are kept.

    `describe` returns the languages of the pairs, a function that makes a pair, and facts for the record.
    """
    from dragoman.api.files.batch_record import batch_record_path, recorded_batches
    from dragoman.api.files.folder_translation import translate_files
    from dragoman.api.synthetic.synthetic_corpus import LINES, write_corpus
    from dragoman.cli.screens.progress import translation_progress
    from dragoman.text.other_language import language_note

    with open_work() as work:
        record, keep = batch_record_path(output, is_folder=True), resume and not force
        with (
            translation_progress(str(source)) as tell,
            recorded_batches(work.line_translator, record, work.job, resume=keep),
        ):
            found = translate_files(
                work.blocks, {LINES: source}, output, job=work.job, resume=resume, force=force, on_progress=tell
            )
            if code := EXIT_STOPPED.get(found.status):
                echo(
                    f"{found.status} after {found.lines:,} lines; run the same command with --resume to continue",
                    err=True,
                )
                raise typer.Exit(code)
        if note := language_note(work.sample, work.languages[0]):
            echo(f"note    {note}", err=True)
        languages, make_pair, facts = describe(work)
    read = found.finished[LINES]
    input_ = {"file": source.name, "lines": read.lines, "bytes": read.input_bytes, "sha256": read.input_sha256}
    return write_corpus(output, languages, make_pair, {**facts, "translation": work.job, "input": input_})


def print_use(corpus: SyntheticCorpus, name: str, symbols: Sequence[str] = ()) -> None:
    """Print the number of pairs, the settings that add them to a training, and the next command."""
    removed = ", ".join(f"{reason} {count:,}" for reason, count in sorted(corpus.removed.items()))
    echo(f"pairs   {corpus.kept:,} of {corpus.read:,} lines; removed: {removed or 'none'}", err=True)
    echo(f"wrote   {', '.join(map(str, corpus.files))}", err=True)
    if not corpus.kept:
        raise DataError(
            f"a corpus must have pairs, got none of {corpus.read:,} lines; change the filters, the text or the model"
        )
    echo("add to dragoman.toml:", err=True)
    if symbols:
        echo(f"[tokenizer]\nsymbols = {json.dumps(list(symbols), ensure_ascii=False)}\n")
    files = json.dumps([str(path.resolve()) for path in corpus.files], ensure_ascii=False)
    echo(f'[[data.train]]\nname = "{name}"\nfiles = {files}\nweight = 1.0')
    print_next("dragoman check")
