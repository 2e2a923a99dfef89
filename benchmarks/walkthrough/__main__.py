"""From an empty folder to a served translator, in fresh environments::

python -m benchmarks.walkthrough --data DIR     # DIR has multi30k and 3am
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

from benchmarks.reporting import RESULTS, heading, table, write
from benchmarks.walkthrough.environments import EXTRAS, Environment, current, fresh
from benchmarks.walkthrough.pictures import camera
from benchmarks.walkthrough.steps import CORPORA, Corpus
from benchmarks.walkthrough.walk import Done, Walk, as_json
from dragoman.reporting.number_format import format_bytes, format_count, format_duration
from dragoman.version import DISTRIBUTION


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, required=True, help="folder of the corpora: multi30k and 3am")
    options.add_argument("--pairs", type=int, help="fewer pairs than the whole report")
    options.add_argument("--updates", type=int, help="fewer updates than the whole report")
    options.add_argument("--current", action="store_true", help="use this environment instead of fresh ones")
    options.add_argument("--work", type=Path, help="folder for environments and projects; a temporary one by default")
    asked = options.parse_args()
    corpora = [
        replace(each, pairs=asked.pairs or each.pairs, updates=asked.updates or each.updates) for each in CORPORA
    ]
    if asked.work is not None:
        asked.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="dragoman-walkthrough-", dir=asked.work) as work:
        environments = current() if asked.current else fresh(Path(work))
        walks = {each: walk(each, asked.data, environments, Path(work), RESULTS) for each in corpora}
    write("walkthrough", page(environments, walks), figures(environments, walks))


def walk(corpus: Corpus, data: Path, environments: dict[str, Environment], work: Path, shots: Path) -> list[Done]:
    """Make one walkthrough in a new folder."""
    folder = work / corpus.name
    folder.mkdir()
    corpus.write(data, folder)
    with camera() as browser:
        return Walk(corpus, environments, folder, browser, shots).run()


def page(environments: dict[str, Environment], walks: dict[Corpus, list[Done]]) -> str:
    count = sum(len(each.faults) for done in walks.values() for each in done)
    introduction = (
        "Every command of a new user in the order of the steps, with its time and its screen. Standard output and "
        "error were read through a pipe, where progress is shown as lines; a terminal shows bars instead. The checks "
        "of `benchmarks/walkthrough/steps.py` (exit codes, tracebacks, warnings of Python, advice to delete, very long "
        f"lines, pages wider than their window) found {format_count(count, 'fault')}.\n"
    )
    title = "From an empty folder to a served translator"
    parts = [heading(title, "python -m benchmarks.walkthrough --data DIR", 2), introduction]
    if all(each.seconds is not None for each in environments.values()):
        rows = [
            [
                *(name, f'`pip install "{DISTRIBUTION}{EXTRAS[name]}"`', format_duration(each.seconds or 0)),
                *(str(each.packages), format_bytes(each.size or 0)),
            ]
            for name, each in environments.items()
        ]
        parts += ["## Environments\n", table(["environment", "command", "time", "packages", "size"], rows)]
        parts.append("In `train`, the CPU build of torch was installed first.\n")
    for corpus, done in walks.items():
        parts.append(f"## {corpus.source} → {corpus.target}: {corpus.pairs:,} pairs of {corpus.title}\n")
        rows = [[f"{each.number}. {each.title}", each.environment, format_duration(each.seconds)] for each in done]
        rows.append(["in all", "", format_duration(sum(each.seconds for each in done))])
        parts.append(table(["step", "environment", "time"], rows))
        parts += [_step(each) for each in done]
    return "\n".join(parts)


def _step(done: Done) -> str:
    fence = "~~~~"
    lines = [f"### {done.number}. {done.title}\n", f"{fence}text", f"$ {done.command}", done.screen, f"{fence}\n"]
    if done.exit_code:
        lines.append(f"Exit code {done.exit_code}.\n")
    if done.faults:
        lines.append(f"Faults: {'; '.join(done.faults)}.\n")
    if done.pictures:
        lines.append(" ".join(f"![{done.title}]({name})" for name in done.pictures) + "\n")
    return "\n".join(lines)


def figures(environments: dict[str, Environment], walks: dict[Corpus, list[Done]]) -> dict[str, object]:
    return {
        "environments": {
            name: {"seconds": each.seconds and round(each.seconds, 1), "packages": each.packages, "bytes": each.size}
            for name, each in environments.items()
        },
        "walks": [
            {"languages": corpus.name, "pairs": corpus.pairs, "updates": corpus.updates}
            | {"steps": [as_json(each) for each in done]}
            for corpus, done in walks.items()
        ],
    }


if __name__ == "__main__":
    main()
