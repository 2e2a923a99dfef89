"""BLEU after the same number of updates on the same batches: ours in bf16 and the fastest others in fp32."""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from sacrebleu.metrics.bleu import BLEU

from benchmarks.peers.contenders import OPENNMT_ENVIRONMENT, PEAK, WARMUP, Place, driver, opennmt_config, write_config
from benchmarks.peers.corpus import prepare
from benchmarks.peers.running import Job, RunError, complaint, start, stop
from benchmarks.peers.speed import pythons
from benchmarks.reporting import heading, table, write
from dragoman.text import SentencePieceTokenizer

UPDATES = {"R": 1000, "T": 1500}
LIMIT = 3600.0
"""Seconds one training may take."""


@dataclass(frozen=True)
class Learner:
    """Who learns what."""

    name: str
    model: str
    environment: str | None
    driver: str
    precision: str = "fp32"


LEARNERS = [
    Learner("Dragoman, bf16", "R", None, "ours", "bf16"),
    Learner("OpenNMT-py, fp32", "R", "opennmt", "opennmt"),
    Learner("Dragoman, bf16", "T", None, "ours", "bf16"),
    Learner("Hugging Face, fp32", "T", "huggingface", "huggingface"),
]


@dataclass(frozen=True)
class Learnt:
    """Result: BLEU with its signature, or an error."""

    learner: Learner
    updates: int
    minutes: float
    bleu: float = 0.0
    signature: str = ""
    error: str = ""


def measure_quality(options: argparse.Namespace) -> None:
    learners = [learner for learner in LEARNERS if learner.model in options.models]
    if options.only:
        learners = [learner for learner in learners if learner.name.startswith(tuple(options.only))]
    found, versions, errors = pythons({learner.environment for learner in learners}, options.environments)
    results = []
    with tempfile.TemporaryDirectory(prefix="peers-") as scratch:
        data = Path(scratch) / "data"
        tokenizer = prepare(options.corpus, data, [options.tokens])
        for learner in learners:
            updates = options.updates or UPDATES[learner.model]
            if learner.environment in errors:
                results.append(Learnt(learner, 0, 0.0, error=errors[learner.environment]))
                continue
            place = Place(data, Path(scratch), found[learner.environment], options.threads)
            results.append(learn(learner, place, updates, options.tokens, tokenizer))
            print(results[-1], flush=True)
    report(options, results, versions)


def job_of(learner: Learner, place: Place, updates: int, tokens: int, hypotheses: Path) -> Job:
    shared = ["--updates", str(updates), "--tokens", str(tokens), "--hypotheses", str(hypotheses)]
    shared += ["--peak", str(PEAK), "--warmup", str(WARMUP), "--precision", learner.precision]
    if learner.driver != "opennmt":
        return driver(learner.driver, *shared)(place, learner.model)
    config = write_config(place.scratch / f"quality-{learner.model}.yaml", opennmt_config(place, learner.model))
    job = driver("opennmt", *shared, "--config", str(config))(place, learner.model)
    return Job(job.command, job.reader, job.threads, job.folder, OPENNMT_ENVIRONMENT)


def learn(learner: Learner, place: Place, updates: int, tokens: int, tokenizer: SentencePieceTokenizer) -> Learnt:
    """Train, translate the test set greedily, score."""
    hypotheses = place.scratch / f"{learner.driver}-{learner.model}.txt"
    began = time.perf_counter()
    try:
        finish(job_of(learner, place, updates, tokens, hypotheses))
    except RunError as error:
        return Learnt(learner, updates, (time.perf_counter() - began) / 60, error=str(error))
    minutes = (time.perf_counter() - began) / 60
    references = (place.data / "test.raw.de").read_text(encoding="utf-8").split("\n")[:-1]
    bleu, signature = score(hypotheses.read_text(encoding="utf-8").split("\n")[:-1], references, tokenizer)
    return Learnt(learner, updates, minutes, bleu, signature)


def finish(job: Job) -> None:
    """Let it run to its end."""
    process = start(job)
    try:
        said, _ = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        raise RunError(f"not done after {LIMIT / 60:.0f} minutes") from None
    finally:
        stop(process)
    if process.returncode:
        raise RunError(complaint(said))


def score(hypotheses: list[str], references: list[str], tokenizer: SentencePieceTokenizer) -> tuple[float, str]:
    """BLEU of subwords, put together as text; a subword that is none of the vocabulary's is the unknown one."""
    texts = [tokenizer.decode([tokenizer.vocabulary.id_of(p) for p in line.split()]) for line in hypotheses]
    metric = BLEU()
    return metric.corpus_score(texts, [references]).score, str(metric.get_signature())


def report(options: argparse.Namespace, results: list[Learnt], versions: dict[str, str]) -> None:
    text = heading("As good after as many updates", "python -m benchmarks.peers quality", options.threads)
    text += "\nWith " + "; ".join(versions.values()) + ".\n"
    text += f"\nMulti30k en→de, the models R and T of [peers.md](peers.md), batches of about {options.tokens:,} target "
    text += (
        f"tokens: the same pairs in the same order for both sides. Adam, peak rate {PEAK:g} after {WARMUP} updates, "
    )
    text += "then falling with the square root; no label smoothing; one seed. BLEU of test_2016_flickr, greedy.\n\n"
    rows = [
        [
            f"{found.learner.model}, {found.learner.name}",
            f"{found.updates:,}",
            f"{found.bleu:.1f}" if not found.error else "–",
            f"{found.minutes:.1f}",
        ]
        for found in results
    ]
    text += table(["", "updates", "BLEU", "minutes, start and translating among them"], rows)
    text += "".join(f"\n- {found.learner.name} did not run: `{found.error}`" for found in results if found.error)
    signatures = sorted({found.signature for found in results if found.signature})
    text += f"\nsacreBLEU: {', '.join(signatures) or 'nothing to score'}.\n"
    figures = [
        {**vars(found), "learner": f"{found.learner.model}, {found.learner.name}", "tokens": options.tokens}
        for found in results
    ]
    write(options.results or "peers-quality", text, figures)
