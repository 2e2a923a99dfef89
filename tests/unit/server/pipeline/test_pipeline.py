import asyncio
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from dragoman.api.translation.multi_model.routing import Route
from dragoman.config.search import SearchSettings
from dragoman.markup.protected_spans import find_unreadable
from dragoman.server.errors import RequestError, TooLarge
from dragoman.server.pipeline.language_resolution import LanguageDetector, ResolvedText
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.pipeline.request_checks import build_options, check_glossary, check_texts
from dragoman.server.request_types import DetectedLanguage, TranslationRequest, TranslationResult
from dragoman.server.routes.libretranslate import LIBRETRANSLATE
from dragoman.server.scheduling.admission import Reservation
from dragoman.server.settings import Limits, ServerSettings
from tests.server.fake_service import FakeReservation, FakeService


@pytest.fixture(scope="module")
def pipeline() -> TranslationPipeline:
    return TranslationPipeline(FakeService(), ServerSettings())


def request(
    texts: Sequence[str],
    source: str = "en",
    target: str = "de",
    *,
    model: str | None = None,
    is_html: bool = False,
    **options: Any,
) -> TranslationRequest:
    return TranslationRequest(texts, source, target, model, is_html, build_options(ServerSettings(), **options))


def translated(pipeline: TranslationPipeline, wanted: TranslationRequest) -> list[TranslationResult]:
    service = pipeline.service
    assert isinstance(service, FakeService)
    service.requests.clear()
    return asyncio.run(pipeline.translate(wanted, FakeReservation()))


def resolved(pipeline: TranslationPipeline, text: str, *languages: str, **options: Any) -> ResolvedText:
    return pipeline.resolve(request([text], *languages, **options))[0]


def sent(pipeline: TranslationPipeline) -> list[tuple[str, ...]]:
    service = pipeline.service
    assert isinstance(service, FakeService)
    return [tuple(each.texts) for each in service.requests]


def test_counts_and_lengths_are_limited() -> None:
    limits = Limits(texts=2, text_characters=5)

    check_texts(["12345", "1"], limits)
    with pytest.raises(TooLarge, match="texts must be 2 at most, got 3"):
        check_texts(["a", "b", "c"], limits)
    with pytest.raises(TooLarge, match="text 2 must have 5 characters at most, got 6"):
        check_texts(["a", "123456"], limits)


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\udc00\ud800"])
def test_half_a_surrogate_pair_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match="surrogate") as caught:
        check_texts(["fine", text], Limits())
    assert caught.value.status == 400


def test_all_texts_go_in_one_call(pipeline: TranslationPipeline) -> None:
    done = translated(pipeline, request(["Two dogs", "A man"]))

    assert [each.text for each in done] == ["Two-de dogs-de", "A-de man-de"]
    assert done[0].models == ("en-de",)
    assert sent(pipeline) == [("Two dogs", "A man")]


def test_what_has_no_letters_is_not_asked_for(pipeline: TranslationPipeline) -> None:
    done = translated(pipeline, request(["", "  ", "42 !", "Two", "👍"]))

    assert [each.text for each in done] == ["", "  ", "42 !", "Two-de", "👍"]
    assert [each.models for each in done] == [(), (), (), ("en-de",), ()]
    assert sent(pipeline) == [("Two",)]


def test_each_text_has_its_own_language(pipeline: TranslationPipeline) -> None:
    texts = ["Two dogs play in the snow", "Zwei Hunde spielen im Schnee", "Deux chiens jouent dans la neige", "7"]

    done = translated(pipeline, request(texts, "auto", "de"))

    assert [each.source_language for each in done] == ["en", "de", "fr", "en"]
    assert [each.detected is not None for each in done] == [True] * 4
    assert done[1].text == texts[1]
    assert (done[2].models, done[2].via) == (("fr-en", "en-de"), "en")
    assert sent(pipeline) == [(texts[0],), (texts[2],)]


def test_a_source_that_does_not_lead_there_is_not_detected(pipeline: TranslationPipeline) -> None:
    placed = resolved(pipeline, "Deux chiens jouent", "auto", "fr")

    assert placed.source == "fr"
    assert placed.is_passthrough


class IntoPortuguese(FakeService):
    def routes(self) -> Sequence[Route]:
        return tuple(
            Route(source, target, ((source,),)) for source, target in (("en", "pt"), ("es", "pt"), ("fr", "en"))
        )


class FixedDetector(LanguageDetector):
    def __init__(self, found: DetectedLanguage) -> None:
        self.found = found

    def detect(self, text: str, among: Sequence[str]) -> list[DetectedLanguage]:
        return [self.found]


def test_a_language_that_is_translated_into_another_target_is_rejected() -> None:
    pipeline = TranslationPipeline(IntoPortuguese(), ServerSettings())
    wanted = request(["Bonjour, comment allez-vous aujourd hui ?"], "auto", "PT")

    assert pipeline.resolve(wanted)[0].detected.unavailable == "fr"  # type: ignore[union-attr]
    with pytest.raises(RequestError, match=r"^fr is not supported for the target PT: .*; supported: en, es;") as caught:
        pipeline.resolve(replace(wanted, dialect=LIBRETRANSLATE))
    assert caught.value.code == "unavailable_pair"


def test_a_language_similar_to_one_that_is_translated_is_not_rejected() -> None:
    detector = FixedDetector(DetectedLanguage("en", 3.0, "gl", 95.0))
    pipeline = TranslationPipeline(IntoPortuguese(), ServerSettings(), detector=detector)
    text = "Dous cans xogan na neve diante da casa dos meus avós, e logo chove."

    pipeline.resolve(replace(request([text], "auto", "pt"), dialect=LIBRETRANSLATE))


class IntoChinese(FakeService):
    def routes(self) -> Sequence[Route]:
        return (Route("en", "zh", (("en-zh",),)),)


@pytest.fixture(scope="module")
def into_chinese() -> TranslationPipeline:
    return TranslationPipeline(IntoChinese(), ServerSettings())


@pytest.mark.parametrize(
    "text", ["两只狗在雪地里玩耍。", "Deux chiens jouent dans la neige", "<p>两只狗在雪地里玩耍。</p>"]
)
def test_a_target_that_no_model_translates_into(text: str, into_chinese: TranslationPipeline) -> None:
    for texts in ([text], ["Two dogs play in the snow", text]):
        with pytest.raises(RequestError, match="target must be one of zh, got en; see /v1/models") as caught:
            into_chinese.resolve(request(texts, "auto", "en", is_html="<p>" in text))
        assert caught.value.code == "unavailable_pair"


@pytest.mark.parametrize("text", ["Two dogs play in the snow", "42", ""])
def test_text_that_is_in_a_language_without_a_model_into_it(text: str, into_chinese: TranslationPipeline) -> None:
    placed = resolved(into_chinese, text, "auto", "EN-US")

    assert (placed.source, placed.target, placed.is_passthrough) == ("en", "en", True)


def test_text_that_is_in_the_target_language_already(into_chinese: TranslationPipeline) -> None:
    assert resolved(into_chinese, "两只狗在雪地里玩耍。", "auto", "zh").is_passthrough
    assert not resolved(into_chinese, "Two dogs play in the snow", "auto", "zh").is_passthrough


def test_languages_that_are_not_served(pipeline: TranslationPipeline, into_chinese: TranslationPipeline) -> None:
    with pytest.raises(RequestError, match="target must be one of de, en, got 'zz'"):
        resolved(pipeline, "a", "en", "zz")
    with pytest.raises(RequestError, match="target must be one of zh, got 'DE'"):
        resolved(into_chinese, "a", "auto", "DE")
    with pytest.raises(RequestError, match="source must be one of de, en, fr, zh, got 'zz'"):
        resolved(pipeline, "a", "zz", "de")
    with pytest.raises(RequestError, match="source must be one of en, got 'DE'"):
        resolved(into_chinese, "a", "DE", "zh")
    with pytest.raises(RequestError, match="target must be one of de for en, got fr"):
        resolved(pipeline, "a", "en", "fr")
    with pytest.raises(RequestError, match="source must be one of en, got zh"):
        resolved(into_chinese, "a", "zh", "en")


def test_a_model_by_its_name(pipeline: TranslationPipeline) -> None:
    placed = resolved(pipeline, "Zwei Hunde", "auto", "de", model="en-de")
    assert placed.source == "en"
    with pytest.raises(RequestError, match="model must be one of de-en, en-de, fr-en, zh-en, got 'x'"):
        resolved(pipeline, "a", "en", "de", model="x")
    with pytest.raises(RequestError, match="target must be en for the model fr-en, got de"):
        resolved(pipeline, "a", "fr", "de", model="fr-en")
    with pytest.raises(RequestError, match="source must be en for the model en-de, got fr"):
        resolved(pipeline, "a", "fr", "de", model="en-de")


def test_the_server_searches_as_the_command_line_and_python_do() -> None:
    assert build_options(ServerSettings()).search == SearchSettings()


def test_alternatives_widen_the_beam() -> None:
    settings = ServerSettings()
    searches = [build_options(settings, alternatives=number).search for number in (0, 3, 5)]

    assert [(each.beam, each.nbest) for each in searches] == [(5, 1), (5, 4), (6, 6)]
    assert build_options(settings, beam=1).search.beam == 1


def test_html_is_translated_between_its_tags(pipeline: TranslationPipeline) -> None:
    page = '<p title="Two">Two <b>dogs</b> &lt;3</p><script>var dogs</script><p>7</p>'

    (done,) = translated(pipeline, request([page], "en", "de", is_html=True))

    assert done.text.startswith('<p title="Two">Two-de <b>dogs-de</b>')
    assert "&lt;3" in done.text
    assert done.text.endswith("</p><script>var dogs</script><p>7</p>")
    assert done.alternatives == ()
    assert done.models == ("en-de",)


def test_html_without_words_stays(pipeline: TranslationPipeline) -> None:
    (done,) = translated(pipeline, request(["<hr><p>7</p>"], "en", "de", is_html=True))

    assert done.text == "<hr><p>7</p>"


def test_the_language_of_html_is_that_of_its_text(pipeline: TranslationPipeline) -> None:
    page = '<div class="this is the name of the class and the style"><p>Zwei Hunde spielen im Schnee</p></div>'

    (done,) = translated(pipeline, request([page], "auto", "de", is_html=True))

    assert done.source_language == "de"
    assert done.text == page


def test_glossaries_are_limited() -> None:
    check_glossary(None)
    check_glossary({"dog": "Hund", "Anna": None})
    with pytest.raises(TooLarge, match="200 terms at most, got 201"):
        check_glossary({f"t{number}": None for number in range(201)})
    with pytest.raises(TooLarge, match="200 characters at most, got 201"):
        check_glossary({"a": "b" * 201})
    with pytest.raises(RequestError, match="surrogate"):
        check_glossary({"a": "\ud800"})


def test_options_have_a_glossary_only_if_there_are_terms() -> None:
    settings = ServerSettings()
    glossary = build_options(settings, glossary={"dog": "Hund", "Anna": None}).glossary

    assert glossary is not None
    assert glossary.terms == {"dog": "Hund", "Anna": None}
    assert build_options(settings, glossary={}).glossary is None
    with pytest.raises(RequestError, match="more than white space"):
        build_options(settings, glossary={" ": "b"})


KEPT = ["{name}", "%s", "[X12X]", "https://example.org/a?b=c", "%(count)d", "anna@example.org"]


@pytest.mark.parametrize("kept", KEPT)
def test_placeholders_come_out_as_they_went_in(pipeline: TranslationPipeline, kept: str) -> None:
    wanted = request([f"Two {kept} dogs", "Two dogs"], alignment=True, alternatives=2, flags=True)
    done, other = translated(pipeline, wanted)

    assert done.text.split().count(kept) == 1
    assert "Two-de" in done.text
    assert "dogs-de" in done.text
    assert done.translation.source == f"Two {kept} dogs"
    assert done.translation.alignment is None  # what it linked is not there any more
    assert done.translation.flags == ()
    assert [text.split().count(kept) for text, _ in done.alternatives] == [1, 1]
    assert len(other.alternatives) == 2
    assert other.translation.alignment is not None


@pytest.mark.parametrize("kept", KEPT)
def test_a_placeholder_alone_stays(pipeline: TranslationPipeline, kept: str) -> None:
    (done,) = translated(pipeline, request([f" {kept} 7"]))

    assert done.text == f" {kept} 7"
    assert sent(pipeline) == []


def test_placeholders_in_html(pipeline: TranslationPipeline) -> None:
    page = "<p>Two <b>{name}</b> dogs</p><p>%s</p>"
    (done,) = translated(pipeline, request([page], "en", "de", is_html=True))

    assert done.text.count("{name}") == 1
    assert done.text.endswith("<p>%s</p>")


def test_much_html_is_the_same_in_a_thread_of_its_own(pipeline: TranslationPipeline) -> None:
    page = "<p>Two <b>dogs</b> {name}</p>"
    (little,) = translated(pipeline, request([page], "auto", is_html=True))
    (much,) = translated(pipeline, request([page * 150], "auto", is_html=True))

    assert much.text == little.text * 150


def test_html_is_limited_by_all_of_it_together(pipeline: TranslationPipeline) -> None:
    with pytest.raises(TooLarge, match="HTML must have 65,536 characters at most, got 70,000"):
        translated(pipeline, request(["<b>" + "x" * 4997] * 14, "en", "de", is_html=True))


def test_html_is_limited_by_its_stretches_of_text(pipeline: TranslationPipeline) -> None:
    text = "<p>x" * 1200
    assert len(asyncio.run(pipeline.check_and_resolve(request([text], "en", "de", is_html=True)))) == 1
    with pytest.raises(TooLarge, match=r"HTML must have 2,048 segments, inline tags and .* at most, got 2,400"):
        asyncio.run(pipeline.check_and_resolve(request([text] * 2, "en", "de", is_html=True)))
    with pytest.raises(TooLarge, match=r"HTML must have 2,048 segments, inline tags and .* at most, got 2,40"):
        asyncio.run(pipeline.check_and_resolve(request(["<i>x</i> " * 400] * 6, "en", "de", is_html=True)))


class AsciiModel(FakeService):
    async def open_pair(self, request: TranslationRequest, reservation: Reservation) -> Any:
        return SimpleNamespace(unreadable=lambda text: find_unreadable(text, str.isascii))


@pytest.mark.parametrize(("text", "parts"), [("costs 5 €", 1), ("costs five", 2)])
def test_a_stream_with_what_the_model_cannot_read_is_one_part(text: str, parts: int) -> None:
    pipeline = TranslationPipeline(AsciiModel(), ServerSettings())

    async def run() -> list[str]:
        asked = request([text])
        (one,) = pipeline.resolve(asked)
        found = [each async for each in pipeline.stream(one, asked, FakeReservation())]
        return [each for each in found if isinstance(each, str)]

    found = asyncio.run(run())
    assert len(found) == parts
    assert ("€" in found[0]) == ("€" in text)
