"""Quality flags: detect probable translation errors, such as repetitions or missing numbers, without a reference.

Nothing is repaired. Every detector takes time linear in the length of the texts, well under a millisecond per sentence,
so all of them can run on every translation.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dragoman.markup.placeholders.icu_message import has_icu_choice, parse_icu
from dragoman.markup.protected_spans import count_placeholders
from dragoman.text.characters import is_spaceless
from dragoman.text.numbers_and_addresses import ADDRESS, find_addresses, find_numbers
from dragoman.text.other_language import other_language
from dragoman.text.words import word_spans

FLAGS = {
    "unlikely": "the translation has a low probability: it may be hallucinated",
    "unfocused": "attention is hardly on words of the source: the translation may be hallucinated",
    "repetition": "words are repeated more often than in the source",
    "from-nothing": "the source has no letters, but the translation has",
    "empty": "the translation is empty or almost empty",
    "truncated": "the translation reached the maximum length",
    "numbers": "numbers of the source are lost or changed, or there are new ones",
    "addresses": "web or mail addresses of the source are lost or changed, or there are new ones",
    "placeholders": "placeholders or tags, such as {name} or <b>, are lost or changed, or there are new ones",
    "copied": "the translation is the source, or nearly so",
    "dropped": "words of the source got no attention: they may be missing",
    "language": "the source is in another language than that of the model",
    "unsure": "the confidence is below the minimum: the text was left untranslated",
}
"""Names of flags and their descriptions."""

TEXT_FLAGS = FLAGS.keys() - {"unlikely", "unfocused", "truncated", "dropped", "unsure"}
"""Flags that a text and its translation alone show, without probabilities and attention."""

LEFT_FLAGS = frozenset({"placeholders", "unsure"})
"""Flags of texts that are left untranslated, which are found even if no flags are requested."""

# Chosen on the validation set of Multi30k with the recurrent model and the Transformer of benchmarks/results/quality.md
# and a beam of 5. On test_2017, which was not used to choose it, 4 to 6 in 1,000 English sentences are below it, and 68
# to 82 % of French ones, a language unknown to the models, which turn it into fluent but wrong text. Greedy search
# finds less probable translations and is flagged more often. The value suits models and data of this kind.
_MIN_MEAN_LOG_PROB = -1.5

# The same models never have more than 0.2 of their attention on the end of the source and on punctuation, in any
# language: the limit is for models that fail differently, and is not measured.
_MAX_IDLE_ATTENTION = 0.5

# Minimum attention on a long word in all steps together: 5 to 7 in 1,000 sentences have a word below it, and up to 17
# in 100 sentences in unknown languages. Only a hint.
_MIN_COVERAGE = 0.1
_CONTENT_LETTERS = 4  # shorter words are mostly function words, which may have no counterpart

_TAG = re.compile(r"<(/?(?:[A-Za-z][\w:.-]*+|\d{1,4}+))([^<>]*+)>")
_MAX_COUNTED = 100  # names that are looked for in the whole text
_NGRAM, _SPACELESS_NGRAM = 4, 8  # long enough not to repeat by chance
_MIN_REPETITIONS = 2  # one repetition may be style
_WORDS_PER_REPETITION = 100  # longer texts may repeat an n-gram once more per this many words
_MAX_RUN = 3  # words of a stutter; longer runs are detected as n-grams

_COPIED = 0.9
_MIN_COPIED_LETTERS, _MIN_COPIED_WORDS, _MAX_NAME_WORDS = 12, 3, 5  # names and titles are often copied correctly

_MIN_BYTES_RATIO = 0.2  # below that of every language pair; UTF-8 balances short and long scripts
_MIN_BYTES = 40  # shorter sources are not checked

_MAX_SPELT_NUMBER = 12  # style guides allow words for smaller numbers

_LETTER = re.compile(r"[^\W\d_]")
_STUTTER = re.compile(r"([^\W\d_]{1,4}?)\1{5,}")  # Sooooooo, mimimimimimi: repeated subwords
_WRITTEN = re.compile(r"[^\W_]")
_DIGIT_RUN = re.compile("[0-9]+")
_MYRIADS = re.compile(r"\d[万萬亿億兆만억조]")
_MAX_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag: a name of `FLAGS` and the evidence."""

    name: str
    detail: str


@dataclass(frozen=True, slots=True)
class TranslationFacts:
    """Inputs of the detectors. `length` is the number of tokens including the end, `log_prob` their total.

    Shapes: weights [tgt words, src words], the attention weights. If the source's end has a column, it is the last; if
    the translation's end has a row, it is the last, and is ignored.
    """

    source: str
    translation: str
    log_prob: float
    length: int
    is_finished: bool
    source_words: Sequence[str]
    target_words: Sequence[str]
    weights: NDArray[np.floating] | None = None
    source_language: str = ""
    """Language of the model; empty if unknown."""


def quality_flags(facts: TranslationFacts) -> tuple[Flag, ...]:
    """Return the flags of a translation, in the order of `FLAGS`."""
    return tuple(Flag(name, detail) for name, detail in _flags(facts) if detail)


def text_flags(source: str, translation: str, source_language: str = "") -> tuple[Flag, ...]:
    """Return those flags of a translation that are in `TEXT_FLAGS`; of an ICU message those of its sentences."""
    messages = [parse_icu(text) for text in (source, translation)] if has_icu_choice(source) else []
    sentences = [message.texts for message in messages if message is not None]
    if len(sentences) == 2 and len(sentences[0]) == len(sentences[1]):
        source, translation = map("\n".join, sentences)
    words, new_words = ([text[start:end] for start, end in word_spans(text)] for text in (source, translation))
    return quality_flags(TranslationFacts(source, translation, 0.0, 1, True, words, new_words, None, source_language))


def _flags(facts: TranslationFacts) -> Iterator[tuple[str, str | None]]:
    has_letters = _LETTER.search(facts.source) is not None
    yield "unlikely", _unlikely(facts) if has_letters else None
    weights = _word_weights(facts) if has_letters else None
    yield "unfocused", None if weights is None else _unfocused(facts, weights)
    yield "repetition", _stuttering(facts) or _repetition(facts.source_words, facts.target_words)
    yield "from-nothing", None if has_letters or not _LETTER.search(facts.translation) else _shown(facts.translation)
    yield "empty", _empty(facts)
    yield "truncated", None if facts.is_finished else f"cut after {facts.length} tokens"
    source, translation = facts.source, facts.translation
    details = changed_addresses(source, translation)
    if details is not None:
        source, translation = ADDRESS.sub(" ", source), ADDRESS.sub(" ", translation)
    yield "numbers", _other_numbers(source, translation)
    yield "addresses", details
    yield "placeholders", changed_placeholders(source, translation)
    yield "copied", _copied(source, translation, facts.source_words)
    yield "dropped", None if weights is None else _dropped(facts.source_words, weights)
    yield "language", _language(facts) if has_letters else None


def _language(facts: TranslationFacts) -> str | None:
    found = other_language(facts.source, facts.source_language)
    return None if found is None else f"{found} instead of {facts.source_language}"


def _unlikely(facts: TranslationFacts) -> str | None:
    mean = facts.log_prob / max(1, facts.length)
    return f"mean log-probability {mean:.2f}" if mean < _MIN_MEAN_LOG_PROB else None


def _word_weights(facts: TranslationFacts) -> NDArray[np.floating] | None:
    """Return the weights without the row of the end."""
    if facts.weights is None or not len(facts.target_words) or not len(facts.source_words):
        return None
    return facts.weights[: len(facts.target_words)]


def _unfocused(facts: TranslationFacts, weights: NDArray[np.floating]) -> str | None:
    has_end = weights.shape[1] > len(facts.source_words)
    spent = float(weights.sum())
    # Without a column of the end, the weight missing to 1 per word was on the end.
    total = spent if has_end else max(spent, float(len(weights)))
    is_word = np.array([_WRITTEN.search(word) is not None for word in facts.source_words])
    idle = 1 - float(weights[:, : len(is_word)].sum(0)[is_word].sum()) / total if total else 1.0
    return f"{idle:.0%} of the attention on no word" if idle > _MAX_IDLE_ATTENTION else None


def _dropped(words: Sequence[str], weights: NDArray[np.floating]) -> str | None:
    coverage = weights.sum(0).tolist()
    found: list[str] = []
    characters = ""  # of a script without spaces, in which a single one may be a function word
    for word, covered in zip([*words, ""], [*coverage[: len(words)], 1.0], strict=True):
        is_left = covered < _MIN_COVERAGE
        if is_left and word and is_spaceless(word[0]) and _LETTER.match(word):
            characters += word
            continue
        if len(characters) > 1:
            found.append(characters)
        characters = ""
        if is_left and sum(map(str.isalpha, word)) >= _CONTENT_LETTERS:
            found.append(word)
    return _shown(", ".join(found)) if found else None


def _stuttering(facts: TranslationFacts) -> str | None:
    found = _STUTTER.search(facts.translation)
    return None if found is None or _STUTTER.search(facts.source) else _shown(found[0])


def _repetition(source: Sequence[str], target: Sequence[str]) -> str | None:
    if len(target) <= _MIN_REPETITIONS:
        return None
    target = [word.casefold() for word in target]
    source = [word.casefold() for word in source]
    spaceless = sum(is_spaceless(word[0]) for word in target if word) > len(target) // 2
    size = _SPACELESS_NGRAM if spaceless else _NGRAM
    more = _MIN_REPETITIONS + len(target) // _WORDS_PER_REPETITION
    often, run = _most_frequent(target, size)
    if often > more and often - max(1, _most_frequent(source, size)[0]) >= more:
        return f"{often} times {_shown(' '.join(run))}"
    stutters, run = _most_stuttered(target)
    least = _MIN_REPETITIONS + spaceless  # reduplication is common in many of these languages
    if stutters >= least and stutters - _most_stuttered(source)[0] >= least:
        return f"{stutters + 1} times in a row {_shown(' '.join(run))}"
    return None


def _most_frequent(words: list[str], size: int) -> tuple[int, tuple[str, ...]]:
    """Return the most frequent run of `size` words that has a letter, with its count."""
    runs = list(zip(*(words[start:] for start in range(size)), strict=False))
    if len(set(runs)) == len(runs):
        return min(1, len(runs)), ()
    for run, count in Counter(runs).most_common(8):  # some may be dots and dashes only
        if _LETTER.search("".join(run)):
            return count, run
    return 1, ()


def _most_stuttered(words: list[str]) -> tuple[int, tuple[str, ...]]:
    """Return how often a short run with a letter directly follows itself."""
    best: tuple[int, tuple[str, ...]] = (0, ())
    for size in range(1, _MAX_RUN + 1):
        same = 0
        for place in range(size, len(words)):
            same = same + 1 if words[place] == words[place - size] else 0
            if same // size > best[0] and _LETTER.search("".join(words[place - size + 1 : place + 1])):
                best = same // size, tuple(words[place - size + 1 : place + 1])
    return best


def _empty(facts: TranslationFacts) -> str | None:
    if not _WRITTEN.search(facts.source):
        return None
    if not _WRITTEN.search(facts.translation):
        return "no word was generated"
    before, after = len(facts.source.encode()), len(facts.translation.encode())
    if before >= _MIN_BYTES and after < _MIN_BYTES_RATIO * before:
        return f"{len(facts.translation)} characters for {len(facts.source)}"
    return None


def _other_numbers(source: str, translation: str) -> str | None:
    """Compare the counts of all digits, so that separators, date order and the script of digits do not matter.

    If only one side lacks digits, small numbers may be written in words there. With myriads such as 万, zeros are
    ignored.
    """
    first, second = find_numbers(source), find_numbers(translation)
    if first == second:
        return None
    parts = [[part for chain in chains for part in _DIGIT_RUN.findall(chain)] for chains in (first, second)]
    # 03.10. is 3.10.
    digits = [Counter("".join(part.lstrip("0") if len(part) == 2 else part for part in side)) for side in parts]
    if _MYRIADS.search(source) or _MYRIADS.search(translation):
        for counts in digits:
            counts["0"] = 0
    lost, new = digits[0] - digits[1], digits[1] - digits[0]
    small = [Counter(part for part in side if len(part) <= 2 and int(part) <= _MAX_SPELT_NUMBER) for side in parts]
    may_be_lost, may_be_new = (Counter("".join(side.elements())) for side in (small[0] - small[1], small[1] - small[0]))
    if (not lost and new <= may_be_new) or (not new and lost <= may_be_lost):
        return None
    return _changed(Counter(first), Counter(second)) or "the same numbers, not equally often"


def changed_addresses(source: str, translation: str) -> str | None:
    """Return which addresses are lost in the translation of a text, or new there; None if neither text has any."""
    if not any("@" in text or "://" in text or "www." in text.lower() for text in (source, translation)):
        return None
    return _changed(Counter(find_addresses(source)), Counter(find_addresses(translation)))


def changed_placeholders(source: str, translation: str) -> str | None:
    """Return which placeholders and tags are lost in a translation, or new there; None if they are the same."""
    before, after = count_placeholders(source), count_placeholders(translation)
    lost, new = before - after, count_placeholders(translation, strict=True) - before
    if len(lost) + len(new) <= _MAX_COUNTED:
        lost = Counter({name: count for name, count in lost.items() if translation.count(name) < source.count(name)})
        new = Counter({name: count for name, count in new.items() if source.count(name) < translation.count(name)})
    old_tags, new_tags = _tags(source), _tags(translation)
    return _changed(lost | (old_tags - new_tags), new | (new_tags - old_tags)) or None


def _tags(text: str) -> Counter[str]:
    """Count tags by name, such as <b>, </b>, <br/> and <a href="x">; attributes may be translated."""
    return Counter(f"<{name}>" for name, rest in _TAG.findall(text) if _ends_tag(rest))


def _ends_tag(rest: str) -> bool:
    """Whether what follows the name of a tag is nothing or attributes; in ``a <b and c> d`` it is neither."""
    return rest.strip() in {"", "/"} or (rest[0].isspace() and "=" in rest)


def _changed(source: Counter[str], translation: Counter[str]) -> str:
    """List what is lost and what is new."""
    lost, new = (sorted(set(each)) for each in (source - translation, translation - source))
    parts = [f"{what} {_shown(', '.join(some))}" for what, some in (("lost", lost), ("new", new)) if some]
    return "; ".join(parts)


def _copied(source: str, translation: str, words: Sequence[str]) -> str | None:
    letters = len(_LETTER.findall(source))
    written = [word for word in words if _LETTER.search(word)]
    is_name = len(written) <= _MAX_NAME_WORDS and all(
        not word.islower() and not is_spaceless(word[0]) for word in written
    )
    if letters < _MIN_COPIED_LETTERS or len(written) < _MIN_COPIED_WORDS or is_name:
        return None
    similarity = _similarity(source.casefold(), translation.casefold())
    return f"similarity {similarity:.2f}" if similarity > _COPIED else None


def _similarity(first: str, second: str) -> float:
    """Return the Dice coefficient of the character bigrams of two texts."""
    if first == second:
        return 1.0
    shorter, longer = sorted((len(first), len(second)))
    if shorter < _COPIED * longer - 2:
        return 0.0
    pairs = [Counter(pairwise(text)) for text in (first, second)]
    return 2 * (pairs[0] & pairs[1]).total() / max(1, pairs[0].total() + pairs[1].total())


def _shown(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
