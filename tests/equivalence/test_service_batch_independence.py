"""A sentence alone and in any batch of the service has the same translation."""

import asyncio
import random
from pathlib import Path

import pytest

from dragoman.api.translation.translator import Translator
from dragoman.config.engine import EngineName
from dragoman.config.search import SearchSettings
from dragoman.server.metrics import BatchRecord, ServerMetrics
from dragoman.server.pipeline.service import TranslationService
from dragoman.server.request_types import TranslationResult
from testkit.random_bundle import words
from tests.server.bundles import request, serving, tiny_bundle, translate

FAMILIES: list[tuple[str, EngineName]] = [
    ("transformer", "ctranslate2"),
    ("rnn", "onnx"),
    ("transformer", "torch"),
    ("rnn", "torch"),
]
SENTENCES = {"ctranslate2": 200, "onnx": 200, "torch": 40}


class Sizes(ServerMetrics):
    def __init__(self) -> None:
        super().__init__()
        self.sizes: set[int] = set()

    def record_batch(self, batch: BatchRecord) -> None:
        self.sizes.add(batch.sentences)


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
    alone = Translator.open(bundle, engine=engine, threads=1, search=SearchSettings(beam=2))
    wanted = [alone.translate(text, split_sentences=False) for text in texts]
    wanted_request = request("en", "de", split_sentences=False, alignment=True)
    draw = random.Random(2)
    metrics = Sizes()

    async def client(service: TranslationService, left: list[int], found: dict[int, TranslationResult]) -> None:
        while left:
            mine = [left.pop() for _ in range(min(len(left), draw.choice([1, 1, 1, 2, 7])))]
            got = await translate(service, [texts[place] for place in mine], wanted_request)
            found.update(zip(mine, got, strict=True))
            await asyncio.sleep(draw.random() * 0.01)

    async def go() -> dict[int, TranslationResult]:
        found: dict[int, TranslationResult] = {}
        async with serving({"m": bundle}, metrics, engine=engine) as service:
            left = draw.sample(range(len(texts)), len(texts))
            await asyncio.gather(*(client(service, left, found) for _ in range(16)))
        return found

    found = asyncio.run(go())
    for place, each in enumerate(wanted):
        got = found[place].translation
        assert got.text == each.text, texts[place]
        assert got.tokens == each.tokens
        assert got.log_prob == pytest.approx(each.log_prob, rel=1e-3, abs=1e-3)
    assert len(metrics.sizes) > 2, "there were batches of many sizes"
