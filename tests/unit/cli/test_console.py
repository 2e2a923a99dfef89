"""Escape sequences in files, names and translations are not executed by a terminal."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.reporting.safe_display_text import without_controls

SCRIPT = """
import sys
from dragoman.cli.console import echo, print_error, print_table, write_bytes
text = "a\\x1b]0;title\\x07b\\x9b31mc\\td"
echo(text)
write_bytes(text.encode() + b"\\n")
print_table([[text, "e"]])
echo(text, err=True)
print_error(text, 1, "DataError")
"""
ESCAPED = r"a\x1b]0;title\x07b\x9b31mc"
RAW = "a\x1b]0;title\x07b\x9b31mc"


def on_a_terminal(command: list[str]) -> str:
    """What a command prints on a terminal, stdout and stderr."""
    main, side = pty.openpty()
    done = subprocess.Popen(command, stdout=side, stderr=side, stdin=subprocess.DEVNULL)
    os.close(side)
    printed = b""
    while True:
        try:
            block = os.read(main, 1 << 16)
        except OSError:  # Linux: the other side is closed
            break
        if not block:
            break
        printed += block
    done.wait()
    os.close(main)
    return printed.decode()


def test_a_terminal_gets_no_escape_sequence():
    printed = on_a_terminal([sys.executable, "-c", SCRIPT])
    assert printed.count(ESCAPED) == 5
    assert "\x1b" not in printed
    assert "\x9b" not in printed


def test_another_program_gets_the_text_unchanged():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout.count(RAW) == 3
    assert done.stderr.count(ESCAPED) == 2
    assert "\x1b" not in done.stderr


def test_the_last_column_of_a_table_is_wrapped_on_a_terminal():
    script = 'from dragoman.cli.console import print_table; print_table([["name", "word " * 40]])'
    printed = on_a_terminal(["env", "COLUMNS=80", sys.executable, "-c", script]).splitlines()
    assert len(printed) == 3
    assert all(len(line) <= 80 for line in printed)
    assert printed[1].startswith(" " * 6 + "word")
    piped = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert len(piped.stdout.splitlines()) == 1, "a program reads one line per row"


def test_the_name_of_a_file_is_escaped_in_messages(tmp_path: Path):
    name = str(tmp_path / "a\x1b]0;title\x07.txt")
    printed = on_a_terminal([sys.executable, "-m", "dragoman", "translate", str(tmp_path), name])
    assert "error:" in printed
    assert "\x1b" not in printed


@pytest.mark.parametrize("text", ["plain", "two\nlines\tand a tab", "中文 é 👩\u200d"])
def test_other_text_is_unchanged(text: str):
    assert without_controls(text) == text


def test_commands_print_text_through_the_console():
    commands = Path(__file__).parents[3] / "src" / "dragoman" / "cli"
    direct = [path.name for path in commands.rglob("*.py") if "typer.echo(" in path.read_text(encoding="utf-8")]
    assert sorted(direct) == ["console.py", "inspect.py", "main.py"]  # the last two print no text of others
