"""Several models: the same models and results as a server with the same bundles."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dragoman import Bundle, DragomanError, Glossary, SearchSettings, Translation, Translators
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.settings import ServerSettings
from testkit.random_bundle import words
from tests.server.bundles import request, serving, tiny_bundle, translate

VOCABULARY = words(0, 300)
TEXTS = [f"{' '.join(VOCABULARY[:5])}. {' '.join(VOCABULARY[5:9])}!\n\n1 2 3", " ".join(VOCABULARY[9:15]), ""]
TERMS = Glossary.from_dict({VOCABULARY[2]: VOCABULARY[40]})
SEARCH = SearchSettings(beam=2)


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("bundles")
    pairs = {"first": ("en", "de"), "second": ("de", "fr"), "third": ("en", "de")}
    return {
        name: tiny_bundle(folder / name, *pair, "rnn", seed=seed) for seed, (name, pair) in enumerate(pairs.items(), 1)
    }


@pytest.fixture(scope="module")
def translators(bundles: dict[str, Path]) -> Translators:
    return Translators.open(*bundles.values(), engine="torch", search=SEARCH)


@pytest.mark.parametrize("pair", [("en", "de"), ("EN-us", "fr")])
@pytest.mark.parametrize(
    "options",
    [{}, {"alignment": True, "attention": True, "flags": True}, {"glossary": TERMS}],
    ids=["plain", "attention", "glossary"],
)
def test_results_are_those_of_a_server(
    pair: tuple[str, str], options: dict[str, Any], bundles: dict[str, Path], translators: Translators
):
    async def ask() -> list[Translation]:
        async with serving(bundles, engine="torch") as service:
            return [each.translation for each in await translate(service, TEXTS, request(*pair, **options))]

    found = translators.translate(TEXTS, source=pair[0], target=pair[1], **options)
    for here, there in zip(found, asyncio.run(ask()), strict=True):
        assert (here.text, here.alignment, here.flags) == (there.text, there.alignment, there.flags)
        assert here.score == pytest.approx(there.score, abs=1e-4, nan_ok=True)


def test_a_text_in_the_target_language_is_unchanged_as_on_a_server(bundles: dict[str, Path], translators: Translators):
    async def ask() -> list[str]:
        async with serving(bundles, engine="torch") as service:
            reservation = service.admit()
            try:
                wanted = replace(request("en", "en"), texts=TEXTS)
                results = await TranslationPipeline(service, ServerSettings()).translate(wanted, reservation)
            finally:
                reservation.release()
            return [each.translation.text for each in results]

    assert asyncio.run(ask()) == TEXTS
    assert [each.text for each in translators.translate(TEXTS, source="en", target="en")] == TEXTS


def test_a_pair_goes_through_a_third_language(translators: Translators):
    assert translators.directions == (("en", "de"), ("de", "fr"), ("en", "fr"))
    assert repr(translators.direction("en", "fr")) == "PivotTranslator(en → de → fr)"
    text = " ".join(VOCABULARY[:4])
    middle = translators.translate(text, target="de", split_sentences=False).text
    expected = translators.translate(middle, source="de", target="fr", split_sentences=False).text
    assert translators.translate(text, source="en", target="fr", split_sentences=False).text == expected
    begun = translators.translate(text, source="en", target="fr", prefix=VOCABULARY[30])
    assert begun.text.startswith(VOCABULARY[30])
    page = translators.translate_html(f"<p>{text}</p>", source="en", target="fr")
    assert page.startswith("<p>")
    assert page != f"<p>{text}</p>"


@pytest.mark.parametrize(
    ("languages", "message"),
    [
        ({"source": "en", "target": "es"}, "^es is not supported; the language pairs are en → de, de → fr, en → fr$"),
        ({"source": "fr", "target": "de"}, "^fr is not supported; the language pairs are"),
        ({"target": "fr"}, r"must be one language pair, got \? → fr; name both languages; the language pairs are"),
        ({}, "must be one language pair; name both languages"),
    ],
)
def test_languages_without_a_model_are_named(languages: dict[str, str], message: str, translators: Translators):
    with pytest.raises(DragomanError, match=message):
        translators.translate("a", **languages)  # type: ignore[call-overload]


def test_models_are_loaded_when_they_are_used_and_closed_together(bundles: dict[str, Path]):
    with Translators.open(Bundle.open(bundles["first"]), bundles["second"], engine="torch", search=SEARCH) as opened:
        first = opened.direction(target="de")
        assert [*opened._opened] == [0]
        assert asyncio.run(opened.translate_async("a", source="en", target="fr")).source == "a"
        assert [*opened._opened] == [0, 1]
    for closed in (opened, first):
        with pytest.raises(DragomanError, match="is closed; open it again"):
            closed.translate("a", target="de")


def test_there_is_a_bundle():
    with pytest.raises(DragomanError, match="no bundle with languages was given"):
        Translators.open()
