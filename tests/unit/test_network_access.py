"""The network is allowed while one of the blocks that allow it runs."""

from __future__ import annotations

import pytest

from dragoman.errors import ConfigError
from dragoman.network_access import check_online, is_network_allowed, network_access


def test_blocks_that_end_in_another_order_than_they_began():
    assert not is_network_allowed()
    first, second = network_access(True), network_access(False)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not is_network_allowed(), "the block that allowed it has ended"
    second.__exit__(None, None, None)
    assert not is_network_allowed()


def test_a_block_that_does_not_need_the_network_leaves_it_to_another_one():
    with network_access(True), network_access(False):
        assert is_network_allowed()
    assert not is_network_allowed()


@pytest.mark.parametrize(("value", "is_allowed"), [("1", False), ("yes", False), ("0", True), ("", True), ("No", True)])
def test_the_environment_forbids_the_network(value: str, is_allowed: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DRAGOMAN_OFFLINE", value)
    with network_access(True):
        assert is_network_allowed() == is_allowed
    if is_allowed:
        check_online("https://a.example")
    else:
        with pytest.raises(ConfigError, match="needs the network, which DRAGOMAN_OFFLINE forbids"):
            check_online("https://a.example")
