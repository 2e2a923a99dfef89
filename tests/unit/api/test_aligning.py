"""Links between words out of every map of every family, alone and with a translator the other way round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dragoman.api.aligning import AlignSettings, WordMap, align, best_choice, maps_of_both, word_maps
from dragoman.api.attention import AttentionChoice
from dragoman.api.request import PairError
from dragoman.api.translator import Translator
from dragoman.errors import ConfigError, DataError
from dragoman.evaluation.alignment_error import Gold, alignment_error
from dragoman.evaluation.symmetrization import grow_diag_final, swapped
from dragoman.text import train_words
from tests.unit.api.table_engine import TableEngine, languages
from tests.unit.api.test_translator_bundles import tiny_bundle

FAMILIES = ["bahdanau2015-desk", "luong2015-local-p-desk", "xu2015-desk", "vaswani2017-desk"]
SOURCES = ["the house is small", "a small house", "", "你好。我很好！", "a house"]
TARGETS = ["das Haus ist klein", "ein kleines Haus", "x", "hello, I am fine!", ""]
WORDS = train_words(["a b c d"], size=None)
FIRST = AttentionChoice(1, 1, "input")


class Maps(TableEngine):
    """Looks where it is told to, in two layers of two heads."""

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
    assert align(model, None, SOURCES, TARGETS) == model.align(SOURCES, TARGETS)
    assert align(model, None, SOURCES, TARGETS, AlignSettings(choice=FIRST))[2:] != []
    assert align(model, None, [], []) == []


@pytest.mark.parametrize("family", FAMILIES)
def test_both_directions(opened: dict[str, Translator], family: str):
    """A pair of translators gives what the links of each give, put together."""
    ahead, back = opened[family], opened["bahdanau2015-desk"]
    settings = AlignSettings(choice=AttentionChoice(reading="input"), ignore_end=True)
    one, other = align(ahead, None, SOURCES, TARGETS, settings), align(back, None, TARGETS, SOURCES, settings)
    expected = [grow_diag_final(links, swapped(turned)) for links, turned in zip(one, other, strict=True)]
    assert align(ahead, back, SOURCES, TARGETS, settings) == expected


@pytest.mark.parametrize("family", FAMILIES)
def test_the_ranking_is_what_each_choice_gives(opened: dict[str, Translator], family: str):
    model = opened[family]
    gold = [Gold(frozenset({(0, 0), (1, 1)})), Gold(frozenset({(2, 2)})), Gold(), Gold(), Gold()]
    for settings in (AlignSettings(by_spaces=True), AlignSettings(extraction="mutual", ignore_end=True)):
        ranked = best_choice(model, SOURCES, TARGETS, gold, settings)
        (shape,) = {each.weights.shape[:2] for each in model.attention(SOURCES, TARGETS)}
        maps = shape[0] * (shape[1] + 1 if shape[1] > 1 else 1)
        assert len(ranked) == len({each.choice for each in ranked}) == 3 * maps
        assert [each.error.aer for each in ranked] == sorted(each.error.aer for each in ranked)
        for each in ranked:
            links = align(model, None, SOURCES, TARGETS, replace(settings, choice=each.choice))
            assert alignment_error(links, gold) == each.error


def test_the_right_map_is_found():
    model, text = translator(straight(4)), ["a b c d", "a b c"]
    gold = [Gold(frozenset((word, word) for word in range(words))) for words in (4, 3)]
    ranked = best_choice(model, text, text, gold)
    best = {(each.choice.layer, each.choice.head, each.choice.reading): each.error.aer for each in ranked}
    assert best[1, 2, "input"] == best[2, 1, "predicted"] == 0
    assert best[1, 1, "predicted"] > 0
    assert ranked[0].error.aer == 0
    assert ranked[0].to_json().keys() >= {"layer", "head", "reading", "aer", "precision", "recall", "f1"}


def test_product_of_both():
    model, text = translator(straight(3)), ["a b c"]
    settings = AlignSettings(choice=AttentionChoice(2, 1), symmetrization="product")
    assert align(model, model, text, text, settings) == [((0, 0), (1, 1), (2, 2))]


def test_a_choice_of_its_own_for_the_other_direction():
    model, text = translator(straight(3)), ["a b c"]
    settings = AlignSettings(
        choice=AttentionChoice(2, 1), backward_choice=AttentionChoice(1, 2, "input"), symmetrization="intersection"
    )
    assert align(model, model, text, text, settings) == [((0, 0), (1, 1), (2, 2))]


def test_extractions():
    weights = np.array([[0.6, 0.3], [0.5, 0.4], [0.1, 0.2]])  # the third target word looks at the end most
    found = WordMap(("a", "b"), ("x", "y", "z"), weights, ((0, 0), (0, 1)))
    assert found.links(AlignSettings()) == ((0, 0), (0, 1))
    assert found.links(AlignSettings(ignore_end=True)) == ((0, 0), (0, 1), (1, 2))
    assert found.links(AlignSettings(extraction="threshold", threshold=0.4)) == ((0, 0), (0, 1), (1, 1))
    assert found.links(AlignSettings(extraction="mutual")) == ((0, 0),)
    unlinked = replace(found, looked=((0, 1),))
    assert unlinked.links(AlignSettings(extraction="mutual")) == (), "the best of its row and column is the end"
    assert unlinked.links(AlignSettings(extraction="mutual", ignore_end=True)) == ((0, 0),)


def test_words_by_spaces_are_those_of_the_text(opened: dict[str, Translator]):
    (usual,) = word_maps(opened["vaswani2017-desk"], ["你好。我 很好"], ["a"])
    (cut,) = word_maps(opened["vaswani2017-desk"], ["你好。我 很好"], ["a"], by_spaces=True)
    assert (len(usual.source_words), cut.source_words) == (6, ("你好。我", "很好"))


def test_words_that_normalisation_makes_are_refused():
    model = translator(straight(4))
    with pytest.raises(PairError, match="as many words once it is normalised") as caught:
        word_maps(model, ["a b", "a \u200b b"], ["a", "a"], by_spaces=True)
    assert caught.value.pair == 1


def test_other_engines_give_the_usual_links():
    model = Translator(
        TableEngine({"source": WORDS, "target": WORDS}), languages("en", "de"), {"source": WORDS, "target": WORDS}
    )
    assert align(model, None, ["a b"], ["a b"]) == model.align(["a b"], ["a b"])
    assert maps_of_both(model, model, ["a b"], ["c d"], AlignSettings())[0][1] is not None
    for settings in (AlignSettings(choice=FIRST), AlignSettings(by_spaces=True)):
        with pytest.raises(ConfigError, match=r"engine must be torch to choose .*got table; open the translator with"):
            align(model, None, ["a"], ["a"], settings)


def test_an_ensemble_has_only_its_usual_map(tmp_path: Path):
    bundles = [tiny_bundle(tmp_path / str(number), "bahdanau2015-desk") for number in range(2)]
    model = Translator.open(*bundles, engine="torch", threads=1)
    assert align(model, None, SOURCES, TARGETS) == model.align(SOURCES, TARGETS)
    for settings in (AlignSettings(choice=FIRST), AlignSettings(by_spaces=True)):
        with pytest.raises(ConfigError, match=r"must be one model to choose .*got an ensemble of 2; open one of its"):
            align(model, None, SOURCES, TARGETS, settings)
    with pytest.raises(ConfigError, match=r"must be one model to show every layer.*got an ensemble of 2; open one"):
        best_choice(model, ["a"], ["a"], [Gold()])


@pytest.mark.parametrize(
    ("choice", "back", "expected"),
    [
        (AttentionChoice(layer=3), None, "layer must be from 1 to 2 in this model, got 3"),
        (AttentionChoice(head=0), None, "head must be from 1 to 2 in this model, got 0"),
        (AttentionChoice(), AttentionChoice(layer=9), "backward layer must be from 1 to 2 in this model, got 9"),
        (AttentionChoice(1), AttentionChoice(1, 3), "backward head must be from 1 to 2 in this model, got 3"),
    ],
)
def test_a_map_that_is_not_there_is_refused_at_once(
    choice: AttentionChoice, back: AttentionChoice | None, expected: str
):
    told: list[int] = []
    model = translator(straight(2))
    with pytest.raises(ConfigError, match=f"^{expected}"):
        align(model, model, ["a b"] * 130, ["a"] * 130, AlignSettings(choice, back), tell=told.append)
    assert told == []


def test_no_attention(tmp_path: Path):
    for engine in ("torch", "onnx"):
        bundle = tiny_bundle(tmp_path / engine, "sutskever2014-desk")
        model = Translator.open(bundle, engine=engine, threads=1)
        with pytest.raises(ConfigError, match="must have attention to align words"):
            align(model, None, SOURCES, TARGETS)


def test_sides_of_unequal_length(opened: dict[str, Translator]):
    for engine in (opened["bahdanau2015-desk"], translator(straight(2))):
        with pytest.raises(DataError, match="a translation for each source, got 130 sources and 2"):
            align(engine, None, ["a"] * 130, ["a"] * 2)
    with pytest.raises(ConfigError, match="links for each pair, got 1 for 2"):
        best_choice(opened["bahdanau2015-desk"], ["a", "a"], ["a", "a"], [Gold()])


def test_a_pair_that_is_too_long_is_named_by_its_place(opened: dict[str, Translator]):
    texts = ["a"] * 200 + ["a " * 3000]
    with pytest.raises(PairError) as caught:
        align(opened["bahdanau2015-desk"], None, texts, ["a"] * 201)
    assert caught.value.pair == 200


def test_progress():
    told: list[int] = []
    model = translator(straight(2))
    align(model, model, ["a b"] * 130, ["a"] * 130, tell=told.append)
    assert told == [128, 2, 128, 2]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"extraction": "best"}, "extraction must be one of argmax, threshold, mutual, got 'best'"),
        ({"symmetrization": "grow"}, "symmetrization must be one of intersection, union, grow-diag, "),
        ({"choice": AttentionChoice(reading="next")}, "reading must be one of predicted, input"),  # type: ignore[arg-type]
        ({"extraction": "threshold"}, "threshold must be given"),
        ({"threshold": 0.5}, "threshold must come with the extraction threshold"),
        ({"extraction": "threshold", "threshold": 0.0}, "threshold must be more than 0 and at most 1, got 0.0"),
        ({"extraction": "threshold", "threshold": 0.5, "ignore_end": True}, "ignore_end must be left out with"),
        ({"backward_choice": AttentionChoice(reading="next")}, "backward reading must be one of"),  # type: ignore[arg-type]
        ({"extraction": "mutual", "symmetrization": "product"}, "extraction must be argmax with"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], expected: str):
    with pytest.raises(ConfigError, match=expected):
        AlignSettings(**settings)


def test_which_settings_every_engine_has():
    assert AlignSettings().is_usual
    assert not AlignSettings(choice=FIRST).is_usual
    assert not AlignSettings(backward_choice=FIRST).is_usual
    assert not AlignSettings(by_spaces=True).is_usual
