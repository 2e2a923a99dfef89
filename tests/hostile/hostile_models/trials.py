"""Import hostile models and print one result per line: ``python -m tests.hostile.hostile_models.trials``.

A result is a JSON object: the case, refused or accepted, CPU seconds, bytes of memory, and faults found.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dragoman.bundle import Bundle
from dragoman.errors import DragomanError
from tests.hostile.hostile_models.case import Case
from tests.hostile.hostile_models.cases import all_cases
from tests.hostile.hostile_models.sources import valid_sources, write_source

SECONDS, MEMORY = 2.0, 300 << 20
MAX_MESSAGE = 1500
_SIGNAL = "code-ran"
_PROGRESS = ("reading ", "writing ", "✗ reading ", "✗ writing ", "✓ ")


class ForkServer:
    """The process that imports; see `fork_server`."""

    def __init__(self, work: Path, fault: str = "") -> None:
        command = [sys.executable, "-m", "tests.hostile.hostile_models.fork_server", str(work), fault]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._stdin, self._stdout = self.process.stdin, self.process.stdout
        if self._stdout.readline() != "ready\n":
            raise RuntimeError("the fork server must start, got an error")

    def run(self, folder: Path, source: Path) -> dict[str, Any]:
        """Import a source; the trial has a folder of its own."""
        self._stdin.write(json.dumps([str(folder), str(source)]) + "\n")
        self._stdin.flush()
        answer: dict[str, Any] = json.loads(self._stdout.readline())
        return answer

    def stop(self) -> None:
        """End the server."""
        self._stdin.close()
        self.process.wait(60)
        self._stdout.close()


def results(
    *,
    seed: int,
    mutations: int,
    fault: str = "",
    part: tuple[int, int] = (0, 1),
    match: str = "",
    limit: int | None = None,
    names: Sequence[str] = (),
) -> Iterator[dict[str, Any]]:
    """Results of every case whose name contains `match`, or is one of `names`; `part` (i, n): each n-th, from i on."""
    with tempfile.TemporaryDirectory(prefix="hostile-models-") as made:
        work = Path(made).resolve()
        for name in ("server", "sources", "trials"):
            (work / name).mkdir()
        sources = valid_sources(work / "sources")
        signal = work / _SIGNAL
        server = ForkServer(work / "server", fault)
        try:
            cases = all_cases(sources, seed=seed, mutations=mutations, signal=signal)
            chosen = (case for case in cases if match in case.name and (not names or case.name in names))
            for number, case in enumerate(itertools.islice(chosen, limit)):
                if number % part[1] == part[0]:
                    folder = work / "trials" / str(number)
                    folder.mkdir()
                    source = write_source(
                        case.format.removesuffix("-pickle"), case.make(sources[case.format]), folder / "source"
                    )
                    before = _names(work)
                    yield _judged(case, server.run(folder, source), folder, _names(work) - before, signal)
                    shutil.rmtree(folder)
                    signal.unlink(missing_ok=True)
        finally:
            server.stop()


def _names(work: Path) -> set[str]:
    """Paths of the folder, except those that a trial may write."""
    found = {os.path.relpath(path, work) for path in work.rglob("*")}
    return {name for name in found if not name.startswith("server/") and "/bundle" not in name}


def _judged(case: Case, found: dict[str, Any], folder: Path, new: set[str], signal: Path) -> dict[str, Any]:
    lines = [line for line in found["output"].splitlines() if not line.startswith(_PROGRESS)]
    output = "\n".join(lines)
    memory = found["memory"] + found.get("started", 0)
    faults = []
    if found["code"] == 0:
        faults += [f"accepted: {case.title}"] * case.refuse + _of_bundle(folder / "bundle")
        faults += [f"prints {line[:200]}" for line in lines if not line.startswith(("note:", "bundle ", "next "))][:1]
    elif found["code"] not in (1, 2):
        faults.append(f"exit code {found['code']}: {output[-300:]}")
    elif len(lines) != 1 or not output.startswith("error: ") or found["length"] > MAX_MESSAGE:
        faults.append(f"{found['length']} characters in {len(lines)} lines: {output[-300:]}")
    elif not lines[0].isprintable():
        faults.append(f"control characters: {output[:300]!a}")
    if found["code"] != 0 and (folder / "bundle").exists():
        faults.append("refused, and a bundle was written")
    if found["seconds"] > SECONDS:
        faults.append(f"{found['seconds']:.2f} s of CPU time")
    if memory > MEMORY:
        faults.append(f"{memory >> 20} MiB of memory")
    faults += [f"event: {event}" for event in found["events"][:2]]
    left = {os.path.basename(name) for name in new if not name.endswith(("/output", "/report.json", "/temporary"))}  # noqa: PTH119
    faults += [f"written: {sorted(left)[:3]}"] * bool(left - {signal.name})
    faults += ["code of the model was run"] * signal.exists()
    result: dict[str, Any] = {"format": case.format, "file": case.file, "kind": case.kind, "title": case.title}
    result |= {"accepted": found["code"] == 0, "seconds": found["seconds"], "memory": memory, "faults": faults}
    return result | {"started": found.get("started", 0), "message": output.strip()[:300]}


def _of_bundle(folder: Path) -> list[str]:
    """Faults of a bundle that was written."""
    try:
        Bundle.open(folder).tokenizers()
    except DragomanError as error:
        return [f"the bundle does not open: {str(error)[:200]}"]
    return []


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--mutations", type=int, default=30, help="random changes of each file")
    options.add_argument("--fault", default="", help="fault to plant in the importer")
    options.add_argument(
        "--part", type=int, nargs=2, default=(0, 1), metavar=("I", "N"), help="each N-th case from I on"
    )
    options.add_argument("--match", default="", help="only cases whose name contains this text")
    options.add_argument("--name", action="append", default=[], help="only this case")
    options.add_argument("--limit", type=int, help="number of cases")
    chosen = options.parse_args()
    part = (chosen.part[0], chosen.part[1])
    selected = {"part": part, "match": chosen.match, "limit": chosen.limit, "names": chosen.name}
    for result in results(seed=chosen.seed, mutations=chosen.mutations, fault=chosen.fault, **selected):
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
