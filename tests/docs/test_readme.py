"""Every command, program and configuration in the README and the first guide runs unchanged, in both languages."""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import docx
import pytest
from sentencepiece import SentencePieceTrainer
from typer.testing import CliRunner

from dragoman.bundle.locate import EXAMPLE
from dragoman.cli.main import app
from dragoman.cli.options.models import locate_bundle
from dragoman.config import load_config
from testkit.model_server import ModelServer, firefox_files
from testkit.random_bundle import random_bundle
from testkit.random_models.random_firefox import firefox_folder
from tests.browser.served import served
from tests.server.bundles import tiny_bundle
from tests.unit.data.preparation.corpus import pairs, write_pairs

READMES = ["README.md", "README.zh.md"]
GUIDE = "docs/getting-started.md"


def blocks(root: Path, page: str, language: str) -> list[str]:
    """The fenced blocks of a page in one language."""
    text = (root / page).read_text(encoding="utf-8")
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [block for fence, block in found if fence == language]


def without_comments(block: str) -> list[str]:
    """The lines of a block without what follows a #, which may be in another language."""
    return [line.split("#", 1)[0].rstrip() for line in block.splitlines()]


def sessions(root: Path) -> list[list[str]]:
    """What is typed, block by block."""
    found = [without_comments(block) for page in ("README.md", GUIDE) for block in blocks(root, page, "")]
    return [lines for lines in found if any(line.startswith("dragoman ") for line in lines)]


SHORTER = {
    "check": ["--no-measure"],
    "get": ["--allow-http"],
    "train": ["--set", "training.max_updates=3", "--set", "training.validation_sentences=5"],
    "translate": ["--max-length", "4"],
    "evaluate": ["--max-length", "4", "--resamples", "10"],
    "compare": ["--max-length", "4"],
    "inspect": ["--max-length", "4"],
}
"""What a test adds to commands: fewer updates of the same training, shorter translations, a server without TLS."""

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("session", sessions(ROOT), ids=lambda session: session[0])
def test_what_is_typed_runs(
    session: list[str], tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
):
    """In this process: starting the command and torch for each line would take most of the time."""
    if any(line.startswith("dragoman get ") for line in session):
        request.getfixturevalue("models")
    if "dragoman demo" in session:  # trained by the same command, once per test run
        shutil.copytree(request.getfixturevalue("demo_folder"), tmp_path / "dragoman-demo")
    write_pairs(tmp_path, "train", pairs(600))
    write_pairs(tmp_path, "test", pairs(20))
    letter = docx.Document()
    letter.add_paragraph("The museum is closed on Mondays.")
    letter.save(str(tmp_path / "letter.docx"))
    folder = tmp_path
    for line in session:
        monkeypatch.chdir(folder)
        if line.startswith("cd "):
            folder /= line.removeprefix("cd ")
        elif line.startswith("dragoman serve"):
            assert_serves(folder, line.removeprefix("dragoman serve").strip() or str(EXAMPLE))
        elif line.startswith("echo "):
            text, _, command = line.partition(" | ")
            run_command(command, text=shlex.split(text)[1] + "\n")
        else:
            run_command(line)


@pytest.fixture
def models(tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A store without models, and a local server of the catalogs with a student of random weights."""
    monkeypatch.setenv("DRAGOMAN_MODELS", str(tmp_path / "models"))
    monkeypatch.delenv("DRAGOMAN_OFFLINE", raising=False)
    with ModelServer() as server:
        server.add_firefox("en", "pt", firefox_files(firefox_folder(tmp_path / "student", tiny_vocabulary())))
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield


def tiny_vocabulary() -> bytes:
    """A SentencePiece model of a few dozen tokens."""
    written = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(["The museum is closed on Mondays. It opens at nine; a dog waits."] * 10),
        model_writer=written,
        vocab_size=60,
        hard_vocab_limit=False,
        num_threads=1,
        minloglevel=2,
    )
    return written.getvalue()


def assert_serves(folder: Path, model: str) -> None:
    """The server starts with a bundle, a project or a stored model, and answers."""
    bundle = locate_bundle(folder / model if (folder / model).exists() else Path(model))
    with served({"model": bundle}) as address, urllib.request.urlopen(f"{address}/languages", timeout=30) as answer:
        assert json.load(answer)


def run_command(line: str, text: str | None = None) -> None:
    typed, _, into = line.partition(">")
    arguments = shlex.split(typed)[1:]
    arguments += SHORTER.get(arguments[0], [])
    run = CliRunner().invoke(app, arguments, input=text)
    assert run.exit_code == 0, run.stderr
    assert run.stdout or "-o" in arguments, (line, run.stderr)
    assert not into or into.strip().endswith((".json", ".de", ".txt"))


@pytest.mark.skipif(not shutil.which("curl"), reason="no curl here")
@pytest.mark.parametrize("page", ["README.md", GUIDE])
def test_what_is_typed_of_the_server_answers(root: Path, page: str, tmp_path: Path):
    """The requests of the page succeed on the server that the page starts, on another port."""
    (block,) = [block for block in blocks(root, page, "sh") if "curl" in block]
    start, *asked = block.splitlines()
    assert start in {"dragoman serve my-translator", "dragoman serve run/bundle"}
    assert asked
    tiny_bundle(tmp_path / "run" / "bundle", "en", "de")
    with served({"en-de": tmp_path / "run" / "bundle"}) as address:
        for line in asked:
            arguments = shlex.split(line.replace("http://127.0.0.1:5000", address))
            run = subprocess.run([*arguments, "--silent", "--fail"], capture_output=True, text=True, check=True)
            assert set(json.loads(run.stdout)) == {"translatedText"}


@pytest.mark.parametrize("page", [*READMES, GUIDE])
def test_a_program_runs(root: Path, page: str, tmp_path: Path):
    programs = blocks(root, page, "python")
    assert programs
    for folder in (tmp_path, tmp_path / "my-translator"):
        random_bundle(folder / "run" / "bundle")
    for program in programs:
        run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        wanted = r".+ \(.*\) \(.*\)\n" if "Translator" in program else r"loss \d+\.\d\d per token\n"
        assert re.fullmatch(wanted, run.stdout)


@pytest.mark.parametrize("page", [GUIDE])
def test_a_configuration_loads(root: Path, page: str, tmp_path: Path):
    for number, block in enumerate(blocks(root, page, "toml")):
        path = tmp_path / f"{number}.toml"
        path.write_text(block, encoding="utf-8")
        assert load_config(path).model.family == "rnn"


def test_both_languages_show_the_same(root: Path):
    """Code and commands are the same to the letter, comments apart; so are the sections and the links."""
    shown = []
    for page in READMES:
        text = (root / page).read_text(encoding="utf-8")
        code = [without_comments(block) for language in ("", "sh", "python") for block in blocks(root, page, language)]
        found = {link.replace(".zh.md", ".md") for link in re.findall(r"\]\(([^)]+)\)", text)}
        links = sorted(found - {"README.md"})
        shown.append((code, text.count("\n## "), links))
    assert shown[0] == shown[1]
