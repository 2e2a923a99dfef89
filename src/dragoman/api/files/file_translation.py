"""Translate a large file line by line in constant memory; an interrupted translation can be resumed.

Translations are written to ``OUT.part``. The journal, ``OUT.part.json``, records how much of the input and output is
complete; it is written atomically, after those bytes are on the disk. Resuming verifies the recorded bytes, removes any
output after them, and translates the rest. At the end ``OUT.part`` is renamed to ``OUT``.

The journal only records full blocks. Their ends depend on the text alone (`input_lines`), so the batches, and
every byte of the output, are the same as in a run that was never stopped.
"""

import gzip
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.api.files.document_translation import document_notes, read_bytes, translate_parsed
from dragoman.api.files.input_lines import LineBlock, LineReader, decoded_lines
from dragoman.api.files.output_lines import LineFormat
from dragoman.api.files.resumable_output import START_OVER, ResumableOutput, journal_path, partial_path
from dragoman.api.files.text_files import check_text_file, parse_format
from dragoman.api.notebook.stage_display import shown_progress
from dragoman.api.translation.text_translator import TextTranslator, warn_about_damage
from dragoman.documents.formats import check_output_suffix, read_document
from dragoman.errors import ConfigError, DataError
from dragoman.evaluation.quality_flags import LEFT_FLAGS
from dragoman.files import atomic_overwrite
from dragoman.progress import Progress
from dragoman.stop_signal import StopRequested, StopSignal

Work = Callable[[Sequence[str], int], Sequence[str]]
"""Translates texts, given the index of the first, to the output of each, without the last line feed."""

MapBlocks = Callable[[Iterator[LineBlock]], Iterator[tuple[LineBlock, bytes]]]
"""Translates blocks, in their order, to the bytes of the output; it may read blocks ahead and work on several."""


class FileProgress(NamedTuple):
    """Progress of a translation: lines, stored input bytes read, and their total, if known.

    `resumed_lines` and `resumed_bytes` are those of earlier runs that were found since the start.
    """

    lines: int
    consumed: int
    size: int | None
    resumed_lines: int = 0
    resumed_bytes: int = 0


OnProgress = Callable[[FileProgress], None]
"""Receives the progress at the start and after each block."""


@dataclass(frozen=True)
class FileResult:
    """How a translation ended: "finished", "terminated", "interrupted", or "exists" where it was already finished.

    `lines` is the number of lines of the output, `resumed` the number of them that an earlier run had translated.
    """

    status: str
    lines: int = 0
    resumed: int = 0


def translate_lines(
    work: Work, source: LineReader, write: Callable[[bytes], object], on_progress: OnProgress | None = None
) -> int:
    """Translate a stream block by block, and return its number of lines; it cannot be resumed."""
    report = on_progress or (lambda progress: None)
    report(FileProgress(0, source.consumed, source.size))
    for block in source.blocks_as_they_arrive():
        texts, error = block.texts()
        if texts:
            write(_encode(work(texts, block.first - 1)))
        if error is not None:
            raise error
        report(FileProgress(source.lines, source.consumed, source.size))
    return source.lines


def translate_block(work: Work, block: LineBlock) -> bytes:
    """Return the output of a block; raises `DataError` if a line is not UTF-8."""
    return _encode(work(decoded_lines(block), block.first - 1))


def one_by_one(work: Work) -> MapBlocks:
    """Return a function that translates one block after another in this process."""
    return lambda blocks: ((block, translate_block(work, block)) for block in blocks)


def translate_file(
    translate_blocks: MapBlocks,
    source: LineReader,
    output: Path,
    *,
    job: Mapping[str, Any],
    resume: bool = False,
    force: bool = False,
    on_progress: OnProgress | None = None,
) -> FileResult:
    """Translate a file into another, compressed if its name ends in .gz.

    `job` describes, as plain values, all that the output depends on except the input: only a run with an equal one can
    resume. With `resume` an existing output is left unchanged and not verified. SIGTERM and Ctrl-C stop within a block;
    the resumed run translates that block again.
    """
    if not check_output(output, source, resume=resume, force=force):
        return FileResult("exists")
    report = on_progress or (lambda progress: None)
    with StopSignal() as stop, ResumableOutput(output, job) as partial:
        journal = partial.start() if force or not resume else partial.resume(source)
        report(FileProgress(partial.lines, source.consumed, source.size))
        try:
            results, is_last = translate_blocks(source.blocks()), False
            while not is_last:
                with stop.interruptible():  # reading too: a pipe may block
                    block, data = next(results, (None, b""))
                is_last = block is None or block.is_last
                if block:
                    partial.add(block, data)
                report(FileProgress(partial.lines, block.consumed if block else source.consumed, source.size))
        except StopRequested:
            partial.save()
            return FileResult(stop.reason, partial.lines, journal.lines)
        except DataError:
            partial.save()
            raise
        partial.finish()
        return FileResult("finished", partial.lines, journal.lines)


def check_output(output: Path, source: LineReader, *, resume: bool, force: bool) -> bool:
    """Return False if the output is already finished; raise `ConfigError` if an existing file would be lost.

    A journal that a crash left next to a finished output is deleted.
    """
    if output.exists() and not output.is_file():
        raise ConfigError(f"the output must be a file, got {output}; without -o it goes to standard output")
    if not output.parent.is_dir():
        raise ConfigError(f"the output must be in an existing folder, got {output}; create {output.parent} first")
    if not os.access(output.parent, os.W_OK):
        raise ConfigError(f"the output must be in a writable folder, got {output}; name another folder")
    for path in (output, partial_path(output), journal_path(output)):
        if source.is_at(path):
            raise ConfigError(f"{path} is the input {source.name}; give the output another name")
    if force:
        return True
    if partial_path(output).exists():
        if not resume:
            raise ConfigError(f"{partial_path(output)} has the beginning of {output}; use --resume, or {START_OVER}")
        return True
    if not output.exists():
        return True
    if not resume:
        raise ConfigError(f"{output} already exists; name another file, or {START_OVER}")
    journal_path(output).unlink(missing_ok=True)
    return False


def _encode(lines: Sequence[str]) -> bytes:
    # Half of a surrogate pair cannot be encoded; only a vocabulary could contain it.
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


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
