"""Detect the languages of sentence pairs, and mark pairs to drop that are not in the expected ones."""

from collections import Counter

import numpy as np
import polars as pl

from dragoman.data.cleaning.filters.base import mark_pairs, refine
from dragoman.data.cleaning.filters.lengths_and_letters import has_foreign_script, weighted_length
from dragoman.data.token_pairs import SIDES
from dragoman.language_codes import primary_language
from dragoman.text.characters import has_letters
from dragoman.text.language_detection_model import load_detector
from dragoman.text.language_scripts import language_scripts
from dragoman.text.other_language import fitting_answers, is_detectable

_MIN_LETTERS = 20  # weighted; detection is unreliable with fewer
_MAX_CHARACTERS = 150  # more take longer and hardly change the result


def sample_rows(frame: pl.DataFrame, count: int) -> pl.DataFrame:
    """Return rows spread over a frame: one drawn from each of `count` equal ranges, as every nth may be special."""
    if frame.height <= count:
        return frame
    jitter = np.random.default_rng(0).random(count)
    return frame[((np.arange(count) + jitter) * (frame.height / count)).astype(np.int64)]


def wrong_language(frame: pl.DataFrame, *, source: str, target: str, certainty: float) -> pl.Series:
    """Mark pairs with a side detected, with this certainty or more, as another language."""
    marks = [_other(frame, side, language, certainty) for side, language in zip(SIDES, (source, target), strict=True)]
    return marks[0] | marks[1]


def language_shares(texts: pl.Series, expected: str, certainty: float = 0.5) -> dict[str, float]:
    """Return the share of texts in each language, most frequent first; doubtful texts count as the expected one."""
    if not is_detectable(expected):
        return detected_shares(texts, certainty)
    counts = Counter(_foreign(texts, expected, certainty).fill_null(primary_language(expected)).to_list())
    return {language: count / len(texts) for language, count in counts.most_common()}


def detect_language(texts: pl.Series, minimum: float = 0.5) -> str | None:
    """Return the language of at least this share of the texts that have letters, or None."""
    best, share = next(iter(detected_shares(texts).items()), ("", 0.0))
    return best if best and share >= minimum else None


def detected_shares(texts: pl.Series, certainty: float = 0.0) -> dict[str, float]:
    """Return the shares of the languages detected with this certainty, most frequent first, of texts with letters."""
    lines = [text[:_MAX_CHARACTERS] for text in texts.to_list() if has_letters(text)]
    best = [load_detector().detect(line)[0] for line in lines]
    answers = [answer["lang"] if answer["score"] >= certainty else "" for answer in best]
    counts: Counter[str] = Counter()
    for answer in set(answers) - {""}:
        own = pl.Series([line for line, found in zip(lines, answers, strict=True) if found == answer])
        believed = int(_believable(own, answer).sum())
        counts[answer] += believed
        if answer == "ja":  # Chinese, which has no kana
            counts["zh"] += len(own) - believed
    return {language: count / len(lines) for language, count in counts.most_common() if count}


def _other(frame: pl.DataFrame, side: str, language: str, certainty: float) -> pl.Series:
    def exact(suspects: pl.DataFrame) -> pl.Series:
        return _foreign(suspects[side], language, certainty).is_not_null()

    letters = weighted_length(pl.col(side).str.replace_all(r"[^\p{L}]+", ""))
    return refine(frame, mark_pairs(frame, letters >= _MIN_LETTERS), exact)


def _foreign(texts: pl.Series, language: str, certainty: float) -> pl.Series:
    """Return the plausible detected language of each text if it is another one, else null."""
    fitting = fitting_answers(language)
    texts = texts.str.head(_MAX_CHARACTERS)
    found = [_other_answer(text, fitting, certainty) if fitting else None for text in texts.to_list()]
    answers = pl.Series(found, dtype=pl.String)
    for answer in answers.drop_nulls().unique().to_list():
        rows = (answers == answer).fill_null(value=False).arg_true()
        unbelievable = rows.filter(~_believable(texts.gather(rows), answer))
        answers = answers.scatter(unbelievable, None)
    return answers


def _other_answer(text: str, fitting: frozenset[str], certainty: float) -> str | None:
    """Return the detected language, or None if it fits or is uncertain."""
    best = load_detector().detect(text)[0]
    return best["lang"] if best["score"] >= certainty and best["lang"] not in fitting else None


def _believable(texts: pl.Series, answer: str) -> pl.Series:
    """Mark texts in a script of this language: much Chinese, which has no kana, is detected as Japanese."""
    fits = ~has_foreign_script(texts, answer, 0.5)
    kana = texts.str.contains(r"[\p{Hiragana}\p{Katakana}]")
    if answer == "ja":
        return fits & kana
    return fits & ~kana if language_scripts(answer) == ("Han",) else fits
