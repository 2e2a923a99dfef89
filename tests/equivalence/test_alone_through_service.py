"""A sentence alone, and through the service in whatever batches the load makes: the same translation."""

import asyncio
import random
from pathlib import Path

import pytest

from benchmarks.random_bundle import words
from dragoman.api.translator import Translator
from dragoman.engines.choose import EngineName
from dragoman.search.settings import SearchSettings
from dragoman.server.jobs import Answer, Ask
from dragoman.server.meter import BatchFacts, NoMeter
from dragoman.server.service import Service
from tests.server.bundles import answers, serving, tiny_bundle

FAMILIES: list[tuple[str, EngineName]] = [
    ("transformer", "ctranslate2"),
    ("rnn", "onnx"),
    ("transformer", "torch"),
    ("rnn", "torch"),
]
SENTENCES = {"ctranslate2": 200, "onnx": 200, "torch": 40}


class Sizes(NoMeter):
    def __init__(self) -> None:
        self.sizes: set[int] = set()

    def batch(self, facts: BatchFacts) -> None:
        self.sizes.add(facts.sentences)


def sentences(count: int) -> list[str]:
    """Of all lengths, most of them short."""
    draw = random.Random(1)
    vocabulary = words(0, 300)
    return [" ".join(draw.choices(vocabulary, k=1 + int(draw.expovariate(0.3)))) for _ in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize(("family", "engine"), FAMILIES)
def test_alone_is_in_any_batch(tmp_path: Path, family: str, engine: EngineName):
    bundle = tiny_bundle(tmp_path / "bundle", "en", "de", family)
    texts = sentences(SENTENCES[engine])
    alone = Translator.open(bundle, engine=engine, threads=1, settings=SearchSettings(beam=2))
    wanted = [alone.translate(text, split=False) for text in texts]
    ask = Ask("en", "de", split=False, alignments=True)
    draw = random.Random(2)
    meter = Sizes()

    async def client(service: Service, left: list[int], found: dict[int, Answer]) -> None:
        while left:
            mine = [left.pop() for _ in range(min(len(left), draw.choice([1, 1, 1, 2, 7])))]
            got = await answers(service, [texts[place] for place in mine], ask)
            found.update(zip(mine, got, strict=True))
            await asyncio.sleep(draw.random() * 0.01)

    async def go() -> dict[int, Answer]:
        found: dict[int, Answer] = {}
        async with serving({"m": bundle}, meter, engine=engine) as service:
            left = draw.sample(range(len(texts)), len(texts))
            await asyncio.gather(*(client(service, left, found) for _ in range(16)))
        return found

    found = asyncio.run(go())
    for place, each in enumerate(wanted):
        got = found[place].translation
        assert got.text == each.text, texts[place]
        assert got.pieces == each.pieces
        assert got.log_prob == pytest.approx(each.log_prob, rel=1e-3, abs=1e-3)
    assert len(meter.sizes) > 2, "there were batches of many sizes"
