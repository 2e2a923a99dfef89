"""Every command with every set of extras, in fresh virtual environments.

Each environment has the wheel of this tree and one set of extras; torch is installed first, with the version of
`.ci/constraints.txt`. A command must succeed, or print one line with the command that installs what it needs; that must
not be an extra that is installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.reporting import heading, parser, table, write
from dragoman.environment import install_command
from testkit.extras_matrix import LINES, SETS, CommandLine, suggested, write_files

ROOT = Path(__file__).parents[1]
CONSTRAINTS = ROOT / ".ci" / "constraints.txt"
SECONDS = 900.0  # per command


def build_wheel(folder: Path) -> Path:
    """Build the wheel of this tree."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT]
    subprocess.run(list(map(str, command)), check=True)
    (wheel,) = folder.glob("dragoman_nmt-*.whl")
    return wheel


def make_environment(folder: Path, wheel: Path, extras: tuple[str, ...]) -> Path:
    """Create a virtual environment with the wheel and these extras; return its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--constraint", str(CONSTRAINTS)]
    if "train" in extras:
        subprocess.run([*pip, "torch"], check=True)
    subprocess.run([*pip, f"{wheel}[{','.join(extras)}]" if extras else str(wheel)], check=True)
    return python


def run(python: Path, line: CommandLine, folder: Path) -> dict[str, object]:
    """Run one command and return its answer."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    start = time.monotonic()
    done = subprocess.run(
        [str(python), "-m", "dragoman", *line.arguments(folder)],
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    answer: dict[str, object] = {"seconds": round(time.monotonic() - start, 1), "exit_code": done.returncode}
    try:
        answer["missing"] = suggested(done.returncode, done.stderr)
    except AssertionError as error:
        answer["fault"] = str(error).replace(str(folder), "DIR")
    return answer


def measure(name: str, wheel: Path, files: Path, work: Path) -> dict[str, dict[str, object]]:
    """Run every command in an environment with one set of extras."""
    folder = work / f"files-{name}"
    shutil.copytree(files, folder)
    python = make_environment(work / f"environment-{name}", wheel, SETS[name])
    found = {}
    for line in LINES:
        answer = found[line.text.replace("{folder}/", "")] = run(python, line, folder)
        if answer.get("missing") in SETS[name]:
            answer["fault"] = f"names the installed extra {answer['missing']}"
        print(f"{name:8} {answer.get('fault') or answer.get('missing') or 'works':10} {line.text}", flush=True)
    shutil.rmtree(work / f"environment-{name}")
    return found


def page(found: dict[str, dict[str, dict[str, object]]]) -> str:
    """The report."""
    rows = [
        [f"`dragoman {line}`", *(_cell(found[name][line]) for name in found)] for line in next(iter(found.values()))
    ]
    faults = sum("fault" in answer for answers in found.values() for answer in answers.values())
    return (
        heading("Commands and extras", "python -m benchmarks.extras_matrix", 1)
        + "\nEach column is a fresh virtual environment with the base install and one extra. `works`: exit code 0. "
        f"A name: exit code 3 and one line with `{install_command('NAME')}`.\n\n"
        + table(["command", *found], rows)
        + f"\n{sum(map(len, found.values()))} commands, {faults} with another answer.\n"
    )


def _cell(answer: dict[str, object]) -> str:
    return "**fault**" if "fault" in answer else f"`{answer['missing']}`" if answer["missing"] else "works"


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="dragoman-extras-") as temporary:
        work = Path(temporary)
        wheel = build_wheel(work / "wheel")
        write_files(work / "files")
        found = {name: measure(name, wheel, work / "files", work) for name in given.sets}
    if set(given.sets) == set(SETS):
        write("extras-matrix", page(found), found)
    else:
        print(page(found))
    if any("fault" in answer for answers in found.values() for answer in answers.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
