"""Decoding speed, compared with the bare engine and other toolkits: a Transformer and a recurrent model, trained here.

Every contender is a process that loads once and then translates on request; rounds are interleaved. Writes
results/decoding.md.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.decoding import marian_models
from benchmarks.decoding.contenders import SETTINGS, Contender, contenders, ours, python_of
from benchmarks.decoding.goals import Side
from benchmarks.decoding.report import Findings, Quality, report
from benchmarks.decoding.running import ContenderError, Round, Server, Setting
from benchmarks.decoding.startup import other_starts, our_starts
from benchmarks.decoding.task import Sentences, write_task
from benchmarks.peers.environments import default_folder
from benchmarks.peers.speed import pythons
from benchmarks.reporting import parser
from dragoman.bundle import Bundle
from dragoman.evaluation.metrics.corpus_scores import bleu

PAUSE = 0.5
"""Seconds between two contenders: threads of the first may go round in circles for a while before they sleep."""


def seconds_allowed(sentences: int) -> float:
    """What no contender takes, however slow."""
    return 120.0 + 5.0 * sentences


def start(
    sides: list[Side], options: argparse.Namespace, task: Path, found: dict[str | None, Path]
) -> dict[int, Server]:
    """Load every contender, one after the other; a contender that fails has an error message."""
    servers = {}
    for number, side in enumerate(sides):
        if side.error:
            continue
        command = side.contender.command(python_of(side.contender, found), task, options.threads, options.warmup)
        began = time.perf_counter()
        try:
            servers[number] = Server(command, task / f"log-{number}.txt", options.threads)
        except ContenderError as error:
            side.error = str(error)
        said = side.error or f"loaded in {time.perf_counter() - began:.1f} s"
        print(f"{side.contender.model}, {side.contender.name}: {said}", flush=True)
    return servers


def measure(sides: list[Side], servers: dict[int, Server], setting: Setting, count: int) -> None:
    """One round of one setting."""
    for number, side in enumerate(sides):
        if side.error or setting not in side.contender.settings:
            continue
        time.sleep(PAUSE)
        try:
            done = servers[number].ask(setting, count, seconds_allowed(count))
            side.rounds.setdefault(setting, []).append(done)
            said = f"{done.per_second:.1f}/s, {done.per_cpu_second:.1f} a CPU second"
        except ContenderError as error:
            side.error = said = str(error)
        print(f"  {side.contender.model}, {side.contender.name}: {said}", flush=True)


def assess(found: Findings, sentences: Sentences) -> None:
    """Compare what was found in the last round with our reference, and with the test's own translations."""
    texts = {
        (side.contender.model, side.contender.name, setting): sentences.as_texts(rounds[-1].found)
        for side in found.sides
        for setting, rounds in side.rounds.items()
    }
    lengths = {
        (side.contender.model, side.contender.name, setting): sentences.mean_tokens(rounds[-1].found)
        for side in found.sides
        for setting, rounds in side.rounds.items()
    }
    trained = {(side.contender.model, side.contender.name): side.contender.has_our_weights for side in found.sides}
    for (model, name, setting), mine in texts.items():
        equal = score = None
        if trained[model, name]:
            score = bleu(mine, sentences.references[: len(mine)]).value
            if reference := texts.get((model, ours("torch", "float32"), setting)):
                pairs = zip(mine, reference, strict=False)
                equal = sum(a == b for a, b in pairs) / min(len(mine), len(reference))
        found.qualities[model, name, setting] = Quality(equal, score, lengths[model, name, setting])


def run(options: argparse.Namespace, task: Path) -> None:
    everybody = [side for side in contenders(options.models) if is_chosen(side, options.only)]
    sides = [Side(contender) for contender in everybody]
    paths, versions, errors = pythons({each.environment for each in everybody}, options.environments)
    for side in sides:
        side.error = errors.get(side.contender.environment or "", "")
    bundle = Bundle.open(options.transformer, trusted=True)
    sentences = Sentences.read(options.corpus, bundle, options.sentences)
    facts = write_task(task, sentences, options.transformer, options.rnn)
    for side in sides:
        if side.contender.driver == "marian" and not side.error:
            marian_models.make(side.contender.model, facts[side.contender.model], paths["marian"], task)
    found = Findings(sides, versions)
    with ExitStack() as stack:
        servers = start(sides, options, task, paths)
        for server in servers.values():
            stack.callback(server.stop)
        for number in range(options.rounds):
            for setting in SETTINGS:
                print(f"round {number + 1}, {setting}", flush=True)
                measure(sides, servers, setting, options.singles if setting.batch == 1 else options.sentences)
            assess(found, sentences)
            forget(sides)
            report(options, found)  # of the rounds so far: a long run may be stopped
    if options.starts:
        found.starts = our_starts(facts, sentences.texts[0], options.threads, options.starts)
        others = [side.contender for side in sides if side.contender.environment and not side.error]
        found.starts += other_starts(others, paths, task, options.threads, options.starts)
        report(options, found)


def is_chosen(contender: Contender, only: list[str] | None) -> bool:
    return not only or contender.name.startswith(tuple(only))


def forget(sides: list[Side]) -> None:
    """Keep the times of a round, not its texts."""
    for side in sides:
        for rounds in side.rounds.values():
            rounds[:] = [Round(each.sentences, each.seconds, each.cpu) for each in rounds]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--transformer", type=Path, required=True, help="a bundle")
    options.add_argument("--rnn", type=Path, required=True, help="a bundle with the same tokenizer")
    options.add_argument("--corpus", type=Path, default=Path("../shared/data/multi30k"))
    options.add_argument("--environments", type=Path, default=default_folder(), help="where toolkits are installed")
    options.add_argument("--models", nargs="+", choices=["transformer", "rnn"], default=["transformer", "rnn"])
    options.add_argument("--sentences", type=int, default=1000)
    options.add_argument("--singles", type=int, default=0, help="sentences of a batch of 1; 0 is all")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--warmup", type=int, default=20, help="sentences that do not count")
    options.add_argument("--starts", type=int, default=5, help="fresh processes to measure of each; 0 is none")
    options.add_argument("--only", nargs="+", help="contenders whose names begin so")
    options.add_argument("--results", default="decoding", help="another name for the page, for trials")
    chosen: Any = options.parse_args()
    chosen.singles = chosen.singles or chosen.sentences
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended too
    with tempfile.TemporaryDirectory(prefix="decoding-") as task:
        run(chosen, Path(task))


if __name__ == "__main__":
    main()
