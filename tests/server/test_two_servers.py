"""Two server processes with one PostgreSQL: they share what is stored, and a killed one takes nothing with it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tests.server.bundles import tiny_bundle

pytestmark = pytest.mark.slow

PAIR = {"source_lang": "en", "target_lang": "de"}
GLOSSARY = {"name": "Winter", **PAIR, "entries": "snow\tSchnee", "entries_format": "tsv"}


class Server:
    """A process of `dragoman serve`."""

    def __init__(self, bundle: Path, url: str, log: Path) -> None:
        command = [
            sys.executable,
            "-m",
            "dragoman",
            "serve",
            str(bundle),
            "--port",
            "0",
            "--threads",
            "1",
            "--beam",
            "1",
        ]
        self.log = log
        with log.open("w") as output:
            self.process = subprocess.Popen([*command, "--database", url], stderr=output)

    @property
    def url(self) -> str:
        end = time.monotonic() + 120
        while not (found := re.search(r"^serving (http://\S+)$", self.log.read_text(), re.MULTILINE)):
            assert (self.process.poll(), time.monotonic() < end) == (None, True), self.log.read_text()
            time.sleep(0.1)
        return found[1]


def test_two_servers_share_what_is_stored(postgresql: str, tmp_path: Path) -> None:
    bundle = tiny_bundle(tmp_path / "tiny", "en", "de")
    started = [Server(bundle, postgresql, tmp_path / name) for name in ("first", "second")]
    try:
        with (
            httpx.Client(base_url=started[0].url, timeout=60) as one,
            httpx.Client(base_url=started[1].url, timeout=60) as two,
        ):
            made = one.post("/v2/glossaries", json=GLOSSARY).json()["glossary_id"]
            body = {"text": ["a snow b"], "glossary_id": made, **PAIR}
            assert "Schnee" in two.post("/v2/translate", json=body).json()["translations"][0]["text"]
            correction = {"source_text": "a b c", "text": "x y z", "source": "en", "target": "de"}
            assert one.post("/v1/corrections", json=correction).json()["state"] == "approved"
            assert (
                two.post("/translate", json={"q": "a b c", "source": "en", "target": "de"}).json()["translatedText"]
                == "x y z"
            )
            handle = one.post("/v2/document", data=PAIR, files={"file": ("a.txt", b"a b c")}).json()
            where, key = f"/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}
            while two.post(where, json=key).json()["status"] == "translating":
                time.sleep(0.1)
            link = one.post(
                "/translate_file", data={"source": "en", "target": "de"}, files={"file": ("a.txt", b"a b c")}
            )
            path = httpx.URL(link.json()["translatedFileUrl"]).path
            counts = [each.get("/v2/usage").json()["character_count"] for each in (one, two)]
            assert counts[1] == 8 + 5 + 5 + 5  # of both
            os.kill(started[0].process.pid, signal.SIGKILL)
            started[0].process.wait(10)
            assert two.post(f"{where}/result", json=key).text == "x y z"
            assert two.get(path).text == "x y z"
            assert [each["glossary_id"] for each in two.get("/v3/glossaries").json()["glossaries"]] == [made]
            assert two.get("/v2/usage").json()["character_count"] == counts[1]
    finally:
        for each in started:
            each.process.kill()
            each.process.wait(30)
