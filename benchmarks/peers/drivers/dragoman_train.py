"""Run ``dragoman train`` on prepared data and forward the lines of its log.jsonl.

The time of a window is that between two lines of the log, so checkpoints and logging count.
"""

from __future__ import annotations

import datetime as dt
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

LOG_EVERY = 5
CHECKPOINT_EVERY = 50  # a tenth of the default, so that a minute of training sees some
MODELS = {
    "R": """
[model]
family = "rnn"
decoder = { input_feeding = true, start = "copy" }
attention = { score = "general" }
""",
    "T": """
[model]
family = "transformer"
""",
}
TRAINING = f"""
[tokenizer]
algorithm = "bpe"
size = 8000

[training]
schedule = "inverse-sqrt"
warmup_updates = 400
max_updates = 1000000
log_every = {LOG_EVERY}
checkpoint_every = {CHECKPOINT_EVERY}
"""


def prepare(corpus: Path, folder: Path) -> None:
    """Write a configuration for each model, and prepare the data that both share."""
    folder.mkdir(parents=True, exist_ok=True)
    for model, text in MODELS.items():
        (folder / f"{model}.toml").write_text(data(corpus) + text + TRAINING, encoding="utf-8")
    subprocess.run(
        [sys.executable, "-m", "dragoman", "prepare", str(folder / "R.toml")], check=True, capture_output=True
    )


def data(corpus: Path) -> str:
    files = {name: [str(corpus.resolve() / f"{name}.{side}.gz") for side in ("en", "de")] for name in ("train", "val")}
    text = f'[data]\nsource = "en"\ntarget = "de"\n\n[[data.train]]\nfiles = {json.dumps(files["train"])}\n'
    return text + f"\n[data.validation]\nfiles = {json.dumps(files['val'])}\n"


def follow(path: Path, process: subprocess.Popen[bytes]) -> Iterator[str]:
    """The lines of a file as they are written, until the process ends."""
    while not path.exists() and process.poll() is None:
        time.sleep(0.2)
    if not path.exists():
        return
    with path.open(encoding="utf-8") as log:
        rest = ""
        while True:
            rest += log.readline()
            if rest.endswith("\n"):
                yield rest
                rest = ""
            elif process.poll() is not None:
                return
            else:
                time.sleep(0.05)


def main() -> None:
    folder, model, precision = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    run = folder / f"run-{model}-{precision}"
    shutil.rmtree(run, ignore_errors=True)
    command = [sys.executable, "-m", "dragoman", "train", str(folder / f"{model}.toml"), "--output", str(run)]
    process = subprocess.Popen([*command, "--set", f"training.precision={precision}"], stdout=sys.stderr)
    before: dt.datetime | None = None
    for line in follow(run / "log.jsonl", process):
        entry = json.loads(line)
        if entry["kind"] != "update":
            continue
        now = dt.datetime.fromisoformat(entry["time"])
        if before:
            window = {"updates": entry["updates"], "tokens": entry["tokens"], "seconds": (now - before).total_seconds()}
            print(json.dumps(window), flush=True)
        before = now
    sys.exit(process.wait())


if __name__ == "__main__":
    main()
