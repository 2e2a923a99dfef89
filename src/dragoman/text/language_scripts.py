"""Scripts in which each language is written (Latin, Cyrillic and so on), and the script of a Chinese text."""

import functools
import json
import re
import unicodedata
from pathlib import Path
from typing import Literal

from dragoman.language_codes import language_key, primary_language

_CACHED_CHARACTERS = 1 << 16
_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]+")

_SCRIPT_LANGUAGES: dict[str, str] = json.loads(
    Path(__file__).with_name("language_scripts.json").read_text(encoding="utf-8")
)
"""Primary codes of the languages that are written in each script."""

SCRIPTS: dict[str, tuple[str, ...]] = {}
"""Scripts of languages by their primary codes; a language that is missing is unknown."""
for _script, _languages in _SCRIPT_LANGUAGES.items():
    for _language in _languages.split():
        SCRIPTS[_language] = (*SCRIPTS.get(_language, ()), _script)

# Script subtags of language codes such as sr-Latn (ISO 15924).
_TAGGED_SCRIPTS = {
    "Arab": ("Arabic",),
    "Beng": ("Bengali",),
    "Cans": ("Canadian_Aboriginal",),
    "Cyrl": ("Cyrillic",),
    "Deva": ("Devanagari",),
    "Grek": ("Greek",),
    "Hans": ("Han",),
    "Hant": ("Han",),
    "Hebr": ("Hebrew",),
    "Jpan": SCRIPTS["ja"],
    "Kore": SCRIPTS["ko"],
    "Latn": ("Latin",),
    "Mong": ("Mongolian",),
    "Thai": ("Thai",),
}


def language_scripts(language: str) -> tuple[str, ...]:
    """Return the scripts of a language, empty if unknown; one in the code (sr-Latn) is the only one."""
    tags = [tag.title() for tag in language.split("-")[1:] if len(tag) == 4 and tag.isalpha()]
    return _TAGGED_SCRIPTS.get(tags[0], ()) if tags else SCRIPTS.get(primary_language(language), ())


_CHARACTER_NAMES = {"CJK": "Han", "CANADIAN SYLLABICS": "Canadian_Aboriginal"} | {
    script.replace("_", " ").upper(): script for script in _SCRIPT_LANGUAGES
}
"""Scripts by the first words of the names of their characters, the longest first."""
_LONGEST_FIRST = sorted(_CHARACTER_NAMES, key=len, reverse=True)


@functools.lru_cache(_CACHED_CHARACTERS)
def character_script(character: str) -> str:
    """Return the script of a letter, by its name in Unicode; an empty string for other characters."""
    if not character.isalpha():
        return ""
    name = unicodedata.name(character, "").removeprefix("FULLWIDTH ").removeprefix("HALFWIDTH ")
    return next((_CHARACTER_NAMES[each] for each in _LONGEST_FIRST if name.startswith(f"{each} ")), "")


def chinese_script(text: str) -> Literal["Hans", "Hant"]:
    """Return the script whose legacy character set has more of a Chinese text; simplified if both have the same."""
    han = "".join(_HAN.findall(text))
    in_big5, in_gb2312 = (len(han.encode(name, "ignore")) for name in ("big5", "gb2312"))
    return "Hant" if in_big5 > in_gb2312 else "Hans"


def other_script(script: str, language: str) -> tuple[str, str]:
    """Return name and code of the `script` (by `chinese_script`) if a Chinese code has the other; else empty."""
    key = language_key(language)
    if key.language != "zh" or (key.script == "Hant") == (script == "Hant"):
        return "", ""
    return ("traditional", "zh-Hant") if script == "Hant" else ("simplified", "zh")
