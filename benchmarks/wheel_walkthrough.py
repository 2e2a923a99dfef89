"""Install the wheel with each extra in a fresh virtual environment and use it; needs only the standard library.

Each environment is removed before the next. torch is installed first, with the version of `.ci/constraints.txt`. In
`train` a small Transformer is trained, which the other environments translate with or serve.

    python -m benchmarks.wheel_walkthrough --wheel dist/dragoman_nmt-0.1.0-py3-none-any.whl --report
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS = ROOT / ".ci" / "constraints.txt"
EXTRAS = ("train", "base", "export", "serve", "all")
WITH_TORCH = ("train", "all")
SECONDS = 1800  # per command
WORDS = ("dog", "cat", "tree", "house", "runs", "sleeps", "sees", "red", "old", "small", "a", "the", "two", "and")
TEXT = "the old dog sees a red house"
CORPUS = ("corpus.en", "corpus.de")  # English words on both sides
SIZES = ("dim=32", "heads=2", "feedforward=64", "encoder_layers=1", "decoder_layers=1")
SHORT = ("max_updates=30", "validate_every=30", "checkpoint_every=30", "validation_sentences=4")


@dataclass(frozen=True)
class Step:
    """A command line of dragoman, its exit code, and text that it must print."""

    arguments: tuple[str, ...]
    exit_code: int = 0
    expect: str = ""


@dataclass
class EnvironmentResult:
    """Measurements of one environment: its installation and its steps."""

    extra: str
    install_seconds: float
    packages: int
    bytes: int
    has_torch: bool
    steps: list[dict[str, object]] = field(default_factory=list)


def settings(*values: str) -> tuple[str, ...]:
    return tuple(word for value in values for word in ("--set", value))


TRAINING = settings(*(f"model.{each}" for each in SIZES), *(f"training.{each}" for each in SHORT))
TRANSLATE = Step(("translate", "toy/run/bundle", "input.txt", "--output", "out.txt", "--force"))
STEPS = {
    "base": [
        Step(("doctor",), expect="base install: complete"),
        Step(("config", "show", "pairs-30k"), expect="transformer"),
        Step(("train", "toy"), 3, "[train]"),
        Step(("translate", "toy/run/bundle", "input.txt"), 3, "[export]"),
        Step(("serve", "toy/run/bundle"), 3, "[serve]"),
    ],
    "train": [
        Step(("demo", "dates"), expect="dates/alignment.html"),
        Step(("new", "toy", "--source", "en", "--target", "de", "--corpus", *CORPUS, "--no-language-check")),
        Step(("prepare", "toy", *settings("tokenizer.size=120"))),
        Step(("train", "toy", *settings("tokenizer.size=120"), *TRAINING)),
        Step(("evaluate", "toy/run"), expect="BLEU"),
        Step(("inspect", "toy/run", TEXT, "--output", "inside.html", "--force")),
        TRANSLATE,
    ],
    "export": [
        Step(("export", "toy/run/bundle", "--to", "ctranslate2", "--output", "ct2")),
        TRANSLATE,
        Step(("translate", "dates/bundle", "dates.txt"), expect="-"),
    ],
    "serve": [TRANSLATE],
    "all": [
        TRANSLATE,
        Step(("translate", "dates/bundle", "dates.txt"), expect="-"),
        Step(("evaluate", "toy/run"), expect="BLEU"),
        Step(("train", "toy", *settings("tokenizer.size=120"), *TRAINING, "--output", "again")),
    ],
}
SERVED = ("serve", "all")


def environ() -> dict[str, str]:
    """The environment of a command: nothing of this tree, one thread."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return {**kept, "OMP_NUM_THREADS": "1", "COLUMNS": "200", "PYTHONUNBUFFERED": "1"}


def executables(folder: Path) -> Path:
    return folder / ("Scripts" if os.name == "nt" else "bin")


def install(extra: str, wheel: Path, folder: Path) -> EnvironmentResult:
    """Create a virtual environment with the wheel and an extra."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = str(executables(folder) / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-warn-script-location"]
    if extra in WITH_TORCH:
        (torch,) = re.findall(r"^torch==.+$", CONSTRAINTS.read_text(encoding="utf-8"), re.MULTILINE)
        subprocess.run([*pip, torch], check=True, env=environ())
    named = str(wheel) if extra == "base" else f"{wheel}[{extra}]"
    subprocess.run([*pip, "--constraint", str(CONSTRAINTS), named], check=True, env=environ())
    seconds = time.perf_counter() - began
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format=json"], check=True, stdout=subprocess.PIPE, text=True, env=environ()
    )
    names = [each["name"].lower() for each in json.loads(listed.stdout)]
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    unwanted = [name for name in names if name.startswith(("nvidia", "cuda"))]
    if unwanted:
        raise SystemExit(f"{extra} must have no CUDA packages, got {unwanted}; install a CPU build of torch")
    return EnvironmentResult(extra, round(seconds, 1), len(names), size, "torch" in names)


def run(step: Step, extra: str, environment: Path, work: Path) -> dict[str, object]:
    """Run a step; exit with its output if it fails."""
    began = time.perf_counter()
    command = [str(executables(environment) / "dragoman"), *step.arguments]
    done = subprocess.run(
        command,
        cwd=work,
        env=environ(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    screen = done.stdout + done.stderr
    shown = f"dragoman {' '.join(step.arguments)}"
    print(f"{extra:7} {time.perf_counter() - began:6.1f} s  exit {done.returncode}  {shown[:100]}", flush=True)
    if done.returncode != step.exit_code or step.expect not in screen or "Traceback" in screen:
        raise SystemExit(f"{shown} must end with {step.exit_code} and print {step.expect!r}, got:\n{screen[-4000:]}")
    return {"command": shown, "exit_code": done.returncode, "seconds": round(time.perf_counter() - began, 1)}


def serve(extra: str, environment: Path, work: Path) -> dict[str, object]:
    """Serve the Transformer: the page, the licences of its packages, and a translation."""
    began = time.perf_counter()
    command = [str(executables(environment) / "dragoman"), "serve", "toy/run/bundle", "--port", "0", "--threads", "1"]
    with (work / "serve.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(command, cwd=work, env=environ(), stdout=log, stderr=subprocess.STDOUT)
    try:
        address = wait_for_address(process, work / "serve.log")
        page = urllib.request.urlopen(address, timeout=60).read().decode()
        (script,) = re.findall(r'src="\./(assets/[^"]+\.js)"', page)
        size = len(urllib.request.urlopen(f"{address}/{script}", timeout=60).read())
        licences = urllib.request.urlopen(f"{address}/licenses.txt", timeout=60).read().decode()
        fields = urllib.parse.urlencode({"q": TEXT, "source": "en", "target": "de"}).encode()
        answer = json.load(urllib.request.urlopen(f"{address}/translate", fields, timeout=300))
    finally:
        process.terminate()
        code = process.wait(timeout=60)
    if size < 10_000 or "svelte" not in licences or "translatedText" not in answer or code not in (0, -15):
        raise SystemExit(f"{extra} must serve the page and translate, got {size} bytes, {answer}, exit code {code}")
    print(f"{extra:7} {time.perf_counter() - began:6.1f} s  page, licences and POST /translate", flush=True)
    shown = "dragoman serve toy/run/bundle: page, script, licences, POST /translate"
    return {"command": shown, "exit_code": code, "seconds": round(time.perf_counter() - began, 1)}


def wait_for_address(process: subprocess.Popen[bytes], log: Path) -> str:
    for _ in range(600):
        text = log.read_text(encoding="utf-8")
        if found := re.search(r"^serving (http://\S+)", text, re.MULTILINE):
            return found[1]
        if process.poll() is not None:
            break
        time.sleep(0.2)
    raise SystemExit(f"the server must start, got:\n{log.read_text(encoding='utf-8')}")


def write_corpus(work: Path) -> None:
    """Sentences of few words; the target is the source in reverse order."""
    draw = random.Random(1)
    lines = [" ".join(draw.choices(WORDS, k=draw.randint(3, 9))) for _ in range(4000)]
    for side, step in (("en", 1), ("de", -1)):
        text = "".join(" ".join(line.split()[::step]) + "\n" for line in lines)
        (work / f"corpus.{side}").write_text(text, encoding="utf-8")
    (work / "input.txt").write_text(f"{TEXT}\n", encoding="utf-8")
    (work / "dates.txt").write_text("the third of May, 1998\n", encoding="utf-8")


def walk(extra: str, wheel: Path, folder: Path, sbom: Path | None) -> EnvironmentResult:
    """Install one extra, use it, and remove the environment."""
    environment, work = folder / f"environment-{extra}", folder / "work"
    try:
        done = install(extra, wheel, environment)
        print(f"{extra:7} {done.install_seconds:6.1f} s  installed {done.packages} packages", flush=True)
        if done.has_torch != (extra in WITH_TORCH):
            raise SystemExit(f"torch must be in {' and '.join(WITH_TORCH)} only, got {extra}")
        done.steps = [run(step, extra, environment, work) for step in STEPS[extra]]
        if extra in SERVED:
            done.steps.append(serve(extra, environment, work))
        if extra == "all" and sbom is not None:
            python = str(executables(environment) / "python")
            subprocess.run([sys.executable, str(ROOT / ".ci/release.py"), "sbom", python, str(sbom)], check=True)
    finally:
        shutil.rmtree(environment, ignore_errors=True)
    return done


def report(found: list[EnvironmentResult], wheel: Path, note: str) -> None:
    """Write benchmarks/results/wheel-walkthrough."""
    from benchmarks.reporting import heading, table, write
    from dragoman.reporting.number_format import format_bytes, format_duration

    rows = [
        [
            *(each.extra, format_duration(each.install_seconds), str(each.packages), format_bytes(each.bytes)),
            *("yes" if each.has_torch else "no", str(len(each.steps))),
        ]
        for each in found
    ]
    commands = [
        [each.extra, f"`{step['command']}`", str(step["exit_code"]), format_duration(float(str(step["seconds"])))]
        for each in found
        for step in each.steps
    ]
    text = (
        heading("The wheel with every extra", "python -m benchmarks.wheel_walkthrough --wheel WHEEL --report", 1)
        + f"\n`{wheel.name}` ({format_bytes(wheel.stat().st_size)}) was installed in a fresh virtual environment per "
        "extra, with the constraints of the checks and a CPU build of torch, and removed afterwards. Exit code 3: "
        "the extra is missing, and the message names the command that installs it.\n\n"
        + (f"{note}\n\n" if note else "")
        + table(["extra", "installation", "packages", "size", "torch", "steps passed"], rows)
        + "\n"
        + table(["extra", "command", "exit code", "time"], commands)
    )
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    write(
        "wheel-walkthrough",
        text,
        {"wheel": wheel.name, "sha256": digest, "environments": [asdict(each) for each in found]},
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--wheel", type=Path, required=True)
    options.add_argument("--extras", nargs="+", choices=EXTRAS, default=list(EXTRAS), help="train must be the first")
    options.add_argument("--sbom", type=Path, help="write the bill of materials of the extra all")
    options.add_argument("--report", action="store_true", help="write benchmarks/results; needs Dragoman")
    options.add_argument("--note", default="", help="text for the report, for instance the load of the machine")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="dragoman-wheel-") as temporary:
        folder = Path(temporary)
        (folder / "work").mkdir()
        write_corpus(folder / "work")
        found = [walk(extra, given.wheel.resolve(), folder, given.sbom) for extra in given.extras]
    if given.report:
        report(found, given.wheel, given.note)


if __name__ == "__main__":
    main()
