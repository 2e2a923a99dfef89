"""Hostile HTML pages with ambiguous markup, and a malicious translator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from random import Random

import html5lib

from dragoman.markup.tag_projection import project_tags
from dragoman.markup.tagged_text import TaggedText, TagSpan


def _names(text: str) -> list[str]:
    return text.split()


WORDS = _names("click here to read the news of today please and win a house with two big dogs")

HANDLERS = ["onerror=alert(1)", "onload='alert(2)'", 'onclick="alert(3)"', "onfocus=alert`4` autofocus", "style=x:y"]
QUOTES = ['"', "'", "`", '">', "'>", '" ', "=", "/", "&quot;", "&#34", "&#x27;", "\x00", "\\"]
TAGS = _names("a abbr b bdo code div em font form i img li nobr p q s select small span strong sub svg table td u x-y")
RAW = _names("iframe noembed noframes noscript plaintext script select style svg math template textarea title xmp")
ENTITIES = ["&lt", "&lt;", "&LT;", "&#60;", "&#x3c", "&#0000060", "&amp;lt;", "&ampgt;", "&notit;", "&#0;", "&#xD800;"]
FRAGMENTS = [
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
FRAGMENTS += [
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
FRAGMENTS += [
    "<b x='",
    '<b x="',
    "<b x=",
    "<b\fx>",
    "<B/x/y>",
    "<b x=a/>",
    "<b x='a'y=\"b\">",
    "<ſcript>",
    "<İmg>",
    "\x1a",
]

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
    """Yield `count` hostile pages, the same for each seed."""
    rng = Random(seed)
    for number in range(count):
        page = SKELETONS[number % len(SKELETONS)]
        while "{" in page:
            place = page.index("{")
            page = page[:place] + _filled(page[place + 1], rng) + page[place + 3 :]
        if rng.random() < 0.2:
            page = _damaged(page, rng)
        yield page


def _filled(what: str, rng: Random) -> str:
    if what == "w":
        return " ".join(rng.choices(WORDS, k=rng.randint(1, 5)))
    if what == "p":
        return _payload(rng)
    return rng.choice({"r": RAW, "t": TAGS, "d": HANDLERS, "e": ENTITIES, "o": FRAGMENTS}[what])


def _payload(rng: Random) -> str:
    tag, handler, word = rng.choice(TAGS), rng.choice(HANDLERS), rng.choice(WORDS)
    return rng.choice(
        [
            f"<img src=x {handler}>",
            f"<{tag} {handler}>{word}</{tag}>",
            f"<{tag} title={rng.choice(QUOTES)}{rng.choice(QUOTES)}{handler}>{word}</{tag}>",
            f"</{rng.choice(RAW)}><script>{word}</script>",
            f"{rng.choice(ENTITIES)}img {handler}{rng.choice(['&gt;', '>', '&gt'])}",
            f"{rng.choice(FRAGMENTS)}<img {handler}>{rng.choice(FRAGMENTS)}",
            f"<{rng.choice(RAW)}>{rng.choice(FRAGMENTS)}<img {handler}></{rng.choice(RAW)}>",
            f"<{tag}>{word}<{rng.choice(TAGS)}>{word}</{tag}>{word}",
        ]
    )


def _damaged(page: str, rng: Random) -> str:
    start = rng.randrange(len(page) + 1)
    end = min(len(page), start + rng.randint(0, 6))
    return page[:start] + rng.choice(["", rng.choice(FRAGMENTS), rng.choice(QUOTES)]) + page[end:]


INJECTIONS = [
    "<script>alert(9)</script>",
    "&lt;img src=x onerror=alert(9)&gt;",
    '"onmouseover="alert(9)',
    "'><svg/onload=1>",
]
INJECTIONS += [
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
INJECTIONS += [
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


def malicious_translation(source: TaggedText, rng: Random) -> TaggedText:
    """Return a worst-case translation: markup in many forms, and random links."""
    words = [rng.choice([word, word.upper(), rng.choice(INJECTIONS)]) for word in source.text.split()]
    words += rng.choices(INJECTIONS, k=rng.randint(0, 3))
    rng.shuffle(words)
    target = rng.choice([" ", " ", ""]).join(words)
    if rng.random() < 0.2:
        return TaggedText(target, _any_spans(source, len(target), rng))
    size = len(source.text.split())
    links = [(rng.randint(-1, size), rng.randint(-1, len(words))) for _ in range(rng.randint(0, 2 * size))]
    return project_tags(source, source.text.split(), target, words, links)


def _any_spans(source: TaggedText, length: int, rng: Random) -> tuple[TagSpan, ...]:
    """Return tags at random positions: some duplicated, some missing, without proper nesting."""
    ends = [sorted((rng.randint(0, length), rng.randint(0, length))) for _ in source.spans for _ in range(2)]
    return tuple(TagSpan(start, end, rng.randint(-1, len(source.spans)), rng.randint(0, 2)) for start, end in ends)


def elements(page: str) -> Counter[tuple[str, frozenset[tuple[str, str]]]]:
    """Count the elements of a page with their attributes, as a browser parses them."""
    tree = html5lib.parse(page, treebuilder="etree", namespaceHTMLElements=True)
    return Counter((str(node.tag), frozenset(node.attrib.items())) for node in tree.iter() if isinstance(node.tag, str))


def added_elements(
    page: str, write: Callable[[str, Random], str], seed: int = 0
) -> Counter[tuple[str, frozenset[tuple[str, str]]]]:
    """Return the elements that a translation adds to a page."""
    return elements(write(page, Random(seed))) - elements(page)
