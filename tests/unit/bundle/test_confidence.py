"""The confidence of a bundle: written with the other files, read again, and refused if it is hostile."""

import json
import shutil
from pathlib import Path

import pytest

from dragoman.bundle import Bundle
from dragoman.bundle.bundle import CONFIDENCE, write_calibration
from dragoman.bundle.confidence import Calibration
from dragoman.bundle.verified_folder import write_verified
from dragoman.errors import BundleError

FITTED = Calibration(
    means=(-0.1, 3.0, 0.0, 0.0), scales=(0.1, 1.0, 1.0, 1.0), weights=(1.0, 0.0, 0.0, -4.0), bias=2.0, usable=50.0,
    sentences=1000,
)  # fmt: skip


def contents(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir() if each.name not in {CONFIDENCE, "manifest.json"}}


def test_a_bundle_keeps_the_calibration_of_each_direction(bundle: Bundle):
    before = contents(bundle.folder)
    assert bundle.calibrations() == {}
    first = write_calibration(bundle, "en-de", FITTED)
    other = FITTED.model_copy(update={"bias": 1.0})
    found = write_calibration(first, "de-en", other)
    assert Bundle.open(found.folder, verify_again=True).calibrations() == {"en-de": FITTED, "de-en": other}
    assert contents(found.folder) == before
    assert found.digest != bundle.digest
    assert [each.name for each in found.folder.parent.iterdir()] == [found.folder.name]


def test_a_write_that_fails_leaves_the_bundle(bundle: Bundle, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(OSError, match="No space"):
        write_calibration(bundle, "en-de", FITTED)
    monkeypatch.undo()
    assert Bundle.open(bundle.folder, verify_again=True).digest == bundle.digest


def test_a_damaged_file_is_not_given_a_new_hash(bundle: Bundle):
    weights = bundle.folder / "weights.safetensors"
    weights.write_bytes(bytes([weights.read_bytes()[0] ^ 1]) + weights.read_bytes()[1:])
    with pytest.raises(BundleError, match="has other content than its manifest states"):
        write_calibration(bundle, "en-de", FITTED)
    assert not (bundle.folder / CONFIDENCE).exists()


def hostile(**changed: object) -> str:
    value = {"format": "dragoman-confidence-1", "directions": {"en-de": FITTED.model_dump() | changed}}
    return json.dumps(value)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "its content"),
        ("[" * 100_000, "its content"),
        ("{}", "'directions': Field required"),
        ('{"format": "x", "directions": {}}', "'format'"),
        (hostile(bias=float("nan")), "bias"),
        (hostile(bias=float("inf")), "bias"),
        (hostile(bias=1e300), "bias"),
        (hostile(bias="2"), "bias"),
        (hostile(scales=[0.0, 1.0, 1.0, 1.0]), "must be at least 1e-06"),
        (hostile(weights=[1.0] * 3), "weights"),
        (hostile(weights=[1.0] * 5000), "weights"),
        (hostile(code="import os"), "code"),
        (hostile(usable=0.0), "usable"),
        (json.dumps({"directions": {"e\x1b" * 200: FITTED.model_dump()}}), "at most 100 characters"),
        (" " * (1 << 18) + hostile(), "must have at most 262,144 bytes"),
    ],
)
def test_hostile_files_are_refused_with_one_line(bundle: Bundle, content: str, complaint: str):
    files = contents(bundle.folder)
    with write_verified(bundle.folder) as draft:
        for name, data in (files | {CONFIDENCE: content.encode()}).items():
            (draft / name).write_bytes(data)
    with pytest.raises(BundleError) as raised:
        Bundle.open(bundle.folder)
    message = str(raised.value)
    assert complaint in message
    assert CONFIDENCE in message
    assert message.isprintable()
    assert len(message) < 400 + len(str(bundle.folder))
