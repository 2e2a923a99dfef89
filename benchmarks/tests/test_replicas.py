"""Two servers behind nginx: no request fails or is answered twice, and without retries some fail."""

import shutil
from pathlib import Path

import pytest

from benchmarks import replicas
from benchmarks.serving_campaign.environment import Environment


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Environment(tmp_path_factory.mktemp("replicas"), is_small=True).bundle()


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("nginx"), reason="no nginx here")
def test_a_kill_and_a_drain_lose_no_request(bundle: Path):
    found = replicas.run(bundle, seconds=1.0, clients=3)
    assert [phase["requests"] > 0 for phase in found["phases"]] == [True] * 5
    assert {name: replicas.total(found, name) for name in ("failed", "doubled", "wrong")} == {
        "failed": 0,
        "doubled": 0,
        "wrong": 0,
    }, found["phases"]
    assert found["retried"] > 0
    assert found["exit_code"] == 0


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("nginx"), reason="no nginx here")
def test_without_retries_requests_fail(bundle: Path):
    """Control."""
    found = replicas.run(bundle, seconds=1.0, clients=3, retries=False)
    assert found["phases"][-1]["failed"] > 0


def test_the_deployed_file_is_used(tmp_path: Path):
    config = replicas.nginx_config(tmp_path, 8080, [1, 2], retries=True)
    assert "server 127.0.0.1:1 max_fails=0;" in config
    assert "listen 127.0.0.1:8080;" in config
    assert "ssl" not in config
