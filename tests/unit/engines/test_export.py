"""Exports by name: where they go, and what is wrong about a wrong one."""

from pathlib import Path

import pytest

from dragoman.engines.export_cache import export_bundle
from dragoman.errors import CombinationError, ConfigError, MissingExtraError
from tests.unit.engines.tiny_transformers import tiny_transformer

pytest.importorskip("ctranslate2")


def test_in_the_cache_or_elsewhere(tmp_path: Path, own_cache: Path):
    bundle = tiny_transformer(tmp_path / "b")
    cached = export_bundle(bundle, "ctranslate2")
    assert cached.folder.is_relative_to(own_cache)
    assert cached.is_new
    assert cached.bytes == sum(path.stat().st_size for path in cached.folder.iterdir())
    assert not export_bundle(bundle.folder, "ctranslate2").is_new
    elsewhere = export_bundle(str(bundle.folder), "ctranslate2", precision="int8", output=tmp_path / "out")
    assert elsewhere.folder == tmp_path / "out"
    assert elsewhere.sizes["model.bin"] < cached.sizes["model.bin"]
    assert elsewhere.bundle_bytes == cached.bundle_bytes > 0


@pytest.mark.parametrize(
    ("to", "precision", "says"),
    [
        ("tensorrt", "int8", "--to must be ctranslate2 or onnx"),
        ("onnx", "int4", "--precision must be auto, float32 or int8"),
    ],
)
def test_what_there_is_not(to: str, precision: str, says: str, tmp_path: Path):
    with pytest.raises(ConfigError, match=says):
        export_bundle(tmp_path, to, precision=precision)


def test_a_transformer_is_not_for_onnx(tmp_path: Path):
    pytest.importorskip("onnx")
    with pytest.raises(CombinationError, match=r"model\.decoder must be ssru"):
        export_bundle(tiny_transformer(tmp_path / "b"), "onnx")


def test_a_missing_package_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dragoman.environment.is_installed", lambda module: False)
    with pytest.raises(MissingExtraError, match=r'pip install ".+\[export\]"'):
        export_bundle(tmp_path, "ctranslate2")
