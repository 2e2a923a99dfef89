"""Markdown documents: the text is translated and the markup is unchanged."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from dragoman.documents.formats import read_document
from dragoman.markup.protected_spans import find_placeholders
from dragoman.markup.tagged_text import TaggedText, TagSpan
from testkit.growth import growth
from tests.unit.documents.uppercase_translation import reworded, texts, translated, unchanged, uppercased

PAGE = """\
---
layout: Front matter stays
---

# A *small* house #

Some text over
two lines with `code()` and [a **bold** link](https://a.org/x_y "Title"), see <https://b.org>.

> A quote
> over lines\x20\x20
> with a hard break

- [ ]  a task
- point one
  goes on
  1. inner ![picture](p.png) here

| Head | Other \\| bar |
|:-----|------:|
| cell | `a\\|b` code |

Heading two
-----------

    indented code

```python
print("code")
```

<div>html block</div>

See [ref], [other][ref] and [ref][]; 2 \\* 3 &amp; <b>html <i>inline</i></b> ~~gone~~<br>.

[ref]: https://c.org/ "Not this"
"""


def parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


def shape(text: str) -> list[object]:
    """Return the structure of a page without its text."""
    return list(_shape(parser().parse(text)))


def _shape(tokens) -> Iterator[object]:
    for token in tokens:
        if token.type == "inline":
            yield from _shape(token.children)
        elif token.type not in ("text", "softbreak"):
            attributes = {key: value for key, value in token.attrs.items() if key != "alt"}
            yield token.type, token.tag, attributes, token.content, token.info


def words(text: str) -> str:
    """Return the visible text of a page."""
    paragraphs = [token.children or [] for token in parser().parse(text) if token.type == "inline"]
    seen = [[each for each in some if each.type != "html_inline"] for some in paragraphs]
    return "\n".join("".join(" " if each.type == "softbreak" else each.content for each in some) for some in seen)


def test_all_texts_are_read():
    assert texts(read_document("a.md", PAGE.encode())) == [
        "A small house",
        "Some text over two lines with `code()` and a bold link, see <https://b.org>.",
        "A quote over lines with a hard break",
        "a task",
        "point one goes on",
        "inner  here",
        "Head",
        "Other | bar",
        "cell",
        "`a|b` code",
        "Heading two",
        "See ref, other and ref; 2 * 3 & html inline gone.",
    ]


def test_without_a_change_the_file_is_the_same():
    for data in (PAGE.encode(), PAGE.replace("\n", "\r\n").encode(), b"\xef\xbb\xbf" + PAGE.encode()):
        assert unchanged("a.md", data) == data


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_translation_changes_the_text_and_nothing_else(end: str):
    source = PAGE.replace("\n", end)
    result = translated("a.md", source.encode()).decode()
    assert shape(source) == shape(result)
    assert len(result.split(end)) == len(source.split(end))
    kept = ["# A *SMALL* HOUSE #", '**BOLD** LINK](https://a.org/x_y "Title"), SEE <https://b.org>.', "- [ ]  A TASK"]
    kept += ["`code()`", "> A QUOTE", "![picture](p.png) HERE", "| HEAD | OTHER \\| BAR |", "| CELL | `a\\|b` CODE |"]
    kept += [
        "layout: Front matter stays",
        "    indented code",
        "<div>html block</div>",
        '[ref]: https://c.org/ "Not this"',
    ]
    kept += ["SEE [REF][ref], [OTHER][ref] AND [REF][ref]; 2 * 3 & <b>HTML <i>INLINE</i></b> ~~GONE~~<br>."]
    for each in kept:
        assert each in result


def test_tags_move_with_their_words():
    data = b"> the **small** [house](h)\n> stands `here`"
    (segment,) = read_document("a.md", data).segments
    assert segment == TaggedText("the small house stands `here`", (TagSpan(4, 9, 0), TagSpan(10, 15, 1)), ((23, 29),))
    written = reworded(
        "a.md", data, [TaggedText("`here` Haus kleines", (TagSpan(7, 11, 1), TagSpan(12, 19, 0)))]
    ).decode()
    assert written == "> `here` [Haus](h)\n> **kleines**"


def test_emphasis_is_written_as_html_where_its_neighbours_disable_it():
    data = b"**note** this"
    assert reworded("a.md", data, [TaggedText("注意：这", (TagSpan(0, 3, 0),))]).decode() == "<strong>注意：</strong>这"
    assert reworded("a.md", data, [TaggedText("a b", (TagSpan(1, 3, 0),))]) == b"a **b**"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("# not a heading", "\\# not a heading"),
        ("1. no list", "1\\. no list"),
        ("- no list", "\\- no list"),
        ("a*b*c_d snake_case", "a\\*b\\*c_d snake_case"),
        ("_so_ <b> &amp; [x](y) `c`", "\\_so\\_ \\<b> \\&amp; \\[x\\](y) \\`c\\`"),
        ("5 < 6 & 7 * 8", "5 < 6 & 7 * 8"),
        ("---", "\\---"),
        ("1 ##", "1 \\##"),
        ("C:\\new\\*", "C:\\new\\\\\\*"),
    ],
)
def test_text_that_looks_like_markup_is_escaped(text: str, written: str):
    result = reworded("a.md", b"a word", [TaggedText(text)]).decode()
    assert result == written
    assert words(result) == text


@given(st.text(st.sampled_from("ab \\`*_[]()<>&#!~|-+=.1:\"'\n{}"), min_size=1, max_size=20))
def test_any_text_is_read_back_unchanged(text: str):
    text = " ".join(text.split())
    for source, around in [(b"a word\n", ""), (b"> - a word\n", ""), (b"# word\n", "")]:
        result = reworded("a.md", source, [TaggedText(text or "x")]).decode()
        assert words(result) == (text or "x") + around
        assert shape(result) == shape(source.decode())


@given(st.text(st.sampled_from("ab \\`*_[]()<>&#!~|-+=.1:\n"), min_size=1, max_size=40))
def test_any_page_is_written_back_unchanged(text: str):
    data = (text + "x").encode()
    assert unchanged("a.md", data) == data
    result = translated("a.md", data).decode()
    assert "".join(words(result).split()).lower() == "".join(words(text + "x").split()).lower()


DIALECTS = {
    "footnotes": ("A[^1] and[^n] so.\n\n[^1]: The note.\n[^n]: x\n", "A[^1] AND[^n] SO.\n\n[^1]: THE NOTE.\n[^n]: X\n"),
    "a footnote of lines": ("[^1]: one two\n    three\n", "[^1]: ONE TWO\n    THREE\n"),
    "inline footnote": ("a^[b c] d\n", "A^[b c] D\n"),
    "alert": ("> [!NOTE]\n> Some text\n\n> [!tip]- Title\n> b\n", "> [!NOTE]\n> SOME TEXT\n\n> [!tip]- Title\n> B\n"),
    "attributes": ("[a](b){: x=\"_c\"} ![](d){width=5%}\n", "[A](b){: x=\"_c\"} ![](d){width=5%}\n"),
    "attributes of a heading": ("# Some title {#id .c}\n", "# SOME TITLE {#id .c}\n"),
    "attributes below": ("Some text\n{: .note #id}\n", "SOME TEXT\n{: .note #id}\n"),
    "container": ("::: tip Title\nSome text\n:::\n", "::: tip Title\nSOME TEXT\n:::\n"),
    "admonition": ('!!! note "Title"\n    Some\n    text\n', '!!! note "Title"\n    SOME\n    TEXT\n'),
    "formulas": ("a $x_1$ b $$y^2$$ \\(z_2\\)\n", "A $x_1$ B $$y^2$$ \\(z_2\\)\n"),
    "prices": ("from $5 to $10 a_b\n", "FROM $5 TO $10 a_b\n"),
    "formula of lines": ("a\n\n$$\nx \\cdot y\n$$\n\nb\n", "A\n\n$$\nx \\cdot y\n$$\n\nB\n"),
    "dollars in code": ("```sh\n$$\n```\na\n\n```\n$$\n```\n", "```sh\n$$\n```\nA\n\n```\n$$\n```\n"),
    "wiki links": ("see [[a b]] and [[c|d]]\n", "SEE [[a b]] AND [[c|d]]\n"),
    "citations": ("so [@doe2020, p. 3] [me @home](x)\n", "SO [@doe2020, p. 3] [ME @home](x)\n"),
    "emoji": ("go :smile: at 10:30:45\n", "GO :smile: AT 10:30:45\n"),
    "roles": ("see {ref}`a <b>` now\n\n(label)=\n# so\n", "SEE {ref}`a <b>` NOW\n\n(label)=\n# SO\n"),
    "definition": ("Term\n: Some text\n", "TERM\n: SOME TEXT\n"),
    "abbreviation": ("*[abc]: some text\n", "*[abc]: SOME TEXT\n"),
    "table of contents": ("[toc]\n\n[[_TOC_]]\na\n", "[toc]\n\n[[_TOC_]]\nA\n"),
    "tasks": ("- [ ] [^1] a\n- [x] b :+1:\n", "- [ ] [^1] A\n- [x] B :+1:\n"),
    "cells": ("| a[^1] | [[b]] |\n|---|---|\n| $c_1$ | d |\n", "| A[^1] | [[b]] |\n|---|---|\n| $c_1$ | D |\n"),
    "details": ("<details>\n\nInner ~~text~~\n\n</details>\n", "<details>\n\nINNER ~~TEXT~~\n\n</details>\n"),
}  # fmt: skip


@pytest.mark.parametrize(("source", "wanted"), DIALECTS.values(), ids=DIALECTS)
def test_notation_of_dialects_is_kept(source: str, wanted: str):
    assert translated("a.md", source.encode()).decode() == wanted
    assert unchanged("a.md", source.encode()) == source.encode()


@pytest.mark.parametrize(
    "part", ["[^", "[[", "$", "[a ", "@a", "\\(", "{#", ":a", "\\[\n", "$$\n", "[^1]: a\n", "::: a\n"]
)
def test_notation_that_does_not_end_takes_linear_time(part: str):
    assert growth(lambda count: read_document("a.md", b"a " + part.encode() * count), 800, factor=8) <= 2.5**3


def test_a_translation_in_a_cell_cannot_end_it():
    data = b"| a | b |\n|---|---|\n| c | d |\n"
    segments = read_document("a.md", data).segments
    result = reworded("a.md", data, [*segments[:3], replace(segments[3], text="x | y")]).decode()
    assert "| c | x \\| y |" in result
    assert uppercased(segments[0]).text == "A"


@pytest.mark.parametrize("mark", ["---", "+++"])
def test_front_matter_that_does_not_end_takes_linear_time(mark: str):
    def read(lines: int) -> None:
        read_document("a.md", f"{mark}\r\n".encode() + b"a\r\n" * lines)

    assert growth(read, 200, factor=8) <= 2.5**3


def rewritten(source: str, text: str, *spans: TagSpan) -> str:
    return reworded("a.md", source.encode(), [TaggedText(text, spans, find_placeholders(text))]).decode()


def test_code_spans_without_a_word_between_them_stay_apart():
    words = [TaggedText("`a``b`", (), ((0, 3), (3, 6)))]
    assert reworded("a.md", b"`a` or `b`\n", words) == b"`a` `b`\n"


def test_a_pipe_at_the_start_of_a_cell_is_escaped_once():
    source = "| one |\n|---|\n| two |\n"
    words = [TaggedText("| 1"), TaggedText("# 2")]
    assert reworded("a.md", source.encode(), words) == rb"| \| 1 |" + b"\n|---|\n| # 2 |\n"


def test_text_after_a_hard_break_does_not_start_a_block():
    assert rewritten("one\\\ntwo\n", "one > two", TagSpan(3, 3, 0)) == "one\\\n\\> two\n"


def test_a_backslash_does_not_escape_the_end_of_a_tag():
    assert rewritten("[one](u) two\n", "\\ two", TagSpan(0, 1, 0)) == "[\\\\](u) two\n"


def test_line_ends_in_a_translation_are_spaces():
    assert rewritten("one two\n", "one\n# two") == "one # two\n"


@pytest.mark.parametrize(
    ("field", "text", "written"),
    [
        ("title: A page", "Uma página", "title: Uma página"),
        ("title: A page", "Página: 1", 'title: "Página: 1"'),
        ('title: "A page"', 'A "página"', 'title: "A \\"página\\""'),
        ("description: 'A page'", "Página", "description: 'Página'"),
        ("description: 'A page'", "D'água", 'description: "D\'água"'),
    ],
)
def test_titles_of_the_front_matter_are_translated_and_quoted(field: str, text: str, written: str):
    data = f"---\n{field}\nlayout: post\n---\n"
    assert reworded("a.md", data.encode(), [TaggedText(text)]).decode() == data.replace(field, written)


@pytest.mark.parametrize(
    "field", ["title: |", "title: &a b", "tags: [a, b]", "title: a # b", 'title: "\\x41b"', "layout: x"]
)
def test_other_front_matter_stays(field: str):
    assert not read_document("a.md", f"---\n{field}\n---\n".encode()).segments


def test_code_of_mdx_stays_and_its_syntax_is_escaped():
    data = b"import A from 'a';\n\n<A b={c =>\n d}>\n\nSome {x} text\n\n</A>\n"
    document = read_document("a.mdx", data)
    assert texts(document) == ["Some {x} text"]
    new = TaggedText("{x} a < b {c}", kept=((0, 3),))
    assert reworded("a.mdx", data, [new]) == data.replace(b"Some {x} text", b"{x} a \\< b \\{c\\}")


def test_a_module_of_mdx_may_have_blank_lines():
    code = 'import {\n  a,\n\n  b\n} from "c"\n\nexport const d = {\n\n  title: "Some {text",\n}\n\n'
    assert translated("a.mdx", f"{code}A house\n".encode()).decode() == f"{code}A HOUSE\n"
    assert translated("a.mdx", b"export (a\n\nA house\n") == b"export (a\n\nA HOUSE\n"
