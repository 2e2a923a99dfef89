"""Good corpora come through, and what is known to be wrong in them is found."""

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dragoman.config.corpus import CleaningConfig
from dragoman.data.cleaning.filters.side_comparison import differing_numbers
from dragoman.data.cleaning.pipeline import apply_filters, build_filters, normalize_frame, repair
from dragoman.text import Normalizer
from testkit.generate_corpus import FAULT_KINDS, Corpus
from tests.unit.data.cleaning.pairs import frame


def read(source: Path, target: Path, maximum: int = 5000) -> pl.DataFrame:
    sides = [gzip.decompress(path.read_bytes()).decode().split("\n")[:maximum] for path in (source, target)]
    return frame((source, target) for source, target in zip(*sides, strict=True) if source or target)


@pytest.mark.parametrize(
    ("folder", "names", "languages", "most_dropped"),
    [
        ("multi30k", "train.{}.gz", ("en", "de"), 0.002),
        ("europarl", "train.{}.gz", ("en", "fr"), 0.002),
        ("tatoeba", "train.en-zh.{}.gz", ("en", "zh"), 0.005),
        ("python-docs-zh", "train.{}.gz", ("en", "zh"), 0.005),
        ("3am", "train.{}.gz", ("en", "zh"), 0.005),
    ],
)
def test_good_pairs_survive(
    corpora: Path, folder: str, names: str, languages: tuple[str, str], most_dropped: float
) -> None:
    source, target = languages
    pairs = read(corpora / folder / names.format(source), corpora / folder / names.format(target))
    settings = CleaningConfig()
    repaired, _ = repair(pairs, settings, folder)
    normal, _ = normalize_frame(repaired, Normalizer(), folder)
    assert normal["target"].to_list() == [Normalizer()(text) for text in repaired["target"]]
    _, drops = apply_filters(normal, build_filters(settings, source=source, target=target), folder)
    assert drops.total <= most_dropped * pairs.height, drops.counts


def test_windows_1252_in_newstest_2008_and_2009(corpora: Path) -> None:
    news = corpora / "newstest"
    for year, repaired, was, became in [(2008, 124, "\x84", "„"), (2009, 6, "\x85", "…")]:
        pairs = read(news / f"newstest{year}.en.gz", news / f"newstest{year}.de.gz")
        mended, tally = repair(pairs, CleaningConfig(), "news")
        assert tally.counts["mojibake repaired"] == repaired
        assert any(was in text for text in pairs["target"])
        assert not any("\x80" <= char <= "\x9f" for text in mended["target"] for char in text)
        assert any(became in example.detail for example in tally.examples["mojibake repaired"])


def test_numbers_are_right_in_the_generated_corpus_until_they_are_spoilt() -> None:
    pairs = list(zip(*Corpus(seed=1).lines(np.arange(3000), np.full(3000, -1)), strict=True))
    spoilt = [FAULT_KINDS["number mismatch"](source, target) for source, target in pairs]
    good, bad = (frame((source.decode(), target.decode()) for source, target in each) for each in (pairs, spoilt))
    assert differing_numbers(good).sum() == 0
    assert differing_numbers(bad).all()
