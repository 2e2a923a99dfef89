"""Comparisons of tiny systems, from folders and files to what a report shows."""

import json
from pathlib import Path

import pytest

from dragoman.api.evaluation.comparison import ScoredTestSet, compare_systems, flatten_settings, read_run
from dragoman.api.evaluation.comparison_examples import select_readable
from dragoman.api.evaluation.evaluator import evaluate_systems
from dragoman.api.evaluation.system_arguments import System
from dragoman.config import load_config
from dragoman.config.engine import EngineSettings
from dragoman.config.search import SearchSettings
from dragoman.errors import ConfigError, DataError
from dragoman.inspection.comparison.model_tables import format_best, notable_search_settings
from dragoman.inspection.comparison.page import render_comparison_page
from dragoman.inspection.comparison.verdict import conclude
from tests.unit.api.recorded_runs import ENTRIES, recorded_run
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


def test_the_samples_of_the_last_validation_are_beside_each_other(tmp_path: Path) -> None:
    texts = {"source": "Two dogs play.", "reference": "Zwei Hunde spielen."}
    sample = {**texts, "source_words": ["Two", "dogs"], "target_words": ["Zwei"], "weights": [[0.9, 0.1]]}
    first = {"kind": "validation", "update": 50, "loss": 4.0, "samples": [{**sample, "translation": "Eins"}]}
    later = {"kind": "validation", "update": 150, "loss": 3.0, "samples": [{**sample, "translation": "Zwei"}]}
    plain = {"kind": "validation", "update": 50, "loss": 3.0, "samples": [{**texts, "translation": "Hund"}]}
    runs = {"one": [first, *ENTRIES, later], "other": [plain]}
    systems = [System(name, (recorded_run(tmp_path / name, entries=runs[name]),)) for name in runs]
    found = compare_systems(systems)
    (shown,) = found.attention
    assert (shown.source, shown.reference) == (texts["source"], texts["reference"])
    one, other = shown.maps
    assert (one.translation, one.target_words, one.weights is not None) == ("Zwei", ("Zwei",), True)
    assert (other.translation, other.weights, other.note) == ("Hund", None, "no map: this model has no attention")
    assert "Zwei Hunde spielen." in render_comparison_page(found)


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
    with pytest.raises(ConfigError, match="of other systems"):
        compare_systems([System("b", systems[0].members)], test)
    with pytest.raises(ConfigError, match="no system is given"):
        compare_systems([])


def test_curves_are_over_updates_tokens_and_time(tmp_path: Path) -> None:
    record = read_run(recorded_run(tmp_path / "run"))
    curves = {curve.quantity: curve for curve in record.curves}
    assert list(curves) == ["training loss", "validation loss", "bleu"]
    loss = curves["training loss"]
    assert loss.updates == (50, 100, 150)
    assert loss.tokens == (1000, 4000, 5000)
    assert loss.seconds == (10, 40, 55)  # the validation's among them
    assert loss.values == (8.0, 4.0, 2.0)
    assert curves["bleu"].seconds == (45,)
    assert curves["bleu"].values == (12.5,)


def test_facts_of_the_training(tmp_path: Path) -> None:
    record = read_run(recorded_run(tmp_path / "run", seed=7))
    facts = record.summary
    assert facts is not None
    assert (facts.updates, facts.tokens, facts.seconds, facts.ended) == (150, 5000, 60.0, "finished")
    assert facts.tokens_per_second == pytest.approx(5000 / 60)
    assert facts.best == {"bleu": 12.5, "loss": 3.5}
    assert format_best(facts) == "BLEU 12.50, loss 3.50; after 100 updates"
    assert (facts.data_fingerprint, facts.config_digest) == ("79587217", "c" * 64)
    assert facts.pairs == {"train": 900, "validation": 100}
    assert record.parameters == 1234
    assert record.config is not None
    assert record.config.training.seed == 7


def test_a_log_that_is_torn_or_strange_gives_what_can_be_read(tmp_path: Path) -> None:
    strange = [
        {"kind": "update", "update": "x", "loss": 1.0},
        {"kind": "update", "update": 200, "loss": None, "tokens": None, "tokens_per_second": 0},
        {"kind": "validation", "update": 200, "loss": "low", "scores": ["bleu"]},
        {"kind": "validation", "update": 200, "loss": True, "scores": {"bleu": "high"}},
        {"kind": "update", "update": 10**400, "loss": 1.0},
    ]
    folder = recorded_run(tmp_path / "run", entries=[*ENTRIES, *strange])
    with (folder / "log.jsonl").open("ab") as file:
        file.write(b'[1]\n\xff\xfe\n{"kind": "update", "upd')
    assert read_run(folder).curves == read_run(recorded_run(tmp_path / "whole")).curves


def test_a_run_that_goes_on_has_no_end_yet(tmp_path: Path) -> None:
    folder = recorded_run(tmp_path / "run", entries=[])
    (folder / "run.json").write_text('{"ended": null}', encoding="utf-8")
    record = read_run(folder)
    assert record.curves == ()
    assert record.summary is not None
    assert record.summary.ended == "not yet"
    assert (record.summary.best, format_best(record.summary)) == ({}, "")


def test_a_run_that_goes_on_is_as_far_as_its_log(tmp_path: Path) -> None:
    folder = recorded_run(tmp_path / "run")
    stale = {"ended": None, "update": 100, "seconds": 41.0}  # since the last validation, and without it
    (folder / "run.json").write_text(json.dumps(stale), encoding="utf-8")
    facts = read_run(folder).summary
    assert facts is not None
    assert (facts.updates, facts.tokens, facts.seconds) == (150, 5000, 55.0)
    assert facts.tokens_per_second == pytest.approx(5000 / 55)


def test_a_record_that_is_none_is_refused(tmp_path: Path) -> None:
    folder = recorded_run(tmp_path / "run")
    (folder / "run.json").write_text("[]", encoding="utf-8")
    with pytest.raises(DataError, match="record of a run"):
        read_run(folder)


def test_settings_have_dotted_names_and_toml_values() -> None:
    settings = flatten_settings(load_config("vaswani2017-desk"))
    assert settings["model.family"] == '"transformer"'
    assert settings["training.seed"] == "1"
