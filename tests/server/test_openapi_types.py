"""The web page's copy of the OpenAPI description matches the server."""

from __future__ import annotations

import runpy
from pathlib import Path

WEB = Path(__file__).resolve().parents[2] / "web"


def test_openapi_file_of_the_web_page_is_current() -> None:
    current = runpy.run_path(str(WEB / "scripts" / "openapi.py"))["openapi_text"]()
    committed = (WEB / "openapi.json").read_text(encoding="utf-8")
    assert committed == current, "web/openapi.json must match the server; run `npm run openapi` in web/"
