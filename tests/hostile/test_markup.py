"""Hostile pages, translated by a translator that helps them, have no element and no attribute that they had not."""

import html
from random import Random

import pytest

from dragoman.markup.html import HtmlText
from tests.hostile.markup_payloads import evil_translation, gained, payloads

PAYLOADS = 2000

pytestmark = pytest.mark.filterwarnings("ignore")  # html5lib speaks of what it will drop


def translated(page: str, chance: Random) -> str:
    text = HtmlText.parse(page)
    return text.write([evil_translation(segment, chance) for segment in text.segments])


def unescaped(page: str, chance: Random) -> str:
    """What a writer makes of it that undoes entities in what it has written."""
    return html.unescape(translated(page, chance))


def test_no_page_gains_an_element_or_an_attribute():
    pages = list(payloads(PAYLOADS))
    assert sum(len(HtmlText.parse(page).segments) for page in pages) > PAYLOADS  # there is something to translate
    worst = {page: found for number, page in enumerate(pages) if (found := gained(page, translated, number))}
    assert worst == {}


def test_every_page_comes_back_unchanged():
    for page in payloads(PAYLOADS):
        text = HtmlText.parse(page)
        assert text.write(text.segments) == page


def test_a_writer_that_unescapes_is_caught():
    caught = sum(bool(gained(page, unescaped, number)) for number, page in enumerate(payloads(200)))
    assert caught > 50


def test_a_thousand_tags_in_each_other():
    page = "<b><i>" * 1000 + "go on" + "</i></b>" * 1000
    text = HtmlText.parse(page)
    assert text.write([evil_translation(each, Random(1)) for each in text.segments]).count("<b>") == 1000
