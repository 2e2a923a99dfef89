"""Memory of a server with one model of six directions, and with six models of one direction.

The models are those of `python -m benchmarks.multilingual europarl`, seed 1, with single models of all directions, in
the folder `--work`. Each server translates a sentence in every direction; then the proportional set size of its
processes is read, with one thread per model.
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

from benchmarks.multilingual import CORPORA
from benchmarks.reporting import heading, parser, table, write

DIRECTIONS = CORPORA["europarl"].directions
SENTENCES = {
    "en": "The vote will take place tomorrow.",
    "de": "Die Abstimmung findet morgen statt.",
    "fr": "Le vote aura lieu demain.",
}


def process_tree(root: int) -> list[int]:
    """Return the ids of a process and of all its descendants."""
    children = Path(f"/proc/{root}/task/{root}/children").read_text(encoding="ascii").split()
    return [root, *(each for child in children for each in process_tree(int(child)))]


def proportional_size(process: int) -> int:
    """Return the bytes of a process; pages that several share are divided among them."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def request_json(address: str, path: str, value: object | None = None) -> object:
    """Send a GET request, or a POST request with a JSON body, and return the decoded response."""
    data = None if value is None else json.dumps(value).encode()
    request = urllib.request.Request(f"{address}{path}", data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


def measure(models: list[Path], port: int) -> dict[str, int]:
    """Serve some models; return bytes before and after a sentence in every direction."""
    command = [sys.executable, "-m", "dragoman", "serve", *map(str, models), "--port", str(port), "--threads", "1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if "Ctrl-C" in line:
                break
        address = f"http://127.0.0.1:{port}"
        found = {"started": sum(map(proportional_size, process_tree(process.pid)))}
        for source, target in DIRECTIONS:
            request_json(address, "/translate", {"q": SENTENCES[source], "source": source, "target": target})
        found["used"] = sum(map(proportional_size, process_tree(process.pid)))
        found["files"] = sum((model / "run" / "bundle" / "weights.safetensors").stat().st_size for model in models)
    finally:
        process.terminate()
        process.wait(timeout=60)
    return found


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--work", type=Path, default=Path("multilingual-runs"))
    options.add_argument("--port", type=int, default=5071)
    given = options.parse_args()
    servers = {
        "six models of one direction": [given.work / f"europarl-{a}-{b}-1" for a, b in DIRECTIONS],
        "one model of six directions": [given.work / "europarl-all-1"],
    }
    found = {name: measure(models, given.port) for name, models in servers.items()}
    rows = [
        [name, *(f"{each[part] / 1e6:.1f}" for part in ("files", "started", "used"))] for name, each in found.items()
    ]
    text = heading("Many languages: memory of the server", "python -m benchmarks.multilingual_memory", 1)
    text += f"\n{__doc__ or ''}\n"
    text += table(["server", "weights, MB", "memory after the start, MB", "after a sentence per direction, MB"], rows)
    write("multilingual-memory", text, found)


if __name__ == "__main__":
    main()
