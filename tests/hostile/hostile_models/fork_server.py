"""Import models, each in a forked process with limits, and measure it: ``python -m … WORK [FAULT]``.

A line on standard input is a JSON list: the folder of a trial and the source in it. The answer is one line: exit code,
output on stderr, CPU seconds and bytes of memory, those of started processes included, and suspicious events. The
server has imported all modules, so that only reading the model is measured. `FAULT` is a key of `FAULTS`.
"""

from __future__ import annotations

import json
import os
import pickle  # noqa: TID251 -- for the control
import resource
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from dragoman.bundle import sandboxed_parse
from dragoman.cli.main import main
from dragoman.importing import import_model, source_files
from dragoman.importing.file_formats import bergamot_file, model_archive, pytorch_file
from tests.hostile.hostile_models.sources import valid_sources, write_source

_CPU_SECONDS = 60
_MEMORY = 8 << 30  # bytes of address space
_FILE_BYTES = 2 << 30
_SUSPECT = ("ctypes", "os.exec", "os.posix_spawn", "os.system", "pickle", "socket.connect", "urllib")
_WRITES = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.chmod", "os.truncate")


def status(name: str) -> int:
    """A figure of this process in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def serve(work: Path, fault: str) -> None:
    """Fork for each line of stdin."""
    warm_up(work / "warm-up")
    if fault:
        FAULTS[fault]()
    print("ready", flush=True)
    for line in sys.stdin:
        folder, source = map(Path, json.loads(line))
        child = os.fork()
        if child == 0:
            _run(folder, source)
        _, ended, used = os.wait4(child, 0)
        answer = {"code": os.waitstatus_to_exitcode(ended), "seconds": used.ru_utime + used.ru_stime}
        report = folder / "report.json"
        measured = json.loads(report.read_text(encoding="utf-8")) if report.is_file() else {"memory": 0, "events": []}
        output = (folder / "output").read_text(encoding="utf-8", errors="replace")
        print(json.dumps(answer | measured | {"output": output[-4000:], "length": len(output)}), flush=True)


def warm_up(folder: Path) -> None:
    """Import one valid model of each format, so that all modules are loaded; forget that its tokenizer was checked."""
    folder.mkdir()
    (folder / "made").mkdir()
    for name, files in valid_sources(folder / "made").items():
        import_model.import_model(write_source(name, files, folder / name), folder / f"{name}-bundle")
    sandboxed_parse._passed.clear()


def _run(folder: Path, source: Path) -> NoReturn:
    """Become ``dragoman import``."""
    code, before = 1, 0
    events: list[str] = []
    temporary = folder / "temporary"
    temporary.mkdir()
    try:
        os.chdir(folder)
        os.environ["TMPDIR"] = tempfile.tempdir = str(temporary)
        descriptor = os.open(folder / "output", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        for limit, value in (
            (resource.RLIMIT_CPU, _CPU_SECONDS),
            (resource.RLIMIT_AS, _MEMORY),
            (resource.RLIMIT_FSIZE, _FILE_BYTES),
            (resource.RLIMIT_CORE, 0),
        ):
            resource.setrlimit(limit, (value, value))
        sys.argv = ["dragoman", "import", str(source), "-o", str(folder / "bundle")]
        _watch(events, (temporary, folder / "bundle", folder / ".bundle"))
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # resets VmHWM
        before = status("VmRSS")
        main()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # noqa: BLE001 -- as the interpreter does at the end of a script
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        memory = status("VmHWM") - before
        started = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        report = {"memory": memory, "started": started, "events": events}
        (folder / "report.json").write_text(json.dumps(report), encoding="utf-8")
        os._exit(code)


def _watch(events: list[str], permitted: tuple[Path, ...]) -> None:
    """Record programs, connections, and changes of files outside of the permitted folders."""

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "subprocess.Popen" and list(arguments[1])[1:3] == ["-I", "-c"]:
            return  # the parsers in a process of their own
        changes = event in _WRITES
        if event == "open":
            changes = isinstance(arguments[2], int) and bool(arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        if changes and isinstance(arguments[0], str | bytes | os.PathLike):
            path = _absolute(os.fsdecode(arguments[0]), arguments[-1] if event != "open" else -1)
            is_parent = event == "os.mkdir" and path == str(permitted[0].parent)  # it exists
            if not is_parent and not path.startswith((*map(str, permitted), "/dev/null", "/proc/self/clear_refs")):
                events.append(f"{event} {path}")
        elif event.startswith(_SUSPECT) or event == "subprocess.Popen":
            events.append(f"{event} {arguments}"[:200])

    sys.addaudithook(hear)


def _absolute(path: str, folder: object) -> str:
    """The absolute path; `folder` is a descriptor that it is relative to, or −1."""
    base = os.readlink(f"/proc/self/fd/{folder}") if isinstance(folder, int) and folder >= 0 else os.getcwd()  # noqa: PTH109, PTH115
    return os.path.normpath(os.path.join(base, path))  # noqa: PTH118 -- paths of audit events


# ------------------------------------------------------------------------------------------------------------- controls


def unpickle() -> None:
    """Read checkpoints as pickles, with their code."""

    def read(data: Any) -> Any:
        return pickle.loads(data if isinstance(data, bytes) else data.read())

    _replace(pytorch_file, "read_state", read)


def trust_sizes() -> None:
    """Allocate memory of the stated size before reading."""

    def bytes_(self: bergamot_file.BinaryReader, count: int) -> bytes:
        taken = bytes(bytearray(min(count, 1 << 30)))[:0]
        self.place += count
        return taken + self.data[self.place - count : self.place]

    _replace(bergamot_file.BinaryReader, "bytes", bytes_)


def extract_all() -> None:
    """Unpack packages with the names of their entries."""

    def unpack(package: Path, entries: Any, folder: Path) -> None:
        for entry in entries:
            target = folder / entry.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(entry.open().read())

    _replace(model_archive, "_unpack", unpack)


def raise_everything() -> None:
    """Let errors of readers pass to the user, those of JSON among them."""
    _replace(import_model, "_DAMAGE", ())
    _replace(source_files.SourceFolder, "read_json", lambda self, name: json.loads(self.read(name)))


def _replace(owner: Any, name: str, value: Any) -> None:
    assert hasattr(owner, name), f"{owner} must have {name}; without it, the control would find nothing"
    setattr(owner, name, value)


FAULTS: dict[str, Callable[[], None]] = {
    "unpickle": unpickle,
    "trust-sizes": trust_sizes,
    "extract-all": extract_all,
    "raise-everything": raise_everything,
}
"""Planted faults that the campaign must find, by name."""


if __name__ == "__main__":
    serve(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "")
