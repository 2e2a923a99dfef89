"""Measure maximum throughput with wrk, whose CPU use is small."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.serving.process import Server

SCRIPT = """
local bodies, place = {}, 0
for line in io.lines("BODIES") do bodies[#bodies + 1] = line end
math.randomseed(1)
request = function()
  place = place % #bodies + 1
  return wrk.format("POST", "PATH", {["Content-Type"] = "application/json"}, bodies[place])
end
done = function(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    '{"requests": %d, "seconds": %f, "failed": %d, "lost": %d, "p50": %f, "p99": %f, "longest": %f}\\n',
    summary.requests, summary.duration / 1e6, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50) / 1e6, latency:percentile(99) / 1e6, latency.max / 1e6))
end
"""


@dataclass(frozen=True)
class Saturated:
    """Result of a run; `cpu` (server) and `wrk_cpu` are seconds of one core."""

    clients: int
    requests: int
    seconds: float
    failed: int
    lost: int
    p50: float
    p99: float
    longest: float
    cpu: float
    wrk_cpu: float

    @property
    def per_second(self) -> float:
        """Successful responses per second."""
        return (self.requests - self.failed) / self.seconds


def write_script(folder: Path, path: str, bodies: Sequence[bytes]) -> Path:
    """Write a script that sends these bodies in a cycle; a body is one line of JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "bodies.jsonl").write_bytes(b"".join(body + b"\n" for body in bodies))
    script = folder / "requests.lua"
    text = SCRIPT.replace("BODIES", str(folder / "bodies.jsonl")).replace("PATH", path)
    script.write_text(text, encoding="utf-8")
    return script


def saturate(server: Server, script: Path, clients: int, seconds: float) -> Saturated:
    """Run clients for some seconds; each sends its next request after a response."""
    program = shutil.which("wrk")
    if program is None:
        raise SystemExit("wrk must be installed, for instance with apt install wrk")
    command = [program, "-t", "1", "-c", str(clients), "-d", f"{seconds:.0f}s", "--timeout", "60s"]
    before, own = server.cpu_seconds, _children()
    done = subprocess.run(
        [*command, "-s", str(script), f"http://127.0.0.1:{server.port}"], capture_output=True, text=True, check=True
    )
    cpu, wrk_cpu = server.cpu_seconds - before, _children() - own
    line = next(line for line in done.stdout.splitlines() if line.startswith('{"requests"'))
    return Saturated(clients=clients, cpu=cpu, wrk_cpu=wrk_cpu, **json.loads(line))


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
