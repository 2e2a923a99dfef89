"""Read the files of a new project once: count pairs and characters, and detect the languages."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import polars as pl

from dragoman.config import CorpusConfig
from dragoman.data.cleaning.filters.language import detect_language, language_shares, sample_rows
from dragoman.data.reader_protocol import CorpusReader
from dragoman.data.readers.corpus_reader import explain_encodings, file_format, foreign_encodings, open_corpus
from dragoman.data.readers.streams import is_url, plain_name, stored_size
from dragoman.data.reason_counts import HEADER, Tally, header_warning, reading_notes
from dragoman.data.token_pairs import SIDES
from dragoman.errors import ConfigError, DataError
from dragoman.language_codes import canonical_language, check_language, is_known_language, primary_language
from dragoman.text.language_scripts import chinese_script, other_script
from dragoman.text.other_language import SideLanguage, is_detectable

_COUNT_AT_MOST = 5_000_000
_CHUNK = 65_536
_COUNTED_CHARACTERS = 200_000  # pairs; as many as the tokenizer learns from by default
_SAMPLED = 400  # sentences per side, for the languages
_DISAGREES = 0.5  # maximum share of sentences in other languages than that of the file name
_HEAD = 2  # rows
_NO_TEXT = 0.5  # share of bad lines in files that are no text
_ENCODING = ("not UTF-8", "NUL byte")  # reasons of bad lines
_RULES = {  # by the reason of bad lines that are text
    "missing column": "two columns in every row",
    "open quotation": "a closing mark for every quotation",
    "too many columns": "the number of cells of the first row in every row",
}
_UNNAMED = "und"


@dataclass
class CorpusSurvey:
    """What was found in the training files."""

    pairs: int = 0
    is_exact: bool = True
    """Whether all pairs were counted; counting stops early in very large corpora."""
    characters: Counter[str] = field(default_factory=Counter)
    languages: dict[str, str | None] = field(default_factory=dict)
    """By side: the language of the text, also where another was given; None if it was not recognised."""
    samples: dict[str, list[str]] = field(default_factory=dict)
    """By side: some of the texts."""
    warnings: list[str] = field(default_factory=list)
    """Rows that look like a header, and what was removed from lines or is unusual in them."""

    def complete_languages(self, source: str | None, target: str | None) -> tuple[str | None, str | None]:
        """Return both languages, those not given by the text; given ones on the other side exchange the text's."""
        found = self.languages.get("source"), self.languages.get("target")
        given = source or target
        if given is None or (source and target):
            return source or found[0], target or found[1]
        own, other = found if source else found[::-1]
        missing = (
            own
            if own and other and primary_language(other) == primary_language(given) != primary_language(own)
            else other
        )
        return (source, missing) if source else (missing, target)

    def judged_side(self, side: str, code: str) -> SideLanguage:
        """Return the languages of the texts of a side, and the declared one."""
        texts = pl.Series(self.samples.get(side, []), dtype=pl.String)
        return SideLanguage(code, language_shares(texts, code) if len(texts) else {})

    def other_script(self, side: str, code: str) -> tuple[str, str]:
        """Return the name and the code of the Chinese script of a side if `code` has the other one; else empty."""
        return other_script(chinese_script("".join(self.samples.get(side, []))), code)


def _open_files(
    files: Sequence[str], source: str, target: str, form: str = "auto", columns: Sequence[str] = ()
) -> CorpusReader:
    """Open files of a new project; relative paths start at the working directory."""
    corpus = CorpusConfig.model_validate({"files": [*files], "format": form, "columns": [*columns]})
    return open_corpus(corpus, source=source, target=target, folder=Path())


def check_files(files: Sequence[str], form: str = "auto", columns: Sequence[str] = ()) -> None:
    """Raise an error if files are missing or do not make a corpus; their content is not read."""
    for name in _open_files(files, _UNNAMED, _UNNAMED, form, columns).files():
        if not is_url(name):
            stored_size(name)


def survey_corpus(
    files: Sequence[str],
    source: str | None = None,
    target: str | None = None,
    form: str = "auto",
    columns: Sequence[str] = (),
) -> CorpusSurvey:
    """Read the training files, and detect their languages; formats with many languages need both codes."""
    given = tuple(None if code is None else check_language(code) for code in (source, target))
    corpus = CorpusConfig.model_validate({"files": [*files], "format": form})
    check_files(files, form, columns)
    if None in given and (found := file_format(corpus)) not in ("lines", "tsv", "csv"):
        raise ConfigError(f"--source and --target must be given for {found}; its files may have many languages")
    languages = given[0] or _UNNAMED, given[1] or _UNNAMED
    survey = _survey(corpus, *languages, columns)
    known = survey.complete_languages(*given)
    if None in given and known[0] and known[1] and file_format(corpus) in ("tsv", "csv"):
        names = _open_files(files, *languages, form, columns).files()
        if _heads(names, *languages, form, columns) != _heads(names, known[0], known[1], form, columns):
            return _survey(corpus, known[0], known[1], columns)  # a header names the languages
    return survey


def _survey(corpus: CorpusConfig, source: str, target: str, columns: Sequence[str]) -> CorpusSurvey:
    files = corpus.files
    samples: dict[str, list[str]] = {side: [] for side in SIDES}
    survey, notes, bad = CorpusSurvey(samples=samples), Tally(), Tally()
    reader, is_checked = _open_files(files, source, target, corpus.format, columns), False
    for chunk in reader.chunks(_CHUNK):
        read = chunk.read(max_line_bytes=1 << 30)
        if read.faults.total and not is_checked:
            is_checked = True
            if foreign := foreign_encodings(corpus, reader.files()):
                raise DataError(explain_encodings(foreign))
        bad.merge(read.faults)
        if header := header_warning(read.notes):
            survey.warnings.append(header)
        notes.merge(read.notes)
        if survey.pairs < _COUNTED_CHARACTERS:
            for side in SIDES:
                survey.characters.update("".join(read.frame[side].to_list()))
        few = sample_rows(read.frame, _SAMPLED - len(samples["source"]))
        for side in SIDES:
            samples[side] += few[side].to_list()
        survey.pairs += read.records
        if survey.pairs >= _COUNT_AT_MOST:
            survey.is_exact = False
            break
    if bad.total > _NO_TEXT * survey.pairs:
        raise DataError(_explain_bad_lines(files, bad, survey.pairs))
    survey.warnings += reading_notes(notes)
    survey.characters.pop(" ", None)
    names = [plain_name(name) for name in files] if len(files) == 2 else ["", ""]
    for side, name in zip(SIDES, names, strict=True):
        survey.languages[side] = _detect(samples[side], name)
    return survey


def _heads(files: Sequence[str], source: str, target: str, form: str, columns: Sequence[str]) -> list[tuple[int, int]]:
    """Return the number of pairs and headers in the first rows of each table."""
    found = []
    for name in files:
        for chunk in islice(_open_files([name], source, target, form, columns).chunks(_HEAD), 1):
            read = chunk.read(max_line_bytes=1 << 30)
            found.append((read.records, read.notes.counts.get(HEADER, 0)))
    return found


def _explain_bad_lines(files: Sequence[str], bad: Tally, pairs: int) -> str:
    """Return the message for files most of whose lines are bad: columns, quotations, or their encoding."""
    names, reason = " and ".join(files), max(bad.counts, key=bad.counts.__getitem__)
    if reason in _RULES:
        first = bad.examples[reason][0]
        return (
            f"{names} must have {_RULES[reason]}, got {bad.counts[reason]:,} rows of {pairs:,} without, first "
            f"{first.place}: {first.detail}; correct the rows, or choose another --format"
        )
    if reason not in _ENCODING:
        first = bad.examples[reason][0]
        return (
            f"{names} must have good lines, got {bad.counts[reason]:,} of {pairs:,} with the problem {reason!r}, first "
            f"{first.place}: {first.detail}; correct them, or choose keys with --columns SRC TGT"
        )
    return (
        f"{names} must be UTF-8 text, got {bad.total:,} bad lines of {pairs:,}; name other files, or convert them with "
        "iconv -f ENCODING -t UTF-8"
    )


def _detect(texts: list[str], file: str) -> str | None:
    """Return the language of the file name if the text agrees with it, else the one detected in most sentences."""
    named = _named_language(file)
    if not texts:
        return named
    sentences = pl.Series(texts, dtype=pl.String)
    if named is not None:
        judged = SideLanguage(named, language_shares(sentences, named))
        if judged.foreign <= _DISAGREES or (not is_detectable(named) and not judged.other):
            return named
    return detect_language(sentences)


def _named_language(file: str) -> str | None:
    """Return the language code that a file name ends with: ``train.en``, ``news-zh_CN.txt``."""
    words = [word for word in re.split(r"[.\s]+", Path(file).name) if word.lower() not in ("txt", "text", "snt")]
    for word in reversed(words):
        for part in (word, re.split(r"[-_]", word)[-1]):
            code = canonical_language(part)
            if re.fullmatch(r"[a-z]{2}(-[A-Za-z]{2,4})?", code) and is_known_language(code):
                return code
    return None
