"""Gain of the cache of translations: a page is translated, and opened again, with and without `--cache-size`.

    python -m benchmarks.translation_cache BUNDLE TEXT      # a file with 400 different lines, or more

Of the lines pages of 40 sentences are made. Each is one request to `/v1/translate` of a server of its own, first as a
new page, then again. Measured are the median of the seconds of a page from outside, the CPU time of the server, its
memory, and whether both answers are equal.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
import urllib.request
from pathlib import Path

from benchmarks.reporting import heading, parser, table, write
from benchmarks.serving.process import served

PAGES, SENTENCES = 10, 40


def translate(port: int, texts: list[str]) -> tuple[float, list[str]]:
    """Return the seconds of a request, and its translations."""
    body = json.dumps({"text": texts, "source": "en", "target": "pt"}).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/translate", body, {"Content-Type": "application/json"}
    )
    began = time.perf_counter()
    with urllib.request.urlopen(request) as answer:
        found = json.load(answer)
    return time.perf_counter() - began, [each["text"] for each in found["translations"]]


def measure(bundle: str, pages: list[list[str]], size: str, threads: int, folder: Path) -> dict[str, object]:
    """Return the figures of a server."""
    settings = {"cache_size": size, "threads": threads}
    with served([bundle], folder / f"server-{size}.log", settings) as server:
        port = server.port
        translate(port, ["A first sentence."])
        found = {}
        for visit in ("first", "again"):
            before = server.cpu_seconds
            found[visit] = [translate(port, page) for page in pages]
            found[f"{visit}_cpu"] = server.cpu_seconds - before
        memory = server.memory
    return {
        "cache": size,
        **{visit: statistics.median(seconds for seconds, _ in found[visit]) for visit in ("first", "again")},
        **{f"{visit}_cpu": found[f"{visit}_cpu"] / len(pages) for visit in ("first", "again")},
        "equal": [texts for _, texts in found["first"]] == [texts for _, texts in found["again"]],
        "memory": memory,
    }


def main() -> None:
    options = parser(__doc__)
    options.add_argument("bundle")
    options.add_argument("text", type=Path)
    chosen = options.parse_args()
    lines = [*dict.fromkeys(filter(None, chosen.text.read_text(encoding="utf-8").splitlines()))]
    pages = [lines[start : start + SENTENCES] for start in range(0, PAGES * SENTENCES, SENTENCES)]
    assert len(pages[-1]) == SENTENCES
    with tempfile.TemporaryDirectory() as folder:
        figures = [measure(chosen.bundle, pages, size, chosen.threads, Path(folder)) for size in ("0", "64MiB")]
    rows = [
        [
            "without" if each["cache"] == "0" else str(each["cache"]),
            *(f"{1000 * float(str(each[name])):,.1f} ms" for name in ("first", "again", "first_cpu", "again_cpu")),
            f"{int(str(each['memory'])) / 2**20:.0f} MiB",
            "yes" if each["equal"] else "no",
        ]
        for each in figures
    ]
    text = heading("Cache of translations", "python -m benchmarks.translation_cache BUNDLE TEXT", chosen.threads)
    text += f"\n{(__doc__ or '').replace('    python', '    $ python')}\n"
    header = ["cache", "new page", "page again", "CPU of a new page", "CPU again", "memory", "same answers"]
    write("translation-cache", text + table(header, rows), figures)


if __name__ == "__main__":
    main()
