from __future__ import annotations

import io

import pytest
from rich.console import Console

from tests.unit.cli.clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def log() -> Console:
    return Console(file=io.StringIO(), force_terminal=False, width=80)
