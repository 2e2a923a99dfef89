"""Run COMET, a learned metric, in a subprocess with a separate Python environment.

The model must be installed; nothing is downloaded. Its checkpoint is a pickle, which can run arbitrary code: use only
one from a source that you trust.
"""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.errors import ConfigError, DataError, MissingExtraError
from dragoman.evaluation.results import Score

COMET_PYTHON = "DRAGOMAN_COMET_PYTHON"
"""Environment variable with the path of a Python that has the package unbabel-comet."""

_NO_PACKAGE, _NO_MODEL = 3, 4  # exit codes of the subprocess
_INSTALL = "install it there with pip install unbabel-comet"
_MAX_SHOWN = 300  # characters

_HAS_PACKAGE = (
    f"import importlib.util, sys; sys.exit({_NO_PACKAGE} if importlib.util.find_spec('comet') is None else 0)"
)

_SCORE = f"""
import contextlib, importlib.metadata, json, os, sys
data = json.load(sys.stdin)
with contextlib.redirect_stdout(sys.stderr):
    try:
        from comet import load_from_checkpoint
        from huggingface_hub import snapshot_download
    except ImportError as error:
        print(error)
        sys.exit({_NO_PACKAGE})
    path = data["model"]
    if not os.path.isfile(path):
        try:
            path = os.path.join(snapshot_download(repo_id=path, local_files_only=True), "checkpoints", "model.ckpt")
        except Exception as error:
            print(error)
            sys.exit({_NO_MODEL})
    model = load_from_checkpoint(path, local_files_only=True)
    found = model.predict(data["texts"], batch_size=16, gpus=0, progress_bar=False)
score, version = float(found.system_score), importlib.metadata.version("unbabel-comet")
json.dump({{"score": score, "version": version}}, sys.stdout)
"""


@dataclass(frozen=True)
class Comet:
    """A COMET model: the name of a downloaded model, or the path of its checkpoint."""

    model: str
    python: str = ""
    """Path of the Python; the default is the value of `COMET_PYTHON`."""

    def check(self) -> None:
        """Raise an error if the Python, the package or the checkpoint is missing."""
        python = self._python()
        if not Path(python).is_file():
            raise ConfigError(f"the Python of COMET must be a program, got {python}; name one that has unbabel-comet")
        if (self.model.endswith(".ckpt") or Path(self.model).is_absolute()) and not Path(self.model).is_file():
            raise ConfigError(
                f"the model of COMET must be a checkpoint, got {self.model}, which does not exist; name "
                "another file, or a downloaded model"
            )
        done = _run([python, "-c", _HAS_PACKAGE], "")
        if done.returncode:
            raise MissingExtraError(f"{python} does not have the package unbabel-comet; {_INSTALL}")

    def score(self, sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str]) -> Score:
        """Compute the mean over sentences; the signature has the model and the version of the package."""
        rows = zip(sources, hypotheses, references, strict=True)
        texts = [{"src": source, "mt": translation, "ref": reference} for source, translation, reference in rows]
        done = _run([self._python(), "-c", _SCORE], json.dumps({"model": self.model, "texts": texts}))
        if done.returncode == _NO_PACKAGE:
            raise MissingExtraError(
                f"{self._python()} must have the package unbabel-comet, got: {_last(done)}; {_INSTALL}"
            )
        if done.returncode == _NO_MODEL:
            raise ConfigError(
                f"the model of COMET must be downloaded, got {self.model}, which is not; download it with "
                "comet-score or huggingface-cli, or name the file of its checkpoint"
            )
        try:
            found = json.loads(done.stdout)
            value, version = float(found["score"]), str(found["version"])
        except (ValueError, KeyError, TypeError):
            raise DataError(f"COMET must give a score, got: {_last(done)}; try comet-score by itself first") from None
        name = Path(self.model).name if Path(self.model).is_file() else self.model
        return Score("comet", value, f"model:{name}|nrefs:1|version:{version}")

    def _python(self) -> str:
        python = self.python or os.environ.get(COMET_PYTHON, "")
        if not python:
            raise ConfigError(
                "COMET needs a separate Python; name one that has unbabel-comet with --comet-python or in "
                f"{COMET_PYTHON}"
            )
        return python


def _run(command: Sequence[str], text: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    settings: dict[str, Any] = {"input": text, "capture_output": True, "encoding": "utf-8", "errors": "replace"}
    try:
        return subprocess.run(  # noqa: S603 -- the user's own Python, our program
            command, check=False, env=kept | {"HF_HUB_OFFLINE": "1", "PYTHONIOENCODING": "utf-8"}, **settings
        )
    except OSError as error:
        raise ConfigError(
            f"the Python of COMET must be a program that runs, got {command[0]}: {error.strerror}; name another"
        ) from None


def _last(done: subprocess.CompletedProcess[str]) -> str:
    """Return the last line of the output, which usually names the error."""
    lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    return lines[-1].strip()[:_MAX_SHOWN] if lines else f"exit code {done.returncode}"
