"""Schemathesis over the OpenAPI that a running server gives of itself."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.serving_campaign.room import Room
from benchmarks.serving_campaign.rows import Row

__all__ = ["schema"]

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def schema(room: Room) -> Row:
    """The row, and the same with a route that breaks."""
    row = _tried(room, room.scaled(8, 300), "")
    row.controlled("a route that breaks", _tried(room, room.scaled(2, 20), "forgetful"))
    return row


def _tried(room: Room, examples: int, fault: str) -> Row:
    row = Row("OpenAPI")
    report = room.new_folder("schema")
    phases = "examples,fuzzing" if room.is_small else "examples,coverage,fuzzing"
    with room.served(room.bundle(), fault=fault, log="off", beam=1) as server:
        routes = json.loads(server.get("/openapi.json"))["paths"]
        done = subprocess.run(
            _command(server.port, examples, room.seed, phases), capture_output=True, text=True, cwd=report, check=False
        )
        row.target("alive", "yes", "yes" if server.is_running else "no", server.is_running)
        row.target(
            "tracebacks in the log", "none", *(("none", True) if "Traceback" not in server.said else ("some", False))
        )
    row.facts = {"routes": len(routes), "output": done.stdout[-3000:]}
    found = re.search(r"(\d+) generated", done.stdout)
    row.trials = int(found[1]) if found else 0
    row.target("requests generated", "> 0", str(row.trials), row.trials > 0)
    said = re.findall(r"^\s*- (.+)$", done.stdout, re.MULTILINE)
    row.target("exit code of schemathesis", "0", f"{done.returncode} {said[:3]}", done.returncode == 0)
    return row


def _command(port: int, examples: int, seed: int, phases: str) -> list[str]:
    program = shutil.which("schemathesis", path=str(Path(sys.executable).parent)) or "schemathesis"
    options = ["--checks", CHECKS, "--max-examples", str(examples), "--seed", str(seed), "--no-color"]
    options += ["--phases", phases, "--exclude-path", "/v1/models/reload"]
    options += ["--request-timeout", "30", "--suppress-health-check", "all"]
    return [program, "run", f"http://127.0.0.1:{port}/openapi.json", *options]
