"""Pictures of pages at the width of a desktop and of a phone, by the Chromium driver of the browser tests."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image

from benchmarks.walkthrough.environments import ROOT

WIDTHS = {1280: 800, 390: 844}
MOST_BYTES = 120_000
_BROWSER = ROOT / "tests" / "browser"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str:
    """The path of Chromium; empty if it or its driver is not installed."""
    path = os.environ.get("DRAGOMAN_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), "")
    return path if shutil.which("node") and (_BROWSER / "node_modules" / "playwright-core").is_dir() else ""


class Camera:
    """Takes pictures; `overflows` lists pages that are wider than their window."""

    def __init__(self, driver: subprocess.Popen[str]) -> None:
        self._driver = driver
        self.faults: list[str] = []

    def take(self, page: str, name: str, folder: Path, *, text: str = "") -> list[str]:
        """Take one picture per width and return their names; a server's page first translates `text`."""
        names = []
        for width, height in WIDTHS.items():
            path = folder / f"{name}-{width}.png"
            steps = _TRANSLATE.replace("TEXT", json.dumps(text)) if text else ""
            seen = self._visit(page, f"{steps}{_OVERFLOW.replace('PATH', json.dumps(str(path)))}", width, height)
            self.faults += [f"{name} at {width} pixels: {each}" for each in (*seen["result"], *seen["complaints"])]
            with Image.open(path) as picture:
                picture.convert("RGB").quantize(64, dither=Image.Dither.NONE).save(path, optimize=True)
            assert path.stat().st_size <= MOST_BYTES, f"{path.name} has {path.stat().st_size} bytes"
            names.append(path.name)
        return names

    def _visit(self, page: str, steps: str, width: int, height: int) -> dict[str, Any]:
        job = {"url": page, "steps": steps, "width": width, "height": height, "dark": False, "scripting": True}
        assert self._driver.stdin is not None
        assert self._driver.stdout is not None
        self._driver.stdin.write(json.dumps(job | {"touch": width < 500, "language": "en"}) + "\n")
        self._driver.stdin.flush()
        answer: dict[str, Any] = json.loads(self._driver.stdout.readline())
        if "failure" in answer:
            raise RuntimeError(f"{page}: {answer['failure']}; {answer['complaints']}")
        return answer


_TRANSLATE = """
await page.locator('#text').fill(TEXT);
await page.waitForFunction(() => {
  const output = document.querySelector('.output');
  return output?.matches('[aria-busy=false]:not(.stale)') && output.querySelector('[data-position]');
});
await page.waitForTimeout(300);
"""
_OVERFLOW = """
await page.screenshot({ path: PATH });
const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
return wide > 0 ? [`${wide} pixels wider than the window`] : [];
"""


@contextmanager
def camera() -> Iterator[Camera | None]:
    """Open the browser, if there is one."""
    path = chromium()
    if not path:
        yield None
        return
    pipe = subprocess.PIPE
    driver = subprocess.Popen(["node", str(_BROWSER / "drive.mjs"), path], stdin=pipe, stdout=pipe, encoding="utf-8")
    assert driver.stdin is not None
    assert driver.stdout is not None
    try:
        driver.stdout.readline()  # its version
        yield Camera(driver)
    finally:
        driver.stdin.close()
        try:
            driver.wait(timeout=20)
        except subprocess.TimeoutExpired:
            driver.kill()
            driver.wait()
        driver.stdout.close()
