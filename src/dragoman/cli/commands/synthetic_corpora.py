"""`dragoman backtranslate` and `distill`: write synthetic corpora, and print how training uses them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli.console import EXIT_STOPPED, echo, print_next, report_errors
from dragoman.cli.options.arguments import Ensemble, On, Resume, Workers, argument, option
from dragoman.cli.options.derive import settings_options
from dragoman.cli.options.outputs import Force
from dragoman.config.engine import EngineSettings
from dragoman.config.search import SearchSettings
from dragoman.config.synthetic import BLANK, NoiseSettings, PairFilters, TagSettings
from dragoman.errors import ConfigError, DataError

if TYPE_CHECKING:
    from dragoman.api.synthetic import Pair, SyntheticCorpus
    from dragoman.cli.options.line_work import OpenWork

Output = Annotated[Path, option("DIR", "Folder of the corpus and its record.", "--output", "-o")]
ReverseModel = Annotated[
    Path, argument("MODEL", "Model that translates from the target language to the source language.")
]
Monolingual = Annotated[Path, argument("TEXT", "Text in the target language, one sentence per line, may be .gz.")]
Teacher = Annotated[Path, argument("MODEL", "Teacher: a bundle, a run, or a project folder.")]
Source = Annotated[Path, argument("SOURCE", "Text to translate, one sentence per line, may be .gz.")]


@settings_options(
    exclude={"nbest", "min_confidence"},
    tagging=TagSettings,
    filters=PairFilters,
    noise=NoiseSettings,
    search=SearchSettings,
    engine=EngineSettings,
)
def backtranslate(  # noqa: PLR0913 -- one parameter per option
    bundle: ReverseModel,
    text: Monolingual,
    *,
    output: Output,
    ensemble: Ensemble = None,
    resume: Resume = False,
    force: Force = False,
    on: On = None,
    workers: Workers = None,
    tagging: TagSettings,
    filters: PairFilters,
    noise: NoiseSettings,
    search: SearchSettings,
    engine: EngineSettings,
) -> None:
    """Write synthetic pairs from text of the target language: back-translation.

    The folder has the pairs as two text files, all translations with their scores, and a record of the models and
    settings. Filters, noise and tag can be changed with --resume, without translating again.
    """
    with report_errors("run the same command with --resume to continue"):
        check_input(text, output, resume=resume, force=force)
        from dragoman.api.files.output_lines import LineFormat
        from dragoman.api.synthetic import noisy, removal_reason, write_corpus
        from dragoman.cli.options.line_work import line_work

        def make_pair(number: int, line: Mapping[str, Any]) -> Pair | str:
            if reason := removal_reason(line, filters):
                return reason
            source = noisy(line["text"], noise, number) if noise.noise else line["text"]
            return f"{tagging.tag} {source}" if tagging.tag else source, line["source"]

        open_work = line_work(on, workers, bundle, ensemble, engine, search, LineFormat(json=True))
        languages, translated = _translate(open_work, text, output, resume=resume, force=force)
        facts = {
            "kind": "back-translation",
            "models": [str(path) for path in (bundle, *(ensemble or ()))],
            **tagging.model_dump(),
            "noise": noise.model_dump() if noise.noise else None,
            "filters": filters.model_dump(),
        }
        corpus = write_corpus(output, languages[::-1], make_pair, facts | translated)
        symbols = [tagging.tag] if tagging.tag else []
        _print_use(corpus, "back-translation", [*symbols, *([BLANK] if noise.noise else [])])


@settings_options(
    exclude={"nbest", "min_confidence"}, filters=PairFilters, search=SearchSettings, engine=EngineSettings
)
def distill(  # noqa: PLR0913 -- one parameter per option
    bundle: Teacher,
    source: Source,
    *,
    output: Output,
    ensemble: Ensemble = None,
    resume: Resume = False,
    force: Force = False,
    on: On = None,
    workers: Workers = None,
    filters: PairFilters,
    search: SearchSettings,
    engine: EngineSettings,
) -> None:
    """Write a corpus of a teacher's translations, to train a smaller or faster student.

    This is sequence-level distillation; the teacher may be an ensemble. The folder has the pairs as two text files, all
    translations with their scores, and a record of the models and settings.
    """
    with report_errors("run the same command with --resume to continue"):
        check_input(source, output, resume=resume, force=force)
        from dragoman.api.files.output_lines import LineFormat
        from dragoman.api.synthetic import removal_reason, write_corpus
        from dragoman.cli.options.line_work import line_work

        def make_pair(_: int, line: Mapping[str, Any]) -> Pair | str:  # [kim2016] (section 3.2)
            return removal_reason(line, filters) or (line["source"], line["text"])

        open_work = line_work(on, workers, bundle, ensemble, engine, search, LineFormat(json=True))
        languages, translated = _translate(open_work, source, output, resume=resume, force=force)
        models = [str(path) for path in (bundle, *(ensemble or ()))]
        facts = {"kind": "distillation", "models": models, "filters": filters.model_dump()}
        _print_use(write_corpus(output, languages, make_pair, facts | translated), "distillation")


def check_input(source: Path, output: Path, *, resume: bool, force: bool) -> None:
    """Check the input and the output folder before a model is loaded."""
    from dragoman.api.files.folder_translation import check_output_folder
    from dragoman.api.files.text_files import check_text_file

    if not source.is_file():
        raise DataError(f"{source} is no text file; name one with one sentence per line")
    if note := check_text_file(str(source), way_out=""):
        echo(f"note    {note}", err=True)
    if source.resolve().is_relative_to(output.resolve()):
        raise ConfigError(f"{source} is in the output folder; name another folder")
    check_output_folder(output, resume=resume, force=force)


def _translate(
    open_work: OpenWork, source: Path, output: Path, *, resume: bool, force: bool
) -> tuple[tuple[str, str], dict[str, Any]]:
    """Translate the lines of a file; return the languages of the model, and facts for the record."""
    from dragoman.api.files.folder_translation import translate_files
    from dragoman.api.synthetic import LINES
    from dragoman.cli.screens.progress import translation_progress
    from dragoman.text.other_language import language_note

    with open_work() as work, translation_progress(str(source)) as tell:
        found = translate_files(
            work.blocks, {LINES: source}, output, job=work.job, resume=resume, force=force, on_progress=tell
        )
    if code := EXIT_STOPPED.get(found.status):
        again = "run the same command with --resume to continue"
        echo(f"{found.status} after {found.lines:,} lines; {again}", err=True)
        raise typer.Exit(code)
    if note := language_note(work.sample, work.languages[0]):
        echo(f"note    {note}", err=True)
    read = found.finished[LINES]
    input_ = {"file": source.name, "lines": read.lines, "bytes": read.input_bytes, "sha256": read.input_sha256}
    return work.languages, {"translation": work.job, "input": input_}


def _print_use(corpus: SyntheticCorpus, name: str, symbols: Sequence[str] = ()) -> None:
    """Print the number of pairs, the settings that add them to a training, and the next command."""
    removed = ", ".join(f"{reason} {count:,}" for reason, count in sorted(corpus.removed.items()))
    echo(f"pairs   {corpus.kept:,} of {corpus.read:,} lines; removed: {removed or 'none'}", err=True)
    echo(f"wrote   {', '.join(map(str, corpus.files))}", err=True)
    if not corpus.kept:
        raise DataError(f"none of {corpus.read:,} lines gave a pair; change the filters, the text or the model")
    echo("add to dragoman.toml:", err=True)
    if symbols:
        echo(f"[tokenizer]\nsymbols = {json.dumps(list(symbols), ensure_ascii=False)}\n")
    files = json.dumps([str(path.resolve()) for path in corpus.files], ensure_ascii=False)
    echo(f'[[data.train]]\nname = "{name}"\nfiles = {files}\nweight = 1.0')
    print_next("dragoman check")
