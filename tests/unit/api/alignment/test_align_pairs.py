"""Links between words out of every map of every family, alone and with a translator the other way round."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dragoman.api.alignment.align_pairs import align_pairs, attention_both_ways, read_gold
from dragoman.api.alignment.word_attention import word_attention
from dragoman.api.translation.options import PairError
from dragoman.api.translation.translator import Translator
from dragoman.config.alignment import AlignmentSettings
from dragoman.errors import ConfigError, DataError
from dragoman.evaluation.word_alignment import GoldLinks, grow_diag_final, swapped
from dragoman.text import train_words
from tests.unit.api.table_engine import TableEngine, languages
from tests.unit.api.test_translator_bundles import tiny_bundle

FAMILIES = ["bahdanau2015-desk", "luong2015-local-p-desk", "xu2015-desk", "vaswani2017-desk"]
SOURCES = ["the house is small", "a small house", "", "你好。我很好！", "a house"]
TARGETS = ["das Haus ist klein", "ein kleines Haus", "x", "hello, I am fine!", ""]
WORDS = train_words(["a b c d"], size=None)
FIRST = AlignmentSettings(layer=1, head=1, reading="input")


class Maps(TableEngine):
    """An engine with given attention maps, in two layers of two heads."""

    def __init__(self, maps: NDArray[np.float32]) -> None:
        super().__init__({"source": WORDS, "target": WORDS})
        self.maps = maps

    def attention(self, sources: Sequence[Any], targets: Sequence[Any]) -> list[NDArray[np.float32]]:
        return [self.maps[:, :, : len(t) + 1, : len(s) + 1] for s, t in zip(sources, targets, strict=True)]

    def likelihoods(self, sources: Sequence[Any], targets: Sequence[Any]) -> list[NDArray[np.float32]]:
        """Every place makes every word as likely."""
        return [np.zeros(each.shape[2:], np.float32) for each in self.attention(sources, targets)]


def straight(words: int) -> NDArray[np.float32]:
    """Layer 2, head 1 looks straight ahead as a word is predicted; layer 1, head 2 a step later; others anywhere."""
    maps = np.full((2, 2, words + 1, words + 1), 1 / (words + 1), np.float32)
    maps[1, 0] = np.eye(words + 1)
    maps[0, 1, 1:] = np.eye(words, words + 1)
    return maps


def translator(maps: NDArray[np.float32]) -> Translator:
    return Translator(Maps(maps), languages("en", "de"), {"source": WORDS, "target": WORDS})


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Translator]:
    folder = tmp_path_factory.mktemp("bundles")
    return {
        name: Translator.open(tiny_bundle(folder / str(place), name), engine="torch", threads=1)
        for place, name in enumerate(FAMILIES)
    }


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family(opened: dict[str, Translator], family: str):
    model = opened[family]
    assert align_pairs(model, None, SOURCES, TARGETS) == model.align(SOURCES, TARGETS)
    assert align_pairs(model, None, SOURCES, TARGETS, FIRST)[2:] != []
    assert align_pairs(model, None, [], []) == []


@pytest.mark.parametrize("family", FAMILIES)
def test_both_directions(opened: dict[str, Translator], family: str):
    """A pair of translators gives what the links of each give, put together."""
    ahead, back = opened[family], opened["bahdanau2015-desk"]
    settings = AlignmentSettings(reading="input")
    one, other = (
        align_pairs(ahead, None, SOURCES, TARGETS, settings),
        align_pairs(back, None, TARGETS, SOURCES, settings),
    )
    expected = [grow_diag_final(links, swapped(turned)) for links, turned in zip(one, other, strict=True)]
    assert align_pairs(ahead, back, SOURCES, TARGETS, settings) == expected


def test_product_of_both():
    model, text = translator(straight(3)), ["a b c"]
    settings = AlignmentSettings(layer=2, head=1, symmetrization="product")
    assert align_pairs(model, model, text, text, settings) == [((0, 0), (1, 1), (2, 2))]


def test_words_by_spaces_are_those_of_the_text(opened: dict[str, Translator]):
    (usual,) = word_attention(opened["vaswani2017-desk"], ["你好。我 很好"], ["a"])
    (cut,) = word_attention(opened["vaswani2017-desk"], ["你好。我 很好"], ["a"], by_spaces=True)
    assert (len(usual.source_words), cut.source_words) == (6, ("你好。我", "很好"))


def test_words_that_normalisation_makes_are_refused():
    model = translator(straight(4))
    with pytest.raises(PairError, match="as many words once it is normalised") as caught:
        word_attention(model, ["a b", "a \u200b b"], ["a", "a"], by_spaces=True)
    assert caught.value.pair == 1


def test_other_engines_give_the_usual_links():
    model = Translator(
        TableEngine({"source": WORDS, "target": WORDS}), languages("en", "de"), {"source": WORDS, "target": WORDS}
    )
    assert align_pairs(model, None, ["a b"], ["a b"]) == model.align(["a b"], ["a b"])
    assert attention_both_ways(model, model, ["a b"], ["c d"], AlignmentSettings())[0][1] is not None
    for settings in (FIRST, AlignmentSettings(words="spaces")):
        with pytest.raises(ConfigError, match=r"engine must be torch to choose .*got table; open the translator with"):
            align_pairs(model, None, ["a"], ["a"], settings)


def test_an_ensemble_has_only_its_usual_map(tmp_path: Path):
    bundles = [tiny_bundle(tmp_path / str(number), "bahdanau2015-desk") for number in range(2)]
    model = Translator.open(*bundles, engine="torch", threads=1)
    assert align_pairs(model, None, SOURCES, TARGETS) == model.align(SOURCES, TARGETS)
    for settings in (FIRST, AlignmentSettings(words="spaces")):
        with pytest.raises(ConfigError, match=r"cannot be chosen in an ensemble, .*; open one of its bundles"):
            align_pairs(model, None, SOURCES, TARGETS, settings)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"layer": 3}, "layer must be from 1 to 2 in this model, got 3"),
        ({"head": 3}, "head must be from 1 to 2 in this model, got 3"),
    ],
)
def test_a_map_that_is_not_there_is_refused_at_once(settings: dict[str, Any], expected: str):
    told: list[int] = []
    model = translator(straight(2))
    with pytest.raises(ConfigError, match=f"^{expected}"):
        align_pairs(model, model, ["a b"] * 130, ["a"] * 130, AlignmentSettings(**settings), on_pairs=told.append)
    assert told == []


def test_no_attention(tmp_path: Path):
    for engine in ("torch", "onnx"):
        bundle = tiny_bundle(tmp_path / engine, "sutskever2014-desk")
        model = Translator.open(bundle, engine=engine, threads=1)
        with pytest.raises(ConfigError, match="has no attention to align words"):
            align_pairs(model, None, SOURCES, TARGETS)


def test_sides_of_unequal_length(opened: dict[str, Translator]):
    for engine in (opened["bahdanau2015-desk"], translator(straight(2))):
        with pytest.raises(DataError, match="one translation per source, got 130 sources and 2"):
            align_pairs(engine, None, ["a"] * 130, ["a"] * 2)


def test_a_pair_that_is_too_long_is_named_by_its_place(opened: dict[str, Translator]):
    texts = ["a"] * 200 + ["a " * 3000]
    with pytest.raises(PairError) as caught:
        align_pairs(opened["bahdanau2015-desk"], None, texts, ["a"] * 201)
    assert caught.value.pair == 200


def test_progress():
    told: list[int] = []
    model = translator(straight(2))
    align_pairs(model, model, ["a b"] * 130, ["a"] * 130, on_pairs=told.append)
    assert told == [128, 2, 128, 2]


def test_which_settings_every_engine_has():
    assert AlignmentSettings().is_usual
    assert not FIRST.is_usual
    assert not AlignmentSettings(words="spaces").is_usual


# ----------------------------------------------------------------------------------------------------------- gold links

GOLD_SOURCES, GOLD_TARGETS = ["the house", "你好 。", ""], ["das Haus ist", "hello", "x"]
GOLD = [GoldLinks(frozenset({(0, 0)}), frozenset({(1, 1)})), GoldLinks(frozenset({(1, 0)})), GoldLinks()]


def written(folder: Path, text: str) -> Path:
    path = folder / "links"
    path.write_text(text, encoding="utf-8")
    return path


def test_formats_of_gold_links(tmp_path: Path):
    assert read_gold(written(tmp_path, "0-0 1p1\n1-0\n\n"), GOLD_SOURCES, GOLD_TARGETS) == GOLD
    assert read_gold(written(tmp_path, "1-1 2p2\r\n2-1\r\n\r\n"), GOLD_SOURCES, GOLD_TARGETS, first=1) == GOLD
    naacl = "1 1 1 S\n1 2 2 P\n2 2 1\n"
    assert read_gold(written(tmp_path, naacl), GOLD_SOURCES, GOLD_TARGETS) == GOLD


def test_packed_gold_links(tmp_path: Path):
    path = tmp_path / "links.gz"
    path.write_bytes(gzip.compress(b"0-0 1p1\n1-0\n\n"))
    assert read_gold(path, GOLD_SOURCES, GOLD_TARGETS) == GOLD
    assert read_gold(str(path), GOLD_SOURCES, GOLD_TARGETS) == GOLD


def test_words_are_what_stands_between_spaces(tmp_path: Path):
    links = written(tmp_path, "\n2-0\n\n")
    with pytest.raises(DataError, match=r"links:2: the source word of a link must be from 0 to 1, got 2"):
        read_gold(links, GOLD_SOURCES, GOLD_TARGETS)
    assert read_gold(links, GOLD_SOURCES, GOLD_TARGETS, by_spaces=False)[1] == GoldLinks(frozenset({(2, 0)}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0-0\n\n", r"links must have a line of links for each of 3 sentence pairs, got 2 lines"),
        ("\n\n0-0\n", r"links:3: a link has source word 0, but the source of this pair"),
        ("4 1 1 S\n", r"links:1: the number of a sentence pair must be from 1 to 3, got 4"),
        ("what\n\n\n", r"links must be links in the Pharaoh format"),
    ],
)
def test_gold_links_that_do_not_fit(tmp_path: Path, text: str, expected: str):
    with pytest.raises(DataError, match=expected):
        read_gold(written(tmp_path, text), GOLD_SOURCES, GOLD_TARGETS)


def test_gold_links_that_are_no_text(tmp_path: Path):
    path = tmp_path / "links"
    path.write_bytes(b"0-0\n\xff\n\n")
    with pytest.raises(DataError, match=r"links:2 must be UTF-8 text"):
        read_gold(path, GOLD_SOURCES, GOLD_TARGETS)
