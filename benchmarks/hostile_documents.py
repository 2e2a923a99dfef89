"""Broken files of every document format: each must be read, or rejected with one line that states what to do.

    python -m benchmarks.hostile_documents      # 500 files of each format

A small file of the format is cut, parts of it are repeated, removed or replaced, and zeros, brackets and signs of the
format are inserted; of archives also in their members. What is read must be written with the same bytes without a
change, and with all texts in upper case without an error.
"""

from __future__ import annotations

import json
import subprocess
import sys

from benchmarks.reporting import heading, parser, table, write


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--files", type=int, default=500, help="of each format")
    chosen = options.parse_args()
    rows = {}
    command = [sys.executable, "-m", "tests.hostile.test_broken_documents", str(chosen.files)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as attacks:  # it has the files of the tests
        for line in attacks.stdout or ():
            suffix, rejected, seconds, fault = json.loads(line)
            rows[suffix] = (chosen.files, chosen.files - rejected, rejected, seconds, fault)
            print(suffix, *rows[suffix], flush=True)
    if attacks.returncode:
        sys.exit("the attacks did not end")
    text = heading("Broken documents", f"python -m benchmarks.hostile_documents --files {chosen.files}", 1)
    text += f"\n{(__doc__ or '').replace('    python', '    $ python')}\n"
    cells = [
        [suffix, f"{files:,}", f"{read:,}", f"{no:,}", f"{seconds:.1f} s", fault or "none"]
        for suffix, (files, read, no, seconds, fault) in rows.items()
    ]
    text += table(["format", "files", "read", "rejected", "CPU time", "faults"], cells)
    write("hostile-documents", text, rows)


if __name__ == "__main__":
    main()
