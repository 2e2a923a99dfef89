"""Scripts in which each language is written (Latin, Cyrillic and so on), and the script of a Chinese text."""

import functools
import re
import unicodedata
from typing import Literal

from dragoman.language_codes import language_key, primary_language

_CACHED_CHARACTERS = 1 << 16
_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]+")

_SCRIPT_LANGUAGES = {
    "Adlam": "ff",
    "Arabic": (
        "ace acm acq acw aeb afb ajp apc ar arq ars ary arz ayl az azb bal ber bgn bjn bqi brh ckb doi fa ff glk ha "
        "haz hno khw kk kr ks ku ky lki lrc luz min ms mzn ota pa pnb prs ps rhg sd sdh shi shu skr tg tk tzm ug ur "
        "uz wo"
    ),
    "Armenian": "hy hyw xcl",
    "Avestan": "ae",
    "Balinese": "ban",
    "Bengali": "as bn bpy ctg mni rkt syl",
    "Buginese": "bug",
    "Canadian_Aboriginal": "cr crk iu oj ojb",
    "Cherokee": "chr",
    "Coptic": "cop",
    "Cyrillic": (
        "ab abq ady alt av az ba be bg bs bua bxr ce chm cjs ckt crh cu cv dar dng evn gag inh kaa kbd kca kjh kk koi "
        "kpv krc ku kum kv ky lbe lez mdf mhr mk mn mns mrj myv nio nog orv os rom ru rue sah sh sr tab tg tk tkr tt "
        "tyv udm ug uk uum uz xal"
    ),
    "Devanagari": (
        "anp awa bgc bh bhb bho bra brx doi dty gbm gom hi hif hne kfy kok kru ks lif mag mai mr mup mwr ne new noe "
        "pi raj sa sat sck sd taj thl xnr"
    ),
    "Ethiopic": "am byn gez sgw ti tig",
    "Georgian": "bbl ka lzz sva xmf",
    "Gothic": "got",
    "Greek": "cpg el grc pnt tsd",
    "Gujarati": "ae gu",
    "Gurmukhi": "pa",
    "Han": "cdo cjy cpx czo gan hak hsn ja ko lzh mnp nan wuu yue za zh",
    "Hangul": "ko",
    "Hebrew": "arc hbo he lad yi",
    "Hiragana": "ja",
    "Javanese": "jv",
    "Kannada": "kn tcy",
    "Katakana": "ja",
    "Khmer": "km kxm pi",
    "Lao": "lo",
    "Latin": (
        "aa ace ach ae af ak als an ang ast ay az bal ban bar bcl bem ber bi bik bjn bm br brh bs bug ca cbk cdo ceb "
        "ch cho cjk ckb co cr crh crk cs csb cy da de dik din diq dsb dyu ee efi egl eml en eo es et eu ext ff fi fj "
        "fo fon fr frm fro frp frr fur fy ga gag gcf gcr gd gil gl gmh gn gom gos got gsw gv ha hak haw hif hil hmn "
        "ho hr hsb ht hu hz ia iba id ie ig igl ik ilo io is it iu jam jbo jv kaa kab kac kam kbp kea kek kg kha ki "
        "kj kk kl kmb kok kr krl ksh ku kw la lad lb lfn lg li lij lld lmo ln loz lt ltg lu lua luo lus lv lzz mad "
        "mam mfe mg mh mi min mos ms mt mus mwl na nah nan nap nb nd nds ng nhn nia nl nn nnb no nov nr nso nus nv ny "
        "nyn oc odt oj ojb olo om osa ota pag pam pap pau pcd pcm pdc pfl pi pl pms pt qu rap rhg rif rm rmy rn ro "
        "rom rup rw sc scn sco se sg sgs sh shi sk sl sm sma smj smn sms sn so sq sr srn ss st stq su sv sw szl taq "
        "tet tg tk tl tlh tmh tn to tok tpi tr ts tt tum tvl tw ty tzl tzm ug umb uz ve vec vep vi vls vmw vo vro wa "
        "war wls wo xh yap yo yua za zea zgh zu zza"
    ),
    "Lepcha": "lep",
    "Limbu": "lif",
    "Lisu": "lis",
    "Malayalam": "ml",
    "Meetei_Mayek": "mni",
    "Mongolian": "mn mvf",
    "Myanmar": "blk ksw mnw my pi rki shn",
    "New_Tai_Lue": "khb",
    "Nko": "nqo",
    "Ol_Chiki": "sat",
    "Oriya": "or spv",
    "Osage": "osa",
    "Sinhala": "pi si",
    "Sundanese": "su",
    "Syriac": "aii arc cld syc syr",
    "Tai_Le": "tdd",
    "Tai_Tham": "khb nod",
    "Tamil": "ta",
    "Telugu": "te",
    "Thaana": "dv",
    "Thai": "nod pi sou th tts",
    "Tibetan": "bo dz lbj sip",
    "Tifinagh": "ber kab rif shi taq tmh tzm zgh",
    "Vai": "vai",
    "Yi": "ii",
}

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
    """Return the scripts of a language; an empty tuple if they are unknown.

    A script in the code itself (sr-Latn, hi-Latn) is the only one.
    """
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
    """Return the name and the code of the script of Chinese text if a Chinese language code has the other; else empty.

    `script` is a result of `chinese_script`.
    """
    key = language_key(language)
    if key.language != "zh" or (key.script == "Hant") == (script == "Hant"):
        return "", ""
    return ("traditional", "zh-Hant") if script == "Hant" else ("simplified", "zh")
