"""`dragoman model`: show the parameters and the cost of a model."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from dragoman.cli.console import echo, print_json, print_table, report_errors
from dragoman.cli.options.arguments import AnyConfig, Json, Overrides, any_config, number

if TYPE_CHECKING:
    from dragoman.models.summary import ModelPart, ModelSummary


def model(
    config: AnyConfig,
    overrides: Overrides = None,
    length: Annotated[int, number("Tokens per sentence, for the costs.")] = 25,
    depth: Annotated[int, number("Depth of the module tree.")] = 3,
    json: Json = False,
) -> None:
    """Summarize a model: modules, parameters, FLOPs and memory.

    No weights are allocated.
    """
    from dragoman.config import load_config
    from dragoman.environment import require

    with report_errors():
        resolved = load_config(any_config(config), overrides or [])
        require("torch", "train", "dragoman model")
        from dragoman.models.summary import summarize

        summary = summarize(resolved, length)
    if json:
        print_json(asdict(summary))
    else:
        _print(resolved.description or config, summary, depth)


def _print(title: str, summary: ModelSummary, depth: int) -> None:
    echo(f"{title}\n")
    rows = [("part", "kind", "parameters", "share")]
    rows += [_row(part, summary) for part in summary.parts if 0 < part.depth <= depth and _size(part, summary)]
    rows.append(("in all", "", f"{summary.parameters:,}", "100.0 %"))
    print_table(rows, right=frozenset({2, 3}))
    cost = summary.cost
    echo(f"\nper target token, in sentences of {cost.length} tokens; vocabulary {summary.target_vocab:,}\n")
    print_table(
        [
            ("forward", _flops(cost.forward_flops)),
            ("training (forward and backward)", _flops(cost.training_flops)),
            ("stored for the backward pass", _bytes(cost.training_bytes)),
            ("decoding: memory per source token", _bytes(cost.memory_bytes)),
            (
                "decoding: state, and its growth per token",
                f"{_bytes(cost.state_bytes)} + {_bytes(cost.state_growth_bytes)}",
            ),
        ]
    )
    weights = summary.parameters * 4
    echo(f"\nweights in fp32 {_bytes(weights)}; trained with Adam {_bytes(4 * weights)}, gradients included")


def _row(part: ModelPart, summary: ModelSummary) -> tuple[str, str, str, str]:
    size = _size(part, summary)
    name = "  " * (part.depth - 1) + part.name.rsplit(".", 1)[-1]
    return name, part.kind, f"{size:,}", f"{100 * size / summary.parameters:.1f} %"


def _size(part: ModelPart, summary: ModelSummary) -> int:
    """Return the number of parameters of a module and its submodules."""
    return sum(p.parameters for p in summary.parts if p.name == part.name or p.name.startswith(part.name + "."))


def _flops(count: int) -> str:
    return f"{count / 1e6:,.1f} MFLOP"


def _bytes(count: int) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{count} B"
