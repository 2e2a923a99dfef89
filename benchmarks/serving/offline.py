"""Engine without a server: a process that opens a bundle like the server and translates lines of standard input.

A line is a JSON object: `texts`, and `group`, the number of texts per call (0 is all). The reply is one line:
wall-clock and CPU seconds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.serving.process import ROOT
from dragoman.api.translation.translator import Translator
from dragoman.config.search import SearchSettings


class Offline:
    """Client of the engine process."""

    def __init__(self, bundle: Path, *, threads: int, beam: int, tokens: int, engine: str, precision: str) -> None:
        command = [sys.executable, "-m", "benchmarks.serving.offline", str(bundle), "--threads", str(threads)]
        command += ["--beam", str(beam), "--tokens", str(tokens), "--engine", engine, "--precision", precision]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, encoding="utf-8"
        )
        self.why = str(self._answer()["why"])

    def translate(self, texts: Sequence[str], group: int = 0) -> dict[str, Any]:
        """Translate texts; returns `seconds`, `cpu` and `translations`."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"texts": list(texts), "group": group}) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the engine process must run, got exit code {self.process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("bundle", type=Path)
    options.add_argument("--threads", type=int, required=True)
    options.add_argument("--beam", type=int, required=True)
    options.add_argument("--tokens", type=int, required=True)
    options.add_argument("--engine", required=True)
    options.add_argument("--precision", required=True)
    given = options.parse_args()
    translator = Translator.open(
        given.bundle,
        engine=given.engine,
        precision=given.precision,
        threads=given.threads,
        search=SearchSettings(beam=given.beam),
        batch_tokens=given.tokens,
    )
    print(json.dumps({"why": translator.engine_reason}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        texts, group = request["texts"], request["group"] or len(request["texts"])
        began, computed = time.perf_counter(), time.process_time()
        found = []
        for place in range(0, len(texts), group):
            found += translator.translate(texts[place : place + group], split_sentences=True)
        seconds, cpu = time.perf_counter() - began, time.process_time() - computed
        answer = {"seconds": seconds, "cpu": cpu, "translations": [each.text for each in found]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
