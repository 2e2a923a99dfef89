"""From nothing to the first translation: `dragoman get` and `translate`, compared with fxtranslate.

    python -m venv FX && FX/bin/pip install fxtranslate==0.5.0
    python -m benchmarks.first_translation MODEL --fxtranslate FX/bin/python

MODEL is a folder with the files of Firefox's en→pt student. A server on this machine offers them with the records of
Remote Settings. Every round begins with empty folders; the programs run one after the other. CPU seconds are those of
the process and its children; they depend less on other programs on the machine than seconds of time.
fxtranslate accepts another address for the records (it must find the pair in ours) but not for the files, so its
download is not measured: its library translates with the unpacked files.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.reporting import heading, parser, table, write
from testkit.model_server import RECORDS, ModelServer, firefox_files

PAIRS = """
from fxtranslate import discovery
print(*discovery.model_pairs(discovery.fetch_records_body()))
"""
TRANSLATE = """
import sys
from pathlib import Path
from fxtranslate import Translator
model, vocab, shortlist = (next(Path(sys.argv[1]).glob(f"{name}*")).read_bytes() for name in ("model", "vocab", "lex"))
print(Translator(model, vocab, vocab, shortlist).translate(sys.argv[2]))
"""
SENTENCE = "The museum is closed on Mondays."


def run(command: list[str], environment: dict[str, str], server: ModelServer, text: str = "") -> dict[str, object]:
    """Run a command; return its seconds, CPU seconds, received bytes and last line."""
    before, sent, began = resource.getrusage(resource.RUSAGE_CHILDREN), server.bytes_sent("/"), time.monotonic()
    done = subprocess.run(command, env=environment, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed: {done.stderr[-500:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "seconds": time.monotonic() - began,
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "bytes": server.bytes_sent("/") - sent,
        "last line": (done.stdout.strip().splitlines() or [""])[-1],
    }


def commands(python: str, files: Path) -> dict[str, tuple[list[str], str]]:
    """Return the commands of a round by name, each with its standard input."""
    ours = [str(Path(sys.executable).parent / "dragoman")]
    return {
        "dragoman get en-pt": ([*ours, "get", "en-pt", "--allow-http"], ""),
        "dragoman translate en-pt, first": ([*ours, "translate", "en-pt"], SENTENCE + "\n"),
        "dragoman translate en-pt, again": ([*ours, "translate", "en-pt"], SENTENCE + "\n"),
        "fxtranslate: list of pairs": ([python, "-c", PAIRS], ""),
        "fxtranslate: translate": ([python, "-c", TRANSLATE, str(files), SENTENCE], ""),
    }


def main() -> None:
    options = parser(__doc__)
    options.add_argument("model", type=Path)
    options.add_argument("--fxtranslate", required=True, metavar="PYTHON", help="Python that has it")
    options.add_argument("--rounds", type=int, default=5)
    given = options.parse_args()
    rounds: list[dict[str, dict[str, object]]] = []
    with ModelServer() as server:
        server.add_firefox("en", "pt", firefox_files(given.model))
        addresses = {"FXTRANSLATE_RECORDS_URL": f"{server.url}{RECORDS}"}
        for _ in range(given.rounds):
            folder = Path(tempfile.mkdtemp())
            environment = {**os.environ, **server.environment, **addresses, "XDG_CACHE_HOME": str(folder / "cache")}
            environment |= {"DRAGOMAN_MODELS": str(folder / "models"), "OMP_NUM_THREADS": str(given.threads)}
            environment.pop("DRAGOMAN_CACHE", None)
            for name, content in firefox_files(given.model).items():
                (folder / name).write_bytes(content)
            found = commands(given.fxtranslate, folder)
            rounds.append({name: run(command, environment, server, text) for name, (command, text) in found.items()})
            shutil.rmtree(folder)
    rows = []
    for name, first in rounds[0].items():
        seconds, cpu = (median(float(str(each[name][key])) for each in rounds) for key in ("seconds", "cpu"))
        rows.append(
            [
                f"`{name}`",
                f"{seconds:.2f}",
                f"{cpu:.2f}",
                f"{first['bytes']:,}",
                str(first["last line"]).partition(": ")[0],
            ]
        )
    text = heading("The first translation", "python -m benchmarks.first_translation MODEL", given.threads)
    text += f"\n{(__doc__ or '').strip()}\n\nMedians of {given.rounds} rounds.\n\n"
    write("first-translation", text + table(["command", "s", "CPU s", "bytes received", "last line"], rows), rounds)


if __name__ == "__main__":
    main()
