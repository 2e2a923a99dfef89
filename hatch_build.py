"""Build hook of hatchling: a source distribution must contain the web page, and a wheel without it is reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_PAGE = Path("src/dragoman/server/static/index.html")
_REMEDY = "run npm ci and npm run build in web, then build again"


class PageHook(BuildHookInterface[Any]):
    """Check that the web page was built before the distribution.

    A release has both distributions, and the wheel is built from the source distribution, so a release without the page
    fails. `pip install .` in a clone without Node builds only a wheel: it is allowed, and the server describes how to
    build the page.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Raise an error for a source distribution without the page, and for a wheel that is built from one."""
        if version == "editable" or (Path(self.root) / _PAGE).is_file():
            return
        message = f"the web page must be in {_PAGE.parent}, got no {_PAGE.name}; {_REMEDY}"
        is_release = self.target_name == "sdist" or (Path(self.root) / "PKG-INFO").is_file()
        if is_release:
            raise FileNotFoundError(message)
        self.app.display_warning(message)
