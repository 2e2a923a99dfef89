"""CTranslate2's search, as the engine uses it, finds what ours finds."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.bundle import Bundle
from dragoman.config.search import SearchSettings
from dragoman.engines.ctranslate2 import adapted_search
from dragoman.engines.ctranslate2.engine import CTranslate2Engine
from dragoman.engines.torch_engine import TorchEngine
from dragoman.errors import ConfigError, DataError
from dragoman.search.hypothesis import Hypothesis, SearchInput, SearchTrace
from dragoman.text import EOS_ID
from tests.unit.engines.tiny_transformers import random_sentences, tiny_transformer

pytest.importorskip("ctranslate2")

ENDS = {"ends early": 3.0, "ends late": 0.5, "never ends": -20.0}


@pytest.fixture(scope="module", params=ENDS)
def bundle(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return tiny_transformer(tmp_path_factory.mktemp("bundle") / "b", seed=3, end=ENDS[request.param])


@pytest.fixture(scope="module")
def one_bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return tiny_transformer(tmp_path_factory.mktemp("bundle") / "b", seed=3, end=2.0)


@pytest.fixture(scope="module")
def engine(bundle: Bundle) -> CTranslate2Engine:
    return CTranslate2Engine.open(bundle, threads=1)


@pytest.fixture(scope="module")
def torch_engine(bundle: Bundle) -> TorchEngine:
    return TorchEngine.open(bundle)


@pytest.fixture(scope="module")
def one(one_bundle: Bundle) -> CTranslate2Engine:
    return CTranslate2Engine.open(one_bundle, threads=1)


def sentences(count: int = 12, **more: object) -> list[SearchInput]:
    return [SearchInput(tokens, **more) for tokens in random_sentences(count, seed=5)]  # type: ignore[arg-type]


def assert_equal(found: list[list[Hypothesis]], expected: list[list[Hypothesis]], *, maps: bool) -> None:
    assert len(found) == len(expected)
    for theirs, ours in zip(found, expected, strict=True):
        assert [each.tokens for each in theirs] == [each.tokens for each in ours]
        for a, b in zip(theirs, ours, strict=True):
            assert a.is_finished == b.is_finished
            assert a.log_prob == pytest.approx(b.log_prob, abs=1e-4)
            assert a.score == pytest.approx(b.score, abs=1e-4)
            assert (a.alignment is not None) == maps
            if a.alignment is not None and b.alignment is not None:
                np.testing.assert_allclose(a.alignment, b.alignment, atol=1e-5)


SAME = {
    "greedy": {"beam": 1},
    "greedy, no penalty": {"beam": 1, "length_penalty": "none"},
    "beam": {"beam": 4},
    "n best": {"beam": 4, "nbest": 3},
    "n best, half alpha": {"beam": 4, "nbest": 3, "alpha": 0.5},
    "n best, no penalty": {"beam": 4, "nbest": 4, "length_penalty": "none"},
    "alpha 0": {"beam": 4, "nbest": 2, "alpha": 0.0},
    "patient": {"beam": 3, "nbest": 3, "patience": 1.5},
    "impatient": {"beam": 4, "nbest": 2, "patience": 0.4},
    "short": {"beam": 3, "max_length": 5},
    "greedy, short": {"beam": 1, "max_length": 5},
    "one token": {"beam": 2, "max_length": 1},
    "gnmt": {"beam": 4, "length_penalty": "gnmt", "alpha": 0.6},
    "greedy, at least 6": {"beam": 1, "min_length": 6},
    "greedy, no repeats": {"beam": 1, "no_repeat_ngram": 2},
}


@pytest.mark.parametrize("name", SAME)
def test_it_finds_what_our_search_finds(name: str, engine: CTranslate2Engine, torch_engine: TorchEngine):
    settings = SearchSettings.model_validate(SAME[name])
    batch = sentences()
    expected = torch_engine.search(batch, settings, return_attention=True)
    assert_equal(engine.search(batch, settings, return_attention=True), expected, maps=True)


@pytest.mark.parametrize("name", ["greedy", "beam", "n best", "n best, half alpha"])
def test_attention_of_long_sentences_is_computed_after_a_beam_search(
    name: str, engine: CTranslate2Engine, monkeypatch: pytest.MonkeyPatch
):
    settings = SearchSettings.model_validate(SAME[name])
    batch = sentences()
    batch[3] = SearchInput(batch[3].tokens, prefix=[7, 8])
    expected = engine.search(batch, settings, return_attention=True)
    asked: list[tuple[int, bool]] = []  # width of the beam, and whether attention is returned
    translate = engine._calls.translate

    def recorded(*args: Any, **options: Any) -> Any:
        asked.append((options["beam_size"], options.get("return_attention", False)))
        return translate(*args, **options)

    monkeypatch.setattr(engine._calls, "translate", recorded)
    monkeypatch.setattr(adapted_search, "_LONG", 4)
    assert_equal(engine.search(batch, settings, return_attention=True), expected, maps=True)
    assert {width for width, returned in asked if returned} == {1, settings.beam}, "short sentences as before"
    asked.clear()
    engine.search([SearchInput([5] * 30)], settings, return_attention=True)
    assert all(width == 1 for width, returned in asked if returned)


def test_without_show_there_are_no_maps(engine: CTranslate2Engine, torch_engine: TorchEngine):
    settings = SearchSettings(beam=3)
    assert_equal(engine.search(sentences(), settings), torch_engine.search(sentences(), settings), maps=False)


@pytest.mark.parametrize("beam", [1, 4])
def test_company_changes_nothing(beam: int, engine: CTranslate2Engine):
    """Sentences have greatest lengths of their own, and some have a prefix."""
    settings = SearchSettings(beam=beam)
    batch = sentences()
    batch[3] = SearchInput(batch[3].tokens, prefix=[7, 8])
    batch[6] = SearchInput([5] * 30)
    alone = [engine.search([sentence], settings, return_attention=True)[0] for sentence in batch]
    assert_equal(engine.search(batch, settings, return_attention=True), alone, maps=True)


@pytest.mark.parametrize(
    "settings",
    [{"beam": 1}, {"beam": 4}, {"beam": 4, "min_length": 8}, {"beam": 3, "no_repeat_ngram": 1}],
)
@pytest.mark.parametrize("prefix", [[], [9, 10, 11]])
def test_what_was_asked_for_is_kept(settings: dict[str, int], prefix: list[int], one: CTranslate2Engine):
    """Where CTranslate2 searches a little otherwise: the rules hold, and log p is the model's."""
    asked = SearchSettings.model_validate(settings)
    batch = sentences(prefix=prefix)
    found = one.search(batch, asked, return_attention=True)
    for sentence, (best,) in zip(batch, found, strict=True):
        assert best.tokens[: len(prefix)] == prefix
        assert len(best.tokens) >= asked.min_length
        assert len(set(best.tokens)) == len(best.tokens) or not asked.no_repeat_ngram
        if best.is_finished:
            (scored,) = one.score([sentence.tokens], [best.tokens], return_attention=True)
            assert best.log_prob == pytest.approx(scored.log_prob, abs=1e-5)
            assert best.alignment is not None
            assert scored.alignment is not None
            np.testing.assert_allclose(best.alignment, scored.alignment, atol=1e-6)


def test_an_unfinished_translation_behind_its_prefix(tmp_path: Path):
    bundle = tiny_transformer(tmp_path / "b", end=-20.0)
    settings = SearchSettings(beam=3, max_length=4)
    batch = sentences(prefix=[9, 10])
    expected = TorchEngine.open(bundle).search(batch, settings)
    engine = CTranslate2Engine.open(bundle, threads=1)
    for (theirs,), (ours,) in zip(engine.search(batch, settings), expected, strict=True):
        assert (theirs.tokens, theirs.is_finished) == (ours.tokens, ours.is_finished)
        assert theirs.log_prob == pytest.approx(ours.log_prob, abs=1e-4)


def test_an_empty_source(one: CTranslate2Engine):
    batch = [SearchInput([5, 6]), SearchInput([]), SearchInput([], prefix=[7])]
    for beam in (1, 3):
        found = one.search(batch, SearchSettings(beam=beam), return_attention=True)
        assert [each[0].tokens for each in found[1:]] == [[], [7]]
        for (each,), tokens in zip(found[1:], ([], [7]), strict=True):
            (scored,) = one.score([[]], [tokens], return_attention=True)
            assert (each.log_prob, each.score) == (scored.log_prob, scored.score)
            np.testing.assert_array_equal(each.alignment, np.ones((len(tokens) + 1, 1)))
            np.testing.assert_array_equal(scored.alignment, each.alignment)


def test_nothing_to_do(one: CTranslate2Engine):
    assert one.search([], SearchSettings()) == []
    assert one.score([], []) == []


@pytest.mark.parametrize(
    ("settings", "more", "says"),
    [
        ({"sample": True}, {}, "sampling"),
        ({"beam": 4, "groups": 2}, {}, "diverse"),
        ({"patience": None}, {}, "patience"),
        ({}, {"trace": True}, "tree"),
    ],
)
def test_what_it_lacks(settings: dict[str, object], more: dict[str, bool], says: str, one: CTranslate2Engine):
    asked = SearchSettings.model_validate(settings)
    assert says in (one.unsupported(asked, **more) or "")
    with pytest.raises(ConfigError, match=says):
        one.search([SearchInput([5])], asked, trace=SearchTrace() if more.get("trace") else None)


@pytest.mark.parametrize("beam", [1, 4])
def test_required_phrases_are_in_the_translation(beam: int, engine: CTranslate2Engine):
    may_follow = np.arange(len(engine._calls.target)) % 3 > 0
    may_follow[EOS_ID] = True
    phrases = [[7, 9], [11], [13, 14, 15]]
    batch = [
        SearchInput(
            tokens, phrases=phrases[: number % 4], phrase_sources=[[0], [len(tokens) - 1], []], may_follow=may_follow
        )
        for number, tokens in enumerate(random_sentences(12, seed=5))
    ]
    found = engine.search(batch, SearchSettings(beam=beam, nbest=min(beam, 2)), return_attention=True)
    for sentence, hypotheses in zip(batch, found, strict=True):
        for each in hypotheses:
            for phrase in sentence.phrases:
                ends = [
                    place + len(phrase)
                    for place in range(len(each.tokens))
                    if each.tokens[place : place + len(phrase)] == phrase
                ]
                assert any(end == len(each.tokens) or may_follow[each.tokens[end]] for end in ends)
            assert each.alignment is not None
            assert each.alignment.shape == (len(each.tokens) + each.is_finished, len(sentence.tokens) + 1)
    alone = [engine.search([each], SearchSettings(beam=beam))[0][0].tokens for each in batch]
    assert alone == [hypotheses[0].tokens for hypotheses in found]


def test_a_prefix_stays_before_required_phrases(one: CTranslate2Engine):
    ((found,),) = one.search([SearchInput([5, 6, 7], [8, 9], [[8], [12]], [[0], [1]])], SearchSettings(beam=2))
    assert found.tokens[:2] == [8, 9]
    assert {8, 12} <= set(found.tokens[2:])


def test_a_search_for_phrases_can_be_cancelled(one: CTranslate2Engine):
    seen: list[int] = []

    class Cancelled:
        def is_cancelled(self, sentence: int) -> bool:
            return sentence == 0

        def is_streamed(self, sentence: int) -> bool:
            return True

        def on_tokens(self, sentence: int, tokens: list[int]) -> None:
            seen.append(sentence)

    batch = [SearchInput([5, 6], phrases=[[11]], phrase_sources=[[0]]) for _ in range(2)]
    first, second = one.search(batch, SearchSettings(beam=2), monitor=Cancelled())
    assert not first
    assert 11 in second[0].tokens
    assert seen == [1]


def test_it_lacks_nothing_else(one: CTranslate2Engine):
    assert one.unsupported(SearchSettings()) is None
    assert one.unsupported(SearchSettings(beam=1, patience=None)) is None


def test_a_sentence_that_is_too_long(tmp_path: Path):
    engine = CTranslate2Engine.open(tiny_transformer(tmp_path / "b", {"positions": "learned", "max_positions": "8"}))
    assert engine.longest == 8
    ((best,),) = engine.search([SearchInput([5] * 7)], SearchSettings(beam=1))
    assert len(best.tokens) <= 8
    with pytest.raises(DataError, match="at most 7 tokens long for CTranslate2, got 8"):
        engine.search([SearchInput([5] * 8)], SearchSettings())
    with pytest.raises(DataError, match="at most 7 tokens"):
        engine.score([[5]], [[5] * 8])


class Looker:
    """Cancels sentences after a number of calls, and records reported tokens."""

    def __init__(self, cancelled: dict[int, int] | None = None) -> None:
        self.cancelled = cancelled or {}
        self.told: dict[int, list[list[int]]] = {}
        self.asked: dict[int, int] = {}

    def is_cancelled(self, sentence: int) -> bool:
        self.asked[sentence] = self.asked.get(sentence, 0) + 1
        return sentence in self.cancelled and self.asked[sentence] > self.cancelled[sentence]

    def is_streamed(self, sentence: int) -> bool:
        return True

    def on_tokens(self, sentence: int, tokens: list[int]) -> None:
        self.told.setdefault(sentence, []).append(tokens)


def test_greedy_search_of_one_sentence_is_told_word_by_word(one: CTranslate2Engine):
    for sentence in sentences():
        monitor = Looker()
        ((best,),) = one.search([sentence], SearchSettings(beam=1), monitor=monitor)
        assert monitor.told.get(0, []) == [best.tokens[: n + 1] for n in range(len(best.tokens))]


@pytest.mark.parametrize("beam", [1, 3])
def test_several_are_told_at_the_end(beam: int, one: CTranslate2Engine):
    monitor = Looker()
    found = one.search(sentences(20), SearchSettings(beam=beam), monitor=monitor)
    assert monitor.told == {number: [best.tokens] for number, (best, *_) in enumerate(found)}


@pytest.mark.parametrize("beam", [1, 3])
def test_a_cancelled_sentence_has_nothing(beam: int, one: CTranslate2Engine):
    batch = sentences(20)
    expected = one.search(batch, SearchSettings(beam=beam))
    found = one.search(batch, SearchSettings(beam=beam), monitor=Looker({2: 0, 18: 1}))
    assert found[2] == found[18] == []
    assert [len(each) for each in found].count(0) == 2
    others = [number for number in range(20) if number not in (2, 18)]
    assert_equal([found[number] for number in others], [expected[number] for number in others], maps=False)


@pytest.mark.parametrize("count", [1, 5])
def test_cancelling_ends_greedy_search_within_a_step(count: int, tmp_path: Path):
    engine = CTranslate2Engine.open(tiny_transformer(tmp_path / "b", end=-20.0))
    monitor = Looker(dict.fromkeys(range(count), 3))
    batch = sentences(count)
    assert engine.search(batch, SearchSettings(beam=1, max_length=500), monitor=monitor) == [[]] * count
    assert max(monitor.asked.values()) < 20


def test_a_fault_of_who_looks_on_is_raised(one: CTranslate2Engine):
    class Broken(Looker):
        def on_tokens(self, sentence: int, tokens: list[int]) -> None:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        one.search([SearchInput([5, 6, 7])], SearchSettings(beam=1, min_length=2), monitor=Broken())
    assert one.search([SearchInput([5])], SearchSettings(beam=1))[0]


def test_many_threads(one: CTranslate2Engine):
    batches = [sentences()[first : first + 3] for first in range(0, 12, 3)]
    expected = [one.search(batch, SearchSettings(beam=3), return_attention=True) for batch in batches]
    found: dict[int, list[list[Hypothesis]]] = {}

    def work(number: int) -> None:
        for _ in range(5):
            found[number] = one.search(batches[number], SearchSettings(beam=3), return_attention=True)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(batches))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, each in enumerate(expected):
        assert_equal(found[number], each, maps=True)


def test_the_note_says_where_its_files_are(one_bundle: Bundle, one: CTranslate2Engine):
    assert os.environ["DRAGOMAN_CACHE"] in one.note
    assert not CTranslate2Engine.open(one_bundle, threads=1).has_new_export
    assert (one.name, one.precision) == ("ctranslate2", "float32")


def test_first_tokens_are_those_of_torch(engine: CTranslate2Engine, torch_engine: TorchEngine) -> None:
    sources = [tokens for tokens in random_sentences(12, seed=5) if tokens]
    found = engine.first_token_log_probs(sources)
    np.testing.assert_allclose(found, torch_engine.first_token_log_probs(sources), atol=1e-4)
    np.testing.assert_allclose(found[:1], engine.first_token_log_probs(sources[:1]), atol=1e-5)


def test_a_sentence_with_a_finished_translation_is_searched_once(
    engine: CTranslate2Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other hypotheses of its beam may have reached the limit: they rank behind it."""
    calls: list[list[bool]] = []  # whether each hypothesis is finished
    translate = engine._calls.translate

    def recorded(*args: Any, **options: Any) -> Any:
        (result,) = results = translate(*args, **options)
        calls.append([words[-1] == engine._calls.target[EOS_ID] for words in result.hypotheses])
        return results

    monkeypatch.setattr(engine._calls, "translate", recorded)
    for sentence in sentences(20):
        calls.clear()
        engine.search([sentence], SearchSettings(beam=4, max_length=8))
        assert len(calls) == (1 if any(calls[0]) else 2)
