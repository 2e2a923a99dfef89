"""Generate valid and invalid HTML, deterministic by seed."""

from __future__ import annotations

import random
from collections.abc import Iterator

from testkit.random_bundle import words

INLINE = ("b", "i", "em", "strong", "a", "span", "code", "u", "sub", "mark", "font", "abbr", "bdo", "s", "q")
BLOCK = ("p", "div", "li", "td", "h1", "blockquote", "section", "ul", "table", "tr", "article")
VOID = (
    "<br>",
    "<br/>",
    '<img src="x.png" alt="a picture">',
    "<hr>",
    "<wbr>",
    '<input value="a b">',
    "<meta charset=utf-8>",
)
ATTRIBUTES = (
    'href="https://example.org/?a=1&amp;b=2"',
    "class='x y'",
    'title="a &lt;b&gt; &quot;c&quot;"',
    "data-x=1",
    "hidden",
    'onclick="alert(1)"',
    'style="color: red"',
    "id=q",
    "lang=fr",
    'href="javascript:alert(1)"',
    'title="&#0;&#xD800;"',
)
TEXTS = (
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&amp;lt;b&amp;gt;",
    "&lt;img src=x onerror=alert(1)&gt;",
    "1 &lt; 2",
    "&nbsp;",
    "&copy; 2026",
    "&bogus;",
    "&#x3c;i&#x3e;",
    "{name}",
    "%s",
    "https://example.org/a?b=c",
    "a@example.org",
    "&#60;u&#62;",
    "&ltb&gt",
    "a &",
    "&#1234567890;",
)
RAW = (
    "<script>if (a < b) alert('</b>')</script>",
    "<style>b > i { color: red }</style>",
    "<!-- <b>hidden</b> -->",
    "<![CDATA[<b>]]>",
    "<textarea><b>text</b></textarea>",
    "<title>a <b> c</title>",
    "<svg><path d='M0 0'/><title>a</title></svg>",
    "<pre>\n  a\n</pre>",
    "<math><mi>x</mi></math>",
    "<noscript><b>x</b></noscript>",
    "<template><b>x</b></template>",
    "<!doctype html>",
    "<?php echo 1 ?>",
    "<select><option>a<option>b</select>",
    "<iframe src='x'></iframe>",
    "<ruby>漢<rt>kan</rt></ruby>",
)
BROKEN = (
    "<",
    "</",
    "<b",
    "</b>",
    "<>",
    "</>",
    "<b/>",
    "< b>",
    "<a href='",
    "<b <i>>",
    "<p><p>",
    "</p></p>",
    "<a<b>",
    "<!--",
    "<!",
    "<1>",
    "&#",
    "<b\x00>",
    "<B><i></B></i>",
    "<a href=x href=y>",
    "<table><b>x</table>",
    "<form><form>",
    "</br>",
    "<svg><b>",
    "<x-y z>",
)


def payloads(count: int, seed: int) -> Iterator[str]:
    """Yield pages, none longer than the limit of a text."""
    draw, vocabulary = random.Random(f"html {seed}"), words(0, 300)
    for _ in range(count):
        yield "".join(_nodes(draw, vocabulary, depth=draw.randint(1, 4)))[:4000]


def _nodes(draw: random.Random, vocabulary: list[str], depth: int) -> Iterator[str]:
    for _ in range(draw.randint(1, 4)):
        kind = draw.random()
        if kind < 0.4 or not depth:
            yield " ".join(draw.choices(vocabulary, k=draw.randint(1, 6))) + draw.choice(["", " ", ". ", "\n"])
        elif kind < 0.7:
            name = draw.choice(INLINE if draw.random() < 0.75 else BLOCK)
            chosen = draw.sample(ATTRIBUTES, draw.choice([0, 0, 1, 2]))
            inside = "".join(_nodes(draw, vocabulary, depth - 1))
            yield f"<{' '.join([name, *chosen])}>{inside}</{name}>"
        elif kind < 0.82:
            yield draw.choice(TEXTS)
        elif kind < 0.9:
            yield draw.choice(VOID)
        elif kind < 0.95:
            yield draw.choice(RAW)
        else:
            yield draw.choice(BROKEN)
