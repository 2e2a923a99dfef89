"""Model names from folders and languages."""

from pathlib import Path

import pytest

from dragoman.errors import BundleError, ConfigError
from dragoman.server.models.model_names import name_bundles
from tests.server.bundles import tiny_bundle


def test_names_come_from_folders_and_languages(tmp_path: Path):
    runs = [
        tiny_bundle(tmp_path / "luong" / "run" / "bundle", "en", "de"),
        tiny_bundle(tmp_path / "en_de-small" / "bundle", "en", "de"),
        tiny_bundle(tmp_path / "other" / "luong" / "bundle", "en", "de"),
        tiny_bundle(tmp_path / "a b", "de", "en"),
    ]
    assert list(name_bundles(runs).items()) == list(
        zip(["luong-en-de", "en_de-small", "luong-en-de-2", "a-b-de-en"], runs, strict=True)
    )


def test_names_may_be_given(tmp_path: Path):
    assert name_bundles([f"best={tmp_path}/x"]) == {"best": tmp_path / "x"}
    with pytest.raises(ConfigError, match="different names, got 'a' twice"):
        name_bundles(["a=x", "a=y"])
    with pytest.raises(ConfigError, match="PATH or NAME=PATH"):
        name_bundles(["a b=x"])


def test_what_is_no_bundle_has_no_name(tmp_path: Path):
    with pytest.raises(BundleError):
        name_bundles([tmp_path])
