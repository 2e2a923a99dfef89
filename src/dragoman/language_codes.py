"""Language codes: canonical form, other codes of the same language, and a check that a language exists.

The canonical form is that of BCP 47: the shortest code of the language in lower case, the script in title case, the
region in upper case, joined by hyphens: ``en``, ``zh-Hant``, ``pt-BR``.
"""

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass

from dragoman.errors import ConfigError

# The two-letter code (ISO 639-1) of a language and its other codes: three-letter codes (ISO 639-2 and 639-3), withdrawn
# codes, and codes of the usual written variety (Mandarin for Chinese).
_OTHER_CODES = """
aa:aar ab:abk ae:ave af:afr ak:aka am:amh an:arg ar:ara,arb as:asm av:ava ay:aym,ayr az:aze,azj ba:bak be:bel bg:bul
bh:bih bi:bis bm:bam bn:ben bo:bod,tib br:bre bs:bos ca:cat ce:che ch:cha co:cos cr:cre cs:ces,cze cu:chu cv:chv
cy:cym,wel da:dan de:deu,ger dv:div dz:dzo ee:ewe el:ell,gre en:eng eo:epo es:spa et:est,ekk eu:baq,eus
fa:fas,per,pes ff:ful,fuv fi:fin fj:fij fo:fao fr:fra,fre fy:fry ga:gle gd:gla gl:glg gn:grn,gug gu:guj gv:glv
ha:hau he:heb,iw hi:hin ho:hmo hr:hrv,scr ht:hat hu:hun hy:arm,hye hz:her ia:ina id:ind,in ie:ile ig:ibo ii:iii
ik:ipk io:ido is:ice,isl it:ita iu:iku ja:jpn jv:jav,jw ka:geo,kat kg:kon ki:kik kj:kua kk:kaz kl:kal km:khm kn:kan
ko:kor kr:kau,knc ks:kas ku:kur,kmr kv:kom kw:cor ky:kir la:lat lb:ltz lg:lug li:lim ln:lin lo:lao lt:lit lu:lub
lv:lav,lvs mg:mlg,plt mh:mah mi:mao,mri mk:mac,mkd ml:mal mn:mon,khk mr:mar ms:may,msa,zsm,zlm mt:mlt my:bur,mya
na:nau nb:nob nd:nde ne:nep,npi ng:ndo nl:dut,nld nn:nno no:nor nr:nbl nv:nav ny:nya oc:oci oj:oji om:orm,gaz
or:ori,ory os:oss pa:pan pi:pli pl:pol ps:pus,pbt,pst pt:por qu:que,quy,quz rm:roh rn:run ro:ron,rum,mo,mol ru:rus
rw:kin sa:san sc:srd sd:snd se:sme sg:sag sh:hbs si:sin sk:slk,slo sl:slv sm:smo sn:sna so:som sq:alb,sqi,aln
sr:srp,scc ss:ssw st:sot su:sun sv:swe sw:swa,swh ta:tam te:tel tg:tgk th:tha ti:tir tk:tuk tl:tgl,fil tn:tsn to:ton
tr:tur ts:tso tt:tat tw:twi ty:tah ug:uig uk:ukr ur:urd uz:uzb,uzn ve:ven vi:vie vo:vol wa:wln wo:wol xh:xho
yi:yid,ji,ydd yo:yor za:zha zh:chi,zho,cmn zu:zul
"""

# Codes of LibreTranslate and its clients that are no codes of ISO 639.
_LIBRETRANSLATE = {"pb": "pt-BR", "zt": "zh-Hant"}

# Canonical codes of one written language; each group begins with the preferred code.
_EQUIVALENT = (
    ("zh", "zh-Hans", "zh-CN", "zh-Hans-CN", "zh-SG", "zh-Hans-SG", "zh-MY", "zh-Hans-MY"),
    ("zh-Hant", "zh-TW", "zh-Hant-TW", "zh-HK", "zh-Hant-HK", "zh-MO", "zh-Hant-MO"),
    ("nb", "no"),
    ("tl", "fil"),
)

# Country codes that are often written for a language and are no language codes.
_COUNTRIES = {
    "at": "de",
    "cn": "zh",
    "cz": "cs",
    "dk": "da",
    "gb": "en",
    "gr": "el",
    "il": "he",
    "ir": "fa",
    "jp": "ja",
    "mx": "es",
    "pk": "ur",
    "ua": "uk",
    "us": "en",
    "vn": "vi",
}

_CACHED_CODES = 4096  # a server compares the codes that its clients send
_MAX_CODE = 35  # characters of a language tag (RFC 5646, section 4.4.1)

# Language, script, region, and variants of BCP 47, in any case.
MAX_LANGUAGE = 35
"""Number of characters of a code (RFC 5646, 4.4.1)."""
_TAG = re.compile(r"[a-z]{2,3}(-[a-z]{4})?(-([a-z]{2}|[0-9]{3}))?(-[a-z0-9]{1,8})*", re.IGNORECASE)
_SIDE = r"([A-Za-z]{2,3}(?:[-_][A-Za-z]{4})?(?:[-_](?:[A-Z]{2}|[0-9]{3}))?)"
_PAIR = re.compile(rf"{_SIDE}[-_]{_SIDE}")


def canonical_language(code: str) -> str:
    """Return the canonical form of a code; text that is no language code is only changed to lower case and hyphens.

    ``EN`` is ``en``, ``zh_CN`` is ``zh-CN``, ``deu`` is ``de``, ``iw`` is ``he``, ``zt`` is ``zh-Hant``.
    """
    plain = _plain(code)
    if plain in _LIBRETRANSLATE:
        return _LIBRETRANSLATE[plain]
    primary, *rest = plain.split("-")
    # Tagalog and its standard variety Filipino are written with different codes on purpose.
    shortest = primary if primary == "fil" else _shortest_codes().get(primary, primary)
    return "-".join([shortest, *map(_subtag, rest, range(len(rest)))])


def _subtag(tag: str, place: int) -> str:
    if len(tag) == 4 and tag.isalpha() and place == 0:
        return tag.title()
    return tag.upper() if len(tag) == 2 and tag.isalpha() and place < 2 else tag


@functools.cache
def _shortest_codes() -> dict[str, str]:
    entries = (entry.split(":") for entry in _OTHER_CODES.split())
    return {other: short for short, others in entries for other in others.split(",")}


@functools.cache
def _two_letter_codes() -> frozenset[str]:
    return frozenset(entry.partition(":")[0] for entry in _OTHER_CODES.split())


@functools.cache
def primary_language(language: str) -> str:
    """Return the shortest code of a language, without subtags (zh for zho and zh-TW)."""
    primary = canonical_language(language).partition("-")[0]
    return _shortest_codes().get(primary, primary)


def equivalent_languages(code: str) -> tuple[str, ...]:
    """Return the canonical codes of the same written language, that of the given code first.

    ``zh-CN`` gives ``zh-CN``, ``zh``, ``zh-Hans`` and so on; most codes give only themselves. Regions and scripts that
    differ are other languages here: a fallback from ``de-AT`` to ``de`` is the caller's decision.
    """
    canonical = canonical_language(code)
    group = next((group for group in _EQUIVALENT if canonical in group), ())
    return (canonical, *(other for other in group if other != canonical))


def is_known_language(code: str) -> bool:
    """Return whether a language exists. Every three-letter code counts as known: ISO 639-3 has about 8,000."""
    primary = canonical_language(code).partition("-")[0]
    return len(primary) == 3 or primary in _two_letter_codes()


def is_corpus_language(ending: str) -> bool:
    """Return whether the ending of a file name is a language: ``en``, ``deu``, ``pt_BR`` or ``ace_Arab``.

    Other codes of three letters are not: ``php`` and ``rst`` are languages of ISO 639-3.
    """
    primary, *rest = _plain(ending).split("-")
    if not _TAG.fullmatch("-".join([primary, *rest])):
        return False
    has_script = bool(rest) and len(rest[0]) == 4
    return primary in _two_letter_codes() or primary in _shortest_codes() or (len(primary) == 3 and has_script)


def parse_language(code: str) -> str:
    """Return the canonical form of a code, or raise `ConfigError` if it does not have the form of a language code."""
    canonical = canonical_language(code)
    if not _TAG.fullmatch(canonical) or len(canonical) > MAX_LANGUAGE:
        raise ConfigError(
            f"a language must be a code of two or three letters, got {code!r}; for instance en, de or zh-Hant"
        )
    return canonical


def parse_pair(text: str) -> tuple[str, str] | None:
    """Return both languages of a pair such as ``en-pt``, ``zh_hant-en`` or ``pt-BR-en``, as canonical codes, or None.

    A region is written in upper case: ``en-pt`` is a pair, not English of Portugal.
    """
    found = _PAIR.fullmatch(text)
    if found is None:
        return None
    source, target = canonical_language(found[1]), canonical_language(found[2])
    return (source, target) if is_known_language(source) and is_known_language(target) else None


def language_of_country(code: str) -> str | None:
    """Return the language whose code a country code is often written for (``zh`` for ``cn``), or None."""
    return _COUNTRIES.get(canonical_language(code).partition("-")[0])


def check_language(code: str) -> str:
    """Return the canonical form of a code of an existing language, or raise `ConfigError`."""
    canonical = parse_language(code)
    if is_known_language(canonical):
        return canonical
    intended = language_of_country(code)
    meant = f"write {intended}" if intended else "for instance en, de or zh-Hant"
    raise ConfigError(
        f"a language must be a code of ISO 639, got {code!r}; {meant}; a language without a code may take one from qaa "
        "to qtz"
    )


@dataclass(frozen=True)
class LanguageKey:
    """Parts of a language code for comparison; two codes with the same key name the same written language."""

    language: str
    script: str = ""
    """Empty: the usual script of the language."""
    region: str = ""
    """Region and variants."""


@functools.lru_cache(_CACHED_CODES)
def language_key(code: str) -> LanguageKey:
    """Return the parts of a code after its aliases are replaced: those of ``zh`` for ``zh-CN``."""
    canonical = canonical_language(code)
    preferred = next((group[0] for group in _EQUIVALENT if canonical in group), canonical)
    language, *rest = preferred.split("-")
    script = rest.pop(0) if rest and len(rest[0]) == 4 and rest[0].isalpha() else ""
    return LanguageKey(language, script, "-".join(rest))


def is_same_language(code: str, other: str) -> bool:
    """Return whether two codes name the same language, script and region."""
    return language_key(code) == language_key(other)


def match_rank(code: str, offered: str) -> int | None:
    """Return how well an offered language answers a request for a code; lower is better, None is not at all.

    0: the code as written. 1: another spelling. 2: another code of the same language. 3: the language without the
    requested region. 4: a region of the requested language. 5: another region. Scripts never differ.
    """
    if code == offered:
        return 0
    if len(code.strip()) > _MAX_CODE:
        return None
    if _plain(code) == _plain(offered):
        return 1
    wanted, found = language_key(code), language_key(offered)
    if wanted == found:
        return 2
    if not wanted.language or (wanted.language, wanted.script) != (found.language, found.script):
        return None
    return 3 if not found.region else 4 if not wanted.region else 5


def match_language(code: str, offered: Iterable[str]) -> str | None:
    """Return the offered language that answers a request for a code best, the first of equals; None if none does."""
    ranked = ((match_rank(code, each), number, each) for number, each in enumerate(offered))
    return min(((rank, number, each) for rank, number, each in ranked if rank is not None), default=(0, 0, None))[2]


def _plain(code: str) -> str:
    return code.strip().replace("_", "-").lower()
