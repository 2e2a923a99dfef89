"""Limit torch to one thread, so that results do not depend on the number of cores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["single_thread"]


@contextmanager
def single_thread(*, deterministic: bool = False) -> Iterator[None]:
    """Use one thread, so that the order of sums does not depend on the number of cores.

    With `deterministic`, a GPU uses only kernels whose sums have a fixed order.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    if deterministic:
        torch.use_deterministic_algorithms(torch.cuda.is_available())
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        if deterministic:
            torch.use_deterministic_algorithms(False)
