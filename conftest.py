"""Fixtures and settings of all tests: one torch thread per worker, fixed seeds, corpora."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

if "PYTEST_XDIST_WORKER" in os.environ:  # torch reads it once, at import
    os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("CLAIMS_NICENESS", "0")

if os.environ.get("DRAGOMAN_BEARTYPE"):  # `just typed`: check annotations at every call
    from beartype.claw import beartype_packages

    beartype_packages("claims", "dragoman")

ROOT = Path(__file__).resolve().parent

# Generated cases: few by default, a fixed larger set in CI, many on request.
settings.register_profile("default", max_examples=25, deadline=None)
settings.register_profile(
    "ci",
    max_examples=60,
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("DRAGOMAN_HYPOTHESIS", "default"))


@pytest.fixture(autouse=True)
def expected_threads() -> None:
    """Reset torch's number of threads, which an earlier test may have changed: it changes the order of sums."""
    torch, wanted = sys.modules.get("torch"), int(os.environ.get("OMP_NUM_THREADS", "0"))
    if torch is not None and wanted and torch.get_num_threads() != wanted:
        torch.set_num_threads(wanted)


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def once_per_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], object]], Path]:
    """Build a folder once per test run and share it between workers; tests must not change it."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def build_once(name: str, build: Callable[[Path], object]) -> Path:
        folder, complete = shared / f"shared-{name}", shared / f"shared-{name}.complete"
        with (shared / f"shared-{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not complete.exists():
                build(folder)
                complete.touch()
        return folder

    return build_once


@pytest.fixture(scope="session")
def demo_folder(once_per_run: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """The folder that `dragoman demo` writes: trained once per test run. Copy it before changing it."""

    def build(folder: Path) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "dragoman", "demo", str(folder)],
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip()

    return once_per_run("demo", build)


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Store exports in a folder of the tests instead of the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DRAGOMAN_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of exports for one test, which does not exist yet."""
    folder = tmp_path_factory.mktemp("own") / "cache"
    monkeypatch.setenv("DRAGOMAN_CACHE", str(folder))
    return folder


@pytest.fixture(scope="session")
def corpora() -> Path:
    """Folder of parallel corpora, one sub-folder each; skip the test if there is none."""
    folder = Path(os.environ.get("DRAGOMAN_CORPORA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("no corpora here: set DRAGOMAN_CORPORA to a folder of them (CONTRIBUTING.md)")
    return folder


@pytest.fixture(autouse=True)
def _fixed_torch_state() -> Iterator[None]:
    """Seed torch and restore the default dtype after each test, if torch is imported."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "manual_seed"):
        yield
        return
    torch.manual_seed(0)
    dtype = torch.get_default_dtype()
    yield
    torch.set_default_dtype(dtype)
