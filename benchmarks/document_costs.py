"""CPU time and memory of reading the largest documents of every format.

Each shape is a unit of text or markup, repeated. A document starts with 8 MiB; one that exceeds a limit is made smaller
until it is read, and the most expensive attempt counts. The promise is 2 s of CPU time and 200 MiB of memory. Formats
that are not named keep the figures of an earlier run.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from benchmarks.reporting import RESULTS, heading, parser, table, write

SUFFIXES = (
    *("txt", "md", "html", "srt", "po", "xlf", "tmx", "docx", "pptx", "odt"),
    *("xlsx", "ods", "odp", "epub", "ipynb", "mdx", "vtt", "ass", "sdlxliff", "rst", "tex"),
    *("json", "arb", "yaml", "xml", "strings", "stringsdict", "xcstrings", "properties", "resx", "php", "ftl", "ts"),
)
LIMIT_SECONDS, LIMIT_MEMORY = 2.0, 200 << 20


def measure(suffix: str, every: int) -> dict[str, tuple[float, int, str]]:
    """Return CPU seconds, bytes and the result of each shape, measured in a new process."""
    command = [sys.executable, "-m", "tests.hostile.document_costs", suffix, str(every)]
    found: dict[str, tuple[float, int, str]] = json.loads(subprocess.check_output(command, text=True))
    return found


def row(suffix: str, costs: dict[str, tuple[float, int, str]]) -> list[str]:
    seconds, memory = (max(each[place] for each in costs.values()) for place in (0, 1))
    missed = [each for each in costs.values() if each[0] > LIMIT_SECONDS or each[1] > LIMIT_MEMORY]
    slowest = max(costs, key=lambda shape: costs[shape][0])
    shown = json.dumps(slowest, ensure_ascii=True).strip('"').replace("|", "\\|").replace("`", "'")
    size = costs[slowest][2].partition(":")[0]
    figures = [f"{seconds:.2f} s", f"{memory / 2**20:.0f} MiB", str(len(missed))]
    return [suffix, str(len(costs)), *figures, f"`{shown[:60]}`: {size}"]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("suffixes", nargs="*", default=SUFFIXES)
    options.add_argument("--every", type=int, default=1, help="step between the measured shapes of text")
    chosen = options.parse_args()
    stored = RESULTS / "document-costs.json"
    figures: dict[str, Any] = json.loads(stored.read_text(encoding="utf-8")) if stored.is_file() else {}
    for suffix in chosen.suffixes:
        figures[suffix] = measure(suffix, chosen.every)
        stored.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")  # a run may be stopped
        print(*row(suffix, figures[suffix]), flush=True)
    text = heading("The largest documents", "python -m benchmarks.document_costs", 1)
    sample = f"One in {chosen.every} of the shapes of text was measured.\n" if chosen.every > 1 else ""
    text += f"\n{__doc__}\n{sample}\n"
    header = ["format", "shapes", "most CPU time", "most memory", "over the promise", "slowest shape"]
    text += table(header, [row(suffix, figures[suffix]) for suffix in SUFFIXES if suffix in figures])
    write("document-costs", text, figures)


if __name__ == "__main__":
    main()
