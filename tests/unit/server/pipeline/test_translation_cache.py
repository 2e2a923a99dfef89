"""The cache of translations: per client, bounded, and empty after a reload."""

from typing import Any

import pytest

from dragoman.api.translation.options import TranslateOptions
from dragoman.api.translation.translation import Translation
from dragoman.config.search import SearchSettings
from dragoman.server.metrics import ServerMetrics
from dragoman.server.pipeline.translation_cache import TranslationCache
from dragoman.text.glossary import Glossary


class Engine:
    """What a model runs on."""


class Model:
    """What a step of a route needs."""

    languages = ("en", "de")

    def __init__(self) -> None:
        self.shared_engine = Engine()


def part_of(cache: TranslationCache, model: Any, client: bytes = b"anna", **options: Any) -> Any:
    return cache.part(client, [("m", model, TranslateOptions(**options))])


def test_a_translation_is_found_by_client_options_and_text():
    metrics = ServerMetrics()
    cache, model = TranslationCache(100_000, metrics), Model()
    part = part_of(cache, model)
    cache.put(part, "One", Translation("One", "Eins"))
    assert cache.get(part_of(cache, model), "One") == Translation("One", "Eins")
    assert cache.get(part, "Two") is None
    assert cache.get(part_of(cache, model, b"bert"), "One") is None
    assert cache.get(part_of(cache, model, split_sentences=False), "One") is None
    assert b'dragoman_cache_texts_total{result="hit"} 1.0' in metrics.exposition()[0]
    assert b'dragoman_cache_texts_total{result="miss"} 3.0' in metrics.exposition()[0]


@pytest.mark.parametrize(
    "options",
    [
        {"glossary": Glossary.from_dict({"a": "b"})},
        {"search_tree": True},
        {"search": SearchSettings(sample=True)},
        {"search": SearchSettings(search="mbr")},
    ],
)
def test_what_differs_each_time_is_not_stored(options: dict[str, Any]):
    assert part_of(TranslationCache(100_000, ServerMetrics()), Model(), **options) is None


def test_without_memory_or_client_nothing_is_stored():
    assert part_of(TranslationCache(0, ServerMetrics()), Model()) is None
    assert part_of(TranslationCache(100_000, ServerMetrics()), Model(), b"") is None


def test_memory_is_bounded_and_the_oldest_goes_first():
    cache, model = TranslationCache(20_000, ServerMetrics()), Model()
    part = part_of(cache, model)
    for number in range(100):
        cache.put(part, str(number), Translation(str(number), "x" * 500))
        cache.get(part, "0")
        assert cache.bytes <= cache.max_bytes
    assert cache.get(part, "0") is not None
    assert cache.get(part, "99") is not None
    assert cache.get(part, "50") is None
    cache.put(part, "large", Translation("large", "x" * 30_000))
    assert cache.get(part, "large") is None
    assert cache.get(part, "99") is not None


def test_the_translations_of_an_engine_that_is_gone_are_dropped():
    cache, model = TranslationCache(100_000, ServerMetrics()), Model()
    cache.put(part_of(cache, model), "One", Translation("One", "Eins"))
    other = Model()
    assert cache.get(part_of(cache, other), "One") is None
    assert cache.get(part_of(cache, model), "One") is not None
    del model
    part_of(cache, Model())
    assert cache.bytes == 0
