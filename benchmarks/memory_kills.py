"""Corrections and kills: what was acknowledged is stored, and once.

    python -m benchmarks.memory_kills [--kills 500] [--database postgresql://USER@HOST/NAME]

Two processes store corrections, one after the other, each twice, and print the number of each when it is stored. One of
them is killed (SIGKILL) at a random moment and started again. In the end every number that was printed must be in the
memory exactly once, its text must be an exact match, and nothing may be there that was not sent.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from benchmarks.reporting import heading, parser, write
from testkit.memory_kills import kill_writers


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--kills", type=int, default=500)
    options.add_argument("--database")
    chosen = options.parse_args()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        count = kill_writers(chosen.database or f"sqlite:///{Path(folder) / 'data.db'}", chosen.kills)
    kind = "PostgreSQL" if chosen.database else "SQLite"
    text = heading("Corrections and kills", "python -m benchmarks.memory_kills", 1)
    text += f"\n{(__doc__ or '').replace('    python', '    $ python')}\n"
    seconds = time.perf_counter() - start
    found = f"{count:,} acknowledged corrections are stored, each once"
    text += f"{chosen.kills:,} kills on {kind} in {seconds:,.0f} s: {found}.\n"
    write(f"memory-kills{'' if kind == 'SQLite' else '-postgresql'}", text, {"kills": chosen.kills, "stored": count})


if __name__ == "__main__":
    main()
