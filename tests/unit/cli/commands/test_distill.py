"""`dragoman distill`: translations of a teacher, or of an ensemble, as a corpus."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from dragoman.evaluation.metrics.corpus_scores import sentence_scores
from testkit.random_bundle import words
from tests.unit.cli.tiny_translators import tiny_bundle, typed

RANDOM = ("--engine", "torch", "--threads", "1", "--sample", "--temperature", "1000")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, first in (("text", 0), ("reference", 500)):
        lines = [" ".join(words(row, 6)) for row in range(first, first + 60)]
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return tmp_path


def read(name: str) -> list[str]:
    return Path(name).read_text(encoding="utf-8").split("\n")[:-1]


def test_pairs_of_a_teacher_and_of_an_ensemble(place: Path):
    one, other = tiny_bundle(seed=1), tiny_bundle(seed=2)
    for folder, more in (("single", ()), ("both", ("--ensemble", other))):
        result = typed("distill", one, "text", "-o", folder, *RANDOM, *more)
        assert result.exit_code == 0, result.stderr
        record = json.loads(Path(folder, "record.json").read_text(encoding="utf-8"))
        assert record["kind"] == "distillation"
        assert len(record["models"]) == len(record["translation"]["bundles"]) == 1 + len(more) // 2
        sources = read(f"{folder}/synthetic.source")
        assert len(sources) == record["pairs"]["kept"] > 0
        assert set(sources) <= set(read("text"))
    assert read("single/synthetic.target") != read("both/synthetic.target")
    plain = typed("translate", one, "text", *RANDOM)
    assert set(read("single/synthetic.target")) <= set(plain.stdout.split("\n"))


def test_the_hypothesis_nearest_to_the_reference(place: Path):
    result = typed("distill", tiny_bundle(), "text", "-o", "out", *RANDOM, "--beam", "4", "--reference", "reference")
    assert result.exit_code == 0, result.stderr
    with gzip.open("out/lines.jsonl.gz", "rt", encoding="utf-8") as file:
        lines = [json.loads(each) for each in file]
    expected = []
    for line, reference in zip(lines, read("reference"), strict=True):
        ended = [each["text"] for each in line["nbest"] if not each["is_truncated"]]
        if ended:
            expected.append(max(ended, key=lambda text: sentence_scores([text], [reference])[0]))
    assert read("out/synthetic.target") == expected
    assert any(line["nbest"][0]["text"] not in expected for line in lines)


def test_few_candidates_of_mbr_are_the_hypotheses(place: Path):
    mbr = ("--engine", "torch", "--threads", "1", "--search", "mbr", "--candidates", "2", "--temperature", "1000")
    result = typed("distill", tiny_bundle(), "text", "-o", "out", *mbr, "--reference", "reference")
    assert result.exit_code == 0, result.stderr
    with gzip.open("out/lines.jsonl.gz", "rt", encoding="utf-8") as file:
        assert {len(json.loads(line)["nbest"]) for line in file} <= {1, 2}


def test_a_reference_of_another_length(place: Path):
    Path("reference").write_text("a\n", encoding="utf-8")
    result = typed("distill", tiny_bundle(), "text", "-o", "out", *RANDOM, "--reference", "reference")
    assert result.exit_code == 1
    assert "text and reference must have the same number of lines, got 60 and 1; add the missing lines" in result.stderr
    assert not Path("out").exists()
