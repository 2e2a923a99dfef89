"""Describe the machine and the installed packages; works without torch."""

import ctypes
import importlib
import importlib.util
import json
import os
import platform
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dragoman.errors import ConfigError, MissingExtraError
from dragoman.version import DISTRIBUTION, __version__

_COMBINED = "all"  # an extra of other extras
DEVELOPMENT_EXTRAS = ("dev", "docs")  # for contributors; users need none of them
_CGROUPS = Path("/sys/fs/cgroup")
_MEMORY = Path("/proc/meminfo")
_ARENA_MAX = -8  # M_ARENA_MAX of glibc's malloc.h
_KERNEL_CACHES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")
_KERNELS = 128  # two to four times as many as one update of a Transformer uses
_PACKAGES = {"markdown_it": "markdown-it-py", "multipart": "python-multipart", "yaml": "pyyaml"}
"""Names of packages by module, where they differ by more than - and _."""
_RESULT_PACKAGES = ("sacrebleu", "numpy", "ctranslate2", "onnxruntime", "torch", "sentencepiece")


@dataclass(frozen=True)
class Machine:
    """A machine on which something was measured."""

    system: str
    processor: str
    cores: int
    memory_gib: float
    features: tuple[str, ...]
    python: str
    torch: str | None
    accelerators: tuple[str, ...]

    @property
    def signature(self) -> str:
        """One line about the machine, for reports of measurements."""
        on = ", ".join((*self.features, *self.accelerators)) or "no special instructions"
        torch = f"torch {self.torch}" if self.torch else "no torch"
        return (
            f"{self.processor}, {self.cores} cores, {self.memory_gib:.0f} GiB, {on}; "
            f"{self.system}, Python {self.python}, {torch}"
        )


@dataclass(frozen=True)
class Package:
    """One dependency: the required version and the installed one (None if not installed)."""

    name: str
    required: str
    installed: str | None

    @property
    def is_satisfied(self) -> bool:
        """Whether it is installed, and not older than required."""
        minimum = re.search(r">=\s*([\d.]+)", self.required)
        return self.installed is not None and (
            minimum is None or _numbers(self.installed) >= _numbers(minimum.group(1))
        )


def _numbers(version: str) -> tuple[int, ...]:
    """The release part of a version: (2, 13, 0) of 2.13.0+cpu."""
    release = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in release.group().split(".")) if release else ()


def machine_info(*, accelerators: bool = True) -> Machine:
    """Describe this machine. To find `accelerators`, torch is imported if installed, which takes seconds."""
    version, found = _torch() if accelerators else (package_version("torch"), ())
    return Machine(
        system=platform.system(),
        processor=_cpuinfo("model name") or platform.processor() or platform.machine(),
        cores=usable_cores(),
        memory_gib=_memory_gib(),
        features=_features(),
        python=platform.python_version(),
        torch=version,
        accelerators=found,
    )


def usable_cores() -> int:
    """Number of cores that this process may use; on systems without affinity (macOS), of all cores."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_threads() -> int:
    """Return the number of threads of an engine if none is given: OMP_NUM_THREADS, or the usable cores."""
    wanted = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(wanted) if wanted.isdecimal() and int(wanted) > 0 else usable_cores()


def extras(distribution: str = DISTRIBUTION) -> dict[str, list[Package]]:
    """The dependencies of a distribution by extra (`""`: base install), without those of combined extras."""
    from importlib import metadata  # noqa: PLC0415 -- slow to import

    try:
        requirements = metadata.requires(distribution) or []
    except metadata.PackageNotFoundError:
        requirements = []
    found: dict[str, list[Package]] = {}
    for requirement in requirements:
        required, _, condition = requirement.partition(";")
        extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)['\"]", condition)
        name = re.split(r"[\s<>=!~\[;(]", required.strip(), maxsplit=1)[0]
        package = Package(name, required.strip().removeprefix(name).strip(), package_version(name))
        if (extra and extra.group(1) == _COMBINED) or name == distribution:
            continue
        found.setdefault(extra.group(1) if extra else "", []).append(package)
    return found


def package_versions() -> dict[str, str]:
    """Return the versions of Dragoman, of Python, and of the installed packages that results depend on."""
    versions = {"dragoman": __version__, "python": platform.python_version()}
    return versions | {name: version for name in _RESULT_PACKAGES if (version := package_version(name)) is not None}


def is_installed(module: str) -> bool:
    """Whether a module can be imported."""
    return importlib.util.find_spec(module) is not None


def require(module: str, extra: str, what: str) -> None:
    """Raise a `MissingExtraError` with the install command unless `module` is installed."""
    if not is_installed(module):
        raise MissingExtraError(_missing_message(module, extra, what))


def import_package(module: str, extra: str, what: str) -> Any:
    """Import a package or one of its modules; a missing or a damaged one is a `MissingExtraError`."""
    package = module.partition(".")[0]
    require(package, extra, what)
    try:
        return importlib.import_module(module)
    except ImportError as error:  # of a library of the system, or of another version of a package
        command = install_command(extra).replace("pip install", "pip install --force-reinstall")
        reason = " ".join(str(error).split())
        raise MissingExtraError(
            f"{what} needs the package {package}, which cannot be imported: {reason}; install it again with {command}"
        ) from error


def missing_package(module: str, what: str, preferred: str = "train") -> MissingExtraError:
    """Return the error for a module that could not be imported, with the command for the `preferred` extra."""
    root = module.partition(".")[0]
    name = _PACKAGES.get(root, root).replace("_", "-").lower()
    having = [extra for extra, listed in extras().items() if any(each.name.lower() == name for each in listed)]
    found = sorted(having, key=lambda extra: (extra != preferred, extra in DEVELOPMENT_EXTRAS, extra))
    return MissingExtraError(_missing_message(root, found[0] if found else None, what, package=name))


def _missing_message(module: str, extra: str | None, what: str, package: str = "") -> str:
    command = f"pip install {package}" if extra is None else install_command(extra)
    return f"{what} needs the package {module}; install it with {command}"


def install_command(extra: str = "", *, upgrade: bool = False) -> str:
    """Return a pip command for an extra: the clone or wheel of Dragoman, else the packages that are missing."""
    source = _source()
    if source is not None:
        names = [f"{source}{f'[{extra}]' if extra else ''}"]
    else:
        needed = extras().get(extra, [])
        missing = [each for each in needed if not each.is_satisfied] or needed
        names = [f"{each.name}{each.required}".replace(" ", "") for each in missing] or [f".[{extra}]"]
    return " ".join(["pip install", *(["--upgrade"] if upgrade else []), *(f'"{name}"' for name in names)])


def _source() -> Path | None:
    """Return the folder or wheel from which pip installed Dragoman, or the clone that it runs from; None if gone."""
    from importlib import metadata  # noqa: PLC0415 -- slow to import
    from urllib.request import url2pathname  # noqa: PLC0415 -- imports a whole HTTP client; only for error messages

    found = [Path(__file__).resolve().parents[2]]
    with suppress(metadata.PackageNotFoundError, ValueError, AttributeError):
        text = metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
        url = urlsplit(json.loads(text or "{}").get("url", ""))
        if url.scheme == "file":
            found.insert(0, Path(url2pathname(url.path)))
    return next((path for path in found if path.is_file() or (path / "pyproject.toml").is_file()), None)


def peak_memory() -> int:
    """Peak memory of this process in bytes; 0 if the system does not report it."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    found = re.search(r"^VmHWM:\s*(\d+) kB$", status, re.MULTILINE)  # getrusage would count the parent's before exec
    return int(found.group(1)) * 1024 if found else 0


def limit_kernel_caches() -> None:
    """Limit the memory for compiled bf16 kernels; values that the user has set are kept.

    oneDNN and torch compile a kernel for each shape of a matrix product and keep 1,024 of them, which is several times
    the memory of a small model. The shapes of batches vary, and few kernels are used again after an update. The limits
    are environment variables, which are read at the first use: call this before torch computes anything.
    """
    for name in _KERNEL_CACHES:
        os.environ.setdefault(name, str(_KERNELS))


def limit_heaps() -> None:
    """Let threads share heaps, one per core, before they start: glibc makes eight, each keeping freed memory."""
    limit = getattr(ctypes.CDLL(None), "mallopt", None)
    if limit is not None and "MALLOC_ARENA_MAX" not in os.environ:
        limit(_ARENA_MAX, max(2, usable_cores()))


def trim_heap() -> None:
    """Return freed memory to the operating system; glibc keeps it otherwise."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def available_memory() -> int | None:
    """Return the bytes that this process may use: those of the system, or fewer in a control group; None if unknown."""
    system = _number(_MEMORY, "MemAvailable:")
    if system is None:
        return None
    own = Path("/proc/self/cgroup")
    place = next((line[3:] for line in _lines(own) if line.startswith("0::")), "/").lstrip("/")
    found = [system * 1024]
    for folder in (_CGROUPS / place, *(_CGROUPS / place).parents, _CGROUPS / "memory"):
        for limit, used, cached in (
            ("memory.max", "memory.current", "file"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "cache"),  # version 1
        ):
            most, now = _number(folder / limit), _number(folder / used)
            if most is not None and now is not None:
                found.append(max(0, most - now + (_number(folder / "memory.stat", cached) or 0)))
    return min(found)


def _number(path: Path, name: str = "") -> int | None:
    """Return the number in a file of the kernel, or in its line with a name."""
    lines = [line.split() for line in _lines(path)]
    words = next((line[1:] if name else line for line in lines if line and name in ("", line[0])), [])
    return int(words[0]) if words and words[0].isdecimal() else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def package_version(name: str) -> str | None:
    """The version of an installed distribution; None if it is not installed."""
    from importlib import metadata  # noqa: PLC0415 -- slow to import

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _torch() -> tuple[str | None, tuple[str, ...]]:
    if not is_installed("torch"):
        return None, ()
    import torch  # noqa: PLC0415 -- optional, and slow to import

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return torch.__version__, tuple(torch.cuda.get_device_name(number) for number in range(count))


def _cpuinfo(key: str) -> str | None:
    path = Path("/proc/cpuinfo")
    if not path.exists():
        return None
    found = re.search(rf"^{key}\s*:\s*(.*)$", path.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    return found.group(1).strip() if found else None


def _features() -> tuple[str, ...]:
    """Instruction sets that affect the speed."""
    flags = set((_cpuinfo("flags") or "").split())
    names = {"avx2": "AVX2", "avx512f": "AVX-512", "avx512_bf16": "AVX-512 bf16", "amx_bf16": "AMX bf16"}
    return tuple(name for flag, name in names.items() if flag in flags)


def _memory_gib() -> float:
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", ()):
        return 0.0
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def check_process(opened_in: int) -> None:
    """Raise in a fork of the process that opened a translator: it lacks the threads of the engine."""
    if os.getpid() != opened_in:
        raise ConfigError(
            "a translator works only in the process that opened it, not in a fork of it; open it after the "
            "fork, or start processes with multiprocessing's spawn"
        )
