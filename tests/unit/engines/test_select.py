"""Engines are selected by their features, and the choice is described."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.bundle import Bundle
from dragoman.engines import select
from dragoman.engines.select import open_engine
from dragoman.environment import install_command
from dragoman.errors import CombinationError, ConfigError, MissingExtraError
from dragoman.search import SearchSettings
from tests.unit.engines.tiny_recurrent import tiny_recurrent
from tests.unit.engines.tiny_transformers import tiny_transformer


@pytest.fixture(scope="module")
def recurrent(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return tiny_recurrent(tmp_path_factory.mktemp("recurrent") / "bundle")


@pytest.fixture(scope="module")
def transformer(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return tiny_transformer(tmp_path_factory.mktemp("transformer") / "bundle")


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def hide(*packages: str) -> None:
        monkeypatch.setattr(select, "is_installed", lambda module: module not in packages)

    return hide


def test_each_family_has_its_fast_engine(recurrent: Bundle, transformer: Bundle) -> None:
    assert open_engine([recurrent], threads=1).description == "onnx float32, 1 thread"
    assert open_engine([transformer], threads=2).description == "ctranslate2 float32, 2 threads"


@pytest.mark.parametrize(
    ("asked", "lacks"),
    [
        ({"settings": SearchSettings(sample=True)}, "sampling"),
        ({"settings": SearchSettings(beam=4, groups=2)}, "diverse beam search"),
        ({"settings": SearchSettings(coverage_penalty=0.2)}, "coverage penalty"),
        ({"trace": True}, "search tree"),
    ],
)
def test_what_the_fast_engine_lacks_torch_does(transformer: Bundle, asked: dict[str, Any], lacks: str) -> None:
    chosen = open_engine([transformer], threads=1, **asked)
    assert chosen.engine.name == "torch"
    assert chosen.description.startswith("torch float32, 1 thread (not ctranslate2: it does not support ")
    assert lacks in chosen.description
    with pytest.raises(CombinationError, match="the engine ctranslate2 cannot be used: it does not support"):
        open_engine([transformer], engine="ctranslate2", threads=1, **asked)


def test_torch_searches_for_phrases_where_it_is_installed(transformer: Bundle, without: Callable[[str], None]) -> None:
    chosen = open_engine([transformer], threads=1, phrases=True)
    assert "not ctranslate2: its search does not choose where glossary terms fit best" in chosen.description
    assert open_engine([transformer], engine="ctranslate2", threads=1, phrases=True).engine.name == "ctranslate2"
    without("torch")
    assert open_engine([transformer], threads=1, phrases=True).engine.name == "ctranslate2"
    assert select.supports_phrases("transformer")


def test_without_the_package_torch_takes_over(transformer: Bundle, without: Callable[[str], None]) -> None:
    without("ctranslate2")
    chosen = open_engine([transformer], threads=1)
    assert chosen.engine.name == "torch"
    assert f"ctranslate2 is not installed ({install_command('export')})" in chosen.description


def test_a_precision_can_decide_too(transformer: Bundle, recurrent: Bundle) -> None:
    assert open_engine([transformer], precision="bfloat16", threads=1).engine.name == "torch"
    assert open_engine([transformer], precision="int8", threads=1).description == "ctranslate2 int8, 1 thread"
    assert open_engine([recurrent], precision="int8", threads=1).description == "onnx int8, 1 thread"
    with pytest.raises(CombinationError, match="precision must be one of float32, bfloat16 on torch, got int8"):
        open_engine([recurrent], engine="torch", precision="int8")


def test_an_engine_that_is_no_use_here(recurrent: Bundle, transformer: Bundle) -> None:
    with pytest.raises(CombinationError, match="engine must be one of onnx, torch for the family rnn, got ctranslate2"):
        open_engine([recurrent], engine="ctranslate2")
    with pytest.raises(CombinationError, match="engine must be one of ctranslate2, torch"):
        open_engine([transformer], engine="onnx")
    with pytest.raises(ConfigError, match="engine must be one of auto, torch, ctranslate2, onnx, got 'tensorrt'"):
        open_engine([transformer], engine="tensorrt")  # type: ignore[arg-type]


def test_a_missing_package_that_was_asked_for(transformer: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.environment.is_installed", lambda module: module != "ctranslate2")
    with pytest.raises(MissingExtraError, match=r'pip install ".+\[export\]"'):
        open_engine([transformer], engine="ctranslate2")


def test_an_ensemble_takes_engines_whose_steps_are_open(recurrent: Bundle, transformer: Bundle) -> None:
    chosen = open_engine([recurrent, transformer], threads=1)
    assert chosen.engine.name == "onnx + torch"
    assert chosen.description.startswith("ensemble of 2: onnx float32, 1 thread; torch float32")
    with pytest.raises(CombinationError, match="it cannot join an ensemble"):
        open_engine([transformer, transformer], engine="ctranslate2")


def test_a_model_that_cannot_be_exported_runs_on_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise CombinationError("model must be something else")

    bundle = tiny_transformer(tmp_path / "bundle")
    monkeypatch.setattr("dragoman.engines.ctranslate2.engine.CTranslate2Engine.open", refuse)
    assert "not ctranslate2: model must be something else" in open_engine([bundle], threads=1).description


def test_incremental_selects_an_incremental_engine(recurrent: Bundle, transformer: Bundle) -> None:
    chosen = open_engine([transformer], threads=1, incremental=True)
    assert chosen.description == "torch float32, 1 thread (not ctranslate2: it is not incremental)"
    assert open_engine([recurrent], threads=1, incremental=True).engine.name == "onnx"
    with pytest.raises(CombinationError, match="it is not incremental"):
        open_engine([transformer], engine="ctranslate2", threads=1, incremental=True)
