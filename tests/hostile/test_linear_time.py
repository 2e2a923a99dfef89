"""No parser or text function takes more than linear time: twice the input takes at most 2.5 times the CPU time."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from dragoman.documents.formats import read_document
from dragoman.documents.limits import DocumentTooLargeError
from dragoman.documents.text.text_file import balanced_breaks
from dragoman.errors import DataError
from dragoman.markup.html_text import HtmlText
from dragoman.markup.masking import mask_protected
from dragoman.markup.protected_spans import find_placeholders, locate_placeholders, placeholder_strings
from dragoman.markup.tag_projection import project_tags
from dragoman.markup.tagged_text import TaggedText, TagSpan
from dragoman.text import Normalizer, map_words
from dragoman.text.glossary import Glossary
from dragoman.text.numbers_and_addresses import find_addresses, find_numbers
from dragoman.text.sentences import split_sentences
from dragoman.text.words import split_words, word_spans
from testkit.growth import doubling
from tests.hostile.repeated_shapes import CUE, DOCUMENTS, TEXTS
from tests.unit.documents.uppercase_translation import uppercased

LIMIT = 2.5
SMALL, LARGE = 4_000, 16_000  # characters of the smaller of two inputs


def ratio(run: Callable[[str], object], unit: str, longest: int = LARGE) -> float:
    return doubling(lambda size: run(unit * max(1, size // len(unit))), SMALL, largest=longest)


def check(run: Callable[[str], object], longest: int = LARGE, every: int = 1) -> None:
    slow = {unit: round(found, 1) for unit in TEXTS[::every] if (found := ratio(run, unit, longest)) > LIMIT}
    assert not slow


def documents_of(name: str, wrap: Callable[[str], str] = lambda text: text) -> Callable[[str], object]:
    """A function that reads and writes a document of the given text."""

    def run(text: str) -> None:
        try:
            document = read_document(name, wrap(text.replace("\x00", "")).encode())
        except DataError:
            return
        document.write([uppercased(segment) for segment in document.segments], language="de")

    return run


def markup_functions(text: str) -> None:
    kept = find_placeholders(text)
    marked = TaggedText(text, (), kept)
    masked = mask_protected(marked)
    masked.restore(masked.tagged)
    locate_placeholders(placeholder_strings(text, kept), text, text)
    balanced_breaks(text, 10, kept)


def html_functions(text: str) -> None:
    page = HtmlText.parse(text)
    page.write([uppercased(each) for each in page.segments])


TEXT_FUNCTIONS: dict[str, Callable[[str], object]] = {
    "addresses": find_addresses,
    "glossary": Glossary({"a": "b", "a a": "c"}).find_terms,
    "normalize nfc": Normalizer("nfc"),
    "normalize nfkc": Normalizer("nfkc"),
    "numbers": find_numbers,
    "sentences": lambda text: split_sentences(text, "en"),
    "sentences of Chinese": lambda text: split_sentences(text, "zh"),
    "word map": lambda text: map_words(list(text[:20_000])),
    "word spans": word_spans,
    "words": split_words,
}


@pytest.mark.long
@pytest.mark.parametrize("name", TEXT_FUNCTIONS)
def test_text_functions_are_linear(name: str):
    check(TEXT_FUNCTIONS[name], every=3)


@pytest.mark.long
def test_markup_functions_are_linear():
    check(markup_functions)


def test_html_is_linear():
    check(html_functions)


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    ["a.txt", "a.srt", "a.po", pytest.param("a.md", marks=pytest.mark.slow), "a.html"],
)
def test_text_documents_are_linear(name: str):
    wrap: dict[str, Callable[[str], str]] = {
        "a.srt": lambda text: f"{CUE}{text}a\n",
        "a.po": lambda text: (
            'msgid "' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + 'a"\nmsgstr ""\n'
        ),
        "a.html": lambda text: f"<p>{text}a",
    }
    check(documents_of(name, wrap.get(name, lambda text: text + "a")), longest=8_000, every=2)


@pytest.mark.long
@pytest.mark.parametrize("shape", DOCUMENTS)
def test_other_documents_are_linear(shape: str):
    name, build = DOCUMENTS[shape]

    def run(count: int) -> None:
        try:
            document = read_document(name, made[count])
        except DocumentTooLargeError:
            return
        document.write([uppercased(segment) for segment in document.segments], language="de")

    made = _Cache(build)
    assert doubling(run, 250, largest=1000) <= LIMIT


class _Cache(dict[int, bytes]):
    """Documents by their number of units: building one must not count."""

    def __init__(self, build: Callable[[int], bytes]) -> None:
        super().__init__()
        self._build = build

    def __missing__(self, count: int) -> bytes:
        self[count] = self._build(count)
        return self[count]


def nested(count: int) -> TaggedText:
    words = " ".join(["word"] * count)
    spans = [TagSpan(5 * place, len(words), place, place) for place in range(count)]
    return TaggedText(words, tuple(spans))


def beside(count: int) -> TaggedText:
    words = " ".join(["word"] * count)
    return TaggedText(words, tuple(TagSpan(5 * place, 5 * place + 4, place) for place in range(count)))


def with_placeholders(count: int) -> TaggedText:
    """Many different placeholders."""
    return replace(
        found := TaggedText(" ".join(f"{{n{number}}}" for number in range(count))), kept=find_placeholders(found.text)
    )


@pytest.mark.parametrize("make", [beside, nested, with_placeholders])
def test_projection_is_linear(make: Callable[[int], TaggedText]):
    def run(count: int) -> None:
        source = cache.setdefault(count, make(count))
        project_tags(source, [], source.text.upper() if source.spans else source.text[::-1][::-1], [], None)
        masked = mask_protected(source)
        masked.restore(masked.tagged)

    cache: dict[int, TaggedText] = {}
    assert doubling(run, 500, largest=4000) <= LIMIT


def test_different_placeholders_are_located_in_linear_time():
    def run(count: int) -> None:
        text = " ".join(f"{{n{number}}} https://example.org/{'a' * (number % 50)}" for number in range(count))
        kept = find_placeholders(text)
        assert locate_placeholders(placeholder_strings(text, kept), text, text) == kept

    assert doubling(run, 500, largest=4000) <= LIMIT


def test_the_measurement_finds_quadratic_time():
    assert doubling(lambda size: [sum(range(size)) for _ in range(size)], 1000, largest=4000) > LIMIT
