import re
import unicodedata

import pytest

from dragoman.errors import DataError
from dragoman.text.characters import SPACELESS, attaches, attaching_class, check_unicode, is_spaceless

ALL = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]


def test_the_class_of_attaching_characters_holds_them_all():
    """It is built from a few planes only; this checks every character."""
    found = set(re.findall(f"[{attaching_class()}]", "".join(ALL)))
    assert found == {char for char in ALL if attaches(char)}
    assert found >= {"\u0301", "\u093e", "\u200c", "\u200d", "\ufe0f", "\U000e0100"}


@pytest.mark.parametrize("char", "我々〇ひカｶ。「ㄅกລབကខ𠀀𛀀ꀀ")
def test_scripts_without_spaces(char: str):
    assert is_spaceless(char)


@pytest.mark.parametrize("char", "aéЖع안ᄀक1,Ａ１😀▁ ")
def test_scripts_with_spaces(char: str):
    assert not is_spaceless(char)


def test_every_named_character_of_the_great_scripts_without_spaces_is_listed():
    scripts = ("CJK UNIFIED", "HIRAGANA", "KATAKANA LETTER", "THAI CHARACTER", "LAO ", "KHMER ", "MYANMAR ", "TIBETAN ")
    named = [char for char in ALL if unicodedata.name(char, "").startswith(scripts)]
    assert [char for char in named if not is_spaceless(char)] == []
    assert len(re.findall(f"[{SPACELESS}]", "".join(named))) == len(named)


def test_a_lone_surrogate_is_refused():
    assert check_unicode("naïve 😀") == "naïve 😀"
    with pytest.raises(DataError, match=r"got the lone surrogate U\+D83D at character 2; decode it as UTF-8"):
        check_unicode("ab\ud83dc")
