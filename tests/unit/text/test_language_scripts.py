from functools import partial

import polars as pl
import pytest

from dragoman.data.cleaning.filters.lengths_and_letters import wrong_script
from dragoman.language_codes import primary_language
from dragoman.text.language_detection_model import load_detector
from dragoman.text.language_scripts import SCRIPTS, character_script, chinese_script, language_scripts
from tests.unit.data.cleaning.pairs import drops, frame

TWO_LETTERS = (
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el "
    "en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu "
    "ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na "
    "nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn "
    "so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)

# A text of the language (greetings, names of the language), by the codes it may be given.
TEXTS = {
    "Привет, русский язык": "ru rus",
    "Нохчийн мотт": "ce che",
    "Аҧсуа бызшәа": "ab abk",
    "你好，中文": "zh zho chi cmn zh-CN zh-Hant yue nan wuu lzh",
    "السلام عليكم": "ar ara arb arz ary apc acm aeb",
    "سلام دنیا": "fa fas per pes prs azb ks kas ur urd ckb pnb ug uig",
    "भोजपुरी भाषा": "bho mai hi hin mr mar ne npi sa awa mag hne ks brx",
    "ၵႂၢမ်းတႆး": "shn my mya",
    "Καλημέρα κόσμε": "el ell gre grc",
    "日本語のテキスト": "ja jpn",
    "한국어 텍스트": "ko kor",
    "ภาษาไทย": "th tha",
    "Tiếng Việt": "vi vie",
    "deutsche Sprache": "de deu ger en eng fr fra fre tr tur sw swh swa id ind fil ceb hi-Latn sr-Latn zh-Latn",
    "ქართული ენა": "ka kat geo xmf",
    "հայերեն լեզու": "hy hye arm",
    "עברית ויידיש": "he heb iw yi yid",
    "አማርኛ ቋንቋ": "am amh ti tir",
}


def test_every_two_letter_code_has_a_script():
    assert len(TWO_LETTERS.split()) == 185
    assert [code for code in TWO_LETTERS.split() if not language_scripts(code)] == []


def test_every_answer_of_the_language_model_has_a_script():
    assert [
        answer["lang"] for answer in load_detector().detect("any", k=1000) if not language_scripts(answer["lang"])
    ] == []


@pytest.mark.parametrize(("text", "code"), [(text, code) for text, codes in TEXTS.items() for code in codes.split()])
def test_no_language_is_foreign_to_itself(text: str, code: str):
    assert language_scripts(code)
    assert not drops(partial(wrong_script, source=code, target="en", minimum=0.3), text, "Hello")


@pytest.mark.parametrize("text", TEXTS)
def test_nothing_is_foreign_to_an_unknown_language(text: str):
    for code in ("xx", "qqq", "und", "ru-Glag"):
        assert language_scripts(code) == ()
        assert not drops(partial(wrong_script, source="en", target=code, minimum=0.3), "Hello", text)


def test_known_languages_still_are_told_apart():
    for code in ("rus", "cmn", "arb", "hin", "ell", "jpn", "zh-TW", "deu-Cyrl"):
        assert drops(partial(wrong_script, source=code, target="en", minimum=0.3), "English text", "Hello")


@pytest.mark.parametrize(
    ("code", "expected"),
    [("deu", "de"), ("ger", "de"), ("zh-TW", "zh"), ("cmn-Hans", "zh"), ("iw", "he"), ("yue", "yue"), ("xx", "xx")],
)
def test_codes_of_the_same_language_are_one(code: str, expected: str):
    assert primary_language(code) == expected


def test_tables_are_keyed_by_primary_codes():
    assert [code for code in SCRIPTS if primary_language(code) != code] == []


def test_every_script_is_known_to_the_engine():
    for script in {script for scripts in SCRIPTS.values() for script in scripts}:
        frame([("a", "b")]).select(pl.col("source").str.contains(rf"\p{{scx={script}}}"))


def test_scripts_of_letters():
    letters = {
        "a": "Latin",
        "ß": "Latin",
        "ж": "Cyrillic",
        "你": "Han",
        "ら": "Hiragana",
        "Ａ": "Latin",
        "ᓀ": "Canadian_Aboriginal",
    }
    assert {letter: character_script(letter) for letter in letters} == letters
    assert {character_script(other) for other in "1.▁º💧"} == {""}


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("两只狗在雪地里玩耍。", "Hans"),
        ("兩隻狗在雪地裡玩耍。", "Hant"),
        ("他说：“我们明天去图书馆。”", "Hans"),
        ("他說：「我們明天去圖書館。」", "Hant"),
        ("人大小", "Hans"),
        ("", "Hans"),
    ],
)
def test_scripts(text: str, script: str):
    assert chinese_script(text) == script
