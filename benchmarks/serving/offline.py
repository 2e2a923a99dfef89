"""The engine by itself: a process that opens a bundle as the server does, and translates what it is asked to.

A line on standard input is a JSON object: `texts`, and `group`, how many of them at a time (0 is all at once). The
answer is one line: the seconds that translating took, of the clock and of computing.
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
from dragoman.api.translator import Translator
from dragoman.search.settings import SearchSettings

__all__ = ["Offline"]


class Offline:
    """The process, from outside."""

    def __init__(self, bundle: Path, *, threads: int, beam: int, pieces: int, engine: str, precision: str) -> None:
        command = [sys.executable, "-m", "benchmarks.serving.offline", str(bundle), "--threads", str(threads)]
        command += ["--beam", str(beam), "--pieces", str(pieces), "--engine", engine, "--precision", precision]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, encoding="utf-8"
        )
        self.why = str(self._answer()["why"])

    def translate(self, texts: Sequence[str], group: int = 0) -> dict[str, Any]:
        """Let it translate: `seconds`, `cpu` and `translations`."""
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
            raise SystemExit(f"the engine by itself ended with {self.process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("bundle", type=Path)
    options.add_argument("--threads", type=int, required=True)
    options.add_argument("--beam", type=int, required=True)
    options.add_argument("--pieces", type=int, required=True)
    options.add_argument("--engine", required=True)
    options.add_argument("--precision", required=True)
    given = options.parse_args()
    translator = Translator.open(
        given.bundle,
        engine=given.engine,
        precision=given.precision,
        threads=given.threads,
        settings=SearchSettings(beam=given.beam),
        batch_tokens=given.pieces,
    )
    print(json.dumps({"why": translator.why}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        texts, group = asked["texts"], asked["group"] or len(asked["texts"])
        began, computed = time.perf_counter(), time.process_time()
        found = []
        for place in range(0, len(texts), group):
            found += translator.translate_batch(texts[place : place + group], split=True)
        seconds, cpu = time.perf_counter() - began, time.process_time() - computed
        answer = {"seconds": seconds, "cpu": cpu, "translations": [each.text for each in found]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
