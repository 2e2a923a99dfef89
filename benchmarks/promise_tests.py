"""Run the tests of the guarantees that an attack added, and count them.

The tests are those of the repository, the long ones and the measurements of time included. A *control* is a test among
them that plants a fault, which must be found.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.reporting import RESULTS, heading, table, write
from benchmarks.training_campaign.suites import Suite, suite_row

NAME = "promise-tests"
ALL = ""  # markers: every test

PROMISES = (
    Suite(
        "limits come before work",
        ("tests/hostile/test_document_limits.py", "tests/unit/server/test_event_loop.py"),
        "a route that blocks the event loop",
        markers=ALL,
    ),
    Suite("linear time", ("tests/hostile/test_linear_time.py",), "a function of quadratic time", markers=ALL),
    Suite(
        "nothing before the key",
        ("tests/unit/server/test_app.py", "tests/unit/server/http/test_body_limits.py"),
        "",
        only="key or protected or served",
    ),
    Suite(
        "no free seat",
        ("tests/hostile/test_server_requests.py", "tests/unit/server/http/test_protocol.py"),
        "a limit that is missing",
    ),
    Suite("estimates cannot be poisoned", ("tests/unit/server/scheduling/test_admission.py",), ""),
    Suite("the drain ends", ("tests/server/test_lifecycle.py", "tests/unit/server/test_exit_deadline.py"), ""),
    Suite(
        "configs are data",
        ("tests/unit/data/readers/test_file_systems.py", "tests/unit/config/test_base.py"),
        "",
    ),
    Suite("hot reload is a trial", ("tests/unit/server/models/test_registry.py",), "", only="bundle or bad"),
    Suite(
        "what was hashed is compared",
        (
            "tests/unit/data/preparation/test_prepare.py",
            "tests/hostile/test_untrusted_exports.py",
            "tests/hostile/test_untrusted_bundles.py",
            "tests/hostile/test_damaged_checkpoints.py",
        ),
        "checkpoints without hashes",
        only="damage or verified or signature or digest or swapped or hashes or refused or found",
    ),
    Suite(
        "no orphan, no hang",
        (
            "tests/hostile/test_training_killed.py",
            "tests/unit/data/test_loader.py",
            "tests/equivalence/test_loader_determinism.py",
            "tests/unit/api/test_translator_bundles.py",
        ),
        "",
        only="killed or no_process or outlives or fork",
    ),
)


def page(rows: list[dict[str, Any]], command: str) -> str:
    """Return the report."""
    cells = [
        [
            row["promise"],
            f"{row['trials']:,}",
            f"{row['where'].get('skipped', 0):,}",
            f"**{len(row['failures'])}**",
            f"{row['seconds']:.0f}",
            row["control"] or "–",
            row["date"],
            row["tests"],
        ]
        for row in rows
    ]
    header = ["guarantee", "tests", "skipped", "failures", "seconds", "control", "date", "files"]
    failures = "".join(f"- {row['promise']}: {failure}\n" for row in rows for failure in row["failures"])
    shown = f"\nWhat failed:\n\n{failures}" if failures else ""
    return f"{heading('Tests of the added guarantees', command, 1)}\n{__doc__ or ''}\n{table(header, cells)}{shown}"


def main() -> int:
    """Run the tests; 1 if one failed."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.promise_tests", description=__doc__)
    options.add_argument("only", nargs="*", choices=[*(each.promise for each in PROMISES), []], help="default: all")
    options.add_argument("--minutes", type=float, default=20.0, help="limit for one guarantee")
    options.add_argument("--results", default=NAME, help="name of the report")
    chosen = options.parse_args()
    path = RESULTS / f"{chosen.results}.json"
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() and chosen.only else {}
    with tempfile.TemporaryDirectory(prefix="dragoman-promises-") as folder:
        for suite in PROMISES:
            if chosen.only and suite.promise not in chosen.only:
                continue
            print(f"{suite.promise} …", file=sys.stderr, flush=True)
            row = suite_row(suite, Path(folder), 60 * chosen.minutes)
            kept[suite.promise] = {
                "promise": suite.promise,
                "trials": row.trials,
                "failures": row.failures,
                "where": dict(row.where),
                "seconds": row.seconds,
                "control": suite.control,
                "date": dt.datetime.now(dt.UTC).date().isoformat(),
                "tests": ", ".join(f"`{test}`" for test in suite.tests),
            }
            rows = [kept[each.promise] for each in PROMISES if each.promise in kept]
            write(chosen.results, page(rows, "python -m benchmarks.promise_tests"), kept)
    return int(any(row["failures"] for row in kept.values()))


if __name__ == "__main__":
    sys.exit(main())
