"""The browser, and a server with its page, one of each for all tests of a worker; skipped where they cannot run.

With ``DRAGOMAN_BROWSER=required`` they fail instead.
"""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.server.routes.static_files import STATIC
from tests.browser.chromium import Chromium, missing
from tests.browser.served import PATIENT, served
from tests.browser.toy_translators import toy_translator

NOT_BUILT = "the page is not built here: .ci/checks web"


def needed(reason: str) -> None:
    """Skip, or fail if a browser is required, for this reason; None does nothing."""
    if reason and os.environ.get("DRAGOMAN_BROWSER") == "required":
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """An open browser."""
    needed(missing())
    browser = Chromium()
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def page_is_built() -> None:
    needed("" if (STATIC / "index.html").is_file() else NOT_BUILT)


@pytest.fixture(scope="session")
def toys(page_is_built: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two models from English to German, of which the second has learnt little, and one back; made by one worker."""
    is_alone = "PYTEST_XDIST_WORKER" not in os.environ
    base = tmp_path_factory.getbasetemp()
    room = (base if is_alone else base.parent) / "toys"
    room.mkdir(exist_ok=True)
    made = {"turner": ("en", "de", 400), "beginner": ("en", "de", 30), "back": ("de", "en", 400)}
    with (room / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name, (source, target, updates) in made.items():
            if not (room / name).exists():
                toy_translator(room / name, source, target, updates=updates)
    return {name: room / name for name in made}


@pytest.fixture(scope="session")
def service(toys: dict[str, Path]) -> Iterator[str]:
    """The address of a server; it searches greedily and step by step, so that text comes word by word."""
    with served(toys, "--incremental", "--beam", "1", "--threads", "1", *PATIENT) as address:
        yield address
