"""Run the cases of `test_killed_workers` in a process of their own: Ray reads its environment when it is imported."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from dragoman.cluster.ray_session import ray_session
from tests.unit.cluster import pool_cases, prepare_cases, train_cases


def main() -> None:
    work, found = Path(sys.argv[1]), dict[str, Any]()
    with ray_session("ray", processors=2):  # once: a start takes seconds
        for module in (pool_cases, prepare_cases, train_cases):
            folder = work / module.__name__.rpartition(".")[2]
            folder.mkdir()
            found[folder.name] = module.found(folder, is_long=False)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
