"""Evaluating from Python: whose figures are whose, and what is refused before anything is translated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dragoman.api.evaluation import evaluator as evaluating
from dragoman.api.evaluation.evaluator import _common_search, evaluate_systems
from dragoman.api.evaluation.system_arguments import System, parse_systems
from dragoman.api.translation.translator import Translator
from dragoman.config.engine import EngineSettings
from dragoman.config.search import InferenceConfig, SearchSettings
from dragoman.errors import ConfigError
from dragoman.evaluation.aggregate_members import welch_p_value
from dragoman.evaluation.significance import paired_tests
from tests.unit.cli.tiny_translators import tiny_bundle

SOURCES = [f"Satz {number} von zwölf." for number in range(12)]
REFERENCES = [f"This is sentence {number} of twelve, and it says little." for number in range(12)]
TEXTS = {
    "good": [line.replace("little", "nothing") for line in REFERENCES],
    "mid": [line.replace("sentence", "line").replace("twelve", "ten") for line in REFERENCES],
    "bad": [" ".join(line.split()[3:]) for line in REFERENCES],
}
QUICK: dict[str, Any] = {
    "search": SearchSettings(max_length=6),
    "engine": EngineSettings(engine="torch", threads=1),
}


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., list[str]]:
    """Names of texts in what is typed become their paths."""
    for name, lines in TEXTS.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def systems(*typed: str) -> list[str]:
        parts = [text.partition("=") for text in typed]
        return [f"{name}=" + ",".join(str(tmp_path / path) for path in paths.split(",")) for name, _, paths in parts]

    return systems


def test_members_whose_names_are_alike_keep_their_own_figures(written: Callable[..., list[str]]):
    systems = parse_systems(written("x 1=good", "a=bad", "x=mid,bad"))  # the members of x are x 1 and x 2
    found = evaluate_systems(systems, SOURCES, REFERENCES, resamples=0, trials=50)
    others = {name: paired_tests(TEXTS["good"], [lines], REFERENCES, trials=50)[0] for name, lines in TEXTS.items()}
    first, alone, several = found.systems
    assert first.members[0].tests == ()
    assert alone.members[0].tests == others["bad"]
    assert [member.tests for member in several.members] == [others["mid"], others["bad"]]
    for member, text in zip(several.members, ("mid", "bad"), strict=True):
        assert member.hypotheses == tuple(TEXTS[text])


def test_seeds_of_both_sides(written: Callable[..., list[str]]):
    systems = parse_systems(written("one=good,mid", "other=mid,bad", "same=bad,bad"))
    one, other, same = evaluate_systems(systems, SOURCES, REFERENCES, resamples=0, trials=50).systems
    values = [[member.scores[0].value for member in system.members] for system in (one, other)]
    test = other.test("bleu")
    assert test is not None
    assert test.p_value == welch_p_value(*values)
    assert {test.metric for test in same.tests} == {"bleu", "chrf++", "ter"}
    assert one.tests == ()


def test_two_systems_of_one_name(written: Callable[..., list[str]]):
    first, second = parse_systems(written("a=good", "b=bad"))
    with pytest.raises(ConfigError, match="names of systems must differ, got a twice"):
        evaluate_systems([first, System("a", second.members)], SOURCES, REFERENCES)


@pytest.mark.parametrize(
    ("options", "setting", "message"),
    [
        ({"trials": 0}, "", "trials must be greater than or equal to 1, got 0"),
        ({"test_kind": "t"}, "", "test_kind must be one of"),
        ({}, "x", "SACREBLEU_SEED must be"),
        ({"metrics": ()}, "", "metrics is empty"),
        ({"languages": ("en", "ja")}, "", "tokenizer for ja is not installed"),
    ],
)
def test_everything_is_checked_first(
    options: dict[str, Any],
    setting: str,
    message: str,
    written: Callable[..., list[str]],
    monkeypatch: pytest.MonkeyPatch,
):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("something was opened or counted")

    def missing(**_: object) -> None:
        raise RuntimeError

    if setting:
        monkeypatch.setenv("SACREBLEU_SEED", setting)
    if "languages" in options:
        monkeypatch.setattr("dragoman.evaluation.significance.BLEU", missing)
    monkeypatch.setattr(evaluating, "corpus_statistics", refuse)
    monkeypatch.setattr(Translator, "open", refuse)
    systems = parse_systems([*written("a=good"), f"b={tiny_bundle()}"])
    with pytest.raises(ConfigError, match=message):
        evaluate_systems(systems, SOURCES, REFERENCES, **options)


def test_a_bundle_beside_a_file(written: Callable[..., list[str]]):
    systems = parse_systems([f"mine={tiny_bundle()}", *written("theirs=good")])
    found = evaluate_systems(systems, SOURCES, REFERENCES, baseline="theirs", **QUICK)
    mine, theirs = (system.members[0] for system in found.systems)
    assert mine.throughput is not None
    assert mine.throughput.seconds < found.seconds["translating"] <= found.seconds["all"]
    assert (theirs.throughput, theirs.flags) == (None, None)
    assert [result.metric for result in mine.tests] == ["bleu", "chrf++", "ter"]
    assert [result.difference > 0 for result in mine.tests] == [False, False, True]


def test_models_made_for_one_beam_are_evaluated_with_it_and_others_with_the_usual_one():
    def member(inference: InferenceConfig | None) -> Any:
        return SimpleNamespace(bundle=SimpleNamespace(config=SimpleNamespace(inference=inference)))

    greedy, plain = member(InferenceConfig(beam=1)), member(None)
    assert _common_search({"a": [greedy, greedy]}, None).beam == 1
    assert _common_search({"a": [greedy]}, SearchSettings(beam=3)).beam == 3
    both = _common_search({"a": [greedy], "b": [plain]}, None)
    assert both.beam == 5
    assert "beam" in both.model_fields_set, "the same for all systems"
