"""Write the table of formats in docs/documents.md from the formats, the files of the tests, and the measurements.

python -m tests.docs.documents_table
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from dragoman.documents.document import select_target
from dragoman.documents.formats import FORMATS, read_document
from testkit.document_programs import OPENERS
from tests.hostile.test_broken_documents import SAME, SEEDS

PAGE = Path(__file__).resolve().parents[2] / "docs/documents.md"
RESULTS = PAGE.parents[1] / "benchmarks/results"
START, END = "<!-- written by python -m tests.docs.documents_table -->\n", "<!-- end of the table -->\n"
MAX_SHOWN = 3


def results(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def row(suffix: str) -> str:
    """Return the line of a format: what a small file of it has, its limits, and the real files that were read."""
    names = [suffix, *(each for each, same in SAME.items() if same == suffix and each not in SEEDS)]
    name, data = SEEDS[suffix]
    document = read_document(name, data)
    select_target(document, "pl")
    found = [each.text[start:end] for each in document.segments for start, end in each.kept]
    shown = [each for each in dict.fromkeys(found) if "|" not in each and not each.isdigit()][:MAX_SHOWN]
    kept = " ".join(f"`` {each} ``" if "`" in each else f"`{each}`" for each in shown)
    tags = sum(len(each.spans) for each in document.segments)
    kinds = Counter(each[0].partition(":")[0] for each in results("offices").get(suffix[1:], {}).values())
    strings = results("strings").get(suffix)
    files = kinds.total() or (strings["files"] + sum(strings["refused"].values()) if strings else 0)
    same = kinds["same"] or (strings["files"] if strings else 0)
    opener = OPENERS.get(suffix[1:], ("",))[0]
    cells = [
        ", ".join(f"`{each}`" for each in names), str(len(document.segments)), str(tags or ""), kept,
        "yes" if FORMATS[suffix].is_bilingual else "", f"{FORMATS[suffix].max_bytes >> 20} MiB",
        f"{same} of {files}" if files else "", opener,
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |\n"


def documents_table() -> str:
    head = "| format | texts | tags | kept in texts | has translations | largest file | real files | opened by |\n"
    return head + "|---|--:|--:|---|---|--:|--:|---|\n" + "".join(row(each) for each in sorted(SEEDS))


def written(page: str) -> str:
    """Return the page with the table."""
    before, _, rest = page.partition(START)
    return before + START + documents_table() + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
