"""Change a text as people write: in capitals, with typos, without its full stop; join sentences."""

import hashlib
import re
from collections.abc import Iterator, Sequence

from dragoman.text.characters import SPACELESS, is_spaceless

STOPS = ".。．।።۔"

HINT = "⦅⦆"
"""Marks around the required translation of the word before them."""

TAGS = ("<b>@</b>", "<i>@</i>", '<a href="#">@</a>', '<x id="#"/>@', "{#}", "{name}", "%s", "%d", "${name}", "%(name)s")
"""Tags and placeholders for a word @, with a digit #."""

_DOTTED = {"tr", "az"}  # languages whose i is İ in capitals
_WORDS_PER_TYPO = 5
_TYPED = re.compile(rf"[^\W\d_{SPACELESS}]{{3,}}")  # words that can get a typo
WORD = re.compile(rf"[^\W\d_{SPACELESS}]+(?:['’-][^\W\d_{SPACELESS}]+)*")
_KEYS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEIGHBOURS = {key: row[max(0, n - 1) : n] + row[n + 1 : n + 2] for row in _KEYS for n, key in enumerate(row)}


def draw_numbers(key: str) -> Iterator[int]:
    """Yield pseudo-random numbers of 32 bits that depend only on the key."""
    number = 0
    while True:
        data = hashlib.sha256(f"{number}:{key}".encode("utf-8", "surrogatepass")).digest()
        for first in range(0, len(data), 4):
            yield int.from_bytes(data[first : first + 4], "big")
        number += 1


def upper_case(text: str, language: str = "") -> str:
    """Return the text in capitals, with the dotted capital İ in the languages that have it."""
    return (text.replace("i", "İ") if language in _DOTTED else text).upper()


def lower_case(text: str, language: str = "") -> str:
    """Return the text in small letters, with the dotless ı in the languages that have it."""
    return (text.replace("İ", "i").replace("I", "ı") if language in _DOTTED else text).lower()


def title_case(text: str, language: str = "") -> str:
    """Return the text with a capital at the beginning of each word."""
    return WORD.sub(lambda word: upper_case(word[0][0], language) + word[0][1:], text)


def without_stop(text: str) -> str:
    """Return the text without its full stop."""
    return text.rstrip(STOPS).rstrip()


def join_texts(texts: Sequence[str]) -> str:
    """Join texts, with spaces unless the script has none."""
    joined = ""
    for text in map(str.strip, texts):
        space = "" if not joined or not text or is_spaceless(joined[-1]) else " "
        joined += space + text
    return joined


def mistyped(text: str, draws: Iterator[int], *, kinds: int = 3) -> str:
    """Return the text with typos in one word of five: swapped, dropped, doubled, neighbouring key, by `kinds`."""
    words = list(_TYPED.finditer(text))
    ranks = [(next(draws), place) for place in range(len(words))]
    chosen = [place for _, place in sorted(ranks)[: -(-len(words) // _WORDS_PER_TYPO)]]
    for place in sorted(chosen, reverse=True):  # from the end, so that earlier positions stay valid
        word = words[place]
        text = text[: word.start()] + _typo(word[0], draws, kinds) + text[word.end() :]
    return text


def _typo(word: str, draws: Iterator[int], kinds: int) -> str:
    """Return the word with one typo, never in its first letter."""
    place = 1 + next(draws) % (len(word) - 1)
    kind = next(draws) % kinds
    if kind == 0 and place + 1 < len(word) and word[place] != word[place + 1]:
        return word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    if kind == 1:
        return word[:place] + word[place + 1 :]
    if kind == 3 and (near := _NEIGHBOURS.get(word[place])):
        return word[:place] + near[next(draws) % len(near)] + word[place + 1 :]
    return word[:place] + word[place] + word[place:]


_EMOJI = "😀😂🙂😉😍👍🙏🎉❤🔥"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def untranslatable(draws: Iterator[int]) -> str:
    """Return a number, date, code, address or emoji, which is the same in every language."""

    def digits(most: int) -> str:
        return "".join(str(next(draws) % 10) for _ in range(1 + next(draws) % most))

    def word() -> str:
        return "".join(_LETTERS[next(draws) % 26] for _ in range(3 + next(draws) % 6))

    made = (
        digits(9),
        f"{digits(3)}.{digits(2)}",
        f"{1 + next(draws) % 28:02}/{1 + next(draws) % 12:02}/{1950 + next(draws) % 100}",
        f"{word().upper()}-{digits(5)}",
        f"https://www.{word()}.org/{word()}",
        f"{word()}@{word()}.com",
        _EMOJI[next(draws) % len(_EMOJI)],
    )
    return made[next(draws) % len(made)]
