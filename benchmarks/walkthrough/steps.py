"""The twelve steps from an empty folder to a served translator, and what a screen must not show."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

SERVER = "http://127.0.0.1:{port}"
_FORBIDDEN = {
    "a traceback": re.compile(r"^Traceback \(most recent call last\)", re.MULTILINE),
    "a warning of Python": re.compile(r"\w*Warning: "),
    "an internal error": re.compile(r"Internal Server Error|internal error", re.IGNORECASE),
    "an escape sequence": re.compile("\x1b"),
    "advice to delete": re.compile(r"\b(?:remove|delete|rm -r)\b[^\n]*\b(?:folder|director|run)", re.IGNORECASE),
}
_WIDEST = 240  # characters of a line


@dataclass(frozen=True)
class Corpus:
    """A language pair and where its sentences are: ``train``, in files named by language."""

    source: str
    target: str
    folder: str
    title: str
    pairs: int
    updates: int
    sentences: tuple[str, str]
    """Two sentences to translate."""
    settings: tuple[str, ...] = ()
    """Other settings of the training than those of the preset."""

    @property
    def name(self) -> str:
        return f"{self.source}-{self.target}"

    def write(self, data: Path, folder: Path) -> None:
        """Write the first pairs, and the sentences to translate, into a folder."""
        for language in (self.source, self.target):
            with gzip.open(data / self.folder / f"train.{language}.gz", "rt", encoding="utf-8", newline="\n") as file:
                (folder / f"corpus.{language}").write_text("".join(islice(file, self.pairs)), encoding="utf-8")
        (folder / "input.txt").write_text("".join(f"{text}\n" for text in self.sentences), encoding="utf-8")


CORPORA = (
    Corpus(
        *("en", "de", "multi30k", "Multi30k"),
        pairs=5000,
        updates=600,
        sentences=("Two dogs are playing in the snow.", "A woman in a red coat is riding a bicycle."),
    ),
    Corpus(
        *("zh", "en", "3am", "3AM"),
        pairs=3000,
        updates=600,
        sentences=("两只狗在雪地里玩耍。", "一个穿红色外套的女人在骑自行车。"),
    ),
)


@dataclass(frozen=True)
class Step:
    """A command in one of the environments, and its exit code.

    Step kinds: a command, a server that runs until the end, and a request to it. `page` is the page it leaves: a file
    or, of a server, its address.
    """

    title: str
    environment: Literal["base", "serve", "train"]
    arguments: tuple[str, ...]
    kind: Literal["command", "serve", "request"] = "command"
    exit_code: int = 0
    page: str = ""
    expect: str = ""
    """Text that the screen must have."""
    needs_base: bool = False
    """Whether it is made only where the extras are really missing."""


def steps(corpus: Corpus) -> list[Step]:
    """The steps; relative paths start from an empty folder next to the corpus."""
    files = (f"../corpus.{corpus.source}", f"../corpus.{corpus.target}")
    request = {"q": corpus.sentences[0], "source": corpus.source, "target": corpus.target}
    changed = [f"training.max_updates={corpus.updates}", f"training.validate_every={max(1, corpus.updates // 6)}"]
    other = tuple(each for setting in corpus.settings for each in ("--set", setting))
    settings = (*(each for setting in changed for each in ("--set", setting)), *other)
    return [
        Step("See what is installed", "base", ("doctor",)),
        Step(
            "Try to train without the extra",
            "base",
            ("train",),
            exit_code=3,
            expect="[train]",
            needs_base=True,
        ),
        Step("Describe the corpus", "train", ("new", "first", "--corpus", *files), expect="dragoman.toml"),
        Step("Check the corpus", "train", ("check", "first", *other), expect="next    dragoman prepare first"),
        Step("Prepare it", "train", ("prepare", "first")),
        Step("Train", "train", ("train", "first", *settings), expect="first/run"),
        Step("Evaluate on the held-out test set", "train", ("evaluate", "first/run"), expect="BLEU"),
        Step("Translate a file", "train", ("translate", "first/run", "../input.txt")),
        Step(
            "Inspect a translation",
            "train",
            ("inspect", "first/run", corpus.sentences[0], "--output", "inspection.html"),
            page="inspection.html",
        ),
        Step(
            "Report on the run, without torch",
            "base",
            ("compare", "first/run", "--output", "report.html"),
            page="report.html",
        ),
        Step("Serve it, without torch", "serve", ("serve", "first/run", "--port", "0"), kind="serve", page=SERVER),
        Step(
            "Translate through the API",
            "serve",
            tuple(f"{name}={value}" for name, value in request.items()),
            kind="request",
            expect="translatedText",
        ),
    ]


def faults(step: Step, screen: str, exit_code: int) -> list[str]:
    """What is wrong with the screen of a step."""
    found = [what for what, pattern in _FORBIDDEN.items() if pattern.search(screen)]
    if exit_code != step.exit_code:
        found.append(f"exit code {exit_code} instead of {step.exit_code}")
    if step.expect not in screen:
        found.append(f"no {step.expect!r}")
    if not screen.strip():
        found.append("an empty screen")
    if any(len(line) > _WIDEST for line in screen.splitlines()):
        found.append(f"a line of more than {_WIDEST} characters")
    return found
