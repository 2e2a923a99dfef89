"""Environment of processes that start a Ray of their own."""

from __future__ import annotations

import os


def ray_environment() -> dict[str, str]:
    """The environment without settings of Ray, whose workers would starve next to other tests at its priority."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "DRAGOMAN_PORT"))}
    return kept | {"RAY_worker_niceness": "0"}
