"""A malicious translator cannot add an element or an attribute to a hostile page."""

import html
from random import Random

import pytest

from dragoman.markup.html_text import HtmlText
from tests.hostile.markup_payloads import added_elements, malicious_translation, payloads

PAYLOADS = 2000

pytestmark = pytest.mark.filterwarnings("ignore")  # deprecation warnings of html5lib


def translated(page: str, rng: Random) -> str:
    text = HtmlText.parse(page)
    return text.write([malicious_translation(segment, rng) for segment in text.segments])


def unescaped(page: str, rng: Random) -> str:
    """Return the output of a broken writer that unescapes its result."""
    return html.unescape(translated(page, rng))


def test_no_page_gains_an_element_or_an_attribute():
    pages = list(payloads(PAYLOADS))
    assert sum(len(HtmlText.parse(page).segments) for page in pages) > PAYLOADS  # the pages have text to translate
    failures = {page: found for number, page in enumerate(pages) if (found := added_elements(page, translated, number))}
    assert failures == {}


def test_every_page_comes_back_unchanged():
    for page in payloads(PAYLOADS):
        text = HtmlText.parse(page)
        assert text.write(text.segments) == page


def test_a_writer_that_unescapes_is_caught():
    caught = sum(bool(added_elements(page, unescaped, number)) for number, page in enumerate(payloads(200)))
    assert caught > 50


def test_a_thousand_nested_tags():
    page = "<b><i>" * 1000 + "go on" + "</i></b>" * 1000
    text = HtmlText.parse(page)
    assert text.write([malicious_translation(each, Random(1)) for each in text.segments]).count("<b>") == 1000
