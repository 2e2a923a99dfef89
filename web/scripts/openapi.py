"""Write the server's OpenAPI description to `web/openapi.json`; no model is loaded.

`npm run openapi` runs this script and then generates `src/lib/openapi.ts`.
"""

# ruff: noqa: INP001 -- a script, not a package

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dragoman.server.app import create_app
from dragoman.server.settings import ServerSettings

__all__ = ["OPENAPI_FILE", "openapi_text"]

OPENAPI_FILE = Path(__file__).resolve().parents[1] / "openapi.json"


def openapi_text() -> str:
    """The description as JSON text, without the release number: a release alone must not change the file."""
    no_service: Any = None  # describing the routes does not call the translation service
    description = create_app(no_service, ServerSettings()).openapi()
    description["info"]["version"] = "0"
    return json.dumps(description, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    OPENAPI_FILE.write_text(openapi_text(), encoding="utf-8")
