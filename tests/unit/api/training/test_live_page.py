"""The live page of a training run: served on this machine while it trains, then kept as the report."""

from __future__ import annotations

import socket
from pathlib import Path

import httpx
import pytest

from dragoman.api.training.live_page import LivePage
from dragoman.run_files import REPORT
from dragoman.training.callbacks.events import CallbackList, StepEvent, ValidationEvent
from testkit.tiny_project import tiny_training, train_tiny
from tests.unit.inspection.pages.training_runs import write_run

QUICK = ("training.max_updates=6", "training.validate_every=3", "training.log_every=2", "training.checkpoint_every=3")


class Visitor(CallbackList):
    """Requests the page from within the training."""

    def __init__(self, page: LivePage) -> None:
        super().__init__()
        self.page = page
        self.seen: list[str] = []

    def on_update(self, event: StepEvent) -> None:
        self._visit()

    def on_validation_end(self, event: ValidationEvent) -> None:
        self._visit()

    def _visit(self) -> None:
        self.page._rendered = -10.0  # as if it had not been requested just now
        self.seen.append(httpx.get(self.page.address, timeout=60).text)


def test_a_training_shows_itself_and_leaves_its_report(tmp_path: Path):
    run = tmp_path / "run"
    with LivePage(run) as page:
        visitor = Visitor(page)
        trained = train_tiny(tiny_training("luong2015-desk", *QUICK), run, callbacks=[page, visitor])
        page.finish(trained)
        address = page.address
    assert len(visitor.seen) == 8
    assert all('data-state="running"' in each for each in visitor.seen)
    assert "<b>" not in visitor.seen[0]
    assert ">6<small>of 6" in visitor.seen[-1]
    assert 'class="map"' in visitor.seen[-1]  # the samples of the validation, with their alignment
    report = (run / REPORT).read_text(encoding="utf-8")
    assert 'data-state="ended"' in report
    assert "Training is complete" in report
    assert "Held-out sets" in report
    with pytest.raises(httpx.ConnectError):
        httpx.get(address)


def test_the_weights_are_the_same_with_a_page(tmp_path: Path):
    config = tiny_training("luong2015-desk", *QUICK)
    plain = train_tiny(config, tmp_path / "plain")
    with LivePage(tmp_path / "run") as page:
        shown = train_tiny(config, tmp_path / "run", callbacks=[page, Visitor(page)])
    assert plain.bundle is not None
    assert shown.bundle is not None
    weights = [each.bundle.weights() for each in (plain, shown) if each.bundle is not None]
    assert all((weights[0][name] == weights[1][name]).all() for name in weights[0])


def test_only_this_machine_reaches_the_page_and_only_by_its_name(tmp_path: Path):
    with LivePage(write_run(tmp_path / "run")) as page:
        port = int(page.address.rpartition(":")[2].strip("/"))
        assert page._server.server_address[0] == "127.0.0.1"
        assert httpx.get(page.address, timeout=60).status_code == 200
        assert httpx.get(f"http://localhost:{port}/", timeout=60).status_code == 200
        assert httpx.get(page.address, headers={"host": "evil.example"}, timeout=60).status_code == 421
        for path in ("log.jsonl", "../run.json", "dragoman.toml"):
            assert httpx.get(page.address + path, timeout=60).status_code == 404
        assert httpx.post(page.address, timeout=60).status_code == 501
        with socket.create_connection(("127.0.0.1", port)) as silent:
            silent.sendall(b"nonsense\r\n\r\n")
            assert httpx.get(page.address, timeout=60).status_code == 200
