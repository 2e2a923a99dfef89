"""The decoding benchmark: goals from given rounds, the page, the drivers' protocol. Nothing is installed."""

import argparse
import importlib
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.decoding.contenders import OPENNMT, SETTINGS, Contender, bare, contenders, ours
from benchmarks.decoding.drivers.serving import Ask, Task, cut, in_batches, limit
from benchmarks.decoding.drivers.weights import plain, positions
from benchmarks.decoding.goals import Side, goals, samenesses
from benchmarks.decoding.report import Findings, Quality, page
from benchmarks.decoding.running import ContenderError, Round, Server, Setting
from benchmarks.decoding.startup import Start

GREEDY = Setting(64, 1)


def _side(name: str, rates: list[float], model: str = "transformer", setting: Setting = GREEDY) -> Side:
    rounds = [Round(100, 100 / rate, 150 / rate) for rate in rates]
    return Side(Contender(name, model, "ours"), {setting: rounds} if rounds else {})


def test_goals_compare_round_by_round():
    engine, slower = _side(bare("int8"), [100, 200, 300]), _side(ours("ctranslate2", "int8"), [95, 170, 240])
    (goal,) = goals([engine, slower])
    assert goal.ratio == pytest.approx(0.85)
    assert goal.cpu_ratio == pytest.approx(0.85)
    assert goal.spread == pytest.approx((0.8, 0.95))
    assert (goal.floor, goal.verdict) == (0.9, "**missed**")


@pytest.mark.parametrize(("setting", "rate", "verdict"), [(Setting(64, 5), 2.1, "met"), (Setting(1, 5), 2.1, "missed")])
def test_a_recurrent_model_has_more_to_reach_alone(setting: Setting, rate: float, verdict: str):
    sides = [_side(ours("onnx", "int8"), [rate], "rnn", setting), _side(OPENNMT, [1.0], "rnn", setting)]
    (goal,) = goals(sides)
    assert verdict in goal.verdict


def test_models_are_compared_across_without_a_goal():
    sides = [_side(ours("onnx", "int8"), [50], "rnn"), _side(ours("ctranslate2", "int8"), [100])]
    (goal,) = goals(sides)
    assert (goal.ratio, goal.floor, goal.verdict) == (0.5, None, "–")
    assert "rnn / transformer" in goal.what


def test_our_engines_must_agree_in_float32():
    shares = {
        ("transformer", ours("ctranslate2", "float32"), GREEDY): 0.99,
        ("rnn", ours("onnx", "float32"), GREEDY): 0.9899,
        ("rnn", ours("onnx", "float32"), Setting(1, 5)): None,
        ("rnn", ours("onnx", "int8"), GREEDY): 0.5,
        ("transformer", OPENNMT, GREEDY): 0.5,
    }
    assert [(goal.share, goal.verdict) for goal in samenesses(shares)] == [(0.99, "met"), (0.9899, "**missed**")]


def test_a_side_has_medians():
    side = _side("x", [10, 30, 20])
    assert side.rate(GREEDY) == pytest.approx(20)
    assert side.cpu_rate(GREEDY) == pytest.approx(20 / 1.5)
    assert side.rate(Setting(1, 1)) is None


def test_the_page_tells_speeds_goals_and_failures():
    failed = _side("JoeyNMT", [])
    failed.error = "ended with 1"
    fast = _side(ours("ctranslate2", "int8"), [250.0])
    found = Findings([_side(bare("int8"), [260.0]), fast, failed], {"a": "dragoman 1", "b": "pymarian 2"})
    found.qualities["transformer", bare("int8"), GREEDY] = Quality(0.995, 38.5, 13.04)
    found.qualities["transformer", ours("ctranslate2", "float32"), GREEDY] = Quality(0.989, 38.5, 13.04)
    found.starts = [Start("`dragoman translate`, ctranslate2, transformer", [1.7, 1.6, 1.9])]
    options = argparse.Namespace(threads=2, sentences=1000, warmup=20, rounds=1, models=["transformer", "rnn"])
    text = page(options, found)
    assert "| CTranslate2 int8 | 260 (173) | – | – | – |" in text
    assert "| CTranslate2 int8 | 99.5% / 38.50 / 13.0 |" in text
    assert "≥ 0.9 | 0.96 | 0.96–0.96 | 0.96 | met |" in text
    assert "Dragoman, ctranslate2 float32 = torch float32, transformer | greedy, batch 64 | ≥ 99% | 98.9%" in text
    assert "≤ 1.5 | 1.70 | 1.60–1.90 | – | **missed** |" in text
    assert "JoeyNMT did not run: `ended with 1`" in text
    assert "RNN" not in text.split("## ", 1)[1]


def test_the_bare_engine_has_a_thread_a_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made, calls = {}, []

    class Engine:
        def __init__(self, folder: str, **options: object) -> None:
            made.update(options)

        def translate_batch(self, sources: list[list[str]], **options: object) -> list[object]:
            calls.append((len(sources), options["max_batch_size"]))
            return [SimpleNamespace(hypotheses=[source[::-1]]) for source in sources]

    monkeypatch.setitem(sys.modules, "ctranslate2", SimpleNamespace(Translator=Engine))
    monkeypatch.delitem(sys.modules, "benchmarks.decoding.drivers.bare", raising=False)
    bare_driver = importlib.import_module("benchmarks.decoding.drivers.bare")
    monkeypatch.delitem(sys.modules, "benchmarks.decoding.drivers.bare")
    (tmp_path / "words.json").write_text(json.dumps(["a", "b", "c"]), encoding="utf-8")
    translate = bare_driver.load(Task(tmp_path), argparse.Namespace(precision="int8", threads=2))
    assert (made["inter_threads"], made["intra_threads"]) == (2, 1)
    for batch in (64, 1):
        assert translate(Ask([[0, 1], [2], [1]], [], 1, batch)) == [[1, 0], [2], [1]]
    assert calls == [(3, 64), (1, 1), (1, 1), (1, 1)]


def test_everybody_can_be_described(tmp_path: Path):
    everybody = contenders(["transformer", "rnn"])
    assert len({(each.model, each.name) for each in everybody}) == len(everybody)
    for each in everybody:
        assert str(tmp_path) in each.command(Path(sys.executable), tmp_path, 2, 20)
        assert set(each.settings) <= set(SETTINGS)


def test_batches_are_of_like_length_and_answers_in_order():
    seen: list[list[int]] = []

    def backwards(sources: list[list[int]]) -> list[list[int]]:
        seen.append([len(source) for source in sources])
        return [source[::-1] for source in sources]

    sources = [[7], [7, 8, 9], [5, 6], [4, 5, 6, 7]]
    assert in_batches(Ask(sources, [], 1, 2), backwards) == [source[::-1] for source in sources]
    assert seen == [[4, 3], [2, 1]]
    assert cut([0, 8, 1, 3, 9]) == [8, 1]
    assert limit(sources) == 28


def test_weights_get_plain_names():
    eye = np.eye(2, dtype=np.float32)
    found = plain(
        {
            "encoder.embedding.weight": eye,
            "decoder.output.bias": eye[0],
            "encoder.layers.0.attention.W_qkv": np.concatenate([eye, 2 * eye, 3 * eye]),
            "encoder.layers.0.attention.W_o": eye,
            "encoder.layers.0.around_attention.norm.bias": eye[0],
            "decoder.layers.1.source_attention.W_o": eye,
            "decoder.layers.1.feedforward.W_1.weight": eye,
            "decoder.layers.1.around_feedforward.norm.weight": eye[0],
        }
    )
    expected = {"embedding", "bias", "encoder.0.self.o", "encoder.0.self.norm.bias", "decoder.1.source.o"}
    expected |= {f"encoder.0.self.{part}" for part in "qkv"} | {"decoder.1.up.weight"}
    assert set(found) == expected | {"decoder.1.feedforward.norm.weight"}
    assert found["encoder.0.self.k"].tolist() == (2 * eye).tolist()
    assert positions(3, 4)[0].tolist() == [0, 1, 0, 1]


DRIVER = """
import sys
from benchmarks.decoding.drivers.serving import serve
def load(task, options):
    print("talk that is no answer")
    def translate(ask):
        if ask.beam > 5:
            raise ValueError("too wide")
        return [source[::-1] for source in ask.sources]
    return translate
serve(load)
"""


def test_a_driver_answers_and_its_end_is_explained(tmp_path: Path):
    for name, content in {"sources": [[4, 5], [6]], "texts": ["a b", "c"]}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    command = [sys.executable, "-c", DRIVER, "--task", str(tmp_path)]
    server = Server(command, tmp_path / "log.txt", 1)
    try:
        done = server.ask(Setting(1, 5), 2, 60)
        assert done.found == [[5, 4], [6]]
        assert 0 < done.seconds < 60
        with pytest.raises(ContenderError, match="ValueError: too wide"):
            server.ask(Setting(1, 6), 2, 60)
    finally:
        server.stop()
