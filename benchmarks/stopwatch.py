"""How long the README takes: its commands, unchanged, in a fresh environment.

The environment holds the extras `train`, `export` and `serve`; its installation is listed, but not counted, since most
of it is download. MODEL is a folder of Firefox's en→pt student, which a local server offers as the real hosts do; the
addresses and the flag for a server without TLS are added. The corpus has the first PAIRS pairs of Multi30k, and
the training keeps all settings that `dragoman new` chooses. A server counts until its page is loaded.
"""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
import time
import urllib.request
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.reporting import heading, parser, table, write
from testkit.model_server import ModelServer, firefox_files

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS = ROOT / ".ci" / "constraints.txt"
SERVER = "http://127.0.0.1:5000"
GOALS = {"first translation": 3, "own translator": 10, "served page": 12}
"""Minutes."""


def sessions() -> list[list[str]]:
    """Return the blocks of commands of the README."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [block.splitlines() for language, block in found if not language and "dragoman" in block]


def install(folder: Path) -> float:
    """Install the project in a fresh environment; return the seconds."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    torch = next(line for line in CONSTRAINTS.read_text("utf-8").splitlines() if line.startswith("torch=="))
    subprocess.run([*pip, torch], check=True)
    subprocess.run([*pip, "--constraint", str(CONSTRAINTS), f"{ROOT}[train,export,serve]"], check=True)
    return time.monotonic() - began


def run(line: str, folder: Path, environment: dict[str, str]) -> tuple[float, str]:
    """Run a line of the README; return the seconds and what it printed on standard output."""
    began = time.monotonic()
    if line.startswith("dragoman serve "):
        process = subprocess.Popen(line.split(), cwd=folder, env=environment, stdout=subprocess.DEVNULL)
        try:
            page = wait_for_page()
        finally:
            seconds = time.monotonic() - began
            process.terminate()
            process.wait(timeout=60)
        return seconds, re.sub(r"(?s).*<title>(.*?)</title>.*", r"the page “\1”", page)
    print(f"$ {line}", file=sys.stderr, flush=True)
    done = subprocess.run(line, shell=True, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return time.monotonic() - began, done.stdout.strip()


def wait_for_page() -> str:
    """Return the page of the server once it answers."""
    for _ in range(1200):
        try:
            with urllib.request.urlopen(SERVER, timeout=5) as answer:
                return str(answer.read().decode())
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the server did not start within two minutes")


def measure(folder: Path, environment: dict[str, str]) -> list[dict[str, Any]]:
    """Run the commands of the README; return the seconds of each, and in all within its block."""
    found: list[dict[str, Any]] = []
    for session in sessions():
        total = 0.0
        for line in session:
            typed = f"{line} --allow-http" if line.startswith("dragoman get ") else line
            seconds, printed = run(typed, folder, environment)
            total += seconds
            last = printed.splitlines()[-1] if printed else ""
            found.append({"command": line, "seconds": seconds, "total": total, "last line": last})
    return found


def main() -> None:
    options = parser(__doc__)
    options.add_argument("model", type=Path)
    options.add_argument("--corpus", type=Path, default=Path("../shared/data/multi30k"))
    options.add_argument("--pairs", type=int, default=5000)
    options.add_argument("--environment", type=Path, help="folder of an environment; it is made if it does not exist")
    options.add_argument("--work", type=Path, default=Path("stopwatch-run"), help="a new folder")
    options.add_argument("--note", default="", help="what else ran on the machine")
    given = options.parse_args()
    given.work.mkdir(parents=True)
    folder = (given.environment or given.work / "environment").resolve()
    installed = None if folder.exists() else install(folder)
    for code in ("en", "de"):
        with gzip.open(given.corpus / f"train.{code}.gz", "rt", encoding="utf-8", newline="\n") as file:
            (given.work / f"train.{code}").write_text("".join(islice(file, given.pairs)), encoding="utf-8")
    environment = os.environ | {"PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    environment.pop("PYTHONPATH", None)
    environment |= {name: str((given.work / name.lower()).resolve()) for name in ("DRAGOMAN_MODELS", "DRAGOMAN_CACHE")}
    with ModelServer() as server:
        server.add_firefox("en", "pt", firefox_files(given.model))
        found = measure(given.work, environment | server.environment)
    rows = []
    for each in found:
        command = each["command"].replace("|", chr(92) + "|")
        rows.append([f"`{command}`", f"{each['seconds']:.1f}", f"{each['total']:.1f}", each["last line"][:100]])
    totals = {
        each["command"].split()[1 if each["command"].startswith("dragoman") else -2]: each["total"] for each in found
    }
    reached = {
        "first translation": totals["translate"],
        "own translator": totals["train"],
        "served page": found[-1]["total"],
    }
    text = heading("The README with a stopwatch", "python -m benchmarks.stopwatch MODEL", given.threads)
    text += f"\n{__doc__ or ''}\n" + table(["command", "s", "s in all", "last line"], rows) + "\n"
    text += table(
        ["goal", "reached after, s", "at most, s"],
        [[name, f"{seconds:.0f}", f"{60 * GOALS[name]}"] for name, seconds in reached.items()],
    )
    if installed is not None:
        text += f"\nInstallation before it, with downloads: {installed:.0f} s.\n"
    text += f"\n{given.pairs:,} pairs. {given.note}\n"
    write("stopwatch", text, {"installation": installed, "commands": found, "reached": reached})


if __name__ == "__main__":
    main()
