"""Write the report of the server under load from the stored figures of every part."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.reporting import RESULTS, table, write
from benchmarks.serving.latency import OVERHEAD_GOAL
from benchmarks.serving.peer import medians
from benchmarks.serving.throughput import OFFLINE_GOAL, TOGETHER_GOAL

NAME = "serving"


def keep(part: str, figures: dict[str, Any], name: str) -> None:
    """Store the figures of a part and rewrite the report."""
    path = RESULTS / f"{name}.json"
    kept = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    kept[part] = figures
    if "latency" in kept:
        draw(kept["latency"], name)
    write(name, page(kept, name), kept)


def page(kept: dict[str, Any], name: str = NAME) -> str:
    text = "# The service under load\n"
    writers: dict[str, Callable[[dict[str, Any]], str]] = {
        "throughput": throughput_text,
        "latency": partial(latency_text, name=name),
        "peer": peer_text,
    }
    for part, writer in writers.items():
        if part in kept:
            figures = kept[part]
            text += f"\n{head(part, figures)}\n{writer(figures)}"
    return text


def head(part: str, figures: dict[str, Any]) -> str:
    signed, task = figures["signature"], figures["task"]
    return (
        f"## {part.capitalize()}\n\nMeasured {signed['date']} with `python -m benchmarks.serving {part}`, dragoman "
        f"{signed['version']}, on: {signed['machine']}. {task['sentences']:,} sentences of Multi30k "
        f"test_2016_flickr, {task['languages']}, one per request; {task['threads']} threads, beam {task['beam']}, "
        f"engine {figures.get('why') or task['engine']} ({task['precision']}).\n"
    )


def verdict(is_met: bool) -> str:
    return "met" if is_met else "**missed**"


def throughput_text(found: dict[str, Any]) -> str:
    clients = found["clients"]
    names = {
        "clients_at_once": f"the engine by itself, {clients} sentences at a time",
        "all_at_once": "the engine by itself, all sentences at once",
        "together": f"server, {clients} clients",
        "one_by_one": f"server that translates one sentence at a time, {clients} clients",
    }
    rows = []
    for key, title in names.items():
        rounds = found[key]
        wrk = f"{medians(rounds, 'wrk_cpu') / medians(rounds, 'seconds'):.0%}" if "wrk_cpu" in rounds[0] else "–"
        bad = str(sum(each["failed"] + each["lost"] for each in rounds)) if "failed" in rounds[0] else "–"
        spread = sorted(each["per_second"] for each in rounds)
        rows.append(
            [
                title,
                f"{medians(rounds, 'per_second'):.0f}",
                f"{spread[0]:.0f}–{spread[-1]:.0f}",
                f"{medians(rounds, 'per_cpu_second'):.0f}",
                wrk,
                bad,
            ]
        )
    header = ["", "sentences per second", "rounds", "per CPU second", "wrk's share of a core", "failed"]
    goals = [
        [
            f"server / engine alone, {clients} sentences per call",
            f"≥ {OFFLINE_GOAL}",
            f"{found['of_engine']:.2f}",
            verdict(found["of_engine"] >= OFFLINE_GOAL),
        ],
        ["the same by CPU time, without wrk's", "–", f"{found['of_engine_by_cpu']:.2f}", "–"],
        ["server / engine alone, all in one call", "–", f"{found['of_engine_all_at_once']:.2f}", "–"],
        [
            "server / server without batching",
            f"≥ {TOGETHER_GOAL}",
            f"{found['gain']:.2f}",
            verdict(found["gain"] >= TOGETHER_GOAL),
        ],
    ]
    text = f"{len(found['together'])} interleaved rounds; medians, and ratios are medians of each round's. wrk runs on "
    text += "the same cores and takes its share from the server; the engine alone has all cores.\n\n"
    return text + table(header, rows) + "\n" + table(["times as fast", "goal", "median", ""], goals)


def latency_text(found: dict[str, Any], name: str) -> str:
    rows = [
        [
            f"{load['share']:.0%}",
            f"{load['offered']:.0f}",
            f"{load['per_second']:.0f}",
            f"{1000 * load['p50']:.0f}",
            f"{1000 * load['p99']:.0f}",
            f"{load['rejected'] / max(1, load['requests']):.1%}",
            str(int(load["failed"])),
            f"{1000 * load['client_lag']:.0f}",
        ]
        for load in found["loads"]
    ]
    header = [
        "of capacity",
        "offered per second",
        "answered in time",
        "p50, ms",
        "p99, ms",
        "rejected",
        "failed",
        "client late, ms",
    ]
    idle = found["idle"]
    text = f"Capacity is what 64 clients of wrk get: {found['capacity']:.0f} requests per second. Requests arrive at "
    text += (
        f"random times (an open loop) for {found['seconds']:.0f} s per load; latency is measured from the scheduled "
    )
    text += "time of the request. The client is Python on the same cores.\n\n"
    text += table(header, rows) + f"\n![p50 and p99 against load]({name}.png)\n\n"
    text += f"An idle server: {idle['pairs']} requests, each sentence also by the engine alone, interleaved. Median "
    text += f"{1000 * idle['server_median']:.1f} ms over HTTP, {1000 * idle['engine_median']:.1f} ms without.\n\n"
    met = verdict(idle["overhead_median"] <= OVERHEAD_GOAL)
    goal = ["beyond the engine, ms (median of pairs)", f"≤ {1000 * OVERHEAD_GOAL:.0f}"]
    return text + table(
        ["", "goal", "median", "p90", ""],
        [[*goal, f"{1000 * idle['overhead_median']:.2f}", f"{1000 * idle['overhead_p90']:.2f}", met]],
    )


def peer_text(found: dict[str, Any]) -> str:
    text = f"Compared with {found['version']} with the same CTranslate2 model and beam, interleaved. It has "
    text += (
        f"{found['waitress_threads']} request threads, one batch per thread like ours, and splits sentences by spaCy's "
    )
    text += (
        f"rule (its own model would have to be downloaded). Both give the same translation for {found['same']:.0%} of "
    )
    text += "the sentences; its search ranks lengths differently. Closed loop: p99 is that of wrk's clients.\n\n"
    rows = []
    for clients in found["sides"]["dragoman"]:
        ours, theirs = (found["sides"][side][clients] for side in ("dragoman", "libretranslate"))
        rows.append(
            [
                clients,
                *(f"{medians(side, 'per_second'):.0f}" for side in (ours, theirs)),
                f"{medians(ours, 'per_second') / medians(theirs, 'per_second'):.1f} ×",
                *(f"{medians(side, 'per_cpu_second'):.0f}" for side in (ours, theirs)),
                *(f"{1000 * medians(side, 'p99'):.0f}" for side in (ours, theirs)),
                *(str(sum(each["failed"] + each["lost"] for each in side)) for side in (ours, theirs)),
            ]
        )
    header = [
        "clients",
        "ours per second",
        "LibreTranslate",
        "",
        "ours per CPU second",
        "LibreTranslate",
        "ours p99, ms",
        "LibreTranslate",
        "ours failed",
        "LibreTranslate",
    ]
    return text + table(header, rows)


def draw(found: dict[str, Any], name: str) -> None:
    """p50 and p99 against load."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    loads = found["loads"]
    figure, axis = plt.subplots(figsize=(7, 4))
    offered = [load["offered"] for load in loads]
    for what, colour in (("p99", "#b0413e"), ("p50", "#2c3e8f")):
        axis.plot(offered, [1000 * load[what] for load in loads], marker="o", label=what, color=colour)
    axis.axvline(found["capacity"], color="#888888", linestyle="--", label="capacity (64 clients)")
    axis.set_xlabel("requests offered per second (open loop)")
    axis.set_ylabel("milliseconds")
    axis.set_yscale("log")
    axis.grid(alpha=0.3)
    axis.legend()
    figure.tight_layout()
    figure.savefig(RESULTS / f"{name}.png", dpi=110)
    plt.close(figure)
