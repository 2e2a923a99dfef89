"""``dragoman new`` prompts in a terminal, and never elsewhere."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.unit.data.preparation.corpus import pairs, write_pairs

PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have disabled it for its background jobs
from dragoman.cli.main import app
app()
"""
PATIENCE = 120.0  # seconds; only a hanging command takes longer


class Terminal:
    """A command in a pseudo-terminal: type a line when the screen shows a question."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._master, slave = pty.openpty()
        command = [sys.executable, "-c", PROGRAM, *arguments]
        self._process = subprocess.Popen(command, cwd=folder, stdin=slave, stdout=slave, stderr=slave, close_fds=True)
        os.close(slave)
        self.screen = ""
        self._read = 0

    def answer(self, question: str, line: str) -> None:
        self._wait_for(question)
        os.write(self._master, f"{line}\n".encode())

    def interrupt(self, question: str) -> None:
        """Send what Ctrl-C sends, when the command reads the answer: the question is on the screen a little earlier."""
        self._wait_for(question)
        time.sleep(1.0)
        self._process.send_signal(signal.SIGINT)

    def end(self) -> int:
        self._wait_for(None)
        os.close(self._master)
        return self._process.wait(PATIENCE)

    def _wait_for(self, text: str | None) -> None:
        until = time.monotonic() + PATIENCE
        while text is None or text not in self.screen[self._read :]:
            assert time.monotonic() < until, self.screen
            if not select.select([self._master], [], [], 1.0)[0]:
                continue
            try:
                data = os.read(self._master, 65_536)
            except OSError:  # the command closed the terminal
                data = b""
            if not data:
                assert text is None, f"the command ended before {text!r}:\n{self.screen}"
                return
            self.screen += data.decode(errors="replace").replace("\r\n", "\n")
        self._read = self.screen.index(text, self._read) + len(text)


@pytest.mark.slow
def test_a_conversation_makes_a_project(tmp_path: Path):
    write_pairs(tmp_path, "train", pairs(400))
    write_pairs(tmp_path / "en-de", "other", pairs(4))
    terminal = Terminal(tmp_path, "new")
    terminal.answer("Training files", "missing.en train.de")
    terminal.answer("missing.en must be a file", "train.en train.de")
    terminal.answer("Source language (detected) [en]", "EN")
    terminal.answer("Target language (detected) [de]", "fr")
    terminal.answer("the target of train.de must be fr, got 100 % de; write --target de", "xx")
    terminal.answer("must be a code of ISO 639, got 'xx'", "")
    terminal.answer("Validation files [take 20 training pairs]", "")
    terminal.answer("Test files [take 20 training pairs]", "")
    terminal.answer("Preset for this number of pairs [pairs-5k]", "")
    terminal.answer("Folder of the project [en-de-2]", "")
    terminal.answer("estimate time and memory now? [Y/n]", "n")
    assert terminal.end() == 0, terminal.screen
    assert "next    cd en-de-2 && dragoman check" in terminal.screen
    text = (tmp_path / "en-de-2" / "dragoman.toml").read_text(encoding="utf-8")
    assert 'source = "en"' in text
    assert "test_pairs = 20" in text


@pytest.mark.slow
def test_the_second_file_is_asked_for(tmp_path: Path):
    write_pairs(tmp_path, "train", pairs(400))
    terminal = Terminal(tmp_path, "new", "made", "--corpus", "train.en")
    terminal.answer("train.en is one side of a corpus: line 7 of a second file must translate its line 7", "missing.de")
    terminal.answer("missing.de must be a file", "train.de")
    for question in ("Source language", "Target language", "Validation files", "Test files", "Preset for"):
        terminal.answer(question, "")
    terminal.answer("estimate time and memory now? [Y/n]", "n")
    assert terminal.end() == 0, terminal.screen
    assert "train.de" in (tmp_path / "made" / "dragoman.toml").read_text(encoding="utf-8")


def test_nothing_is_asked_without_a_terminal(tmp_path: Path):
    write_pairs(tmp_path, "train", pairs(60))
    for arguments, missing in ((["new"], "a folder"), (["new", "p"], "--corpus")):
        ended = subprocess.run(
            [sys.executable, "-m", "dragoman", *arguments],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert ended.returncode == 2
        assert f"error: {missing} is missing, and there is no terminal" in ended.stderr


def test_ctrl_c_ends_a_question_at_once(tmp_path: Path):
    """Without a line after it: polars restarts interrupted reads."""
    terminal = Terminal(tmp_path, "new")
    terminal.interrupt("Training files")
    assert terminal.end() == 130
    assert terminal.screen.rstrip().endswith("interrupted")
    assert not [*tmp_path.iterdir()]
