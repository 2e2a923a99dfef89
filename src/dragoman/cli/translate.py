"""``dragoman translate``: lines in, lines out; or a document in, a document out."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli import search_options as options
from dragoman.cli.console import friendly
from dragoman.cli.translate_document import DOCUMENTS, translate_document
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.api.text_lines import LineSource
    from dragoman.api.translated_lines import LineTranslator

__all__ = ["EXIT_STOPPED", "translate"]

EXIT_STOPPED = {"terminated": 75, "interrupted": 130}

_STDOUT = Path("-")
_LINES, _TEXT = "Lines", "Text"

Input = Annotated[
    str,
    typer.Argument(
        metavar="INPUT", help="Text, a sentence a line; .gz is unpacked. - is stdin. Or a document: .docx, .html, …"
    ),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Where to write; .gz is packed. Else, or -: to stdout."),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the output where it was stopped.")]
Force = Annotated[bool, typer.Option("--force", help="Begin anew, whatever there is of the output.")]
Nbest = Annotated[
    int | None,
    typer.Option(help="So many translations each: number ||| text ||| score.", metavar="N", rich_help_panel=_LINES),
]
Alignments = Annotated[
    bool, typer.Option("--alignments", help="Add which word comes from which: ||| 0-0 1-2.", rich_help_panel=_LINES)
]
Flags = Annotated[
    bool, typer.Option("--flags", help="Add what looks wrong with it: ||| repetition.", rich_help_panel=_LINES)
]
Json = Annotated[
    bool, typer.Option("--json", help="A JSON object a line, with scores and pieces.", rich_help_panel=_LINES)
]
GlossaryFile = Annotated[
    Path | None,
    typer.Option(
        "--glossary", metavar="TSV", help="Terms that must be translated so, or not at all.", rich_help_panel=_TEXT
    ),
]
Split = Annotated[
    bool, typer.Option("--split", help="A line is a paragraph: translate its sentences.", rich_help_panel=_TEXT)
]


def translate(  # noqa: PLR0913 -- an option each
    bundle: options.BundlePath,
    input_: Input = "-",
    *,
    output: Output = None,
    others: options.Others = None,
    resume: Resume = False,
    force: Force = False,
    nbest: Nbest = None,
    alignments: Alignments = False,
    flags: Flags = False,
    json: Json = False,
    glossary: GlossaryFile = None,
    split: Split = False,
    engine: options.Engine = None,
    precision: options.Precision = None,
    threads: options.Threads = None,
    batch_tokens: options.BatchTokens = None,
    beam: options.Beam = None,
    length_penalty: options.LengthPenalty = None,
    alpha: options.Alpha = None,
    coverage_penalty: options.CoveragePenalty = None,
    patience: options.Patience = None,
    min_length: options.MinLength = None,
    max_length: options.MaxLength = None,
    no_repeat_ngram: options.NoRepeatNgram = None,
    groups: options.Groups = None,
    diversity: options.Diversity = None,
    sample: options.Sample = False,
    temperature: options.Temperature = None,
    top_k: options.TopK = None,
    top_p: options.TopP = None,
    seed: options.Seed = None,
) -> None:
    """Translate text line by line: from stdin to stdout, or a file into another. Documents keep their layout.

    A line is answered as soon as it comes. With -o a large file is translated in constant memory, and after a crash
    --resume goes on and ends with the same bytes.
    """
    search = {"beam": beam, "nbest": nbest, "length_penalty": length_penalty, "alpha": alpha, "patience": patience}
    search |= {"coverage_penalty": coverage_penalty, "min_length": min_length, "max_length": max_length}
    search |= {"no_repeat_ngram": no_repeat_ngram, "groups": groups, "diversity": diversity}
    search |= {"sample": sample, "temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    output = None if output == _STDOUT else output
    is_document = Path(input_).suffix.lower() in DOCUMENTS
    again = "type the same with --resume to go on" if output else "with -o it can be stopped and gone on with"
    with friendly("nothing was written" if is_document else again):
        settings = options.search_settings(search)
        open_ = partial(
            options.open_translator,
            [bundle, *(others or ())],
            engine=engine,
            precision=precision,
            threads=threads,
            settings=settings,
            glossary=glossary,
            batch_tokens=batch_tokens,
        )
        if is_document:
            unfit = {"--resume": resume, "--nbest": nbest is not None, "--alignments": alignments}
            unfit |= {"--flags": flags, "--json": json}
            translate_document(Path(input_), output, open_, force=force, unfit=unfit)
            return
        from dragoman.api.text_lines import LineSource
        from dragoman.api.translated_lines import LineForm, LineTranslator

        with LineSource(_file_of_text(input_)) as source:
            if not _is_to_do(source, output, resume=resume, force=force):
                typer.echo(
                    f"{output} is there already; nothing was compared with it; --force to translate again", err=True
                )
                return
            opened = open_()
            form = LineForm(nbest=nbest is not None, alignments=alignments, flags=flags, json=json)
            work = LineTranslator(opened, form, split=split)
            if output is None:
                _to_stdout(work, source)
            else:
                job = work.job() | {"threads": threads}  # sums in floating point may depend on how many there are
                _to_file(work, source, output, job, resume=resume, force=force)


def _file_of_text(path: str) -> str:
    if (Path(path) / "manifest.json").is_file():
        raise ConfigError(
            f"the input must be a file of text, got the bundle {path}; translators that decide together are --with "
            f"{path}"
        )
    return path


def _is_to_do(source: LineSource, output: Path | None, *, resume: bool, force: bool) -> bool:
    """What can be said before a model is loaded: False where the output is there and may stay."""
    from dragoman.api.file_translation import check_output

    if output is not None:
        return check_output(output, source, resume=resume, force=force)
    if resume or force:
        raise ConfigError(f"{'--resume' if resume else '--force'} must come with an output, got none; name it with -o")
    return True


def _to_stdout(work: LineTranslator, source: LineSource) -> None:
    from dragoman.api.file_translation import translate_lines
    from dragoman.cli.translation_progress import shown_progress

    def write(data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    with shown_progress(source.name, to_file=False) as tell:
        lines = translate_lines(work, source, write, tell)
    _tell_flags(work, lines)


def _to_file(
    work: LineTranslator, source: LineSource, output: Path, job: dict[str, Any], *, resume: bool, force: bool
) -> None:
    from dragoman.api.file_translation import translate_file
    from dragoman.cli.translation_progress import shown_progress

    with shown_progress(source.name, to_file=True) as tell:
        outcome = translate_file(work, source, output, job=job, resume=resume, force=force, tell=tell)
        if code := EXIT_STOPPED.get(outcome.why):
            typer.echo(f"{outcome.why} after {outcome.lines:,} lines; type the same with --resume to go on", err=True)
            raise typer.Exit(code)
    _tell_flags(work, outcome.lines - outcome.before)


def _tell_flags(work: LineTranslator, lines: int) -> None:
    """How many of the lines that were translated now got which flag, the most frequent first."""
    if work.form.flags:
        counts = ", ".join(f"{name} {count:,}" for name, count in work.flagged.most_common())
        typer.echo(f"flags   {counts or 'none'}; of {lines:,} lines", err=True)
