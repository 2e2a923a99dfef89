"""The training step (forward, loss, backward, clip, Adam), compared with minimal PyTorch code that does the same.

R: 2-layer bidirectional LSTM of 512 in all, 2-layer LSTM decoder of 512, Luong's general attention, embeddings of 512,
dropout 0.2; with and without input feeding. T: 3 + 3 pre-norm Transformer layers of width 256, 4 heads, feed-forward
1024, tied embeddings, dropout 0.1. Data: Multi30k en→de, one joint BPE vocabulary of 8,000.
"""

from __future__ import annotations

import argparse
import gzip
import random
import re
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

from benchmarks.bare_models import BareLuong, BareTransformer
from benchmarks.reporting import RESULTS, heading, parser, table, write
from dragoman.config import RnnConfig, TrainingConfig, TransformerConfig
from dragoman.data.batch import Batch
from dragoman.models import build_model
from dragoman.text import train_sentencepiece
from dragoman.training import build_optimizer, train_step

VOCAB = 8000
TARGETS = {("R", "fp32"): 1.15, ("R+feeding", "fp32"): 1.15, ("T", "fp32"): 1.15}
TARGETS |= {("R", "bf16"): 1.15, ("R+feeding", "bf16"): 1.15, ("T", "bf16"): 1.4}

Step = Callable[[Batch], float]


@dataclass(frozen=True)
class Contender:
    """One side: a step that returns the loss a target token."""

    name: str
    step: Step


def read_lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        return [line.rstrip("\n") for line in lines]


def make_batches(corpus: Path, tokens: int, seed: int) -> list[Batch]:
    """Batches of about `tokens` target tokens from sentences of like length, in random order."""
    english, german = read_lines(corpus / "train.en.gz"), read_lines(corpus / "train.de.gz")
    tokenizer = train_sentencepiece([*english, *german], size=VOCAB, model="bpe")
    pairs = [(tokenizer.encode(s), tokenizer.encode(t)) for s, t in zip(english, german, strict=True)]
    order = sorted(range(len(pairs)), key=lambda row: (len(pairs[row][1]), len(pairs[row][0])))
    batches: list[Batch] = []
    rows: list[int] = []
    for row in order:
        rows.append(row)
        if len(rows) * (len(pairs[row][1]) + 1) >= tokens:
            batches.append(Batch.from_pairs([pairs[r] for r in rows], rows))
            rows = []
    random.Random(seed).shuffle(batches)
    return batches


def make_models(name: str) -> tuple[nn.Module, RnnConfig | TransformerConfig]:
    if name == "T":
        return BareTransformer(VOCAB, 256, 4, 1024, 3, 0.1), TransformerConfig(family="transformer")
    feeding = name == "R+feeding"
    config = RnnConfig.model_validate(
        {"family": "rnn", "decoder": {"input_feeding": feeding, "start": "copy"}, "attention": {"score": "general"}}
    )
    return BareLuong(VOCAB, 512, 0.2, feeding=feeding), config


def contenders(name: str, precision: str, seed: int, warmup: int = 100) -> tuple[Contender, Contender]:
    """The bare step and ours, with the same optimizer settings; both use torch's fused Adam."""
    torch.manual_seed(seed)
    bare, config = make_models(name)
    ours = build_model(config, VOCAB, VOCAB, seed)
    training = TrainingConfig.model_validate(
        {"seed": seed, "precision": precision, "learning_rate": 1e-3, "warmup_updates": warmup, "clip_norm": 1.0}
    )
    bare_optimizer = torch.optim.Adam(bare.parameters(), lr=1e-3, fused=True)
    our_optimizer = build_optimizer(ours, training)
    counts = {"bare": 0, "ours": 0}

    def bare_step(batch: Batch) -> float:
        counts["bare"] += 1
        bare_optimizer.param_groups[0]["lr"] = 1e-3 * min(1.0, counts["bare"] / warmup)
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            loss = bare(batch)
        bare_optimizer.zero_grad(set_to_none=True)
        (loss / batch.target_tokens).backward()
        nn.utils.clip_grad_norm_(bare.parameters(), 1.0)
        bare_optimizer.step()
        return float(loss) / batch.target_tokens

    def our_step(batch: Batch) -> float:
        counts["ours"] += 1
        return train_step(ours, our_optimizer, batch, training, counts["ours"]).loss

    return Contender("bare", bare_step), Contender("ours", our_step)


def rate(step: Step, batches: Iterator[Batch], seconds: float) -> float:
    """Target tokens per second over at least `seconds`."""
    done, began = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - began) < seconds:
        batch = next(batches)
        step(batch)
        done += batch.target_tokens
    return done / elapsed


def measure_speed(options: argparse.Namespace) -> None:
    batches = make_batches(options.corpus, 4096, seed=0)
    rows, figures = [], []
    for name in options.models:
        for precision in ("fp32", "bf16"):
            pair = contenders(name, precision, seed=1)
            for contender in pair:
                contender.step(batches[0])  # the first step allocates
            rounds = []
            for number in range(options.rounds):
                # Both sides see the same batches in the same order.
                start = number * 7 % len(batches)
                order = batches[start:] + batches[:start]
                rounds.append([rate(contender.step, cycle(order), options.seconds) for contender in pair])
                print(name, precision, rounds[-1], flush=True)
            ratios = [ours / bare for bare, ours in rounds]
            bare, ours = (statistics.mean(side) for side in zip(*rounds, strict=True))
            target = TARGETS[name, precision]
            figures.append({"model": name, "precision": precision, "rounds": rounds, "target": target})
            rows.append(
                [
                    f"{name}, {precision}",
                    f"{bare:,.0f}",
                    f"{ours:,.0f}",
                    f"**{ours / bare:.2f}**",
                    f"{min(ratios):.2f}–{max(ratios):.2f}",
                    f"{target:.2f}",
                ]
            )
    text = heading("The training step beside bare PyTorch", "python -m benchmarks.training_step speed", options.threads)
    text += f"\n{__doc__ or ''}\nTarget tokens a second, {options.rounds} rounds of {options.seconds:.0f} s a side, "
    text += "interleaved; batches of about 4,096 target tokens.\n\n"
    text += table(["model", "bare", "ours", "ratio", "rounds", "goal"], rows)
    text += "\n" + "\n".join(profiles(options, batches))
    write("training-step", text, figures)


def profiles(options: argparse.Namespace, batches: list[Batch]) -> list[str]:
    """Where our step's time goes."""
    texts = ["## Where the time goes\n", "Shares of a step of ours, by torch's profiler.\n"]
    rows: dict[str, list[str]] = {}
    header = ["operation"]
    for name in options.models:
        for precision in ("fp32", "bf16"):
            _, ours = contenders(name, precision, seed=1)
            ours.step(batches[0])
            with profile(activities=[ProfilerActivity.CPU]) as recorded:
                ours.step(batches[0])
            shares = group_events(recorded)
            header.append(f"{name} {precision}")
            for group in GROUPS:
                rows.setdefault(group, [group]).append(f"{100 * shares.get(group, 0.0):.0f} %")
    texts.append(table(header, list(rows.values())))
    return texts


GROUPS = {
    "matrix products": ("mm", "bmm", "addmm", "baddbmm"),
    "attention kernel": ("scaled_dot_product",),
    "softmax, exp": ("softmax", "exp"),
    "tanh, sigmoid, relu": ("tanh", "sigmoid", "relu", "threshold", "clamp_min"),
    "casts and copies": ("copy", "cat", "index_select", "index_copy", "gather", "stack", "clone"),
    "random bits": ("bitwise", "ge", "arange", "rshift"),
    "normalisation": ("layer_norm",),
    "optimizer and clipping": ("fused_adam", "norm", "foreach"),
    "other": (),
}


def group_events(recorded: profile) -> dict[str, float]:
    """The share of self time by kind of operation."""
    totals: dict[str, float] = {}
    for event in recorded.key_averages():
        plain = event.key.removeprefix("aten::")
        group = next(
            (g for g, names in GROUPS.items() if any(re.search(rf"(^|_){n}(_|$)", plain) for n in names)), "other"
        )
        totals[group] = totals.get(group, 0.0) + event.self_cpu_time_total
    whole = sum(totals.values())
    return {group: total / whole for group, total in totals.items()}


def measure_curves(options: argparse.Namespace) -> None:
    """The loss over the first updates: the bare step in fp32, and ours in fp32 and bf16."""
    batches = make_batches(options.corpus, options.tokens, seed=0)
    curves: dict[str, dict[str, list[list[float]]]] = {}
    for name in options.models:
        curves[name] = {}
        for seed in range(1, options.seeds + 1):
            order = random.Random(seed).sample(range(len(batches)), min(options.updates, len(batches)))
            chosen = [batches[order[n % len(order)]] for n in range(options.updates)]
            for label, precision, side in (
                ("bare fp32", "fp32", 0),
                ("ours fp32", "fp32", 1),
                ("ours bf16", "bf16", 1),
            ):
                step = contenders(name, precision, seed)[side].step
                curves[name].setdefault(label, []).append([step(batch) for batch in chosen])
                print(name, seed, label, f"{statistics.mean(curves[name][label][-1][-50:]):.3f}", flush=True)
        write_curves(options, curves)


def write_curves(options: argparse.Namespace, curves: dict[str, dict[str, list[list[float]]]]) -> None:
    rows = []
    for name, sides in curves.items():
        for label, runs in sides.items():
            ends = [statistics.mean(run[-50:]) for run in runs]
            spread = statistics.stdev(ends) if len(ends) > 1 else 0.0
            rows.append([f"{name}, {label}", f"{statistics.mean(ends):.3f}", f"{spread:.3f}"])
    text = heading("The same loss", "python -m benchmarks.training_step curves", options.threads)
    text += (
        f"\nMean loss a target token over the last 50 of {options.updates} updates, {options.seeds} seeds, batches of "
    )
    text += f"about {options.tokens:,} target tokens; ± is the standard deviation between seeds.\n\n"
    text += table(["model", "loss", "±"], rows) + "\n![loss by update](loss-curves.png)\n"
    draw_curves(curves)
    write(
        "loss-curves",
        text,
        {n: {k: [[round(x, 4) for x in r] for r in v] for k, v in s.items()} for n, s in curves.items()},
    )


def draw_curves(curves: dict[str, dict[str, list[list[float]]]]) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(curves), figsize=(4.2 * len(curves), 3.6), sharey=True, squeeze=False)
    styles = {"bare fp32": ("#888888", "-"), "ours fp32": ("#c0392b", "-"), "ours bf16": ("#2c3e8f", "--")}
    for axis, (name, sides) in zip(axes[0], curves.items(), strict=True):
        for label, runs in sides.items():
            mean = torch.tensor(runs).mean(0)
            smooth = torch.nn.functional.avg_pool1d(mean[None, None], 15, 1).squeeze()
            colour, line = styles[label]
            axis.plot(range(8, 8 + len(smooth)), smooth, color=colour, linestyle=line, label=label, linewidth=1.4)
        axis.set_title(name)
        axis.set_xlabel("update")
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("loss a target token")
    axes[0][-1].legend()
    figure.tight_layout()
    figure.savefig(RESULTS / "loss-curves.png", dpi=110)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("what", choices=["speed", "curves"])
    options.add_argument("--corpus", type=Path, default=Path("../shared/data/multi30k"))
    options.add_argument("--models", nargs="+", default=["R", "R+feeding", "T"])
    options.add_argument("--seconds", type=float, default=60.0)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--updates", type=int, default=300)
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--tokens", type=int, default=128)
    chosen = options.parse_args()
    torch.set_num_threads(chosen.threads)
    measure_speed(chosen) if chosen.what == "speed" else measure_curves(chosen)


if __name__ == "__main__":
    main()
