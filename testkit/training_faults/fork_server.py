"""A process with everything imported that forks ``dragoman`` commands one after the other.

It prints `ready` first. A line on standard input is a JSON list: the file for the output, then the arguments. The
answers are two lines: the process number at once, and the exit code at its end (minus the signal where one ended it). A
forked child has the state of a new process after its imports, no thread, no weights, no open run, and then runs the
same function as the console script; `kill -9` has the same effect. This saves the seconds of importing torch. The first
argument names the fault to plant, if any: see `planted_faults`.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path

import torch

import dragoman.api.training.training_run
import dragoman.cli.screens.training
from dragoman.cli.main import main
from testkit.training_faults.planted_faults import plant

IMPORTED = (dragoman.api.training.training_run, dragoman.cli.screens.training)


def serve(fault: str) -> None:
    """Fork until there is nothing more to do."""
    torch.set_num_threads(1)
    if fault:
        plant(fault)
    print("ready", flush=True)
    for line in sys.stdin:
        output, *arguments = json.loads(line)
        child = os.fork()
        if child == 0:
            _run(Path(output), arguments)
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _run(output: Path, arguments: list[str]) -> None:
    """Become a command; never comes back."""
    code = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        sys.argv = ["dragoman", *arguments]
        main()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # noqa: BLE001 -- as the interpreter does at the end of a script
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1] if len(sys.argv) > 1 else "")
