"""The web page's copy of the OpenAPI description matches the server."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

from dragoman.evaluation.quality_flags import FLAGS

WEB = Path(__file__).resolve().parents[2] / "web"


def test_openapi_file_of_the_web_page_is_current() -> None:
    current = runpy.run_path(str(WEB / "scripts" / "openapi.py"))["openapi_text"]()
    committed = (WEB / "openapi.json").read_text(encoding="utf-8")
    assert committed == current, "web/openapi.json must match the server; run `npm run openapi` in web/"


def test_the_web_page_has_a_name_for_every_flag() -> None:
    messages = (WEB / "src" / "lib" / "messages" / "en.ts").read_text(encoding="utf-8")
    (names,) = re.findall(r"flagNames: \{(.*?)\}", messages, re.DOTALL)
    assert set(re.findall(r"^\s+'?([\w-]+)'?:", names, re.MULTILINE)) == FLAGS.keys()
