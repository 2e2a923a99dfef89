"""Addresses of clusters, and the token without which none is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman import environment
from dragoman.cluster.ray_session import check_address, ray_session
from dragoman.environment import is_installed
from dragoman.errors import ConfigError, MissingExtraError


@pytest.fixture(autouse=True)
def _no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RAY_ADDRESS", "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("address", ["", "rayon", "ray:", "ray://", "http://host", "host:6379"])
def test_other_addresses_are_refused(address: str) -> None:
    with pytest.raises(ConfigError, match=r"^--on must be ray or ray://HOST:PORT"):
        check_address(address)


def test_a_cluster_must_have_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    check_address("ray")
    with pytest.raises(ConfigError, match="RAY_AUTH_MODE must be token or disabled; set"):
        check_address("ray://head:10001")
    monkeypatch.setenv("RAY_ADDRESS", "head:6379")
    with pytest.raises(ConfigError, match="RAY_AUTH_MODE must be token or disabled; set"):
        check_address("ray")
    monkeypatch.setenv("RAY_AUTH_MODE", "k8s")
    with pytest.raises(ConfigError, match="got k8s"):
        check_address("ray")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    check_address("ray")
    check_address("ray://head:10001")


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "is_installed", lambda name: False)
    with pytest.raises(MissingExtraError, match=r'pip install ".+\[cluster\]"'), ray_session("ray", processors=1):
        pass


@pytest.mark.skipif(not is_installed("ray"), reason="needs the extra cluster")
def test_the_folder_of_a_new_ray_is_private_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    seen: dict[str, Any] = {}

    def init(**options: Any) -> None:
        seen.update(options, mode=Path(options["_temp_dir"]).parent.stat().st_mode & 0o777)

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(ray, "init", init)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    with ray_session("ray", processors=1):
        assert seen["mode"] == 0o700
        assert len(seen["_temp_dir"]) < 30, "names of sockets are limited"
    assert not Path(seen["_temp_dir"]).parent.exists()


@pytest.mark.parametrize("module", ["ray_session", "line_translator"])
def test_ray_is_imported_after_the_token_is_set(module: str):
    """Ray reads the token when it is imported; with an earlier import, its own processes are refused."""
    code = f"import sys, dragoman.cluster.{module}; sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
