"""The browser, one for all tests of a worker; they are skipped where it cannot run.

With ``DRAGOMAN_BROWSER=required`` they fail there instead: nothing is green that was not looked at.
"""

import os
from collections.abc import Iterator

import pytest

from tests.browser.chromium import Chromium, missing


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """An open browser."""
    if reason := missing():
        if os.environ.get("DRAGOMAN_BROWSER") == "required":
            pytest.fail(reason)
        pytest.skip(reason)
    browser = Chromium()
    yield browser
    browser.close()
