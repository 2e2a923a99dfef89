"""Addresses of clusters, and the token without which none is used."""

from __future__ import annotations

import pytest

from dragoman import environment
from dragoman.cluster.ray_session import check_address, ray_session
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
    with pytest.raises(ConfigError, match="RAY_AUTH_MODE must be token or disabled, got none"):
        check_address("ray://head:10001")
    monkeypatch.setenv("RAY_ADDRESS", "head:6379")
    with pytest.raises(ConfigError, match="RAY_AUTH_MODE must be token or disabled, got none"):
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
