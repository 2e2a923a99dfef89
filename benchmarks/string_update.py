"""Incremental translation of a project of strings: what is sent to the model, and how long it takes.

    python -m benchmarks.string_update BUNDLE TEXT      # a file with 5,000 different lines, or more

Of the lines a JSON file of strings is made, in sections of 50, and translated. Then 20 strings are changed, 20 new ones
are added, and 5 translations are edited as a person would, 2 of them of changed strings. Measured are the first run, a
run without any change, the update, a check and the files: texts that the engine received, CPU seconds of the process,
seconds, and whether each string that must stay has stayed. The model is opened in each run that needs it. Other work of
the machine is not excluded from the seconds.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.reporting import heading, parser, table, write
from dragoman import Translator
from dragoman.api.files import document_translation
from dragoman.api.files.string_update import StringUpdate

STRINGS, CHANGED, NEW, EDITED = 5_000, 20, 20, 5
_SECTION = 50


class Counter:
    """Counts the texts that documents send to a model."""

    def __init__(self) -> None:
        self.texts = 0
        self._translate = document_translation.translate_markup
        document_translation.translate_markup = self  # type: ignore[assignment]

    def __call__(self, translator: Any, segments: Sequence[Any]) -> Any:
        self.texts += len(segments)
        return self._translate(translator, segments)


def save(path: Path, lines: Sequence[str]) -> None:
    """Write lines as a nested file of strings."""
    sections: dict[str, dict[str, str]] = {}
    for number, line in enumerate(lines):
        sections.setdefault(f"section{number // _SECTION}", {})[f"s{number}"] = line
    path.write_text(json.dumps(sections, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def load(path: Path) -> dict[str, str]:
    """Read the strings of a file by their last name."""
    sections = json.loads(path.read_text(encoding="utf-8"))
    return {key: text for section in sections.values() for key, text in section.items()}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("bundle", type=Path)
    options.add_argument("text", type=Path)
    chosen = options.parse_args()
    lines = [*dict.fromkeys(filter(None, map(str.strip, chosen.text.read_text(encoding="utf-8").splitlines())))]
    first, more = lines[:STRINGS], lines[STRINGS : STRINGS + NEW + CHANGED]
    if len(more) < NEW + CHANGED:
        raise SystemExit(f"{chosen.text} must have {STRINGS + NEW + CHANGED:,} different lines, got {len(lines):,}")
    counter, rows = Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder) / "en.json", Path(folder) / "pt.json"

        def run(name: str, *, is_check: bool = False) -> None:
            counter.texts, start, cpu = 0, time.perf_counter(), time.process_time()
            update = StringUpdate(source, output)
            outcome = update.check() if is_check else update.update(lambda: Translator.open(chosen.bundle, threads=1))
            seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
            listed = len(outcome.found)
            rows.append({"run": name, "sent": counter.texts, "cpu": cpu, "seconds": seconds, "listed": listed})
            print(rows[-1], flush=True)

        save(source, first)
        run("first")
        run("no change")
        before = load(output)
        edited = {
            f"s{place}": f"(edited) {before[f's{place}']}" for place in (*range(2), *range(4_000, 4_000 + EDITED - 2))
        }
        text = output.read_text(encoding="utf-8")
        for key, new in edited.items():
            text = text.replace(
                f'"{key}": {json.dumps(before[key], ensure_ascii=False)}',
                f'"{key}": {json.dumps(new, ensure_ascii=False)}',
            )
        output.write_text(text, encoding="utf-8")
        changed = {place * 10 + 20: more[NEW + place] for place in range(CHANGED)} | {
            0: f"{first[0]}!",
            1: f"{first[1]}!",
        }
        second = [changed.get(place, line) for place, line in enumerate(first)] + more[:NEW]
        save(source, second)
        run("check", is_check=True)
        run(f"{CHANGED} changed, {NEW} new, {EDITED} edited")
        after = load(output)
        must_stay = {
            key: edited.get(key, old) for key, old in before.items() if int(key[1:]) not in changed or key in edited
        }
        kept = sum(after[key] == old for key, old in must_stay.items())
        run("check", is_check=True)
        size = (Path(folder) / "dragoman.lock").stat().st_size
    report(rows, kept, len(must_stay), size)


def report(rows: list[dict[str, Any]], kept: int, must_stay: int, size: int) -> None:
    """Write the page."""
    text = heading("Incremental translation of strings", "python -m benchmarks.string_update BUNDLE TEXT", 1)
    text += f"\n{(__doc__ or '').replace('    python', '    $ python')}\n"
    cells = [
        [each["run"], f"{each['sent']:,}", f"{each['cpu']:.1f}", f"{each['seconds']:.1f}", str(each["listed"])]
        for each in rows
    ]
    text += table(["run", "texts sent", "CPU seconds", "seconds", "strings listed"], cells)
    text += (
        f"\n{kept:,} of {must_stay:,} strings that must stay are unchanged. The lock file has {size / 1e3:,.0f} kB.\n"
    )
    write("string-update", text, {"rows": rows, "kept": kept, "must_stay": must_stay, "lock_bytes": size})


if __name__ == "__main__":
    main()
