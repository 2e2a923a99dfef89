"""Windows, simulated: without the modules, signals and flags of POSIX the package still imports, writes and locks."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

WINDOWS = """
import asyncio, multiprocessing, os, signal, subprocess, sys, tempfile, types

for name in ("fcntl", "resource", "termios", "pwd", "grp", "uvloop"):
    sys.modules[name] = None
for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "geteuid", "nice", "sched_getaffinity", "sysconf_names"):
    delattr(os, name)
for name in ("SIGHUP", "SIGALRM", "SIGUSR1", "setitimer", "ITIMER_REAL"):
    delattr(signal, name)
signal.Signals = types.SimpleNamespace(__members__={n: signal.Signals[n] for n in ("SIGTERM", "SIGINT")})
signal.Signals = type("Signals", (), {
    "__members__": signal.Signals.__members__,
    "__class_getitem__": classmethod(lambda cls, name: cls.__members__[name]),
})

locked = set()

def locking(descriptor, mode, count):
    where = os.fstat(descriptor).st_ino
    if where in locked:
        raise PermissionError
    locked.add(where)

sys.modules["msvcrt"] = types.SimpleNamespace(locking=locking, LK_NBLCK=2)
"""


def run(code: str, folder: Path, first: str = "") -> str:
    command = [sys.executable, "-c", first + WINDOWS + textwrap.dedent(code)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_files_are_written_and_locked(tmp_path: Path):
    code = """
    from pathlib import Path
    from dragoman.files import file_lock, read_json, write_json

    write_json(Path("a.json"), {"line": 1})
    assert read_json(Path("a.json")) == {"line": 1}
    with file_lock(Path("lock")) as ours, file_lock(Path("lock")) as theirs:
        print(ours, theirs)
    """
    assert run(code, tmp_path) == "True False\n"


def test_the_machine_is_described_and_the_cache_is_checked(tmp_path: Path):
    code = """
    from pathlib import Path
    from dragoman.files import check_private
    from dragoman.environment import machine_info

    check_private(Path.cwd())
    print(machine_info(accelerators=False).cores > 0)
    """
    assert run(code, tmp_path) == "True\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "modules",
    [
        "dragoman.cli.commands.train, dragoman.cli.commands.translate, dragoman.api.files.resumable_output",
        "dragoman.data.loader, dragoman.data.preparation.preparation, dragoman.training.trainer",
        "dragoman.server.run, dragoman.server.uvicorn_server, dragoman.cli.commands.serve",
    ],
)
def test_modules_are_imported(modules: str, tmp_path: Path):
    run(f"import {modules}", tmp_path, "import polars, pyarrow, ray, torch, uvicorn, uvloop, typer\n")


def test_signals_that_do_not_exist_are_left_out_and_others_reach_the_event_loop(tmp_path: Path):
    code = """
    import asyncio
    from dragoman.stop_signal import handle_in_loop

    async def main():
        loop, stopped = asyncio.get_running_loop(), asyncio.Event()
        def refuse(*_):
            raise NotImplementedError
        loop.add_signal_handler = refuse
        handle_in_loop(loop, {"SIGTERM": stopped.set, "SIGHUP": stopped.set})
        signal.raise_signal(signal.SIGTERM)
        await asyncio.wait_for(stopped.wait(), 5)
        print("stopped")

    asyncio.run(main())
    """
    assert run(code, tmp_path) == "stopped\n"


def test_the_parser_of_tokenizers_needs_no_limits_of_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from dragoman.bundle import sandboxed_parse
    from dragoman.text import train_sentencepiece

    hidden = "import sys\nsys.modules['resource'] = None\n" + sandboxed_parse._SCRIPT
    monkeypatch.setattr(sandboxed_parse, "_SCRIPT", hidden)
    monkeypatch.setattr(sandboxed_parse, "_passed", set())
    sandboxed_parse.check_sentencepiece(train_sentencepiece(["a b c d", "b c a d"] * 50, size=265).to_bytes())
    with pytest.raises(Exception, match="must be a SentencePiece model"):
        sandboxed_parse.check_sentencepiece(b"nothing of this kind")
