"""`dragoman translate`: translate lines or documents."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.console import EXIT_STOPPED, echo, print_next, print_warning, report_errors, write_bytes
from dragoman.cli.options.arguments import MODEL_OR_EXAMPLE, Ensemble, On, Resume, Workers, flag
from dragoman.cli.options.derive import settings_options
from dragoman.cli.options.memories import MemoryName, MemoryRepair, MemoryThreshold
from dragoman.cli.options.models import named_or_example, open_for_text
from dragoman.cli.options.outputs import Force
from dragoman.cli.screens.flagged_texts import FailOn, fail_on_document, fail_on_lines, parse_fail_on
from dragoman.cli.screens.string_updates import Check, More, Update, run_on_strings
from dragoman.config.engine import EngineSettings
from dragoman.config.search import SearchSettings
from dragoman.documents.formats import FORMATS, MAX_BYTES, check_output_suffix, document_formats, find_format
from dragoman.errors import ConfigError, DataError
from dragoman.reporting.number_format import format_count

if TYPE_CHECKING:
    from dragoman.api.files.file_translation import OnProgress
    from dragoman.api.files.input_lines import LineReader
    from dragoman.api.files.output_lines import LineTranslator
    from dragoman.api.translation.text_translator import TextTranslator
    from dragoman.cli.options.line_work import LineWork, OpenWork

_STDIN = _STDOUT = Path("-")
_LINES, _TEXT, _DOCUMENTS = "Lines", "Text", "Documents"
_MAX_SKIPPED = 20  # names in a message
_MAX_NOTES = 4  # on files of a folder

Input = Annotated[
    str,
    typer.Argument(
        metavar="INPUT",
        help="Text file, one sentence per line, may be .gz; - is stdin. Or a folder, of which text files are "
        f"translated and others skipped. Or a document: {' '.join(FORMATS)}.",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Output file, may be .gz. Without it, or with -: stdout. A folder, if the input is one.",
    ),
]
Alignments = Annotated[
    bool,
    flag(
        "--alignments",
        "Append word alignments by attention weights: ||| 0-0 1-2. dragoman align is more accurate.",
        _LINES,
    ),
]
Flags = Annotated[bool, flag("--flags", "Append quality flags: ||| repetition.", _LINES)]
Json = Annotated[bool, flag("--json", "Write one JSON object per line, with scores and tokens.", _LINES)]
GlossaryFile = Annotated[
    Path | None,
    typer.Option(
        "--glossary", metavar="TSV", help="Terms with required translations, or to be kept.", rich_help_panel=_TEXT
    ),
]
As = Annotated[
    str | None,
    typer.Option(
        "--as",
        metavar="FORMAT",
        help="Read the input as text, html, md, po, srt, …, not by its ending; text translates every line.",
        rich_help_panel=_TEXT,
    ),
]
Split = Annotated[bool, flag("--split", "Lines are paragraphs: split them into sentences.", _TEXT)]

Again = Annotated[
    bool,
    flag(
        "--again",
        "Replace the translations in a .po, .xliff or .tmx file that are not reviewed, also those of people.",
        _DOCUMENTS,
    ),
]


@settings_options(search=SearchSettings, engine=EngineSettings)
def translate(  # noqa: PLR0913 -- one parameter per option
    model: Annotated[Path | None, MODEL_OR_EXAMPLE] = None,
    input_: Input = "-",
    more: More = None,
    *,
    output: Output = None,
    ensemble: Ensemble = None,
    resume: Resume = False,
    force: Force = False,
    alignments: Alignments = False,
    flags: Flags = False,
    json: Json = False,
    glossary: GlossaryFile = None,
    split: Split = False,
    again: Again = False,
    update: Update = False,
    check: Check = False,
    as_: As = None,
    fail_on: FailOn = None,
    on: On = None,
    workers: Workers = None,
    memory: MemoryName = None,
    memory_threshold: MemoryThreshold = 99,
    memory_repair: MemoryRepair = False,
    search: SearchSettings,
    engine: EngineSettings,
) -> None:
    """Translate lines of text, the text files of a folder, or a document with its layout.

    Lines of standard input are translated as they arrive. With -o a large file is translated in constant memory; after
    a crash --resume continues and produces the same bytes.
    """
    known = None if memory is None else (memory, memory_threshold, memory_repair)
    open_model = partial(open_for_text, ensemble=ensemble, search=search, glossary=glossary, memory=known)
    has_nbest = "nbest" in search.model_fields_set
    lines_only = {"--resume": resume, "--nbest": has_nbest, "--alignments": alignments, "--flags": flags}
    lines_only |= {"--json": json, "--on": on is not None, "--workers": workers is not None}
    if update or check:
        with report_errors("run the same command to continue"):
            _check_lines_only(lines_only | {"--as": as_ is not None, "--split": split}, "files of strings")
            open_for = None if check else open_model
            kinds, inputs = parse_fail_on(fail_on, is_document=True), [input_, *(more or [])]
            run_on_strings(model, inputs, output, engine, open_for, again=again, force=force, kinds=kinds)
        return
    bundle, output = named_or_example(model), None if output == _STDOUT else output
    hint = "run the same command with --resume to continue" if output else "with -o a translation can be resumed"
    with report_errors(hint):
        from dragoman.api.files.text_files import parse_format

        if more:
            raise ConfigError(f"without --update and --check there is one input, got {input_} and {more[0]}; name one")
        read_as = parse_format(as_, input_)
        if again:
            _check_bilingual(read_as.suffix, input_)
        is_read_whole = bool(read_as.suffix) and not Path(input_).is_dir()
        kinds = parse_fail_on(fail_on, is_document=is_read_whole)
        if is_read_whole:
            open_ = partial(open_model, bundle, engine=engine)
            with report_errors("nothing was written"):
                _translate_document(
                    Path(input_),
                    read_as.suffix,
                    output,
                    open_,
                    force=force,
                    again=again,
                    lines_only=lines_only,
                    kinds=kinds,
                )
            return
        from dragoman.api.files.output_lines import LineFormat
        from dragoman.cli.options.line_work import line_work

        if on is not None and output is None:
            raise ConfigError(f"--on {on} needs an output file; name it with -o")
        form = LineFormat(nbest=has_nbest, alignment=alignments, flags=flags, json=json)
        open_work = line_work(
            *(on, workers, bundle, ensemble, engine, search, form),
            glossary=glossary,
            memory=known,
            split=split,
            counted_flags=kinds,
        )
        _check_input(input_, bundle, as_text=read_as.is_given)
        if input_ != "-" and Path(input_).is_dir():
            as_text = read_as.is_given
            _translate_folder(open_work, Path(input_), output, kinds, resume=resume, force=force, as_text=as_text)
        else:
            _translate_lines(open_work, input_, output, kinds, resume=resume, force=force)


def _translate_lines(
    open_work: OpenWork, path: str, output: Path | None, kinds: frozenset[str], *, resume: bool, force: bool
) -> None:
    from dragoman.api.files.input_lines import LineReader

    with LineReader(path) as source:
        if not _is_needed(source, output, resume=resume, force=force):
            echo(f"{output} exists and was not checked; --force translates again", err=True)
            return
        with open_work() as work:
            if output is None:
                assert work.line_translator is not None
                _to_stdout(work, work.line_translator, source)
                fail_on_lines(work, source.name, kinds)
            elif _to_file(work, source, output, resume=resume, force=force):
                fail_on_lines(work, source.name, kinds)
                if not any(work.job["lines"][name] for name in ("nbest", "alignments", "flags", "json")):
                    texts = shlex.quote(str(output)), shlex.quote(source.name)
                    print_next(f"dragoman evaluate {texts[0]} --test {texts[1]} REFERENCE")


def _translate_folder(
    open_work: OpenWork,
    folder: Path,
    output: Path | None,
    kinds: frozenset[str],
    *,
    resume: bool,
    force: bool,
    as_text: bool,
) -> None:
    from dragoman.api.files.folder_translation import check_folders, translate_files
    from dragoman.api.files.text_files import check_text_file
    from dragoman.cli.screens.progress import translation_progress

    names, skipped = check_folders(folder, output, resume=resume, force=force, as_text=as_text)
    assert output is not None
    if skipped:
        shown = ", ".join([*skipped[:_MAX_SKIPPED], *(["…"] if len(skipped) > _MAX_SKIPPED else [])])
        print_warning(
            f"{format_count(len(skipped), 'file')} skipped, no plain text: {shown}; translate documents one by one"
        )
    notes = [note for name in names if (note := check_text_file(str(folder / name), is_forced=as_text))]
    more = [f"{len(notes) - _MAX_NOTES:,} more files look like markup, code or data"] if len(notes) > _MAX_NOTES else []
    for note in [*notes[:_MAX_NOTES], *more]:
        echo(f"note    {note}", err=True)
    with open_work() as work:
        with translation_progress(f"{format_count(len(names), 'file')} of {folder}") as tell:
            outcome = translate_files(
                work.blocks,
                {name: folder / name for name in names},
                output,
                job=work.job,
                resume=resume,
                force=force,
                on_progress=tell,
            )
            done = f"{format_count(outcome.files, 'file')}, {format_count(outcome.lines, 'line')}"
            _stop_unless_finished(outcome.status, done)
        _print_flags(work, outcome.lines - outcome.resumed_lines)
        _print_written(output)
        fail_on_lines(work, str(folder), kinds)


def _check_input(path: str, bundle: Path, *, as_text: bool) -> None:
    """Reject what is not plain text, and print a note on text that looks like something else."""
    from dragoman.api.files.text_files import check_text_file

    note = check_text_file(path, is_forced=as_text)
    if Path(bundle).is_file() and Path(path).is_dir():
        raise ConfigError(
            f"{bundle} is a text, and the model comes first; write dragoman translate {shlex.quote(path)} "
            f"{shlex.quote(str(bundle))}"
        )
    if (Path(path) / "manifest.json").is_file():
        raise ConfigError(f"{path} is a bundle, not a text; an ensemble is --ensemble {path}")
    if note:
        echo(f"note    {note}", err=True)


def _is_needed(source: LineReader, output: Path | None, *, resume: bool, force: bool) -> bool:
    """Check the output before a model is loaded; return False if it exists and is kept."""
    from dragoman.api.files.file_translation import check_output

    if output is not None:
        check_output_suffix(output, source.name, "")
        return check_output(output, source, resume=resume, force=force)
    if resume or force:
        raise ConfigError(f"{'--resume' if resume else '--force'} needs an output file; name it with -o")
    return True


def _to_stdout(work: LineWork, line_translator: LineTranslator, source: LineReader) -> None:
    from dragoman.api.files.file_translation import translate_lines

    if source.is_stdin and sys.stdin.isatty():
        echo("type a sentence and Enter; Ctrl-D ends", err=True)
    with _progress(source, to_file=False) as tell:
        lines = translate_lines(line_translator, source, write_bytes, tell)
    _print_flags(work, lines)
    _print_content(work, source)
    if not lines:
        echo(f"note    {source.name} has no lines", err=True)


def _to_file(work: LineWork, source: LineReader, output: Path, *, resume: bool, force: bool) -> bool:
    """Translate lines into a file; return whether there were any."""
    from dragoman.api.files.file_translation import translate_file

    with _progress(source, to_file=True) as tell:
        outcome = translate_file(
            work.blocks, source, output, job=work.job, resume=resume, force=force, on_progress=tell
        )
        _stop_unless_finished(outcome.status, format_count(outcome.lines, "line"))
    _print_flags(work, outcome.lines - outcome.resumed)
    _print_content(work, source)
    _print_written(output)
    if not outcome.lines:
        echo(f"note    {source.name} has no lines", err=True)
    return bool(outcome.lines)


def _stop_unless_finished(status: str, done: str) -> None:
    if code := EXIT_STOPPED.get(status):
        echo(f"{status} after {done}; run the same command with --resume to continue", err=True)
        raise typer.Exit(code)


def _progress(source: LineReader, *, to_file: bool) -> AbstractContextManager[OnProgress]:
    """Return the progress display; none if lines come from or go to a terminal, where a bar would disturb them."""
    is_typed = source.is_stdin and sys.stdin.isatty()
    if not to_file and (is_typed or sys.stdout.isatty()):
        return nullcontext(lambda _: None)
    from dragoman.cli.screens.progress import translation_progress  # imports rich, which takes time

    return translation_progress(source.name)


def _print_written(output: Path) -> None:
    echo(f"wrote   {output}", err=True)


def _print_content(work: LineWork, source: LineReader) -> None:
    """Print what piped text looks like; a file is read for this before."""
    from dragoman.api.files.text_files import content_note

    if (source.is_stdin or source.size is None) and (note := content_note(source.name, "\n".join(work.sample))):
        echo(f"note    {note}", err=True)


def _print_flags(work: LineWork, lines: int) -> None:
    """Print how many of the lines translated now have each flag, and notes about their language and placeholders."""
    from dragoman.text.other_language import language_note

    if work.has_flags:
        counts = ", ".join(f"{name} {count:,}" for name, count in work.flags.flagged.most_common())
        echo(f"flags   {counts or 'none'}; of {format_count(lines, 'line')}", err=True)
    if note := language_note(work.sample, work.languages[0]):
        echo(f"note    {note}", err=True)
    if note := _paragraph_note(work):
        echo(f"note    {note}", err=True)


def _paragraph_note(work: LineWork) -> str:
    """Return a note on lines with many sentences, of which a translation may leave some out; none on a cluster."""
    from dragoman.api.files.output_lines import MAX_LINE_SENTENCES

    lines = 0 if work.line_translator is None else work.line_translator.paragraphs["lines"]
    if not lines:
        return ""
    have, were = ("has", "was") if lines == 1 else ("have", "were")
    return (
        f"{format_count(lines, 'line')} {have} more than {MAX_LINE_SENTENCES} sentences and {were} not split: parts "
        "may be missing; --split translates sentence by sentence"
    )


def _check_bilingual(suffix: str, path: str) -> None:
    if not (suffix and find_format(suffix).is_bilingual):
        suffixes = ", ".join(suffix for suffix, form in document_formats().items() if form.is_bilingual)
        raise ConfigError(f"--again is for files with translations ({suffixes}), not for {path}; leave it out")


def _check_lines_only(options: dict[str, bool], what: str) -> None:
    """Reject options, of which each was given or not, that are for lines only."""
    for option, is_given in options.items():
        if is_given:
            raise ConfigError(f"{option} is for lines of text, not for {what}; leave it out")


def _translate_document(
    source: Path,
    suffix: str,
    output: Path | None,
    open_: Callable[[], TextTranslator],
    *,
    force: bool,
    again: bool,
    lines_only: dict[str, bool],
    kinds: frozenset[str],
) -> None:
    """Translate a document in the format of `suffix`; all is checked before `open_` loads a model."""
    _check_lines_only(lines_only, f"the document {source.name}")
    _check_document_output(source, suffix, output, force=force)
    from dragoman.api.files.document_translation import document_notes, read_bytes, translate_parsed
    from dragoman.cli.screens.progress import ProgressDisplay
    from dragoman.documents.formats import read_document
    from dragoman.files import atomic_overwrite

    if source != _STDIN and not source.is_file():
        raise DataError(f"{source} {'is no file' if source.exists() else 'does not exist'}; check the path")
    data = sys.stdin.buffer.read(MAX_BYTES + 1) if source == _STDIN else read_bytes(source)
    document = read_document(source.name, data, again=again, suffix=suffix)  # reports errors in the document
    translator = open_()
    for note in document_notes(document, translator.languages):
        echo(f"note    {note}", err=True)
    with ProgressDisplay(unit="text") as display:
        display.begin(f"translating {source.name}", share=0.0)
        result = translate_parsed(
            translator, document, lambda done, total: display.advance(done / max(total, 1), done), kinds
        )
    if output is None:
        write_bytes(result.data)
    else:
        with atomic_overwrite(output) as draft:
            draft.write_bytes(result.data)
        _print_written(output)
    echo(f"texts   {result.summary}", err=True)
    fail_on_document(result, source.name, kinds)


def _check_document_output(source: Path, suffix: str, output: Path | None, *, force: bool) -> None:
    if output is None:
        if find_format(suffix).is_archive:
            raise ConfigError(f"a {suffix[1:]} document is written to a file; name it with -o")
        return
    check_output_suffix(output, source, suffix)
    if not output.parent.is_dir():
        raise ConfigError(f"the output must be in an existing folder, got {output}; create {output.parent} first")
    if output.exists() and not (output.is_file() and force):
        raise ConfigError(f"{output} already exists; name another file, or overwrite it with --force")
    if output.exists() and source.exists() and output.samefile(source):
        raise ConfigError(f"{output} is the input; give the output another name")
