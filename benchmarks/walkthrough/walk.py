"""Run the steps of a walkthrough and keep their screens."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import threading
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.walkthrough.environments import ROOT, Environment
from benchmarks.walkthrough.pictures import Camera
from benchmarks.walkthrough.steps import Corpus, Step, faults, steps

COLUMNS = 100
_ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)")
_START_SECONDS, _END_SECONDS = 120, 60


@dataclass
class Done:
    """A step that was made."""

    number: int
    title: str
    environment: str
    command: str
    seconds: float
    exit_code: int
    screen: str
    faults: list[str]
    pictures: list[str] = field(default_factory=list)


class Walk:
    """One walkthrough; the server of its last steps is ended by `close`."""

    def __init__(
        self, corpus: Corpus, environments: Mapping[str, Environment], folder: Path, camera: Camera | None, shots: Path
    ) -> None:
        """Start in the empty folder ``first-project`` of `folder`, which has the corpus."""
        self.corpus, self._environments, self._camera, self._shots = corpus, environments, camera, shots
        self._folder = folder / "first-project"
        self._folder.mkdir()
        self._server: subprocess.Popen[str] | None = None
        self._server_lines: list[str] = []
        self._address = ""

    def run(self) -> list[Done]:
        """Make all steps; a step is made even if one before it failed."""
        try:
            is_fresh = all(each.seconds is not None for each in self._environments.values())
            planned = enumerate(steps(self.corpus), 1)
            return [self._make(number, step) for number, step in planned if is_fresh or not step.needs_base]
        finally:
            self.close()

    def close(self) -> None:
        """End the server as a supervisor would."""
        if self._server is not None and self._server.poll() is None:
            self._server.send_signal(signal.SIGTERM)
            try:
                self._server.wait(timeout=_END_SECONDS)
            except subprocess.TimeoutExpired:
                self._server.kill()
                self._server.wait()

    def _make(self, number: int, step: Step) -> Done:
        began = time.perf_counter()
        make = {"command": self._command, "serve": self._serve, "request": self._request}[step.kind]
        command, exit_code, screen = make(step)
        seconds = time.perf_counter() - began
        screen = _clean(screen, self._folder)
        done = Done(number, step.title, step.environment, command, seconds, exit_code, screen, [])
        done.faults = faults(step, screen, exit_code)
        if step.page and self._camera is not None and not done.faults:
            done.pictures = self._pictures(number, step, self._camera)
            done.faults, self._camera.faults = self._camera.faults, []
        print(f"{self.corpus.name} {number}. {step.title}: {seconds:.1f} s {'; '.join(done.faults)}", flush=True)
        return done

    def _pictures(self, number: int, step: Step, camera: Camera) -> list[str]:
        name = f"walkthrough-{self.corpus.name}-{number:02}"
        if step.kind == "serve":
            return camera.take(self._address, name, self._shots, text=self.corpus.sentences[0])
        return camera.take((self._folder / step.page).resolve().as_uri(), name, self._shots)

    def _started(self, step: Step) -> tuple[str, subprocess.Popen[str]]:
        environment = self._environments[step.environment]
        process = subprocess.Popen(
            [*environment.command, *step.arguments],
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            env=_variables(environment),
        )
        return f"dragoman {shlex.join(step.arguments)}", process

    def _command(self, step: Step) -> tuple[str, int, str]:
        command, process = self._started(step)
        screen, _ = process.communicate()
        return command, process.returncode, screen

    def _serve(self, step: Step) -> tuple[str, int, str]:
        command, self._server = self._started(step)
        stream, lines, has_begun = self._server.stdout, self._server_lines, threading.Event()
        assert stream is not None

        def read() -> None:
            for line in stream:
                lines.append(line)
                if found := _ADDRESS.search(line):
                    self._address = found[0]
                    has_begun.set()
            has_begun.set()

        threading.Thread(target=read, daemon=True).start()
        has_begun.wait(timeout=_START_SECONDS)
        time.sleep(0.5)  # lines that follow the address
        return command, self._server.poll() or 0, "".join(lines)

    def _request(self, step: Step) -> tuple[str, int, str]:
        fields = dict(each.split("=", 1) for each in step.arguments)
        body = json.dumps(fields, ensure_ascii=False)
        command = f"curl {self._address}/translate -H 'Content-Type: application/json' -d '{body}'"
        headers = {"Content-Type": "application/json"}
        try:
            request = urllib.request.Request(f"{self._address}/translate", data=body.encode(), headers=headers)
            with urllib.request.urlopen(request, timeout=60) as answer:
                return command, 0, answer.read().decode()
        except (OSError, ValueError) as error:
            return command, 1, str(error)


def _variables(environment: Environment) -> dict[str, str]:
    """The variables of a new user: none of ours, and a terminal of usual width."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DRAGOMAN_", "PYTHON"))}
    if environment.seconds is None:  # this environment, which may run this clone by its path
        kept["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return kept | {"COLUMNS": str(COLUMNS), "PYTHONUNBUFFERED": "1", "LC_ALL": "C.UTF-8"}


def _clean(screen: str, folder: Path) -> str:
    """A screen without the place of the folder on this machine, and without spaces at the ends of lines."""
    screen = screen.replace(f"{folder}/", "").replace(str(folder), ".").replace(str(folder.parent), "..")
    return "\n".join(line.rstrip() for line in screen.splitlines()).strip("\n")


def as_json(done: Done) -> dict[str, Any]:
    """Plain values."""
    return {**vars(done), "seconds": round(done.seconds, 1)}
