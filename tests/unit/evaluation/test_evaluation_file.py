"""Reading evaluation.json of this version and of version 0.1."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.errors import DataError
from dragoman.evaluation.evaluation_file import migrate_evaluation, read_evaluation
from dragoman.evaluation.results import FORMAT_VERSION
from dragoman.evaluation.score_format import format_score
from tests.unit.evaluation.made_evaluation import made_evaluation, made_member, made_system

FROZEN = Path(__file__).parents[2] / "fixtures" / "formats-0.1" / "evaluation" / "evaluation.json"


def test_a_file_of_version_0_1() -> None:
    old = json.loads(FROZEN.read_text(encoding="utf-8"))
    found = read_evaluation(FROZEN)
    assert (found.test_set.name, found.test_set.sentences, found.test_set.languages) == ("test", 6, ("en", "de"))
    assert (found.baseline, found.resamples, found.machine) == ("rnn", 1000, old["machine"])
    rnn, transformer = found.systems
    assert [score.metric for score in rnn.scores] == ["bleu", "chrf++", "ter"]
    assert rnn.scores[0].value == old["systems"][0]["members"][0]["scores"][0]["value"]
    assert (
        format_score(transformer.scores[2], transformer.test("ter")) == "20.45 ± 15.86 *"
    )  # as in table.md of the fixture
    assert transformer.members[0].tests[0].p_value == pytest.approx(0.053946053946)
    assert rnn.members[0].throughput is not None
    assert rnn.members[0].throughput.source_words == 47
    assert rnn.members[0].path == "rnn/run/bundle"
    assert rnn.by_length[0].label == "1–9"
    assert migrate_evaluation(old)["format_version"] == FORMAT_VERSION


def test_a_score_of_one_sentence_loses_its_interval() -> None:
    old = json.loads(FROZEN.read_text(encoding="utf-8"))
    old["sentences"] = 1
    migrated = migrate_evaluation(old)
    assert {score["interval"] for system in migrated["systems"] for score in system["scores"]} == {None}
    assert migrated["systems"][0]["by_length"][0]["scores"][0]["interval"] is not None  # six sentences there


def test_a_file_of_this_version(tmp_path: Path) -> None:
    seeds = made_system("seeds", *(made_member(f"seeds {n}", 28.0 + n, p_value=0.01) for n in range(3)))
    evaluation = made_evaluation(made_system("one", made_member("one", 30.0)), seeds)
    path = tmp_path / "evaluation.json"
    path.write_text(json.dumps(evaluation.to_json(hypotheses=True)), encoding="utf-8")
    assert read_evaluation(path) == evaluation
    path.write_text(json.dumps(evaluation.to_json()), encoding="utf-8")
    read = read_evaluation(path)
    assert read.members[0] == replace(evaluation.members[0], hypotheses=())
    interval = read.systems[1].scores[0].interval
    assert interval is not None
    assert interval.mean == 29.0
    assert interval.half_width == pytest.approx(2.484, abs=1e-3)


@pytest.mark.parametrize("text", ["[]", "{}", '{"systems": []}', '{"systems": [], "format_version": 9}'])
def test_other_files(text: str, tmp_path: Path) -> None:
    path = tmp_path / "evaluation.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError):
        read_evaluation(path)
