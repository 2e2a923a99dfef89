"""The process ends at its deadline, with its exit functions; without work it continues."""

import subprocess
import sys
import time

import pytest

START = """
import atexit, signal, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from dragoman.server.uvicorn_server import ExitDeadline
atexit.register(print, "cleaned", flush=True)
deadline = ExitDeadline(lambda: print("ended", flush=True))
"""
WORK = """
pool = ThreadPoolExecutor(1, "dragoman-prepare")
pool.submit(time.sleep, 60)
deadline.start(0.3)
deadline.cancel_if_idle()
"""
HANGING_CLEANUP = WORK + "atexit.register(time.sleep, 60)\n"
NO_WORK = """
pool = ThreadPoolExecutor(1, "dragoman-prepare")
pool.submit(int).result()
deadline.start(0.3)
pool.shutdown(wait=False)
deadline.cancel_if_idle()
time.sleep(1.5)
print("continued", flush=True)
"""


@pytest.mark.parametrize(
    ("script", "code", "printed"),
    [
        (WORK, 0, ["ended", "cleaned"]),
        (HANGING_CLEANUP, -14, ["ended"]),
        (NO_WORK, 0, ["continued", "cleaned"]),
    ],
    ids=["work", "hanging cleanup", "no work"],
)
def test_the_end_of_a_process(script: str, code: int, printed: list[str]):
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", START + script], capture_output=True, text=True, check=False, timeout=50
    )
    assert (done.returncode, done.stdout.split()) == (code, printed), done.stderr
    assert time.monotonic() - started < 30
