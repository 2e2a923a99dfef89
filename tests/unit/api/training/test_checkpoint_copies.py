"""Copies of checkpoints in a folder and in an S3 server on this machine: complete or not there, and verified."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dragoman.api.training.checked_training import check_training
from dragoman.api.training.checkpoint_copies import CheckpointCopies
from dragoman.api.training.training_run import train_model
from dragoman.bundle.verified_folder import verify
from dragoman.errors import BundleError, ConfigError, DataError
from dragoman.training.checkpoint import CheckpointStore
from testkit.tiny_project import EventRecorder, Killed, tiny_project, tiny_training
from testkit.training_faults.run_differences import weights_hash

CONFIG = tiny_training("luong2015-desk", "training.keep_last=2")
LAST = 12


def train(run: Path, copies: Path | str | None, *, resume: bool = False) -> list[str]:
    recorder = EventRecorder()
    url = None if copies is None else str(copies)
    train_model(
        check_training(CONFIG, tiny_project().folder, run, resume=resume), checkpoint_url=url, callbacks=[recorder]
    )
    return recorder.notes


def copied(copies: Path) -> list[int]:
    return CheckpointCopies(str(copies), CheckpointStore(copies / "none")).steps()


def results(run: Path) -> tuple[str, str]:
    """Hashes of the weights of the last checkpoint and of the bundle."""
    return weights_hash(run), verify(run / "bundle")["files"]["weights.safetensors"]["sha256"]


def kill_at(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """End the process before it copies a file."""
    put = CheckpointCopies._put

    def killed(self: CheckpointCopies, file: Path, target: str) -> None:
        if target.endswith(name):
            raise Killed
        put(self, file, target)

    monkeypatch.setattr(CheckpointCopies, "_put", killed)


def test_copies_are_the_checkpoints_of_the_run(tmp_path: Path):
    train(tmp_path / "run", tmp_path / "copies")
    store = CheckpointStore(tmp_path / "run/checkpoints")
    assert copied(tmp_path / "copies") == store.steps()
    for step in store.steps():
        assert verify(tmp_path / f"copies/step_{step}") == verify(store.folder / f"step_{step}")
    assert len(list((tmp_path / "copies").iterdir())) == len(store.steps()), "older ones are removed"


def test_an_interrupted_copy_is_ignored_and_the_one_before_it_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    train(tmp_path / "whole", None)
    with monkeypatch.context() as killing:
        kill_at(killing, "step_9/optimizer.safetensors")
        with pytest.raises(Killed):
            train(tmp_path / "lost", tmp_path / "copies")
    assert (tmp_path / "copies/step_9/dragoman.toml").is_file()
    assert copied(tmp_path / "copies")[-1] == 6

    notes = train(tmp_path / "other", tmp_path / "copies", resume=True)

    assert f"checkpoints downloaded from {tmp_path}/copies, the newest of update 6" in notes
    assert results(tmp_path / "other") == results(tmp_path / "whole")
    assert copied(tmp_path / "copies")[-1] == LAST


def test_a_copy_that_is_not_complete_would_be_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Control: with the manifest first, an interrupted copy looks complete, and resuming from it fails."""
    upload = CheckpointCopies._upload

    def manifest_first(self: CheckpointCopies, step: int, *, is_replaced: bool) -> None:
        self._put(self._store.folder / f"step_{step}/manifest.json", self._name(step, "manifest.json"))
        upload(self, step, is_replaced=False)

    with monkeypatch.context() as killing:
        killing.setattr(CheckpointCopies, "_upload", manifest_first)
        kill_at(killing, "step_9/optimizer.safetensors")
        with pytest.raises(Killed):
            train(tmp_path / "lost", tmp_path / "copies")
    with pytest.raises(BundleError, match=r"step_9/optimizer\.safetensors is missing; remove"):
        train(tmp_path / "other", tmp_path / "copies", resume=True)


def test_a_replaced_copy_loses_its_manifest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    train(tmp_path / "run", tmp_path / "copies")
    copies = CheckpointCopies(str(tmp_path / "copies"), CheckpointStore(tmp_path / "run/checkpoints"))
    changed = tmp_path / f"copies/step_{LAST}/manifest.json"
    changed.write_bytes(changed.read_bytes() + b"\n")
    kill_at(monkeypatch, f"step_{LAST}/optimizer.safetensors")
    with pytest.raises(Killed):
        copies.update()
    assert LAST not in copied(tmp_path / "copies")


@pytest.mark.parametrize("name", ["weights.safetensors", "state.json"])
def test_changed_copies_are_refused(tmp_path: Path, name: str):
    train(tmp_path / "run", tmp_path / "copies")
    path = tmp_path / f"copies/step_{LAST}" / name
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    path.write_bytes(data)
    where = re.escape(f"{tmp_path}/copies/step_{LAST}")
    with pytest.raises(
        BundleError, match=f"^{where}/{name} has other content than its manifest states; remove {where} "
    ):
        train(tmp_path / "other", tmp_path / "copies", resume=True)
    shutil.rmtree(tmp_path / f"copies/step_{LAST}")  # as the message proposes
    train(tmp_path / "other", tmp_path / "copies", resume=True)
    assert results(tmp_path / "other") == results(tmp_path / "run")


def test_copies_of_other_runs_are_neither_used_nor_removed(tmp_path: Path):
    train(tmp_path / "one", tmp_path / "copies")
    with pytest.raises(ConfigError, match=r"copies has checkpoints of another run, the newest step_12; resume it"):
        train(tmp_path / "two", tmp_path / "copies")
    train(tmp_path / "three", None)
    store = CheckpointStore(tmp_path / "three/checkpoints")
    found = store.open(LAST)
    changed = {name: tensor + 1 for name, tensor in found.weights().items()}
    values = {"weights": changed, "optimizer": found.optimizer(), "average": None, "state": found.state}
    store.save(LAST, **values, config=found.config())  # type: ignore[arg-type]
    store.prune(keep_last=1, keep=())
    with pytest.raises(ConfigError, match=r"has the checkpoints of another run than .*three"):
        train(tmp_path / "three", tmp_path / "copies", resume=True)
    assert copied(tmp_path / "copies")[-1] == LAST


def test_a_place_that_cannot_be_written_is_an_error_at_the_start_and_a_message_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"file/copies cannot be (read|written): .*; check the address"):
        train(tmp_path / "one", tmp_path / "file/copies")
    put, calls = CheckpointCopies._put, []

    def failing(self: CheckpointCopies, file: Path, target: str) -> None:
        calls.append(target)
        if target.endswith("step_6/weights.safetensors") and calls.count(target) == 1:
            raise OSError("connection lost")
        put(self, file, target)

    monkeypatch.setattr(CheckpointCopies, "_put", failing)
    notes = train(tmp_path / "two", tmp_path / "copies")
    assert f"step_6 was not copied to {tmp_path}/copies: connection lost; the next one is tried again" in notes
    assert copied(tmp_path / "copies") == CheckpointStore(tmp_path / "two/checkpoints").steps()


def test_the_network_is_used_only_if_it_is_allowed(tmp_path: Path):
    with pytest.raises(DataError, match=r"s3://bucket/run must be a local file unless the network is allowed"):
        train(tmp_path / "run", "s3://bucket/run")
    with pytest.raises(DataError, match=r"must have one of the protocols"):
        train(tmp_path / "run", "reference://bucket/run")


# ------------------------------------------------------------------------------------------------------ with a server

_KILLED = """
import os, signal
from dragoman.api.training.checkpoint_copies import CheckpointCopies
put = CheckpointCopies._put
def killed(self, file, target):
    if target.endswith("step_10/optimizer.safetensors"):
        os.kill(os.getpid(), signal.SIGKILL)
    put(self, file, target)
CheckpointCopies._put = killed
from dragoman.cli.main import main
main()
"""


@dataclass(frozen=True)
class Bucket:
    """A bucket of a server on this machine."""

    address: str

    def request(self, path: str, data: bytes | None = None, method: str = "GET") -> bytes:
        signed = {"Authorization": "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request"}
        request = urllib.request.Request(f"{self.address}/bucket{path}", data=data, method=method, headers=signed)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return bytes(answer.read())

    def names(self) -> set[str]:
        return set(re.findall(r"<Key>(.*?)</Key>", self.request("?list-type=2").decode()))

    def train(self, run: Path, *options: str, code: str = "") -> tuple[int, str]:
        command = [sys.executable, *(["-c", code] if code else ["-m", "dragoman"]), "train", str(tiny_project().config)]
        command += ["--output", str(run), "--set", "training.max_updates=20", "--set", "training.threads=1"]
        environment = {"AWS_ENDPOINT_URL": self.address, "AWS_DEFAULT_REGION": "us-east-1"}
        environment |= {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
        done = subprocess.run(
            [*command, *options], env=os.environ | environment, capture_output=True, text=True, timeout=120, check=False
        )
        return done.returncode, done.stderr


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    for package in ("s3fs", "moto"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"needs {package}: pip install 'moto[server]' s3fs")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        found = Bucket(f"http://127.0.0.1:{port}")
        for _ in range(300):
            try:
                found.request("", b"", "PUT")
                break
            except OSError:
                time.sleep(0.1)
        yield found
    finally:
        server.terminate()
        server.wait(timeout=20)


@pytest.mark.long
def test_s3(bucket: Bucket, tmp_path: Path) -> None:
    copies = ("--checkpoints", "s3://bucket/run", "--allow-network")
    assert bucket.train(tmp_path / "whole")[0] == 0

    code, _ = bucket.train(tmp_path / "lost", *copies, code=_KILLED)
    assert code == -signal.SIGKILL
    assert "run/step_10/dragoman.toml" in bucket.names()
    assert "run/step_10/manifest.json" not in bucket.names()

    code, printed = bucket.train(tmp_path / "other", *copies, "--resume")
    assert code == 0, printed
    assert "checkpoints downloaded from s3://bucket/run, the newest of update 5" in printed
    assert results(tmp_path / "other") == results(tmp_path / "whole")
    assert "run/step_20/manifest.json" in bucket.names()

    bucket.request("/run/step_20/weights.safetensors", b"changed", "PUT")
    code, printed = bucket.train(tmp_path / "third", *copies, "--resume")
    assert code == 1
    assert printed == (
        "error: s3://bucket/run/step_20/weights.safetensors has other content than its manifest states; remove "
        "s3://bucket/run/step_20 to continue from an older checkpoint\n"
    )
    code, printed = bucket.train(tmp_path / "fourth", "--checkpoints", "s3://none/run", "--allow-network")
    assert code == 2
    assert re.match(r"error: s3://none/run cannot be written: .*", printed.splitlines()[-1])
