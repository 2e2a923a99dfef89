"""Start Ray on this machine, or connect to a running cluster.

Ray executes the code of every client that can reach it, so a cluster is used with its token authentication only, and
the dashboard is not started.
"""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from dragoman.environment import require
from dragoman.errors import ConfigError

__all__ = ["check_address", "ray_session"]

_LOCAL = "ray"
_CLIENT = "ray://"
_MODE, _TOKEN, _TOKEN_PATH = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"
_OBJECT_STORE = 256 << 20  # bytes: blocks of text are small, and Ray's default is 30 % of the memory


def check_address(address: str) -> None:
    """Raise `ConfigError` for an address that is not one of Ray, or a cluster without a token."""
    if address != _LOCAL and not (address.startswith(_CLIENT) and len(address) > len(_CLIENT)):
        raise ConfigError(f"on must be ray or ray://HOST:PORT, got {address!r}; leave it out to use this process")
    if not _is_started_here(address) and not os.environ.get(_MODE):
        raise ConfigError(
            f"a cluster must be used with its token, got no {_MODE}; set {_MODE}=token and {_TOKEN_PATH}, or "
            f"{_MODE}=disabled for a cluster that no other person can reach"
        )


def _is_started_here(address: str) -> bool:
    return address == _LOCAL and "RAY_ADDRESS" not in os.environ


@contextmanager
def ray_session(address: str, *, processors: int) -> Iterator[None]:
    """Connect to a cluster; ``ray`` is the cluster of ``RAY_ADDRESS``, or a new Ray on this machine that ends here.

    `processors` is the number of processors of the new Ray.
    """
    require("ray", "cluster", f"--on {address}")
    check_address(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # the default of later versions; no warning
    is_new = _is_started_here(address)
    if is_new and not os.environ.get(_MODE):
        os.environ[_MODE] = "token"
        if not os.environ.get(_TOKEN) and not os.environ.get(_TOKEN_PATH):
            os.environ[_TOKEN] = secrets.token_hex(32)
    import ray  # noqa: PLC0415 -- Ray reads the environment when it is imported

    if is_new:
        ray.init(
            num_cpus=processors,
            include_dashboard=False,
            object_store_memory=_OBJECT_STORE,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    else:
        ray.init(address=None if address == _LOCAL else address, log_to_driver=False, logging_level=logging.ERROR)
    try:
        yield
    finally:
        ray.shutdown()
