import socket

import pytest

from dragoman.server.pipeline.language_resolution import LanguageDetector
from dragoman.server.request_types import DetectedLanguage

SERVED = ("de", "en", "fr")


@pytest.fixture(scope="module")
def detector() -> LanguageDetector:
    return LanguageDetector()


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Two dogs play in the snow.", "en"),
        ("Zwei Hunde spielen im Schnee.", "de"),
        ("Deux chiens jouent dans la neige.", "fr"),
        ("TWO DOGS PLAY IN THE SNOW", "en"),
        ("Guten Morgen", "de"),
        ("Zwei Hunde\nspielen\r\nim\x00Schnee", "de"),
    ],
)
def test_tells_the_served_languages_apart(detector: LanguageDetector, text: str, language: str) -> None:
    found = detector.detect(text, SERVED)

    assert found[0].language == language
    assert 0 < found[0].confidence <= 100
    assert [each.confidence for each in found] == sorted((each.confidence for each in found), reverse=True)


@pytest.mark.parametrize("text", ["", "   ", "12 345", "😀 !!", "\x00", "…—"])
def test_without_letters_it_is_english_without_confidence(detector: LanguageDetector, text: str) -> None:
    assert detector.detect(text, SERVED) == [DetectedLanguage("en", 0.0)]


def test_without_english_it_is_the_first(detector: LanguageDetector) -> None:
    assert detector.detect("42", ("fr", "de")) == [DetectedLanguage("fr", 0.0)]
    assert detector.detect("42", ()) == [DetectedLanguage("en", 0.0)]


def test_names_no_language_that_is_not_served(detector: LanguageDetector) -> None:
    (found, *others) = detector.detect("Två hundar leker i snön utanför huset.", SERVED)

    assert found.language in SERVED
    assert found.confidence < 50
    assert {each.language for each in others} <= set(SERVED)


@pytest.mark.parametrize(
    ("text", "unavailable"),
    [
        ("Zwei Hunde spielen im Schnee vor dem Haus.", "de"),
        ("两只狗在房子外面的雪地里玩。", "zh"),
        ("Two dogs play in the snow.", None),
        ("42", None),
    ],
)
def test_the_language_of_the_text_is_named_if_no_model_translates_it(
    detector: LanguageDetector, text: str, unavailable: str | None
) -> None:
    found = detector.detect(text, ("en", "fr"))

    assert found[0].unavailable == unavailable
    language, confidence = found[0].most_probable
    assert language == (unavailable or found[0].language)
    assert unavailable is None or confidence >= 50
    assert all(each.unavailable is None for each in found[1:])


def test_a_near_language_is_not_another_one(detector: LanguageDetector) -> None:
    assert detector.detect("To hunder leker i snøen utenfor huset.", ("da", "en"))[0].unavailable is None


def test_a_language_that_the_model_does_not_know_has_no_confidence(detector: LanguageDetector) -> None:
    assert detector.detect("Hello there, my friend", ("xq",)) == [DetectedLanguage("xq", 0.0)]


@pytest.mark.parametrize(("text", "language"), [("日本語", "zh"), ("日本語です", "ja"), ("你好世界", "zh")])
def test_japanese_has_kana(detector: LanguageDetector, text: str, language: str) -> None:
    assert detector.detect(text, ("en", "ja", "zh"))[0].language == language


@pytest.mark.parametrize(("text", "language"), [("这个国家的语言", "zh"), ("這個國家的語言", "zt")])
def test_two_ways_to_write_chinese(detector: LanguageDetector, text: str, language: str) -> None:
    assert detector.detect(text, ("zt", "en", "zh"))[0].language == language


def test_variants_count_as_their_language(detector: LanguageDetector) -> None:
    text = "Dois cachorros brincam na neve perto da casa."

    assert detector.detect(text, ("en", "pt-BR"))[0].language == "pt-BR"
    assert detector.detect(text, ("en", "pb"))[0].language == "pb"


def test_nothing_is_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)

    assert LanguageDetector().detect("Zwei Hunde spielen im Schnee.", SERVED)[0].language == "de"
