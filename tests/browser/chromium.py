"""Drive Chromium in tests: open a page, run the steps of a test, and return the results.

A file is opened without any network; a page of a server may reach that server, and nothing else.
"""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@dataclass(frozen=True)
class Seen:
    """The result of a visit: the result of its steps, forbidden network requests, and what it
    complained about.

    `milliseconds` is the time until the page was loaded, its script included.
    """

    result: Any
    requests: list[str]
    complaints: list[str]
    milliseconds: float


def missing() -> str:
    """What is not installed here that the tests need; empty where all is there."""
    if not executable():
        return "no Chromium here: install it, or set DRAGOMAN_CHROMIUM to its path"
    if not shutil.which("node"):
        return "no node here: Chromium is driven by it"
    if not all((HERE / "node_modules" / name).is_dir() for name in ("playwright-core", "axe-core")):
        return "no playwright-core and axe-core here: npm ci --prefix tests/browser"
    return ""


def executable() -> str | None:
    """The browser's path, if there is one."""
    return os.environ.get("DRAGOMAN_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    """A browser with a profile of its own, that stays open from one visit to the next."""

    def __init__(self) -> None:
        path = executable()
        assert path is not None, missing()
        self._driver = subprocess.Popen(
            ["node", str(HERE / "drive.mjs"), path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )
        self.version = self._read()["version"]

    def visit(
        self,
        page: str | Path,
        steps: str = "",
        *,
        width: int = 1200,
        height: int = 900,
        dark: bool = False,
        scripting: bool = True,
        touch: bool = False,
        language: str = "en",
    ) -> Seen:
        """Open a page and run `steps`: the body of an async JavaScript function of Playwright's `page`.

        The page is a file, or the http address of a server on this machine. `requests` of the result are those that
        were not let through. `language` is that of the browser.

        ``accessibility(page)`` is available too: it returns the violations that axe finds, one line each.
        Each visit is a new context: nothing is kept from the one before.
        """
        job = {
            "url": page if str(page).startswith("http://") else Path(page).resolve().as_uri(),
            "steps": steps,
            "width": width,
            "height": height,
            "dark": dark,
            "scripting": scripting,
            "touch": touch,
            "language": language,
        }
        assert self._driver.stdin is not None
        self._driver.stdin.write(json.dumps(job) + "\n")
        self._driver.stdin.flush()
        answer = self._read()
        if "failure" in answer:
            raise AssertionError(f"{answer['failure']}\ncomplaints of the page: {answer['complaints']}")
        return Seen(answer["result"], answer["requests"], answer["complaints"], answer["milliseconds"])

    def opening(self, page: str | Path, *, visits: int = 2) -> float:
        """The least milliseconds until a page was there, of some visits."""
        return min(self.visit(page).milliseconds for _ in range(visits))

    def close(self) -> None:
        """End the browser and its driver."""
        assert self._driver.stdin is not None
        assert self._driver.stdout is not None
        self._driver.stdin.close()
        try:
            self._driver.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._driver.kill()
            self._driver.wait()
        self._driver.stdout.close()

    def _read(self) -> dict[str, Any]:
        assert self._driver.stdout is not None
        line = self._driver.stdout.readline()
        if not line:
            raise AssertionError(f"the driver of Chromium ended with {self._driver.wait()}; see its stderr")
        answer: dict[str, Any] = json.loads(line)
        return answer


def plain_page(folder: Path, size: int) -> Path:
    """A page of this many bytes in short paragraphs: the reference for timings on the same machine."""
    path, paragraph = folder / "plain.html", "<p>some words to lay out</p>\n"
    path.write_text("<!DOCTYPE html><title>plain</title>\n" + paragraph * (size // len(paragraph)), encoding="utf-8")
    return path
