"""Run schemathesis on the OpenAPI document of a running server."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.serving_campaign.environment import Environment
from benchmarks.serving_campaign.experiment import ExperimentResult

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def schema(environment: Environment) -> ExperimentResult:
    """Run the experiment, and a control with a route that fails."""
    result = _run(environment, environment.scaled(3, 300), "")
    result.set_control("a route that breaks", _run(environment, environment.scaled(1, 20), "failing_model_list"))
    return result


def _run(environment: Environment, examples: int, fault: str) -> ExperimentResult:
    result = ExperimentResult("OpenAPI")
    report = environment.new_folder("schema")
    phases = "examples,fuzzing" if environment.is_small else "examples,coverage,fuzzing"
    settings = {"limits.body_seconds": 2.0, "limits.request_tokens": 512, "beam": 2}
    with environment.shared(environment.bundle(), fault=fault, **settings) as server:
        routes = json.loads(server.get("/openapi.json"))["paths"]
        done = subprocess.run(
            _command(server.port, examples, environment.seed, phases),
            capture_output=True,
            text=True,
            cwd=report,
            check=False,
        )
        result.target("alive", "yes", "yes" if server.is_running else "no", server.is_running)
        result.target(
            "tracebacks in the log", "none", *(("none", True) if "Traceback" not in server.output else ("some", False))
        )
    result.facts = {"routes": len(routes), "output": done.stdout[-3000:]}
    found = re.search(r"(\d+) generated", done.stdout)
    result.trials = int(found[1]) if found else 0
    result.target("requests generated", "> 0", str(result.trials), result.trials > 0)
    failures = re.findall(r"^\s*- (.+)$", done.stdout, re.MULTILINE)
    result.target("exit code of schemathesis", "0", f"{done.returncode} {failures[:3]}", done.returncode == 0)
    return result


def _command(port: int, examples: int, seed: int, phases: str) -> list[str]:
    program = shutil.which("schemathesis", path=str(Path(sys.executable).parent)) or "schemathesis"
    options = ["--checks", CHECKS, "--max-examples", str(examples), "--seed", str(seed), "--no-color"]
    options += ["--phases", phases, "--exclude-path", "/v1/models/reload"]
    options += ["--request-timeout", "30", "--suppress-health-check", "all"]
    return [program, "run", f"http://127.0.0.1:{port}/openapi.json", *options]
