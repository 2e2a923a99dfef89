"""Translation service on tiny bundles."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dragoman.api.translation.options import TranslationCancelled
from dragoman.api.translation.translator import Translator
from dragoman.config.search import SearchSettings
from dragoman.engines import select
from dragoman.errors import DataError
from dragoman.server.errors import DeadlineExceeded, Draining, ModelUnavailable, RequestError, TooLarge
from dragoman.server.metrics import ServerMetrics
from dragoman.server.models.registry import ModelRegistry
from dragoman.server.pipeline.service import TranslationService
from dragoman.server.request_types import TranslationRequest, TranslationResult
from dragoman.text.characters import has_letters
from dragoman.text.glossary import Glossary
from testkit.random_bundle import words
from tests.server.bundles import request, serving, tiny_bundle, translate, translate_text

VOCABULARY = words(0, 300)
TEXT = f"{' '.join(VOCABULARY[:5])}. {' '.join(VOCABULARY[5:9])}!\n\n1 2 3"
ASK = request("en", "de")


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("bundles")
    return {
        "first": tiny_bundle(folder / "first", "en", "de"),
        "second": tiny_bundle(folder / "second", "de", "fr", "rnn"),
        "third": tiny_bundle(folder / "third", "en", "de", seed=2),
    }


def run(
    test: Callable[[TranslationService], Awaitable[None]],
    bundles: dict[str, Path],
    metrics: Any = None,
    **settings: Any,
) -> None:
    async def go() -> None:
        async with serving(bundles, metrics, **settings) as service:
            await test(service)

    asyncio.run(go())


async def streamed(
    service: TranslationService, text: str, wanted: TranslationRequest
) -> tuple[list[str], TranslationResult]:
    reservation = service.admit()
    try:
        pair = await service.open_pair(wanted, reservation)
        *texts, last = [each async for each in service.stream_pair(pair, replace(wanted, texts=[text]), reservation)]
    finally:
        reservation.release()
    assert isinstance(last, TranslationResult)
    return [str(each) for each in texts], last


def test_texts_are_translated_as_the_library_does(bundles: dict[str, Path]):
    alone = Translator.open(bundles["first"], search=SearchSettings(beam=2))

    async def test(service: TranslationService) -> None:
        found = await translate(service, [TEXT, "", "12"], ASK)
        assert [each.translation.text for each in found] == [alone.translate(text).text for text in (TEXT, "", "12")]
        assert {(each.models, each.via) for each in found} == {(("first",), None)}
        (whole,) = await translate(
            service, [TEXT], request("en", "de", split_sentences=False, alignment=True, flags=True)
        )
        wanted = alone.translate(TEXT, split_sentences=False, alignment=True, flags=True)
        assert whole.translation.text == wanted.text
        assert whole.translation.alignment == wanted.alignment
        assert whole.translation.flags is not None
        (named,) = await translate(service, [TEXT], request("en", "de", model="third"))
        assert named.models == ("third",)
        assert named.translation.text != wanted.text

    run(test, bundles)


def test_nbest_lists(bundles: dict[str, Path]):
    async def test(service: TranslationService) -> None:
        (found,) = await translate(
            service, [VOCABULARY[0]], request("en", "de", search=SearchSettings(beam=5, nbest=5))
        )
        assert len(found.translation.nbest) == 5

    run(test, bundles)


@pytest.mark.parametrize("target", ["de", "fr"])
def test_a_stream_is_the_whole(bundles: dict[str, Path], target: str):
    wanted = request("en", target, alignment=True)

    async def test(service: TranslationService) -> None:
        (whole,) = await translate(service, [TEXT], wanted)
        texts, last = await streamed(service, TEXT, wanted)
        assert "".join(texts) == last.text == whole.text
        assert last.translation.alignment == whole.translation.alignment
        assert len(last.translation.sentences) == 3
        assert (last.models, last.via) == (whole.models, whole.via)
        assert len(texts) > 1

    run(test, bundles)


def test_a_stream_yields_tokens(bundles: dict[str, Path]):
    async def test(service: TranslationService) -> None:
        most = 0
        for _ in range(10):  # tokens that come while the event loop is busy come together
            texts, last = await streamed(service, TEXT, request("de", "fr", search=SearchSettings(beam=1)))
            assert "".join(texts) == last.translation.text
            most = max(most, len(texts))
        assert most > 4  # there are three sentences

    run(test, bundles)


def test_through_a_third_language(bundles: dict[str, Path]):
    async def test(service: TranslationService) -> None:
        wanted = request("en", "fr", alignment=True, attention=True, flags=True, search=SearchSettings(beam=2, nbest=2))
        (found,) = await translate(service, [TEXT], wanted)
        assert (found.models, found.via) == (("first", "second"), "de")
        sentences = found.translation.sentences
        assert [each.source for each in sentences] == [
            *TEXT.replace("! ", "!\n").replace(". ", ".\n").split("\n")[:2],
            "1 2 3",
        ]
        assert len(sentences[0].nbest) == 2
        assert len(sentences[0].weights or ()) == len(sentences[0].target_words)
        assert all(target < len(found.translation.target_words) for _, target in found.translation.alignment or ())
        middle = await translate_text(service, sentences[0].source, ASK)
        assert sentences[0].text == await translate_text(service, middle, request("de", "fr", split_sentences=False))

    run(test, bundles)


@pytest.mark.parametrize("target", ["de", "fr"])
def test_a_translation_begins_as_required(bundles: dict[str, Path], target: str):
    async def test(service: TranslationService) -> None:
        wanted = request("en", target, split_sentences=False, search=SearchSettings(beam=2, nbest=2))
        (plain,) = await translate(service, ["A dog runs."], wanted)
        (found,) = await translate(service, ["A dog runs."], replace(wanted, prefix="c b a"))
        assert all(
            text.startswith("c b a") for text in (found.text, *(text for text, _ in found.translation.alternatives()))
        )
        assert not plain.text.startswith("c b a")

    run(test, bundles)


def test_a_glossary_takes_an_engine_that_knows_it(bundles: dict[str, Path]):
    term, wanted = VOCABULARY[0], VOCABULARY[7]

    async def test(service: TranslationService) -> None:
        found = await translate_text(
            service, f"{term} {VOCABULARY[1]}", request("en", "de", glossary=Glossary.from_dict({term: wanted}))
        )
        assert wanted in found

    run(test, bundles)


def test_a_glossary_without_a_term_in_the_text_keeps_the_fast_engine(
    bundles: dict[str, Path], monkeypatch: pytest.MonkeyPatch
):
    asked: list[bool] = []  # whether an engine for terms was required
    get_capable = ModelRegistry.get_capable

    async def recorded(self: ModelRegistry, name: str, search: SearchSettings, *, phrases: bool) -> Translator:
        asked.append(phrases)
        return await get_capable(self, name, search, phrases=phrases)

    monkeypatch.setattr(ModelRegistry, "get_capable", recorded)
    term, wanted = VOCABULARY[0], VOCABULARY[7]
    ask = request("en", "de", glossary=Glossary.from_dict({term: wanted}))

    async def test(service: TranslationService) -> None:
        plain = await translate_text(service, f"{VOCABULARY[3]} {VOCABULARY[1]}", request("en", "de"))
        assert await translate_text(service, f"{VOCABULARY[3]} {VOCABULARY[1]}", ask) == plain
        await streamed(service, f"{VOCABULARY[3]} {VOCABULARY[1]}", ask)
        assert not any(asked)
        assert wanted in await translate_text(service, f"{term} {VOCABULARY[1]}", ask)
        assert any(asked)

    run(test, {"first": bundles["first"]})


@pytest.mark.parametrize("has_torch", [True, False])
def test_a_glossary_with_and_without_torch(bundles: dict[str, Path], has_torch: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(select, "is_installed", lambda name: has_torch or name != "torch")
    term, wanted = VOCABULARY[0], VOCABULARY[7]
    ask = request("en", "de", glossary=Glossary.from_dict({term: wanted}))

    async def test(service: TranslationService) -> None:
        (found,) = await translate(service, [f"{term} {VOCABULARY[1]}. {VOCABULARY[2]} {term}."], ask)
        assert all(wanted in each.text.split() for each in found.translation.sentences)
        streams, last = await streamed(service, f"{VOCABULARY[3]} {term}", ask)
        assert "".join(streams) == last.text
        assert wanted in last.text

    run(test, {"first": bundles["first"]})


def test_a_glossary_through_a_third_language(bundles: dict[str, Path]):
    term, wanted = VOCABULARY[0], VOCABULARY[7]
    ask = request("en", "fr", glossary=Glossary.from_dict({term: wanted}))

    async def test(service: TranslationService) -> None:
        texts = [f"{word} {term}" for word in VOCABULARY[10:40]]
        middles = await translate(service, texts, ASK)
        # An untrained model often writes no letters, and then there is nothing to translate.
        text = next(text for text, middle in zip(texts, middles, strict=True) if has_letters(middle.text))
        (found,) = await translate(service, [text], ask)
        assert found.via == "de"
        assert wanted in found.text
        assert found.translation.alignment is None  # not requested
        streams, last = await streamed(service, text, ask)
        assert "".join(streams) == last.text == found.text

    run(test, bundles)


def test_inspection(bundles: dict[str, Path]):
    async def test(service: TranslationService) -> None:
        reservation = service.admit()
        found, names = await service.inspect(
            request("en", "de", VOCABULARY[0]), reservation, translation=None, counterfactuals=1
        )
        assert names == ("first",)
        assert found["source"] == VOCABULARY[0]
        assert found["tree"]
        given, _ = await service.inspect(request("de", "fr", "a b"), reservation, translation="b a", counterfactuals=0)
        assert given["translation"] == "b a"
        with pytest.raises(RequestError, match="is translated by two models"):
            await service.inspect(request("en", "fr", "a"), reservation, translation=None, counterfactuals=0)
        with pytest.raises(DataError):
            await service.inspect(request("en", "de", "1"), reservation, translation=None, counterfactuals=0)
        reservation.cancel()
        with pytest.raises(TranslationCancelled):
            await service.inspect(request("en", "de", "a"), reservation, translation=None, counterfactuals=0)

    run(test, bundles)


def test_a_long_translation_to_inspect_is_too_large(bundles: dict[str, Path]):
    async def test(service: TranslationService) -> None:
        wanted = request("de", "fr", "a b")
        reservation = service.admit()
        await service.inspect(wanted, reservation, translation="b a", counterfactuals=0)
        with_short = reservation.tokens
        with pytest.raises(TooLarge, match="tokens of text"):
            await service.inspect(wanted, reservation, translation="a b " * 1000, counterfactuals=0)
        assert reservation.tokens == with_short

    run(test, bundles)


def test_what_is_asked_wrong_is_refused(bundles: dict[str, Path]):
    async def test(service: TranslationService) -> None:
        for wanted in (request("xx", "de"), request("en", "de", model="none"), request("fr", "en")):
            with pytest.raises(RequestError) as refused:
                await translate(service, ["a"], wanted)
            assert refused.value.status == 400
        with pytest.raises(TooLarge):
            await translate(service, [" ".join(VOCABULARY)], ASK)
        assert service._admission.tokens == 0

    run(test, bundles, limits={"request_tokens": 100})


def test_too_late_is_said_in_time(bundles: dict[str, Path]):
    async def test(service: TranslationService) -> None:
        with pytest.raises(DeadlineExceeded):
            await translate(service, [" ".join(VOCABULARY)] * 7, ASK, seconds=0.05)

    run(test, bundles)


def test_flags_are_counted(bundles: dict[str, Path]):
    class Flags(ServerMetrics):
        def __init__(self) -> None:
            super().__init__()
            self.names: list[str] = []

        def count_flag(self, flag: str) -> None:
            self.names.append(flag)

    async def test(service: TranslationService) -> None:
        (found,) = await translate(service, [" ".join(VOCABULARY[:4]) + " 17"], request("en", "de", flags=True))
        assert metrics.names == [flag.name for flag in found.translation.flags or ()] != []

    metrics = Flags()
    run(test, bundles, metrics)


def test_draining_ends_what_is_under_way(bundles: dict[str, Path]):
    async def test(service: TranslationService) -> None:
        assert service.is_ready
        under_way = [asyncio.create_task(translate(service, [TEXT], ASK)) for _ in range(20)]
        await asyncio.sleep(0)
        draining = asyncio.create_task(service.drain())
        await asyncio.sleep(0)
        assert not service.is_ready
        with pytest.raises(Draining):
            service.admit()
        assert await draining
        assert [len(each) for each in await asyncio.gather(*under_way)] == [1] * 20

    run(test, bundles)


def test_swaps_under_load_fail_nobody(tmp_path: Path):
    bundle = tiny_bundle(tmp_path / "bundle", "en", "de")
    texts = [" ".join(VOCABULARY[first : first + 4]) for first in range(0, 80, 4)]
    good = {
        text: {
            Translator.open(tiny_bundle(tmp_path / f"{seed}", "en", "de", seed=seed), search=SearchSettings(beam=2))
            .translate(text)
            .text
            for seed in (1, 2)
        }
        for text in texts
    }

    async def test(service: TranslationService) -> None:
        is_over = False
        done = 0

        async def client(number: int) -> None:
            nonlocal done
            while not is_over:
                text = texts[(number + done) % len(texts)]
                assert await translate_text(service, text, ASK) in good[text]
                done += 1

        clients = [asyncio.create_task(client(number)) for number in range(8)]
        for swap in range(10):
            await asyncio.to_thread(tiny_bundle, bundle, "en", "de", seed=2 - swap % 2)
            assert (await service.reload()).reloaded == ("m",)
        is_over = True
        await asyncio.gather(*clients)
        assert done > 20

    run(test, {"m": bundle})


def test_new_bundles_are_looked_for(tmp_path: Path):
    bundle = tiny_bundle(tmp_path / "bundle", "en", "de")

    async def test(service: TranslationService) -> None:
        before = service.models()[0].digest
        tiny_bundle(bundle, "en", "de", seed=2)
        for _ in range(1000):
            await asyncio.sleep(0.05)
            if service.models()[0].digest != before:
                return
        raise AssertionError("the new bundle was not found")

    run(test, {"m": bundle}, reload_interval=0.05)


def test_a_model_that_fails_is_a_503(tmp_path: Path):
    bundle = tiny_bundle(tmp_path / "bundle", "en", "de")

    async def test(service: TranslationService) -> None:
        (bundle / "manifest.json").unlink()
        with pytest.raises(ModelUnavailable):
            await translate(service, ["a"], ASK)

    run(test, {"m": bundle}, memory_bytes=1)


def test_a_model_is_not_idle_while_it_translates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    search = Translator.search

    def slow(*given: Any) -> None:
        time.sleep(0.3)
        search(*given)

    monkeypatch.setattr(Translator, "search", slow)

    async def test(service: TranslationService) -> None:
        running = asyncio.create_task(translate_text(service, "a", ASK))
        await asyncio.sleep(0.2)
        assert [model.state for model in service.models()] == ["ready"]
        await running

    run(test, {"m": tiny_bundle(tmp_path / "bundle", "en", "de")}, unload_idle=0.05)


def test_an_unloaded_model_that_has_other_languages_now_translates_none_of_the_old(tmp_path: Path):
    bundle = tiny_bundle(tmp_path / "bundle", "en", "de")

    async def test(service: TranslationService) -> None:
        tiny_bundle(bundle, "en", "fr", seed=2)
        with pytest.raises(RequestError, match="de"):
            await translate(service, ["a"], ASK)
        assert (await translate(service, ["a"], request("en", "fr")))[0].models == ("m",)

    run(test, {"m": bundle}, preload=0)


def test_the_cache_returns_the_same_translation_to_the_same_client(bundles: dict[str, Path]):
    metrics = ServerMetrics()

    async def ask(service: TranslationService, client: bytes, *texts: str) -> list[str]:
        reservation = service.admit()
        reservation.client = client
        try:
            pair = await service.open_pair(ASK, reservation)
            found = await service.translate_pair(pair, replace(ASK, texts=texts), reservation)
        finally:
            reservation.release()
        return [each.text for each in found]

    def counted(result: str) -> float:
        return metrics.registry.get_sample_value("dragoman_cache_texts_total", {"result": result}) or 0.0

    async def test(service: TranslationService) -> None:
        first = await ask(service, b"anna", TEXT, VOCABULARY[0], TEXT)
        assert (counted("hit"), counted("miss")) == (0, 2)
        assert await ask(service, b"anna", VOCABULARY[0], VOCABULARY[1], TEXT) == [
            first[1],
            *await ask(service, b"", VOCABULARY[1]),
            first[0],
        ]
        assert (counted("hit"), counted("miss")) == (2, 3)
        assert await ask(service, b"bert", TEXT) == first[:1]
        assert (counted("hit"), counted("miss")) == (2, 4)

    run(test, bundles, metrics, cache_size=100_000)
