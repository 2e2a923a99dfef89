"""The browser, one for all tests of a worker; they are skipped where it cannot run."""

from collections.abc import Iterator

import pytest

from tests.browser.chromium import Chromium, missing


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """An open browser."""
    if reason := missing():
        pytest.skip(reason)
    browser = Chromium()
    yield browser
    browser.close()
