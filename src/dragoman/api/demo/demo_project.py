"""Write the project folder of the demo: configuration, and a corpus of English dates in many spellings.

::

    the third of May, 1998            1998-05-03
    Sunday, 3 May 1998                1998-05-03
    May 3rd, nineteen ninety-eight    1998-05-03

A date in digits begins with the year (1998/05/03), or with the day and has dots (03.05.1998), so no spelling is
ambiguous. Training, validation and test have no date in common, so that no answer can be memorized.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from itertools import cycle, islice
from pathlib import Path
from typing import Final, TypeVar

from dragoman.errors import ConfigError
from dragoman.files import atomic_write
from dragoman.run_files import PROJECT

FIRST, LAST = date(1900, 1, 1), date(2049, 12, 31)
"""Every date in this range is in one of the three sets."""

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
    *("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_IRREGULAR = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth"}
_IRREGULAR |= {"twelve": "twelfth", "twenty": "twentieth", "thirty": "thirtieth"}
_TEMPLATE = Path(__file__).with_name("demo_template.toml").read_text(encoding="utf-8")


def _in_words(number: int) -> str:
    """Return a number from 0 to 99 in words."""
    if number < 20:
        return _ONES[number]
    tens, ones = _TENS[number // 10 - 2], number % 10
    return f"{tens}-{_ONES[ones]}" if ones else tens


def ordinal_in_words(number: int) -> str:
    """Return ``twenty-third`` for 23; from 1 to 39."""
    *before, last = _in_words(number).split("-")
    return "-".join([*before, _IRREGULAR.get(last, f"{last}th")])


def year_in_words(year: int) -> str:
    """Return a year in words, ``nineteen ninety-eight``: nineteen hundred, nineteen oh five, two thousand and five."""
    century, rest = divmod(year, 100)
    if century % 10 == 0 and rest < 10:
        return f"{_in_words(century // 10)} thousand" + (f" and {_in_words(rest)}" if rest else "")
    if rest < 10:
        return f"{_in_words(century)} " + (f"oh {_in_words(rest)}" if rest else "hundred")
    return f"{_in_words(century)} {_in_words(rest)}"


def _ordinal(day: int) -> str:
    """Return ``23rd`` for 23."""
    ending = "th" if day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"


def _spelt(form: str) -> Callable[[date], str]:
    """Return a function that formats dates with the fields below."""

    def spell(day: date) -> str:
        month, weekday = _MONTHS[day.month - 1], _DAYS[day.weekday()]
        return form.format(
            d=day.day,
            dd=f"{day.day:02}",
            dth=_ordinal(day.day),
            dword=ordinal_in_words(day.day),
            m=day.month,
            mm=f"{day.month:02}",
            mon=month[:3],
            month=month,
            y=day.year,
            yword=year_in_words(day.year),
            week=weekday,
            wk=weekday[:3],
        )

    return spell


SPELLINGS: Final = tuple(
    _spelt(form)
    for form in (
        "{d} {month} {y}",
        "{d} {mon} {y}",
        "{dth} {month} {y}",
        "{month} {d}, {y}",
        "{mon} {d}, {y}",
        "{month} {dth}, {y}",
        "{week}, {d} {month} {y}",
        "{wk}, {d} {mon} {y}",
        "{week}, {month} {d}, {y}",
        "{week}, the {dth} of {month} {y}",
        "the {dth} of {month}, {y}",
        "on the {dth} of {month} in {y}",
        "the {dword} of {month}, {y}",
        "on {week}, the {dword} of {month} {y}",
        "{month} the {dword}, {y}",
        "{month} {dth}, {yword}",
        "the {dword} of {month}, {yword}",
        "{month} the {dword}, {yword}",
        "{y}/{mm}/{dd}",
        "{dd}.{mm}.{y}",
        "{d}.{m}.{y}",
        "{y}, {month} {d}",
    )
)
"""Spellings of a date, each a function from a date to text."""

Pair = tuple[str, str]
T = TypeVar("T")


def date_corpus(pairs: int, *, validation: int, test: int, seed: int) -> dict[str, list[Pair]]:
    """Return pairs of a spelling and its ISO form by set, determined by the seed; no date is in two sets."""
    draw = random.Random(seed).random  # the only method with the same numbers in every version of Python
    days = sorted((FIRST + timedelta(days=days) for days in range((LAST - FIRST).days + 1)), key=lambda _: draw())
    held_out, rest = days[: validation + test], days[validation + test :]
    return {
        "train": [_pair(_one_of(rest, draw), _one_of(SPELLINGS, draw)) for _ in range(pairs)],
        "validation": _each_once(held_out[:validation]),
        "test": _each_once(held_out[validation:]),
    }


def _one_of(choices: Sequence[T], draw: Callable[[], float]) -> T:
    return choices[int(draw() * len(choices))]


def _pair(day: date, spell: Callable[[date], str]) -> Pair:
    return spell(day), day.isoformat()


def _each_once(days: Sequence[date]) -> list[Pair]:
    return [_pair(day, spell) for day, spell in zip(days, islice(cycle(SPELLINGS), len(days)), strict=True)]


def check_demo_folder(folder: Path) -> None:
    """Raise a `ConfigError` for a folder with files that are not those of a demo."""
    config = folder / PROJECT
    is_demo = config.is_file() and config.read_text(encoding="utf-8", errors="replace") == _TEMPLATE
    if not is_demo and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} has other files than those of a demo; name another folder: dragoman demo FOLDER")


def write_project(folder: Path, corpus: Mapping[str, Sequence[tuple[str, str]]]) -> None:
    """Write the configuration first, which identifies a demo, and the corpus; other folders are a `ConfigError`."""
    check_demo_folder(folder)
    config = folder / PROJECT
    (folder / "corpus").mkdir(parents=True, exist_ok=True)
    files = {config: _TEMPLATE}
    for name, pairs in corpus.items():
        for side, suffix in enumerate(("src", "tgt")):
            files[folder / "corpus" / f"{name}.{suffix}"] = "".join(f"{pair[side]}\n" for pair in pairs)
    for path, text in files.items():
        if not path.is_file():
            with atomic_write(path) as draft:
                draft.write_text(text, encoding="utf-8")
