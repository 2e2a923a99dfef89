"""What a step of attention costs as the source grows: local attention should not notice.

A decoder of 256 LSTM cells (one layer, input feeding, general score, D = 10) on a batch of 4 sentences. The memory is
given: the encoder, which of course reads the whole source, is not part of the figures. Time is the median of repeated
steps. Memory is the bytes of all tensors that a step makes. A training step is forward and backward over 128 target
words. Its one part that must grow is the gradient of the source states, which the encoder will want for every one of
them: that buffer is made and filled once a pass, not once a target word.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.reporting import RESULTS, heading, parser, table, write
from dragoman.config import RnnConfig
from dragoman.models import Model, build_model
from dragoman.models.base import Encoded

ALIGNMENTS = ("global", "local-m", "local-p")
LENGTHS = [32 * 4**n for n in range(6)]
BATCH, HIDDEN, WORDS, VOCAB = 4, 256, 128, 64


class MadeBytes(TorchDispatchMode):
    """Counts the bytes of the tensors that operations make; views and operations in place make none."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.total = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        makes = not func.is_view and not func._schema.is_mutable  # noqa: SLF001
        for x in result if isinstance(result, tuple | list) else [result]:
            if isinstance(x, Tensor) and makes:
                self.total += x.numel() * x.element_size()
        return result


def make_model(alignment: str) -> Model[Any, Any]:
    torch.manual_seed(0)
    shape = {"layers": 1, "hidden": HIDDEN}
    config = RnnConfig.model_validate(
        {
            "family": "rnn",
            "embedding": HIDDEN,
            "dropout": 0.0,
            "encoder": shape,
            "decoder": shape | {"attend": "after", "input_feeding": True},
            "attention": {"score": "general", "alignment": alignment, "window": 10},
        }
    )
    return build_model(config, VOCAB, VOCAB)


def encoded(src: int, *, learns: bool) -> Encoded:
    """A source of `src` states, as an encoder would hand it on."""
    states = torch.randn(BATCH, src, HIDDEN, requires_grad=learns)
    h = torch.zeros(BATCH, HIDDEN)
    return Encoded(states, torch.full((BATCH,), src), ((h, h),), last=torch.zeros(BATCH, HIDDEN // 2))


def decoding_step(model: Model[Any, Any], src: int) -> Callable[[], object]:
    memory = model.decoder.make_memory(encoded(src, learns=False))
    state = model.decoder.start(memory)
    tokens = torch.zeros(BATCH, dtype=torch.long)

    def step() -> object:
        with torch.no_grad():
            return model.decoder.step(tokens, state, memory)

    return step


def training_step(model: Model[Any, Any], src: int, words: int = WORDS) -> Callable[[], object]:
    inputs = torch.zeros(BATCH, words, dtype=torch.long)
    lengths = torch.full((BATCH,), words)
    source = encoded(src, learns=True)

    def step() -> object:
        source.states.grad = None
        model.zero_grad(set_to_none=True)
        decoded = model.decoder(inputs, lengths, model.decoder.make_memory(source))
        decoded.features.sum().backward()
        return decoded

    return step


def cost(step: Callable[[], object], seconds: float) -> tuple[float, int]:
    """The median time of a step in milliseconds, and the bytes it makes."""
    step()
    with MadeBytes() as made:
        step()
    times: list[float] = []
    began = time.perf_counter()
    while time.perf_counter() - began < seconds or len(times) < 3:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times), made.total


def measure(lengths: list[int], seconds: float) -> dict[str, dict[str, list[tuple[float, int]]]]:
    """Kind of step → alignment → (milliseconds, bytes) by source length."""
    kinds = {"decoding": decoding_step, "training": training_step}
    return {
        kind: {
            alignment: [cost(make(make_model(alignment), src), seconds) for src in lengths] for alignment in ALIGNMENTS
        }
        for kind, make in kinds.items()
    }


def draw(figures: dict[str, dict[str, list[tuple[float, int]]]]) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(9, 6.4), sharex=True)
    colours = {"global": "#888888", "local-m": "#c0392b", "local-p": "#2c3e8f"}
    for column, (kind, sides) in enumerate(figures.items()):
        for alignment, costs in sides.items():
            for row, (label, scale) in enumerate((("milliseconds", 1.0), ("MiB made", 2.0**20))):
                axis = axes[row][column]
                values = [pair[row] / scale for pair in costs]
                axis.loglog(LENGTHS, values, "o-", color=colours[alignment], label=alignment, markersize=4)
                axis.set_ylabel(label)
                axis.grid(alpha=0.3, which="both")
        axes[0][column].set_title(f"a {kind} step")
        axes[1][column].set_xlabel("source words")
        axes[1][column].set_xticks(LENGTHS, [f"{n:,}" for n in LENGTHS])
    axes[0][0].legend()
    figure.tight_layout()
    figure.savefig(RESULTS / "local-attention.png", dpi=110)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--seconds", type=float, default=2.0, help="for each point")
    chosen = options.parse_args()
    torch.set_num_threads(chosen.threads)
    figures = measure(LENGTHS, chosen.seconds)
    text = heading("Local means local", "python -m benchmarks.local_attention", chosen.threads)
    text += f"\n{__doc__ or ''}\n![time and memory by source length](local-attention.png)\n"
    at_512, longest = LENGTHS.index(512), LENGTHS[-1]
    for number, (what, unit, scale) in enumerate((("Time", "ms", 1.0), ("Memory", "MiB made", 2.0**20))):
        rows = [
            [
                f"{kind}, {alignment}",
                *(f"{pair[number] / scale:,.3g}" for pair in costs),
                f"**{costs[-1][number] / costs[at_512][number]:.2f}**",
            ]
            for kind, sides in figures.items()
            for alignment, costs in sides.items()
        ]
        text += f"\n## {what} of a step ({unit})\n\n"
        text += table(["step", *(f"{n:,}" for n in LENGTHS), f"{longest:,} / 512"], rows)
    draw(figures)
    write("local-attention", text, {"lengths": LENGTHS, "costs": figures})


if __name__ == "__main__":
    main()
