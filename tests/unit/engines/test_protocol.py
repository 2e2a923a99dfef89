"""Devices: `auto` is the processor without a CUDA device, and cuda without one is refused in one line."""

import importlib
from pathlib import Path
from typing import Any, get_args

import pytest

from dragoman.config.engine import DeviceName
from dragoman.engines.protocol import resolve_device
from dragoman.engines.select import open_engine
from dragoman.errors import CombinationError, ConfigError
from dragoman.server.models.served_model import EngineRole, open_translator
from dragoman.server.settings import ServerSettings
from dragoman.training.distributed.process_group import join_process_group
from tests.unit.cli.tiny_translators import tiny_bundle, typed
from tests.unit.engines.tiny_transformers import tiny_transformer


@pytest.fixture(params=["torch", "ctranslate2", "onnx"])
def engine(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    pytest.importorskip({"onnx": "onnxruntime"}.get(name, name))
    return name


CLASSES = {
    "torch": "dragoman.engines.torch_engine:TorchEngine",
    "ctranslate2": "dragoman.engines.ctranslate2.engine:CTranslate2Engine",
    "onnx": "dragoman.engines.onnx.engine:OnnxEngine",
}


def engine_class(name: str) -> Any:
    module, _, found = CLASSES[name].partition(":")
    return getattr(importlib.import_module(module), found)


def without_cuda(engine: str) -> None:
    if engine_class(engine).has_cuda():
        pytest.skip("this machine has a CUDA device")


def test_auto_is_the_processor_where_there_is_no_other_device(engine: str, tmp_path: Path):
    without_cuda(engine)
    assert resolve_device(engine, "auto", engine_class(engine).has_cuda) == "cpu"
    bundle = tiny_transformer(tmp_path / "model", {"decoder": "ssru"} if engine == "onnx" else {})
    wanted = open_engine([bundle], engine=engine, threads=1)  # type: ignore[arg-type]
    found = open_engine([bundle], engine=engine, device="auto", threads=1)  # type: ignore[arg-type]
    assert found.description == wanted.description == f"{engine} float32, 1 thread"
    tokens = bundle.tokenizers()["source"].encode("s5 s6 s7")
    assert found.engine.score([tokens], [tokens])[0].log_prob == wanted.engine.score([tokens], [tokens])[0].log_prob


def test_cuda_is_refused_where_there_is_none(engine: str, tmp_path: Path):
    without_cuda(engine)
    bundle = tiny_transformer(tmp_path / "model", {"decoder": "ssru"} if engine == "onnx" else {})
    with pytest.raises(
        ConfigError, match=rf"^device must be cpu or auto where {engine} finds no CUDA device, got cuda;"
    ):
        open_engine([bundle], engine=engine, device="cuda")  # type: ignore[arg-type]


def test_a_device_that_is_there_is_taken_by_auto():
    found = {name: resolve_device("torch", name, lambda: True) for name in get_args(DeviceName)}
    assert found == {"cpu": "cpu", "cuda": "cuda", "auto": "cuda"}


def test_int8_graphs_do_not_run_on_cuda(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("onnxruntime")
    monkeypatch.setattr(engine_class("onnx"), "has_cuda", staticmethod(lambda: True))
    bundle = tiny_transformer(tmp_path / "model", {"decoder": "ssru"})
    with pytest.raises(CombinationError, match="precision must be float32 on onnx with cuda, got int8"):
        open_engine([bundle], engine="onnx", precision="int8", device="cuda")


def test_a_runtime_without_its_cuda_libraries_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """ONNX Runtime falls back to the processor with a warning only."""
    pytest.importorskip("onnxruntime")
    without_cuda("onnx")
    monkeypatch.setattr(engine_class("onnx"), "has_cuda", staticmethod(lambda: True))
    bundle = tiny_transformer(tmp_path / "model", {"decoder": "ssru"})
    with pytest.warns(UserWarning, match="CUDAExecutionProvider"), pytest.raises(ConfigError, match="got cuda"):
        open_engine([bundle], engine="onnx", precision="float32", device="cuda")


def test_a_command_refuses_cuda_in_one_line(tmp_path: Path):
    without_cuda("torch")
    (tmp_path / "a").write_text("s5 s6\n", encoding="utf-8")
    found = typed("translate", tiny_bundle(), tmp_path / "a", "--engine", "torch", "--device", "cuda")
    assert found.exit_code != 0
    (line,) = found.stderr.splitlines()
    assert line.startswith("error: --device must be cpu or auto where torch finds no CUDA device, got cuda; ")


@pytest.mark.parametrize("role", ["default", "capable", "inspection"])
def test_a_server_refuses_cuda_in_one_line(role: EngineRole, tmp_path: Path):
    without_cuda("torch")
    bundle = tiny_transformer(tmp_path / "model", {"decoder": "ssru"})
    with pytest.raises(ConfigError, match=r"device must be cpu or auto where .* finds no CUDA device, got cuda"):
        open_translator(bundle, role, ServerSettings(device="cuda"), 1)


def test_training_refuses_cuda_in_one_line():

    without_cuda("torch")
    with (
        pytest.raises(ConfigError, match=r"^training\.device must be cpu or auto where torch finds no CUDA"),
        join_process_group("cuda"),
    ):
        pass
    with join_process_group("cpu") as group:
        assert group.device.type == "cpu"
