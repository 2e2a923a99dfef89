"""Memory does not grow while batches of ever new shapes are trained on."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import json, random
from pathlib import Path
from dragoman.environment import limit_kernel_caches

limit_kernel_caches()

import torch
from dragoman.config.training import TrainingConfig
from dragoman.data.batch import Batch
from dragoman.models.build import build_model
from dragoman.training.optimizer import build_optimizer
from dragoman.training.step import train_step
from testkit.presets import tiny_config

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

torch.set_num_threads(1)
few = tiny_config("vaswani2017-desk").model_copy(update={"encoder_layers": 1, "decoder_layers": 1})
model = build_model(few, 40, 40, seed=1)
config = TrainingConfig(precision="bf16")
optimizer, draw, found = build_optimizer(model, config), random.Random(1), []
for update in range(1, 501):
    rows, src, tgt = (draw.randint(1, 12) for _ in range(3))
    pairs = [([draw.randint(5, 39) for _ in range(src)], [draw.randint(5, 39) for _ in range(tgt)])] * rows
    train_step(model, optimizer, Batch.from_pairs(pairs), config, update)
    if update in (150, 500):
        found.append(resident())
print(json.dumps(found))
"""


@pytest.mark.slow
def test_memory_stays_flat_over_500_updates_in_bf16(root: Path, tmp_path: Path):
    (tmp_path / "updates.py").write_text(SCRIPT, encoding="utf-8")
    path = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(root))))
    environment = {name: value for name, value in os.environ.items() if not name.endswith("CACHE_CAPACITY")}
    done = subprocess.run(
        [sys.executable, str(tmp_path / "updates.py")],
        env=environment | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        check=True,
    )
    early, late = json.loads(done.stdout)
    assert late < 1.05 * early
