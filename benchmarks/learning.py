"""Does each desk preset learn at its full size? Toy tasks, exact match on sentences never seen.

The model is the preset's own, whole: cells, layers, sizes, attention. So are the optimizer, the clipping and label
smoothing. The learning rate is the preset's and stays at its peak after a short warm-up, and dropout is low, since a
few hundred updates are all there is. Training stops when 0.99 of the development sentences are right; the figures are
for 256 others. *Aligned* is the share of their words at whose step attention looked most at the word they come from
(for a Transformer: the mean of all layers and heads, which need not look anywhere in particular). *CPU seconds* are
what training took of the processor; *seconds* also count what others took of it meanwhile.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import torch

from benchmarks.reporting import heading, parser, table, write
from dragoman.config import load_config
from testkit.toy_tasks import EXERCISES, Budget, Exercise, learn

RATE = ("training.schedule=constant", "training.warmup_updates=100", "model.dropout=0.1")
UPDATES = 400


@dataclass(frozen=True)
class Row:
    """How one preset did."""

    preset: str
    settings: tuple[str, ...]
    task: str
    goal: float
    updates: int
    exact: float
    aligned: float | None
    seconds: float
    cpu_seconds: float


def run(exercise: Exercise, budget: Budget) -> Row:
    config = load_config(exercise.preset, (*RATE, *exercise.settings))
    learned = learn(config, exercise.task, budget)
    return Row(
        exercise.preset,
        exercise.settings,
        exercise.task.name,
        exercise.goal,
        learned.updates,
        learned.exact,
        learned.aligned,
        learned.seconds,
        learned.cpu_seconds,
    )


def page(rows: list[Row], threads: int, command: str) -> str:
    header = ["preset", "task", "updates", "exact match", "wanted", "aligned", "seconds", "CPU seconds"]
    cells = [
        [
            f"{row.preset} {' '.join(f'`{setting}`' for setting in row.settings)}".strip(),
            row.task,
            str(row.updates),
            f"**{row.exact:.3f}**" if row.exact >= row.goal else f"{row.exact:.3f}",
            f"{row.goal:.2f}",
            "–" if row.aligned is None else f"{row.aligned:.3f}",
            f"{row.seconds:.0f}",
            f"{row.cpu_seconds:.0f}",
        ]
        for row in rows
    ]
    settings = " ".join(f"`{setting}`" for setting in RATE)
    return (
        f"{heading('It learns', command, threads)}\n{__doc__ or ''}\n"
        f"Settings on top of every preset: {settings}. A match in bold is as good as wanted.\n\n{table(header, cells)}"
    )


def main() -> None:
    options = parser(__doc__)
    names = [exercise.preset for exercise in EXERCISES]
    options.add_argument("--presets", nargs="+", choices=names, default=names, metavar="PRESET", help="all by default")
    options.add_argument("--updates", type=int, default=UPDATES, help=f"at most, for each preset ({UPDATES})")
    options.add_argument("--batch", type=int, default=64, help="sentence pairs in an update (64)")
    chosen = options.parse_args()
    torch.set_num_threads(chosen.threads)
    budget = Budget(chosen.updates, chosen.batch)
    rows: list[Row] = []
    for exercise in EXERCISES:
        if exercise.preset in chosen.presets:
            rows.append(run(exercise, budget))
            print(f"{rows[-1].preset}: exact {rows[-1].exact:.3f} after {rows[-1].updates} updates", flush=True)
    command = f"python -m benchmarks.learning --threads {chosen.threads}"
    write("learning", page(rows, chosen.threads, command), [asdict(row) for row in rows])


if __name__ == "__main__":
    main()
