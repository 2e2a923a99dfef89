"""What every test may count on: one torch thread a worker, fixed seeds, and the corpora where they are to be had."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

if "PYTEST_XDIST_WORKER" in os.environ:  # before torch is imported, which reads it once
    os.environ.setdefault("OMP_NUM_THREADS", "1")

if os.environ.get("DRAGOMAN_BEARTYPE"):  # just typed: the package's annotations are checked at every call
    from beartype.claw import beartype_package

    beartype_package("dragoman")

ROOT = Path(__file__).resolve().parents[1]

# Generated cases: a handful while one writes code, the same larger set at every run of the checks, many on request.
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


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session", autouse=True)
def _key_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Exports are signed with a key of the tests', not with that of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DRAGOMAN_EXPORT_KEY_FILE", str(tmp_path_factory.mktemp("state") / "export-key"))
        yield


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of parallel corpora, one sub-folder each; a test that asks for it is skipped where there is none."""
    folder = Path(os.environ.get("DRAGOMAN_CORPORA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("no corpora here: set DRAGOMAN_CORPORA to a folder of them (CONTRIBUTING.md)")
    return folder


@pytest.fixture(autouse=True)
def _same_torch_for_every_test() -> Iterator[None]:
    """Seed torch, and undo a test's change of the default dtype; a test that never imports torch never pays for it."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "manual_seed"):
        yield
        return
    torch.manual_seed(0)
    dtype = torch.get_default_dtype()
    yield
    torch.set_default_dtype(dtype)
