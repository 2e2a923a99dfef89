"""Evaluating from Python: whose figures are whose, and what is refused before anything is translated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.api import evaluating
from dragoman.api.evaluating import evaluate
from dragoman.api.systems import System, parse_systems
from dragoman.api.translator import Translator
from dragoman.errors import ConfigError
from dragoman.evaluation.significance import paired_tests
from dragoman.evaluation.spread import welch
from dragoman.search.settings import SearchSettings
from tests.unit.cli.tiny_translators import tiny_bundle

SOURCES = [f"Satz {number} von zwölf." for number in range(12)]
REFERENCES = [f"This is sentence {number} of twelve, and it says little." for number in range(12)]
TEXTS = {
    "good": [line.replace("little", "nothing") for line in REFERENCES],
    "mid": [line.replace("sentence", "line").replace("twelve", "ten") for line in REFERENCES],
    "bad": [" ".join(line.split()[3:]) for line in REFERENCES],
}
QUICK: dict[str, Any] = {"settings": SearchSettings(max_length=6), "engine": "torch", "threads": 1}


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
    found = evaluate(systems, SOURCES, REFERENCES, resamples=0, trials=50)
    others = {name: paired_tests(TEXTS["good"], [lines], REFERENCES, trials=50)[0] for name, lines in TEXTS.items()}
    first, alone, several = found.systems
    assert first.members[0].against_baseline == ()
    assert alone.members[0].against_baseline == others["bad"]
    assert [member.against_baseline for member in several.members] == [others["mid"], others["bad"]]
    for member, text in zip(several.members, ("mid", "bad"), strict=True):
        assert member.hypotheses == tuple(TEXTS[text])


def test_seeds_of_both_sides(written: Callable[..., list[str]]):
    systems = parse_systems(written("one=good,mid", "other=mid,bad", "same=bad,bad"))
    one, other, same = evaluate(systems, SOURCES, REFERENCES, resamples=0, trials=50).systems
    values = [[member.scores[0].value for member in system.members] for system in (one, other)]
    assert other.seeds_differ["bleu"] == welch(*values)
    assert set(same.seeds_differ) == {"bleu", "chrf++", "ter"}
    assert one.seeds_differ == {}


def test_two_systems_of_one_name(written: Callable[..., list[str]]):
    first, second = parse_systems(written("a=good", "b=bad"))
    with pytest.raises(ConfigError, match="names of systems must differ, got a twice"):
        evaluate([first, System("a", second.members)], SOURCES, REFERENCES)


@pytest.mark.parametrize(
    ("options", "setting", "message"),
    [
        ({"trials": 0}, "", "trials must be at least 1"),
        ({"test": "t"}, "", "test must be one of"),
        ({}, "x", "SACREBLEU_SEED must be"),
        ({"metrics": ()}, "", "metrics must be"),
        ({"languages": ("en", "ja")}, "", "tokenizer for ja must be installed"),
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
        monkeypatch.setattr("dragoman.evaluation.sentence_statistics.BLEU", missing)
    monkeypatch.setattr(evaluating, "Counting", refuse)
    monkeypatch.setattr(Translator, "open", refuse)
    systems = parse_systems([*written("a=good"), f"b={tiny_bundle()}"])
    with pytest.raises(ConfigError, match=message):
        evaluate(systems, SOURCES, REFERENCES, **options)


def test_a_bundle_beside_a_file(written: Callable[..., list[str]]):
    systems = parse_systems([f"mine={tiny_bundle()}", *written("theirs=good")])
    found = evaluate(systems, SOURCES, REFERENCES, baseline="theirs", **QUICK)
    mine, theirs = (system.members[0] for system in found.systems)
    assert mine.speed is not None
    assert mine.speed.seconds < found.seconds["translating"] <= found.seconds["all"]
    assert (theirs.speed, theirs.flags) == (None, None)
    assert [result.metric for result in mine.against_baseline] == ["bleu", "chrf++", "ter"]
    assert [result.difference > 0 for result in mine.against_baseline] == [False, False, True]
