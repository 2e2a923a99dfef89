"""Start Ray on this machine, or connect to a running cluster.

Ray executes the code of every client that can reach it, so a client has to set its token, or state that there is none;
the dashboard is not started. Ray reads the token when it is imported: this module must not import it at its top.
"""

import logging
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dragoman.environment import require
from dragoman.errors import ConfigError

_LOCAL = "ray"
_CLIENT = "ray://"
_MODE, _TOKEN, _TOKEN_PATH = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"
_SHORT_FOLDER = "/tmp"  # noqa: S108 -- only for a private folder with a random name
_OBJECT_STORE = 256 << 20  # bytes: blocks of text are small, and Ray's default is 30 % of the memory


def check_address(address: str) -> None:
    """Raise `ConfigError` for an address that is not one of Ray, or a cluster without a token."""
    if address != _LOCAL and not (address.startswith(_CLIENT) and len(address) > len(_CLIENT)):
        raise ConfigError(f"--on must be ray or ray://HOST:PORT, got {address!r}; leave it out to use this process")
    mode = os.environ.get(_MODE) or ("token" if is_started_here(address) else "")
    if mode not in ("token", "disabled"):
        raise ConfigError(
            f"{_MODE} must be token or disabled{f', got {mode}' if mode else ''}; set {_MODE}=token and {_TOKEN_PATH} "
            "as on the cluster, or disabled for a cluster that no other person can reach"
        )


def is_started_here(address: str) -> bool:
    """Return whether an address is a new Ray on this machine."""
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
    os.environ.setdefault("RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S", "60")  # 5 by default; too short on a busy machine
    is_new = is_started_here(address)
    if is_new and not os.environ.get(_MODE):
        os.environ[_MODE] = "token"
        if not os.environ.get(_TOKEN) and not os.environ.get(_TOKEN_PATH):
            os.environ[_TOKEN] = secrets.token_hex(32)
    import ray  # noqa: PLC0415 -- Ray reads the environment when it is imported

    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    private: str | None = None
    if is_new:  # an address: without one, Ray also looks for a cluster that another user has started
        options |= {"address": "local", "num_cpus": processors, "include_dashboard": False}
        options["object_store_memory"] = _OBJECT_STORE
        # Ray opens its folder and its sockets to every user of the machine; the parent folder is private. Names of
        # sockets are limited to about 100 characters, so it is not in a longer folder for temporary files.
        private = tempfile.mkdtemp(prefix="ray-", dir=_SHORT_FOLDER if Path(_SHORT_FOLDER).is_dir() else None)
        options["_temp_dir"] = str(Path(private) / "ray")
    elif address != _LOCAL:
        options["address"] = address
    try:
        ray.init(**options)
    except (ray.exceptions.RayError, ConnectionError, RuntimeError, ValueError) as error:
        reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise ConfigError(
            f"{address} must be a Ray that can be used, got: {reason}; check its address, token and version"
        ) from None
    try:
        yield
    finally:
        ray.shutdown()
        if private is not None:
            shutil.rmtree(private, ignore_errors=True)
