"""Malformed and hostile model files of every format that `dragoman import` reads.

Each model is a valid one with a change: flipped bits, cuts, lying sizes, huge shapes, compressed bombs, paths outside
of the package, pickles with code, hostile JSON and SentencePiece models, devices in place of files. It must be refused
with one line, or accepted where the change leaves a legal file. The promise is 2 s of CPU time and 300 MiB of memory in
addition to the program, those of the processes it starts included. No code of a model is run, and nothing is written
except the bundle.

Each import is the command line in a forked process with limits. A planted fault of each kind must be found.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

from benchmarks.reporting import RESULTS, heading, parser, table, write

PROGRAM = "tests.hostile.hostile_models.trials"
CONTROLS = {
    "unpickle": ("code", "checkpoints are unpickled"),
    "trust-sizes": ("lying size", "memory of the stated size is allocated"),
    "extract-all": ("path outside", "entries are written under their own names"),
    "raise-everything": ("hostile JSON", "errors of readers are not translated"),
}
"""Planted faults: the kind of attack that must find each, and its description."""
_CONTROL_TRIALS = 16
_COLUMNS = ["models", "refused", "accepted", "faults", "most CPU time", "most memory"]

Result = dict[str, Any]


def results(*arguments: str) -> Iterator[Result]:
    """Run the program and yield its results."""
    with subprocess.Popen([sys.executable, "-m", PROGRAM, *arguments], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield from map(json.loads, process.stdout)
    if process.returncode:
        raise SystemExit(f"{PROGRAM} must end with code 0, got {process.returncode}")


def control(fault: str, kind: str, seed: int) -> tuple[int, str]:
    """Return the number of imports until a planted fault was found, and what was found; 0 if it was not."""
    found = (0, "")
    arguments = ["--seed", str(seed), "--mutations", "0", "--fault", fault, "--match", f": {kind}: ", "--limit"]
    for number, result in enumerate(results(*arguments, str(_CONTROL_TRIALS)), 1):
        if result["faults"] and not found[0]:
            shown = f"{result['format']}, {result['title']}: {result['faults'][0]}"
            found = (number, re.split(r"lines: |\n", shown)[0][:100])
    return found


def row(name: str, found: list[Result]) -> list[str]:
    """A row of a table; the worst cases are of these results."""
    accepted = sum(each["accepted"] for each in found)
    faults = sum(bool(each["faults"]) for each in found)
    seconds, memory = (max(each[key] for each in found) for key in ("seconds", "memory"))
    figures = [f"{len(found):,}", f"{len(found) - accepted:,}", f"{accepted:,}", str(faults)]
    return [name, *figures, f"{seconds:.2f} s", f"{memory / 2**20:.0f} MiB"]


def page(found: list[Result], controls: dict[str, tuple[int, str]], command: str, again: int) -> str:
    """The report; `again` models with a fault were imported a second time."""
    text = heading("Hostile model files", command, 1) + f"\n{__doc__}\n## By format\n\n"
    formats = Counter(each["format"] for each in found)
    kinds = Counter(each["kind"] for each in found)
    rows = [row(name, [each for each in found if each["format"] == name]) for name in formats]
    text += table(["format", *_COLUMNS], [*rows, row("all", found)]) + "\n## By kind\n\n"
    rows = [row(name, [each for each in found if each["kind"] == name]) for name, _ in kinds.most_common()]
    text += table(["kind", *_COLUMNS], rows) + "\n"
    for key, unit in (("seconds", "CPU time"), ("memory", "memory")):
        worst = max(found, key=lambda each: each[key])
        text += f"Most {unit}: {worst['format']}, {worst['file']}, {worst['kind']}: {worst['title']}.\n"
    faulty = [each for each in found if each["faults"]]
    text += f"\n{len(faulty)} of {len(found):,} models with a fault.\n"
    if again:
        text += (
            f"{again} models had a fault in the first run, and were imported again after its cause, in the importer or "
            "in the campaign, was corrected (--faults).\n"
        )
    for each in faulty[:20]:
        text += (
            f"\n- {each['format']}, {each['file']}, {each['kind']}, {each['title']}: {'; '.join(each['faults'])[:300]}"
        )
    text += "\n## Controls\n\n"
    return text + table(
        ["planted fault", "attack", "found after", "as"],
        [
            [CONTROLS[name][1], CONTROLS[name][0], f"{number} models" if number else "**not found**", shown]
            for name, (number, shown) in controls.items()
        ],
    )


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--mutations", type=int, default=12, help="random changes of each file")
    options.add_argument("--faults", action="store_true", help="import the models of the report with a fault again")
    chosen = options.parse_args()
    arguments = ["--seed", str(chosen.seed), "--mutations", str(chosen.mutations)]
    found, again, before = {}, set(), 0
    if chosen.faults:
        stored = json.loads((RESULTS / "hostile-models.json").read_text(encoding="utf-8"))
        found = {_name(each): each for each in stored["results"]}
        again = {name for name, each in found.items() if each["faults"]}
        before = stored.get("again", 0)
        arguments += [text for name in sorted(again) for text in ("--name", name)]
        for name in again:
            del found[name]  # the set of cases may have changed
    if again or not chosen.faults:
        for result in results(*arguments):
            found[_name(result)] = _kept(result)
            if result["faults"]:
                print(_name(result), result["faults"], flush=True)
    controls = {name: control(name, kind, chosen.seed) for name, (kind, _) in CONTROLS.items()}
    command = f"python -m benchmarks.hostile_models --seed {chosen.seed} --mutations {chosen.mutations}"
    repeated = before + len(again)
    figures = {"seed": chosen.seed, "again": repeated, "controls": controls, "results": list(found.values())}
    write("hostile-models", page(list(found.values()), controls, command, repeated), figures)


def _name(result: Result) -> str:
    """The name of a case, as the program takes it."""
    return ": ".join(result[key] for key in ("format", "file", "kind", "title"))


def _kept(result: Result) -> Result:
    """What the data file holds of a result."""
    kept = {key: value for key, value in result.items() if key not in ("message", "started")}
    return kept | {"seconds": round(result["seconds"], 3)}


if __name__ == "__main__":
    main()
