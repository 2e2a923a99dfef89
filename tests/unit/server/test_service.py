"""The service as routes use it, on tiny bundles."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.random_bundle import words
from dragoman.api.request import Cancelled
from dragoman.api.translator import Translator
from dragoman.errors import DataError
from dragoman.search.settings import SearchSettings
from dragoman.server.errors import Draining, Expired, ModelFailed, Refused, TooLarge
from dragoman.server.jobs import Answer, Ask
from dragoman.server.meter import NoMeter
from dragoman.server.service import Service
from dragoman.text.glossary import Glossary
from tests.server.bundles import answer, answers, serving, tiny_bundle

VOCABULARY = words(0, 300)
TEXT = f"{' '.join(VOCABULARY[:5])}. {' '.join(VOCABULARY[5:9])}!\n\n1 2 3"
ASK = Ask("en", "de")


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("bundles")
    return {
        "first": tiny_bundle(folder / "first", "en", "de"),
        "second": tiny_bundle(folder / "second", "de", "fr", "rnn"),
        "third": tiny_bundle(folder / "third", "en", "de", seed=2),
    }


def run(
    test: Callable[[Service], Awaitable[None]], bundles: dict[str, Path], meter: Any = None, **settings: Any
) -> None:
    async def go() -> None:
        async with serving(bundles, meter, **settings) as service:
            await test(service)

    asyncio.run(go())


async def streamed(service: Service, text: str, ask: Ask) -> tuple[list[str], Answer]:
    ticket = service.enter()
    try:
        *texts, last = [each async for each in service.stream(text, ask, ticket)]
    finally:
        ticket.leave()
    assert isinstance(last, Answer)
    return [str(each) for each in texts], last


def test_texts_are_translated_as_the_library_does(bundles: dict[str, Path]):
    alone = Translator.open(bundles["first"], settings=SearchSettings(beam=2))

    async def test(service: Service) -> None:
        found = await answers(service, [TEXT, "", "12"], ASK)
        assert [each.translation.text for each in found] == [alone.translate(text).text for text in (TEXT, "", "12")]
        assert {(each.models, each.via) for each in found} == {(("first",), None)}
        (whole,) = await answers(service, [TEXT], Ask("en", "de", split=False, alignments=True, flags=True))
        wanted = alone.translate(TEXT, split=False, alignments=True, flags=True)
        assert whole.translation.text == wanted.text
        assert whole.translation.alignment == wanted.alignment
        assert whole.translation.flags is not None
        (named,) = await answers(service, [TEXT], Ask("en", "de", model="third"))
        assert named.models == ("third",)
        assert named.translation.text != wanted.text

    run(test, bundles)


def test_alternatives_widen_the_beam(bundles: dict[str, Path]):
    async def test(service: Service) -> None:
        (found,) = await answers(service, [VOCABULARY[0]], Ask("en", "de", nbest=5))
        assert len(found.translation.nbest) == 5

    run(test, bundles)


@pytest.mark.parametrize("target", ["de", "fr"])
def test_a_stream_is_the_whole(bundles: dict[str, Path], target: str):
    ask = Ask("en", target, alignments=True)

    async def test(service: Service) -> None:
        (wanted,) = await answers(service, [TEXT], ask)
        texts, last = await streamed(service, TEXT, ask)
        assert "".join(texts) == last.translation.text == wanted.translation.text
        assert last.translation.alignment == wanted.translation.alignment
        assert len(last.translation.sentences) == 3
        assert (last.models, last.via) == (wanted.models, wanted.via)
        assert len(texts) > 1

    run(test, bundles)


def test_a_stepwise_stream_comes_by_pieces(bundles: dict[str, Path]):
    async def test(service: Service) -> None:
        most = 0
        for _ in range(10):  # pieces that come while the event loop is busy come together
            texts, last = await streamed(service, TEXT, Ask("de", "fr", settings=SearchSettings(beam=1)))
            assert "".join(texts) == last.translation.text
            most = max(most, len(texts))
        assert most > 4  # there are three sentences

    run(test, bundles)


def test_through_a_third_language(bundles: dict[str, Path]):
    async def test(service: Service) -> None:
        ask = Ask("en", "fr", alignments=True, weights=True, flags=True, nbest=2)
        (found,) = await answers(service, [TEXT], ask)
        assert (found.models, found.via) == (("first", "second"), "de")
        sentences = found.translation.sentences
        assert [each.source for each in sentences] == [
            *TEXT.replace("! ", "!\n").replace(". ", ".\n").split("\n")[:2],
            "1 2 3",
        ]
        assert len(sentences[0].nbest) == 2
        assert len(sentences[0].weights or ()) == len(sentences[0].target_words)
        assert all(target < len(found.translation.target_words) for _, target in found.translation.alignment or ())
        middle = await answer(service, sentences[0].source, ASK)
        assert sentences[0].text == await answer(service, middle, Ask("de", "fr", split=False))
        with pytest.raises(Refused, match="a glossary must be used with one model"):
            await answers(service, ["a"], Ask("en", "fr", glossary=Glossary.of({"a": "b"})))

    run(test, bundles)


def test_a_language_into_itself_stays(bundles: dict[str, Path]):
    async def test(service: Service) -> None:
        (found,) = await answers(service, ["a\n b"], Ask("en", "EN"))
        assert (found.translation.text, found.models) == ("a\n b", ())
        assert (await streamed(service, "a", Ask("de", "de")))[0] == ["a"]

    run(test, bundles)


def test_a_glossary_takes_an_engine_that_knows_it(bundles: dict[str, Path]):
    term, wanted = VOCABULARY[0], VOCABULARY[7]

    async def test(service: Service) -> None:
        found = await answer(service, f"{term} {VOCABULARY[1]}", Ask("en", "de", glossary=Glossary.of({term: wanted})))
        assert wanted in found

    run(test, bundles)


def test_inspection(bundles: dict[str, Path]):
    async def test(service: Service) -> None:
        ticket = service.enter()
        found, names = await service.inspect(VOCABULARY[0], ASK, ticket, translation=None, what_ifs=1)
        assert names == ("first",)
        assert found["source"] == VOCABULARY[0]
        assert found["tree"]
        given, _ = await service.inspect("a b", Ask("de", "fr"), ticket, translation="b a", what_ifs=0)
        assert given["translation"] == "b a"
        with pytest.raises(Refused, match="of one model to be inspected"):
            await service.inspect("a", Ask("en", "fr"), ticket, translation=None, what_ifs=0)
        with pytest.raises(DataError):
            await service.inspect("1", ASK, ticket, translation=None, what_ifs=0)
        ticket.cancel()
        with pytest.raises(Cancelled):
            await service.inspect("a", ASK, ticket, translation=None, what_ifs=0)

    run(test, bundles)


def test_what_is_asked_wrong_is_refused(bundles: dict[str, Path]):
    async def test(service: Service) -> None:
        for ask in (Ask("xx", "de"), Ask("en", "de", model="none"), Ask("fr", "en")):
            with pytest.raises(Refused) as refused:
                await answers(service, ["a"], ask)
            assert refused.value.status == 400
        with pytest.raises(TooLarge):
            await answers(service, [" ".join(VOCABULARY)], ASK)
        assert service._admission.pieces == 0

    run(test, bundles, limits={"request_pieces": 100})


def test_too_late_is_said_in_time(bundles: dict[str, Path]):
    async def test(service: Service) -> None:
        started = time.monotonic()
        with pytest.raises(Expired):
            await answers(service, [" ".join(VOCABULARY)] * 7, ASK, seconds=0.05)
        assert time.monotonic() - started < 1.5

    run(test, bundles)


def test_flags_are_counted(bundles: dict[str, Path]):
    class Flags(NoMeter):
        def __init__(self) -> None:
            self.names: list[str] = []

        def flagged(self, flag: str) -> None:
            self.names.append(flag)

    async def test(service: Service) -> None:
        (found,) = await answers(service, [" ".join(VOCABULARY[:4]) + " 17"], Ask("en", "de", flags=True))
        assert meter.names == [flag.name for flag in found.translation.flags or ()] != []

    meter = Flags()
    run(test, bundles, meter)


def test_draining_ends_what_is_under_way(bundles: dict[str, Path]):
    async def test(service: Service) -> None:
        assert service.is_ready
        under_way = [asyncio.create_task(answers(service, [TEXT], ASK)) for _ in range(20)]
        await asyncio.sleep(0)
        draining = asyncio.create_task(service.drain())
        await asyncio.sleep(0)
        assert not service.is_ready
        with pytest.raises(Draining):
            service.enter()
        assert await draining
        assert [len(each) for each in await asyncio.gather(*under_way)] == [1] * 20

    run(test, bundles)


def test_swaps_under_load_fail_nobody(tmp_path: Path):
    bundle = tiny_bundle(tmp_path / "bundle", "en", "de")
    texts = [" ".join(VOCABULARY[first : first + 4]) for first in range(0, 80, 4)]
    good = {
        text: {
            Translator.open(tiny_bundle(tmp_path / f"{seed}", "en", "de", seed=seed), settings=SearchSettings(beam=2))
            .translate(text)
            .text
            for seed in (1, 2)
        }
        for text in texts
    }

    async def test(service: Service) -> None:
        is_over = False
        done = 0

        async def client(number: int) -> None:
            nonlocal done
            while not is_over:
                text = texts[(number + done) % len(texts)]
                assert await answer(service, text, ASK) in good[text]
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

    async def test(service: Service) -> None:
        before = service.models()[0].digest
        tiny_bundle(bundle, "en", "de", seed=2)
        for _ in range(100):
            await asyncio.sleep(0.05)
            if service.models()[0].digest != before:
                return
        raise AssertionError("nobody looked")

    run(test, {"m": bundle}, watch=0.05)


def test_a_model_that_fails_is_a_503(tmp_path: Path):
    bundle = tiny_bundle(tmp_path / "bundle", "en", "de")

    async def test(service: Service) -> None:
        (bundle / "manifest.json").unlink()
        with pytest.raises(ModelFailed):
            await answers(service, ["a"], ASK)

    run(test, {"m": bundle}, memory_bytes=1)
