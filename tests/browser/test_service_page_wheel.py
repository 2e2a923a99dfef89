"""The wheel has the page: built, installed in an environment of its own, and served where no Node is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import httpx
import pytest

from tests.browser.page_steps import ENGLISH, GERMAN
from tests.browser.served import served

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def installed(page_is_built: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel; what it depends on is lent by the one that runs the tests."""
    pytest.importorskip("hatchling", reason="no hatchling here: the wheel is built with it")
    room = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    _run(*pip, "wheel", str(ROOT), "--no-deps", "--no-build-isolation", "--wheel-dir", str(room))
    (wheel,) = room.glob("dragoman_nmt-*.whl")
    environment = room / "environment"
    _run(sys.executable, "-m", "venv", "--without-pip", str(environment))
    python = environment / "bin" / "python"
    _run(*pip, "--python", str(python), "install", "--no-deps", "--no-index", str(wheel))
    (site,) = (environment / "lib").glob("python*/site-packages")
    # A plain line is a folder to look in: the .pth files there, an editable install's among them, are not read.
    (site / "lent.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    return environment


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8", cwd=Path(sys.prefix)).stdout


@pytest.mark.slow
def test_an_installed_wheel_serves_the_page_without_node(installed: Path, toys: dict[str, Path]):
    where = "import dragoman; print(dragoman.__file__)"
    assert _run(str(installed / "bin" / "python"), "-c", where).startswith(str(installed))
    environment = {"PATH": str(installed / "bin"), "PYTHONPATH": "", "HOME": os.environ.get("HOME", "/")}
    command = [str(installed / "bin" / "dragoman")]
    with served({"turner": toys["turner"]}, "--threads", "1", command=command, environment=environment) as address:
        page = httpx.get(address)
        assert "text/html" in page.headers["content-type"]
        assets = re.findall(r'(?:src|href)="\./([^"]+)"', page.text)
        assert {Path(name).suffix for name in assets} == {".js", ".css", ".svg"}
        for name in assets:
            answer = httpx.get(f"{address}/{name}").raise_for_status()
            assert answer.headers.get("content-encoding") in ("br", "gzip"), name
            assert answer.text
        asked = {"text": ENGLISH, "source": "en", "target": "de"}
        answer = httpx.post(f"{address}/v1/translate", json=asked).raise_for_status()
    assert [each["text"] for each in answer.json()["translations"]] == [GERMAN]
