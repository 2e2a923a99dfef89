"""Training compared with Hugging Face, OpenNMT-py, JoeyNMT and Marian: tokens per second, BLEU after equal updates."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from benchmarks.peers.environments import default_folder
from benchmarks.peers.quality import measure_quality
from benchmarks.peers.speed import measure_speed
from benchmarks.reporting import parser


def main() -> None:
    options = parser(__doc__)
    options.add_argument("what", nargs="?", choices=["speed", "quality"], default="speed")
    options.add_argument("--corpus", type=Path, default=Path("../shared/data/multi30k"))
    options.add_argument("--environments", type=Path, default=default_folder(), help="where toolkits are installed")
    options.add_argument("--models", nargs="+", choices=["R", "T"], default=["R", "T"])
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--seconds", type=float, default=60.0)
    options.add_argument("--warmup", type=float, default=10.0, help="seconds of each run that do not count")
    options.add_argument("--ours", choices=["step", "train"], default="train")
    options.add_argument("--only", nargs="+", help="contenders whose names begin so")
    options.add_argument("--updates", type=int, default=0, help="quality: of each model; 0 is 1,500 for T, 1,000 for R")
    options.add_argument("--tokens", type=int, default=512, help="quality: target tokens of a batch")
    options.add_argument("--results", default="", help="another name for the page, for trials")
    chosen = options.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended too
    measure_speed(chosen) if chosen.what == "speed" else measure_quality(chosen)


if __name__ == "__main__":
    main()
