"""Pages that want to be read in two ways, and a translator that helps them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from random import Random

import html5lib

from dragoman.markup.marked import Marked, Span
from dragoman.markup.projection import project


def _names(text: str) -> list[str]:
    return text.split()


WORDS = _names("click here to read the news of today please and win a house with two big dogs")

DEEDS = ["onerror=alert(1)", "onload='alert(2)'", 'onclick="alert(3)"', "onfocus=alert`4` autofocus", "style=x:y"]
QUOTES = ['"', "'", "`", '">', "'>", '" ', "=", "/", "&quot;", "&#34", "&#x27;", "\x00", "\\"]
TAGS = _names("a abbr b bdo code div em font form i img li nobr p q s select small span strong sub svg table td u x-y")
RAW = _names("iframe noembed noframes noscript plaintext script select style svg math template textarea title xmp")
ENTITIES = ["&lt", "&lt;", "&LT;", "&#60;", "&#x3c", "&#0000060", "&amp;lt;", "&ampgt;", "&notit;", "&#0;", "&#xD800;"]
ODDS = [
    "<",
    "</",
    "<!",
    "<?",
    "</>",
    "<!>",
    "<?>",
    "<!->",
    "<!-->",
    "<!--->",
    "<!---!>",
    "<!--",
    "-->",
    "--!>",
    "<a<b>",
]
ODDS += [
    "< b>",
    "</ b>",
    "<\x00b>",
    "<b\x00>",
    "<b/",
    "<b / =x>",
    "<![CDATA[",
    "]]>",
    "<!doctype html>",
    "<%",
    "<=",
    "<1>",
]
ODDS += ["<b x='", '<b x="', "<b x=", "<b\fx>", "<B/x/y>", "<b x=a/>", "<b x='a'y=\"b\">", "<ſcript>", "<İmg>", "\x1a"]

SKELETONS = (
    "<{r}>{p}</{r}>{w}",
    "<{r}><b title='</{r}>{p}'>{w}</{r}>",
    "<svg><{r}>{p}</{r}></svg>{w}",
    "<svg><{r}><!--</{r}>{p}-->{w}</svg>",
    "<math><mtext><table><mglyph><{r}>{p}</{r}>{w}",
    "<form><math><mtext></form><form><mglyph><{r}></math>{p}{w}",
    "<select><{r}>{p}</{r}</select>{w}",
    "<select><template></select><{r}></template><{r}>{p}</{r}>{w}",
    "<noscript><p title='</noscript>{p}'>{w}</noscript>",
    "{w}<noscript>{p}</noscript>{w}",
    "<head><noscript><{t}>{p}{w}</noscript>",
    "<template>{w}<{r}>{p}</template>{w}",
    "<iframe srcdoc='{p}'>{w}</iframe>{w}",
    '<iframe srcdoc="&lt;img {d}&gt;">{p}</iframe>{w}',
    "<!--{w}-->{p}<!--{w}--!>{p}{w}",
    "<!--[if IE]>{p}<![endif]-->{w}<![if !IE]>{w}<![endif]>",
    "<!-- <!-- -->{p}{w}-->{w}",
    "<![CDATA[{w}]]>{p}<svg><![CDATA[>{p}]]>{w}</svg>",
    "<table>{w}<b>{w}<tr>{w}<td>{p}</b>{w}</table>{w}",
    "<table><{t}>{w}<tr><td>{w}</{t}>{p}",
    "<a href=1>{w}<a href=2>{w}</a>{w}</a>",
    "<a href=1>{w}<div><b>{w}</b><a href=2>{w}</a> {w}</div>",
    "<p><b><i>{w}<p>{w}</b>{w}</i><p>{p}{w}",
    "<b><p>{w}</b>{w}<{t}>{w}</p></{t}>",
    "<b>{w}<i>{w}</b>{w}</i>{p}",
    "<nobr>{w}<nobr>{w}</nobr>{p}</nobr>{w}",
    "{w}<frameset {d}><frame src=x></frameset>",
    "<title>{p}</title>{w}<textarea>{p}</textarea>{w}",
    "<script><!--<script>{p}</script>--></script>{w}",
    "<script><!-->{p}</script>{w}<script>'<!--'</script>{p}{w}-->",
    "<xmp><{t} {d}>{w}</xmp>{p}<listing>{w}</listing>",
    "<body {d}>{w}<body {d} id=x>{p}<html {d}>{w}",
    "<button>{w}<b>{w}<button>{w}</b>{p}</button>{w}",
    "<ruby>{w}<rt>{p}</ruby>{w}<object><b>{w}</object>{w}",
    "<{t} {d}>{w}<{t}>{p}{w}</{t}>{w}</{t}>",
    "<{t} {d}/>{w}{p}</{t}>{w}",
    "{w}{o}{p}{o}{w}",
    "<b title={o}{w}>{p}</b>{w}",
    "<code>{w}<{t}>{p}</code>{w}</{t}>",
    "<span class=notranslate>{w}{p}</span>{w}<i translate=no>{w}</i>",
    "<p>{w} <x id='1'/> {w}<img alt={e} src=x>{p}<br>{w}</p>",
    "{w}{e}{p}{e}script{e}{w}",
    "<image {d}>{w}</image>{p}{w}</br>{w}</p>",
    "{p}{p}{p}{w}",
)


def payloads(count: int, seed: int = 1) -> Iterator[str]:
    """So many hostile pages, always the same."""
    chance = Random(seed)
    for number in range(count):
        page = SKELETONS[number % len(SKELETONS)]
        while "{" in page:
            place = page.index("{")
            page = page[:place] + _filled(page[place + 1], chance) + page[place + 3 :]
        if chance.random() < 0.2:
            page = _damaged(page, chance)
        yield page


def _filled(what: str, chance: Random) -> str:
    if what == "w":
        return " ".join(chance.choices(WORDS, k=chance.randint(1, 5)))
    if what == "p":
        return _payload(chance)
    return chance.choice({"r": RAW, "t": TAGS, "d": DEEDS, "e": ENTITIES, "o": ODDS}[what])


def _payload(chance: Random) -> str:
    tag, deed, word = chance.choice(TAGS), chance.choice(DEEDS), chance.choice(WORDS)
    return chance.choice(
        [
            f"<img src=x {deed}>",
            f"<{tag} {deed}>{word}</{tag}>",
            f"<{tag} title={chance.choice(QUOTES)}{chance.choice(QUOTES)}{deed}>{word}</{tag}>",
            f"</{chance.choice(RAW)}><script>{word}</script>",
            f"{chance.choice(ENTITIES)}img {deed}{chance.choice(['&gt;', '>', '&gt'])}",
            f"{chance.choice(ODDS)}<img {deed}>{chance.choice(ODDS)}",
            f"<{chance.choice(RAW)}>{chance.choice(ODDS)}<img {deed}></{chance.choice(RAW)}>",
            f"<{tag}>{word}<{chance.choice(TAGS)}>{word}</{tag}>{word}",
        ]
    )


def _damaged(page: str, chance: Random) -> str:
    start = chance.randrange(len(page) + 1)
    end = min(len(page), start + chance.randint(0, 6))
    return page[:start] + chance.choice(["", chance.choice(ODDS), chance.choice(QUOTES)]) + page[end:]


EVIL = ["<script>alert(9)</script>", "&lt;img src=x onerror=alert(9)&gt;", '"onmouseover="alert(9)', "'><svg/onload=1>"]
EVIL += [
    "-->",
    "--!>",
    "]]>",
    "</textarea>",
    "</title>",
    "</script>",
    "</noscript>",
    "<!--",
    "<",
    "&",
    "&#60;b&#62;",
    "\x00",
]
EVIL += [
    "<frameset onload=1>",
    "\N{NO-BREAK SPACE}",
    "`",
    "{{x}}",
    "<plaintext>",
    "\x1a<b\x0c>",
    "\u2028<a href=1>",
    " ",
    "",
]


def evil_translation(source: Marked, chance: Random) -> Marked:
    """What a translator might say at the worst: markup in every dress, and links between anything."""
    words = [chance.choice([word, word.upper(), chance.choice(EVIL)]) for word in source.text.split()]
    words += chance.choices(EVIL, k=chance.randint(0, 3))
    chance.shuffle(words)
    target = chance.choice([" ", " ", ""]).join(words)
    if chance.random() < 0.2:
        return Marked(target, _any_spans(source, len(target), chance))
    size = len(source.text.split())
    links = [(chance.randint(-1, size), chance.randint(-1, len(words))) for _ in range(chance.randint(0, 2 * size))]
    return project(source, source.text.split(), target, words, links)


def _any_spans(source: Marked, length: int, chance: Random) -> tuple[Span, ...]:
    """Tags anywhere, some twice, some not at all, none of them nested."""
    ends = [sorted((chance.randint(0, length), chance.randint(0, length))) for _ in source.spans for _ in range(2)]
    return tuple(Span(start, end, chance.randint(-1, len(source.spans)), chance.randint(0, 2)) for start, end in ends)


def elements(page: str) -> Counter[tuple[str, frozenset[tuple[str, str]]]]:
    """The elements of a page and their attributes, as a browser sees them."""
    tree = html5lib.parse(page, treebuilder="etree", namespaceHTMLElements=True)
    return Counter((str(node.tag), frozenset(node.attrib.items())) for node in tree.iter() if isinstance(node.tag, str))


def gained(
    page: str, write: Callable[[str, Random], str], seed: int = 0
) -> Counter[tuple[str, frozenset[tuple[str, str]]]]:
    """Elements that the translation of a page has and the page has not."""
    return elements(write(page, Random(seed))) - elements(page)
