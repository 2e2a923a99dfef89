"""Exports by name: where they go, and what is wrong about a wrong one."""

from pathlib import Path

import pytest

from dragoman.engines.export import export_bundle
from dragoman.errors import CombinationError, ConfigError, MissingExtraError
from tests.unit.engines.tiny_transformers import tiny_transformer

pytest.importorskip("ctranslate2")


def test_beside_the_bundle_or_elsewhere(tmp_path: Path):
    bundle = tiny_transformer(tmp_path / "b")
    beside = export_bundle(bundle, "ctranslate2")
    assert beside.folder == tmp_path / "b.exports" / "ctranslate2-float32"
    assert beside.is_new
    assert beside.bytes == sum(path.stat().st_size for path in beside.folder.iterdir())
    assert not export_bundle(bundle.folder, "ctranslate2").is_new
    elsewhere = export_bundle(str(bundle.folder), "ctranslate2", precision="int8", output=tmp_path / "out")
    assert elsewhere.folder == tmp_path / "out"
    assert elsewhere.sizes["model.bin"] < beside.sizes["model.bin"]
    assert elsewhere.bundle_bytes == beside.bundle_bytes > 0


@pytest.mark.parametrize(
    ("to", "precision", "says"),
    [("tensorrt", "int8", "--to must be ctranslate2 or onnx"), ("onnx", "int4", "--precision must be float32 or int8")],
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
