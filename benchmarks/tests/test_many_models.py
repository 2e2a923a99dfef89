"""Parts of the measurements of many models: students with their own weights, random models, requests and tables."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.footprint import rows
from benchmarks.many_models import (
    ARGOS,
    LENGTH,
    Memory,
    bodies,
    load_rows,
    random_weights,
    server_rows,
    summary,
    target_codes,
)
from benchmarks.students.variants import change_weights, int8_places
from dragoman import Translator
from dragoman.bundle import write_bundle
from dragoman.config import load_config
from dragoman.importing.file_formats.bergamot_file import read_bergamot
from testkit.random_bundle import TRANSFORMER, random_bundle
from testkit.random_models.random_firefox import options, write_bin


@pytest.fixture
def student(tmp_path: Path) -> Path:
    draw = np.random.default_rng(1)
    sizes = {"Wemb": (500, 16), "encoder_l1_self_Wq": (100, 50), "encoder_l1_self_bq": (1, 50)}
    path = tmp_path / "model.enpt.bin"
    write_bin(
        path, {name: draw.normal(size=each).astype(np.float32) for name, each in sizes.items()}, options(), int8=True
    )
    return path


def test_only_some_int8_numbers_of_a_changed_student_differ_by_one(student: Path):
    content = student.read_bytes()
    assert [size for _, size in int8_places(content)] == [500 * 16, 1, 100 * 50]
    changed = change_weights(content, 1)
    (before, _), (after, _) = read_bergamot(student, content), read_bergamot(student, changed)
    for name, count in {"Wemb": 8, "encoder_l1_self_Wq": 5}.items():
        shape = before.shapes[name]
        differences = (after.take(name, shape) - before.take(name, shape)) * before.multipliers[name]
        assert differences[differences != 0].round(3).tolist() == [1.0] * count
    assert (after.take("encoder_l1_self_bq", (1, 50)) == before.take("encoder_l1_self_bq", (1, 50))).all()
    assert change_weights(content, 2) != changed


def test_a_random_model_translates_with_a_fixed_number_of_tokens(tmp_path: Path):
    tokenizers = random_bundle(tmp_path / "small").tokenizers()
    config = load_config("vaswani2017-desk", [*ARGOS, *TRANSFORMER, "model.dim=64", "tokenizer.size=400"])
    weights = random_weights(config, [tokenizers[side].size for side in ("source", "target")])
    bundle = write_bundle(tmp_path / "random", config, weights, tokenizers, "# Random\n")
    with Translator.open(bundle, threads=1) as translator:
        for text in ("a " * 20, "b " * 40):
            assert len(translator.translate(text).tokens) == LENGTH


def test_requests_name_all_pairs_and_all_sentences():
    found = [json.loads(each) for each in bodies(["one", "two"], ["aa", "bb", "cc"], 60)]
    assert {each["q"] for each in found} == {"one", "two"}
    assert {each["target"] for each in found} == {"aa", "bb", "cc"}
    assert {each["source"] for each in found} == {"en"}


def test_a_hundred_pairs_have_languages():
    codes = target_codes(100)
    assert len(set(codes)) == 100
    assert "en" not in codes


def test_rows_of_the_tables():
    one = {"pairs": 1, "clients": 1, "requests": 10, "cpu": 0.2, "per_second": 20.0, "failed": 0, **summary([0.05])}
    two = {"pairs": 2, "clients": 1, "requests": 10, "cpu": 0.4, "per_second": 10.0, "failed": 1, **summary([0.1])}
    server = {
        "pairs": 2,
        "ready": 1.25,
        "cpu": 0.75,
        "first": [(0.25, 0.2), (0.75, 0.4), (0.5, 0.3)],
        "disk": 90.0,
        "loads": [two, one],
    }
    server["started"] = vars(Memory(200 << 20, 150 << 20))
    (row,) = server_rows("dragoman", [{**server, "asked": server["started"], "loaded": server["started"]}])
    assert row == ["dragoman, 2", "1.2 (0.8)", *["200 (150)"] * 3, "–", "0.50", "0.75", "0.30", "0.1"]
    found = load_rows("dragoman", [server])
    assert found[0] == ["dragoman, 2", "2", "1", "10.0", "40.0", "100", "100", "100", "2.0", "1"]
    assert found[1][-2:] == ["1.0", "0"]


def test_the_footprint_has_a_goal_where_there_is_one():
    medians = {"before": {"bundle, MB": 74.1}, "dragoman": {"`Translator.open`, CPU s": 0.321, "bundle, MB": 23.6}}
    assert rows(medians) == [["`Translator.open`, CPU s", "0.5", "–", "0.32"], ["bundle, MB", "", "74", "24"]]
