import asyncio
from collections.abc import Sequence

import pytest

from dragoman.errors import DataError
from dragoman.server.context import Context
from dragoman.server.errors import Refused, TooLarge
from dragoman.server.placing import Wanted, ask_for, check_texts, made_glossary, place_texts, placed_texts
from dragoman.server.settings import Limits, ServerSettings
from dragoman.server.texts import Translated, translate_texts
from tests.server.fake_service import FakeService, FakeTicket


@pytest.fixture(scope="module")
def context() -> Context:
    return Context(FakeService(), ServerSettings())


def translated(context: Context, texts: Sequence[str], wanted: Wanted) -> list[Translated]:
    service = context.service
    assert isinstance(service, FakeService)
    service.asked.clear()

    async def work() -> list[Translated]:
        return await translate_texts(context, await placed_texts(context, texts, wanted), wanted, FakeTicket())

    return asyncio.run(work())


def asked(context: Context) -> list[tuple[str, ...]]:
    service = context.service
    assert isinstance(service, FakeService)
    return [texts for texts, _ in service.asked]


EN_DE = Wanted("en", "de")


def test_counts_and_lengths_are_limited() -> None:
    limits = Limits(texts=2, text_characters=5)

    check_texts(["12345", "1"], limits)
    with pytest.raises(TooLarge, match="texts must be 2 at most, got 3"):
        check_texts(["a", "b", "c"], limits)
    with pytest.raises(TooLarge, match="text 2 must have 5 characters at most, got 6"):
        check_texts(["a", "123456"], limits)


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\udc00\ud800"])
def test_half_a_surrogate_pair_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="surrogate") as caught:
        check_texts(["fine", text], Limits())
    assert caught.value.status == 400


def test_all_texts_go_in_one_call(context: Context) -> None:
    done = translated(context, ["Two dogs", "A man"], EN_DE)

    assert [each.text for each in done] == ["Two-de dogs-de", "A-de man-de"]
    assert done[0].models == ("en-de",)
    assert asked(context) == [("Two dogs", "A man")]


def test_what_has_no_letters_is_not_asked_for(context: Context) -> None:
    done = translated(context, ["", "  ", "42 !", "Two", "👍"], EN_DE)

    assert [each.text for each in done] == ["", "  ", "42 !", "Two-de", "👍"]
    assert [each.models for each in done] == [(), (), (), ("en-de",), ()]
    assert asked(context) == [("Two",)]


def test_each_text_has_its_own_language(context: Context) -> None:
    texts = ["Two dogs play in the snow", "Zwei Hunde spielen im Schnee", "Deux chiens jouent dans la neige", "7"]

    done = translated(context, texts, Wanted("auto", "de"))

    assert [each.placed.source for each in done] == ["en", "de", "fr", "en"]
    assert [each.placed.detected is not None for each in done] == [True] * 4
    assert done[1].text == texts[1]
    assert (done[2].models, done[2].via) == (("fr-en", "en-de"), "en")
    assert asked(context) == [(texts[0],), (texts[2],)]


def test_a_source_that_does_not_lead_there_is_not_detected(context: Context) -> None:
    (placed,) = place_texts(context, ["Deux chiens jouent"], Wanted("auto", "fr"))

    assert placed.source == "fr"
    assert placed.stays


def test_languages_that_are_not_served(context: Context) -> None:
    with pytest.raises(Refused, match="target must be one of de, en, fr, zh, got 'zz'"):
        place_texts(context, ["a"], Wanted("en", "zz"))
    with pytest.raises(Refused, match="source must be one of de, en, fr, zh, got 'zz'"):
        place_texts(context, ["a"], Wanted("zz", "de"))
    with pytest.raises(Refused, match="target must be one of de, en for en, got fr"):
        place_texts(context, ["a"], Wanted("en", "fr"))


def test_a_model_by_its_name(context: Context) -> None:
    (placed,) = place_texts(context, ["Zwei Hunde"], Wanted("auto", "de", model="en-de"))
    assert placed.source == "en"
    with pytest.raises(Refused, match="model must be one of de-en, en-de, fr-en, zh-en, got 'x'"):
        place_texts(context, ["a"], Wanted("en", "de", model="x"))
    with pytest.raises(Refused, match="target must be en for the model fr-en, got de"):
        place_texts(context, ["a"], Wanted("en", "de", model="fr-en"))
    with pytest.raises(Refused, match="target must be one of de, en, fr for fr, got de"):
        place_texts(context, ["a"], Wanted("fr", "de", model="en-de"))


def test_alternatives_widen_the_beam(context: Context) -> None:
    assert ask_for(context, EN_DE, "en", "de").settings is None
    few = ask_for(context, Wanted("en", "de", alternatives=3), "en", "de")
    many = ask_for(context, Wanted("en", "de", alternatives=5), "en", "de")

    assert (few.nbest, few.settings) == (4, None)
    assert many.settings is not None
    assert (many.nbest, many.settings.beam) == (6, 6)
    own = ask_for(context, Wanted("en", "de", beam=1), "en", "de").settings
    assert own is not None
    assert own.beam == 1


def test_html_is_translated_between_its_tags(context: Context) -> None:
    page = '<p title="Two">Two <b>dogs</b> &lt;3</p><script>var dogs</script><p>7</p>'

    (done,) = translated(context, [page], Wanted("en", "de", is_html=True, alternatives=2))

    assert done.text.startswith('<p title="Two">Two-de <b>dogs-de</b>')
    assert "&lt;3" in done.text
    assert done.text.endswith("</p><script>var dogs</script><p>7</p>")
    assert done.alternatives == ()
    assert done.models == ("en-de",)


def test_html_without_words_stays(context: Context) -> None:
    (done,) = translated(context, ["<hr><p>7</p>"], Wanted("en", "de", is_html=True))

    assert done.text == "<hr><p>7</p>"


def test_the_language_of_html_is_that_of_its_text(context: Context) -> None:
    page = '<div class="this is the name of the class and the style"><p>Zwei Hunde spielen im Schnee</p></div>'

    (done,) = translated(context, [page], Wanted("auto", "de", is_html=True))

    assert done.placed.source == "de"
    assert done.text == page


def test_glossaries_are_limited() -> None:
    assert made_glossary(None) is None
    assert made_glossary({}) is None
    glossary = made_glossary({"dog": "Hund", "Anna": None})
    assert glossary is not None
    assert glossary.terms == {"dog": "Hund", "Anna": None}
    with pytest.raises(TooLarge, match="200 terms at most, got 201"):
        made_glossary({f"t{number}": None for number in range(201)})
    with pytest.raises(TooLarge, match="200 characters at most, got 201"):
        made_glossary({"a": "b" * 201})
    with pytest.raises(DataError, match="more than white space"):
        made_glossary({" ": "b"})
    with pytest.raises(Refused, match="surrogate"):
        made_glossary({"a": "\ud800"})


def test_characters_are_counted(context: Context) -> None:
    before = context.characters
    translated(context, ["Two", "dogs"], EN_DE)

    assert context.characters == before + 7


KEPT = ["{name}", "%s", "https://example.org/a?b=c", "%(count)d", "anna@example.org"]


@pytest.mark.parametrize("kept", KEPT)
def test_placeholders_come_out_as_they_went_in(context: Context, kept: str) -> None:
    wanted = Wanted("en", "de", alignments=True, alternatives=2, flags=True)
    done, other = translated(context, [f"Two {kept} dogs", "Two dogs"], wanted)

    assert done.text.split().count(kept) == 1
    assert "Two-de" in done.text
    assert "dogs-de" in done.text
    assert done.translation.source == f"Two {kept} dogs"
    assert done.translation.alignment is None  # what it linked is not there any more
    assert done.translation.flags == ()
    assert done.alternatives == ()
    assert len(other.alternatives) == 2
    assert other.translation.alignment is not None


@pytest.mark.parametrize("kept", KEPT)
def test_a_placeholder_alone_stays(context: Context, kept: str) -> None:
    (done,) = translated(context, [f" {kept} 7"], EN_DE)

    assert done.text == f" {kept} 7"
    assert asked(context) == []


def test_placeholders_in_html(context: Context) -> None:
    page = "<p>Two <b>{name}</b> dogs</p><p>%s</p>"
    (done,) = translated(context, [page], Wanted("en", "de", is_html=True))

    assert done.text.count("{name}") == 1
    assert done.text.endswith("<p>%s</p>")


def test_much_html_is_the_same_in_a_thread_of_its_own(context: Context) -> None:
    page = "<p>Two <b>dogs</b> {name}</p>"
    wanted = Wanted("auto", "de", is_html=True)
    (little,) = translated(context, [page], wanted)
    (much,) = translated(context, [page * 150], wanted)

    assert much.text == little.text * 150


def test_html_is_limited_by_all_of_it_together(context: Context) -> None:
    with pytest.raises(TooLarge, match="HTML must have 65,536 characters at most, got 70,000"):
        translated(context, ["<b>" + "x" * 4997] * 14, Wanted("en", "de", is_html=True))


def test_html_is_limited_by_its_stretches_of_text(context: Context) -> None:
    text = "<p>x" * 1200
    assert len(asyncio.run(placed_texts(context, [text], Wanted("en", "de", is_html=True)))) == 1
    with pytest.raises(TooLarge, match="HTML must have 2,048 stretches of text at most, got 2,400"):
        asyncio.run(placed_texts(context, [text] * 2, Wanted("en", "de", is_html=True)))
    with pytest.raises(TooLarge, match="HTML must have 2,048 inline tags at most, got 2,400"):
        asyncio.run(placed_texts(context, ["<i>x</i> " * 400] * 6, Wanted("en", "de", is_html=True)))
