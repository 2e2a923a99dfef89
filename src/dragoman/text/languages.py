"""Language codes and the scripts of each language."""

import functools

__all__ = ["SCRIPTS", "language_scripts", "primary_language"]

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


@functools.cache
def primary_language(language: str) -> str:
    """Return the shortest code of a language, without subtags (zh for zho and zh-TW)."""
    return _shortest_codes().get(code := language.split("-", 1)[0], code)


@functools.cache
def _shortest_codes() -> dict[str, str]:
    entries = (entry.split(":") for entry in _OTHER_CODES.split())
    return {other: short for short, others in entries for other in others.split(",")}


def language_scripts(language: str) -> tuple[str, ...]:
    """Return the scripts of a language; an empty tuple if they are unknown.

    A script in the code itself (sr-Latn, hi-Latn) is the only one.
    """
    tags = [tag.title() for tag in language.split("-")[1:] if len(tag) == 4 and tag.isalpha()]
    return _TAGGED_SCRIPTS.get(tags[0], ()) if tags else SCRIPTS.get(primary_language(language), ())
