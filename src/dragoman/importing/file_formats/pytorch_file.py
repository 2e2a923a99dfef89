"""Convert a PyTorch checkpoint to safetensors in a separate process with limits on time, memory and output.

The format is a pickle. torch reads it with ``weights_only=True``, which runs no code from the file; the limits apply if
that fails.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dragoman.environment import require
from dragoman.errors import BundleError
from dragoman.importing.file_formats.safetensors_file import read_safetensors
from dragoman.importing.file_formats.weight_table import WeightTable

_GROWTH = 6  # tied weights are saved under each of their names
_MEMORY = 12 << 30  # bytes of address space that torch itself reserves at most
_TIMEOUT = 300  # seconds of wall-clock time, for a busy machine

_SCRIPT = """
import resource, sys
source, target, most_bytes, most_memory, most_seconds = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
for limit, value in (
    (resource.RLIMIT_AS, most_memory), (resource.RLIMIT_CPU, most_seconds), (resource.RLIMIT_FSIZE, most_bytes),
    (resource.RLIMIT_CORE, 0),
):
    try:
        resource.setrlimit(limit, (value, value))
    except (OSError, ValueError):
        pass
import torch
from safetensors.torch import save_file
torch.set_num_threads(1)
state = torch.load(source, map_location="cpu", weights_only=True)
state = state if isinstance(state, dict) else {}
tensors = {k: v for k, v in state.items() if isinstance(k, str) and isinstance(v, torch.Tensor) and not v.is_sparse}
if not tensors or sum(v.numel() * v.element_size() for v in tensors.values()) > most_bytes - (1 << 20):
    sys.exit(4)
save_file({k: v.detach().clone(memory_format=torch.contiguous_format) for k, v in tensors.items()}, target)
"""


@contextmanager
def read_pytorch(path: Path) -> Iterator[WeightTable]:
    """Open a checkpoint; its weights can be taken inside the context."""
    require("torch", "train", f"reading {path.name}")
    size = path.stat().st_size
    with tempfile.TemporaryDirectory(prefix="dragoman-import-") as folder:
        target = Path(folder) / "weights.safetensors"
        most_bytes = _GROWTH * size + (2 << 20)
        limits = (most_bytes, _MEMORY + 2 * most_bytes, 60 + size // 10_000_000)
        command = [sys.executable, "-I", "-c", _SCRIPT, str(path.resolve()), str(target), *map(str, limits)]
        try:
            done = subprocess.run(command, capture_output=True, check=False, timeout=_TIMEOUT, cwd=folder)  # noqa: S603 -- a fixed command
        except subprocess.TimeoutExpired:
            done = None
        if done is None or done.returncode != 0 or not target.is_file():
            raise BundleError(
                f"{path} must be a PyTorch checkpoint that holds weights only, got one that cannot be read safely "
                f"({_reason(done)}); use model.safetensors of the same model"
            )
        yield read_safetensors(target)


def _reason(done: subprocess.CompletedProcess[bytes] | None) -> str:
    if done is None:
        return "timeout"
    if done.returncode < 0:
        return f"signal {-done.returncode}"
    lines = [line.strip() for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    found = [line for line in lines if line.startswith(("Weights only load failed", "MemoryError", "Unsupported"))]
    return ascii((found or lines or [f"exit code {done.returncode}"])[-1])[1:-1][:160]
