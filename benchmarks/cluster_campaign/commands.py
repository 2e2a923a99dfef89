"""The commands of the campaign: what they work on, how they are continued, and what must be equal at the end."""

from __future__ import annotations

import json
import random
import shutil
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from benchmarks.scale.measurement import project
from dragoman.files import read_json, sha256_of_file
from dragoman.training.checkpoint import CheckpointStore
from testkit.random_bundle import random_bundle, words
from testkit.training_faults.project import make_project
from testkit.training_faults.run_differences import differences


class Command(ABC):
    """A command of `dragoman`; `work` is its folder."""

    name: str
    fault: str
    """What the control changes before the command is continued."""
    spacing = (2.0, 12.0)
    """Seconds between kills."""

    def __init__(self, work: Path) -> None:
        self.work = work
        work.mkdir(parents=True)

    def output(self, name: str) -> Path:
        """The output of a run."""
        return self.work / name

    @abstractmethod
    def arguments(self, output: Path, *, is_continued: bool) -> list[str]:
        """Return the arguments after `dragoman`, without those of the cluster."""

    @abstractmethod
    def progress(self, output: Path) -> str:
        """How far a run is."""

    @abstractmethod
    def differences(self, output: Path, reference: Path) -> list[str]:
        """What differs between two complete outputs."""

    @abstractmethod
    def plant(self, output: Path) -> None:
        """Plant the fault of the control in an interrupted run."""


class Translate(Command):
    """A text, translated with a tiny model that was never trained."""

    name = "translate"
    fault = "the journal is ignored: all lines are translated again after those that are there"
    lines = 120_000

    def __init__(self, work: Path) -> None:
        super().__init__(work)
        draw, vocabulary = random.Random(5), words(5, 2000)
        lines = (" ".join(draw.choices(vocabulary, k=draw.randint(0, 6))) for _ in range(self.lines))
        (work / "input.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        random_bundle(work / "bundle")

    def arguments(self, output: Path, *, is_continued: bool) -> list[str]:
        search = ["--engine", "ctranslate2", "--threads", "1", "--beam", "1", "--max-length", "8"]
        files = [str(self.work / "bundle"), str(self.work / "input.txt"), "-o", str(output)]
        return ["translate", *files, *search, *(["--resume"] if is_continued else [])]

    def progress(self, output: Path) -> str:
        journal = read_json(output.with_name(f"{output.name}.part.json"))
        return f"{journal['done']['lines']:,} lines" if journal else "no line"

    def differences(self, output: Path, reference: Path) -> list[str]:
        ours, theirs = output.read_bytes(), reference.read_bytes()
        lines, expected = (data.count(b"\n") for data in (ours, theirs))
        return [] if ours == theirs else [f"{lines:,} lines instead of {expected:,}"]

    def plant(self, output: Path) -> None:
        path = output.with_name(f"{output.name}.part.json")
        journal = read_json(path)
        assert journal
        part = output.with_name(f"{output.name}.part")
        (self.work / "ignored").write_bytes(part.read_bytes()[: journal["done"]["output_bytes"]])
        part.unlink()
        path.unlink()

    def finish_control(self, output: Path) -> None:
        """Put the lines of the ignored journal before those that were translated again."""
        output.write_bytes((self.work / "ignored").read_bytes() + output.read_bytes())


class Prepare(Command):
    """A generated corpus of several chunks."""

    name = "prepare"
    fault = "a pair of the corpus is changed"
    pairs = 200_000

    def __init__(self, work: Path) -> None:
        super().__init__(work)
        project(work / "project", self.pairs)

    def output(self, name: str) -> Path:
        folder = self.work / name
        if not folder.exists():
            shutil.copytree(self.work / "project", folder)
        return folder

    def arguments(self, output: Path, *, is_continued: bool) -> list[str]:
        return ["prepare", str(output)]

    def progress(self, output: Path) -> str:
        folder = output / "prepared"
        return f"{sum(path.is_file() for path in folder.rglob('*'))} files" if folder.is_dir() else "no file"

    def differences(self, output: Path, reference: Path) -> list[str]:
        ours, theirs = (_hashes(each / "prepared") for each in (output, reference))
        return [name for name in sorted({*ours, *theirs}) if ours.get(name) != theirs.get(name)]

    def plant(self, output: Path) -> None:
        path = output / "train.en"
        first, rest = path.read_text(encoding="utf-8", errors="surrogateescape").split("\n", 1)
        path.write_text(f"{first} again\n{rest}", encoding="utf-8", errors="surrogateescape")


class Train(Command):
    """A tiny model in reproducible mode, on two workers."""

    name = "train"
    fault = "the checkpoint has the first position in the data"
    spacing = (10.0, 25.0)  # workers need some seconds to start, and a training ends after four starts without progress
    updates = 600

    def __init__(self, work: Path) -> None:
        super().__init__(work)
        self._project = make_project(work / "project")

    def arguments(self, output: Path, *, is_continued: bool) -> list[str]:
        settings = ["reproducible=true", "micro_batches=2", "batch_tokens=40", f"max_updates={self.updates}"]
        settings += ["checkpoint_every=20", "validate_every=300", "ema_decay=0.9"]
        options = [word for each in settings for word in ("--set", f"training.{each}")]
        resume = ["--resume"] if is_continued else []
        return ["train", str(self._project.config), "--output", str(output), *options, *resume]

    def progress(self, output: Path) -> str:
        steps = [step for step in CheckpointStore(output / "checkpoints").steps() if step]  # 0: initial weights
        return f"checkpoint {steps[-1]}" if steps else "no checkpoint"

    def differences(self, output: Path, reference: Path) -> list[str]:
        return differences(output, reference)

    def plant(self, output: Path) -> None:
        store = CheckpointStore(output / "checkpoints")
        found = store.latest(lambda _: None)
        assert found is not None
        state: dict[str, Any] = json.loads(json.dumps(found.state))
        state["loader"] |= {"epoch": 0, "window": 0, "batch": 0}
        store.save(
            found.update,
            weights=found.weights(),
            optimizer=found.optimizer(),
            average=found.average(),
            state=state,
            config=found.config(),
        )


def _hashes(folder: Path) -> dict[str, str]:
    """The hashes of the files that training reads."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    relative = {str(path.relative_to(folder)): path for path in files}
    return {name: sha256_of_file(path) for name, path in relative.items() if not name.startswith(("work/", "."))}


COMMANDS: dict[str, type[Command]] = {each.name: each for each in (Translate, Prepare, Train)}
