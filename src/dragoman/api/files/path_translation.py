"""Translate one file, a document or lines of text, for `Translator.translate_file`."""

import gzip
import re
import warnings
from collections.abc import Sequence
from pathlib import Path

from dragoman.api.files.document_translation import document_notes, read_bytes, translate_parsed
from dragoman.api.files.file_translation import translate_lines
from dragoman.api.files.input_lines import LineReader
from dragoman.api.files.output_lines import LineFormat
from dragoman.api.files.text_files import check_text_file, count_columns, parse_format
from dragoman.api.notebook.stage_display import shown_progress
from dragoman.api.translation.text_translator import TextTranslator, warn_about_damage
from dragoman.documents.formats import check_output_suffix, read_document
from dragoman.errors import ConfigError, DataError
from dragoman.evaluation.quality_flags import LEFT_FLAGS
from dragoman.files import atomic_overwrite
from dragoman.progress import Progress

_AS_TEXT = ', or pass read_as="text": each line is translated with its syntax'


def translate_path(
    translator: TextTranslator,
    path: Path,
    output: Path | None,
    *,
    read_as: str | None = None,
    split_sentences: bool = False,
    again: bool = False,
    force: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Translate a file, and return the path of the result; see `TextTranslator.translate_file`.

    Notes on a document are Python warnings.
    """
    if not path.is_file():
        raise DataError(f"{path} {'is no file' if path.exists() else 'does not exist'}; check the path")
    form = parse_format(read_as, str(path), option="read_as")
    if not form.suffix:
        _check_text(path, is_forced=form.is_given)
    output = default_output(path, translator.languages) if output is None else output
    _check_output(path, output, force=force)
    check_output_suffix(output, path, form.suffix)
    with shown_progress(progress, unit="text" if form.suffix else "line") as shown:
        shown.begin(f"translating {path.name}")
        if not form.suffix:
            _translate_text(translator, path, output, split_sentences=split_sentences, progress=shown)
            return output
        document = read_document(path.name, read_bytes(path), suffix=form.suffix, again=again)
        for note in document_notes(document, translator.languages):
            warnings.warn(note, stacklevel=3)
        result = translate_parsed(translator, document, lambda done, total: shown.advance(done / max(total, 1), done))
    with atomic_overwrite(output) as draft:
        draft.write_bytes(result.data)
    for name in LEFT_FLAGS & result.flagged.keys():
        warn_about_damage(dict.fromkeys(range(result.flagged[name].count), result.flagged[name].detail))
    return output


def default_output(path: Path, languages: tuple[str, str]) -> Path:
    """Return a path with the target language in the name: report.pt.docx for report.docx or report.en.docx."""
    source, target = languages[0], languages[1] or "translated"
    stem, ending = path.name, ""
    if stem.lower().endswith(".gz"):
        stem, ending = stem[:-3], stem[-3:]
    if Path(stem).suffix and Path(stem).suffix != f".{source}":
        stem, ending = Path(stem).stem, Path(stem).suffix + ending
    return path.with_name(f"{stem.removesuffix(f'.{source}')}.{target}{ending}")


def _check_text(path: Path, *, is_forced: bool) -> None:
    """Reject what the command line rejects as text."""
    if note := check_text_file(str(path), is_forced=is_forced, way_out=_AS_TEXT):
        warnings.warn(re.sub(r"--as (\w+)", r'read_as="\1"', note), stacklevel=4)
    columns = 1 if is_forced else count_columns(str(path))[0]
    if columns > 1:
        raise ConfigError(
            f"the input must have one sentence per line, got {path}, a table of {columns} columns; save one of them "
            "in a file"
        )


def _check_output(path: Path, output: Path, *, force: bool) -> None:
    if not output.parent.is_dir():
        raise ConfigError(f"output must be in an existing folder, got {output}; create {output.parent} first")
    if output.exists() and output.samefile(path):
        raise ConfigError(f"{output} is the input; give the output another name")
    if output.exists() and not (output.is_file() and force):
        raise ConfigError(f"{output} already exists; name another file, or pass force=True")


def _translate_text(
    translator: TextTranslator, path: Path, output: Path, *, split_sentences: bool, progress: Progress
) -> None:
    """Translate a text file as the command line does: one line per line."""

    def work(texts: Sequence[str], first: int) -> list[str]:
        found = translator.translate(texts, split_sentences=split_sentences, first=first)
        return [LineFormat().line(each, number) for number, each in enumerate(found, first)]

    is_packed = output.suffix.lower() == ".gz"
    with (
        LineReader(path) as source,
        atomic_overwrite(output) as draft,
        gzip.open(draft, "wb") if is_packed else draft.open("wb") as file,
    ):
        translate_lines(
            work,
            source,
            file.write,
            lambda done: progress.advance(done.consumed / max(done.size or 0, done.consumed, 1), done.lines),
        )
