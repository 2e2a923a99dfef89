"""Comparisons of tiny systems, from folders and files to what a report shows."""

from pathlib import Path

import pytest

from dragoman.api.evaluation.comparison import ScoredTestSet, compare_systems
from dragoman.api.evaluation.comparison_examples import select_readable
from dragoman.api.evaluation.evaluator import evaluate_systems
from dragoman.api.evaluation.system_arguments import System
from dragoman.config.engine import EngineSettings
from dragoman.config.search import SearchSettings
from dragoman.errors import ConfigError
from dragoman.inspection.comparison.model_tables import notable_search_settings
from dragoman.inspection.comparison.verdict import conclude
from tests.unit.api.recorded_runs import recorded_run
from tests.unit.cli.tiny_translators import tiny_bundle

SOURCES = ["A man rides a red bicycle.", "Two dogs run.", "A woman is reading a book in the park today.", "Hello."]
REFERENCES = ["Ein Mann fährt Rad.", "Zwei Hunde rennen.", "Eine Frau liest heute im Park ein Buch.", "Hallo."]


def written(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def scored(systems: list[System]) -> ScoredTestSet:
    evaluation = evaluate_systems(
        systems,
        SOURCES,
        REFERENCES,
        engine=EngineSettings(engine="torch", threads=1),
        search=SearchSettings(beam=1, max_length=6),
        resamples=10,
        metrics=("bleu", "chrf"),
        flags=False,
        name="tiny",
        trials=20,
    )
    return ScoredTestSet(evaluation, SOURCES, REFERENCES)


def test_runs_tell_about_themselves_without_a_test(tmp_path: Path) -> None:
    systems = [
        System("one", (recorded_run(tmp_path / "a", seed=1), recorded_run(tmp_path / "b", seed=2))),
        System("other", (recorded_run(tmp_path / "c", tiny_bundle(), seed=1),)),
    ]
    found = compare_systems(systems, command="typed")
    assert found.evaluation is None
    assert [member.name for member in found.models["one"]] == ["one 1", "one 2"]
    assert [member.seed for member in found.models["one"]] == [1, 2]
    assert found.models["one"][0].curves
    assert found.models["other"][0].digest
    assert found.versions["dragoman"]
    assert found.command == "typed"


def test_models_and_files_are_compared_on_a_test(tmp_path: Path) -> None:
    good = written(tmp_path / "good.txt", REFERENCES)
    systems = [System("model", (tiny_bundle("bahdanau2015-desk"),)), System("file", (good,))]
    found = compare_systems(systems, scored(systems), sentences=2, maps=1, threads=1)
    assert found.baseline == "model"
    assert found.evaluation is not None
    assert found.evaluation.metrics == ("bleu", "chrf++")
    model, file = found.members
    assert (model.kind, file.kind) == ("bundle", "translations")
    assert model.parameters
    assert model.settings["model.family"] == '"rnn"'
    assert file.settings == {}
    assert len(found.sentences) == 2
    assert [each.system for each in found.sentences[0].translations] == ["model", "file"]
    (aligned,) = found.attention
    assert [each.system for each in aligned.maps] == ["model"]
    (drawn,) = aligned.maps
    assert drawn.weights is None or drawn.weights.shape == (len(drawn.target_words), len(drawn.source_words))
    assert drawn.weights is None or drawn.description == "when each word is generated"
    assert found.evaluation.systems[1].tests


def test_sentences_that_differ_most_come_first(tmp_path: Path) -> None:
    near = [*REFERENCES[:3], "Hallo!"]
    far = ["Ein Mann fährt Rad.", "Zwei Hunde.", "nichts", "Hallo."]
    systems = [
        System("near", (written(tmp_path / "near.txt", near),)),
        System("far", (written(tmp_path / "far.txt", far),)),
    ]
    found = compare_systems(systems, scored(systems), sentences=10, maps=0)
    assert found.sentences[0].number == 3
    assert sorted(sentence.number for sentence in found.sentences) == [2, 3, 4]  # the first is translated alike
    assert found.attention == ()


def test_one_system_is_held_against_every_seed_of_the_baseline(tmp_path: Path) -> None:
    bad = written(tmp_path / "bad.txt", ["x"] * 4)
    good = written(tmp_path / "good.txt", REFERENCES)
    middling = written(tmp_path / "middling.txt", [*REFERENCES[:3], "y"])
    systems = [System("seeds", (bad, good)), System("one", (middling,))]
    found = compare_systems(systems, scored(systems), maps=0)
    assert found.evaluation is not None
    seeds, one = found.evaluation.systems
    test = one.tests[0]
    assert test.difference == pytest.approx(one.scores[0].value - seeds.scores[0].value)
    assert test.difference > 0
    assert test.p_value == 1  # better than one of them, worse than the other
    assert conclude(found).level == "warning"


def test_copies_do_not_differ(tmp_path: Path) -> None:
    systems = [System(name, (written(tmp_path / name, [*REFERENCES[:3], "y"]),)) for name in ("a", "b")]
    found = conclude(compare_systems(systems, scored(systems)))
    assert (found.level, found.text[:46]) == ("warning", "There is no difference in BLEU between the bas")


def test_only_what_was_set_of_the_search_is_told(tmp_path: Path) -> None:
    systems = [System("a", (written(tmp_path / "a.txt", REFERENCES),))]
    found = compare_systems(systems, scored(systems))
    assert found.evaluation is not None
    settings = notable_search_settings(found.evaluation.search)
    assert settings == {"beam": "1", "length penalty": "average", "alpha": "1.0", "max length": "6"}


def test_maps_are_of_sentences_that_can_be_read() -> None:
    assert select_readable((), ["short", "five words are enough here", " ".join("w" * 40)], 2) == [1, 0]
    assert select_readable((), ["a b c d"], 5) == [0]
    assert select_readable((), ["委员会" * 20, "委员会表示同意"], 1) == [1]  # a word is a character


def test_systems_must_be_those_of_the_test(tmp_path: Path) -> None:
    systems = [System("a", (written(tmp_path / "a.txt", REFERENCES),))]
    test = scored(systems)
    with pytest.raises(ConfigError, match="same systems"):
        compare_systems([System("b", systems[0].members)], test)
    with pytest.raises(ConfigError, match="at least one"):
        compare_systems([])
