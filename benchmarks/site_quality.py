"""Scores of the documentation's site by Lighthouse, and screenshots of its pages.

    python -m sphinx -q -W -c docs/site . build/site
    npm install --prefix LIGHTHOUSE lighthouse playwright-core
    python -m benchmarks.site_quality build/site LIGHTHOUSE

The site is served on this machine by a small server that compresses text, as servers of static pages do. Lighthouse
simulates a phone with a slow processor and network. Chromium must be installed. `--pictures DIR` also writes
screenshots at 1280 and 390 pixels.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from benchmarks.reporting import heading, parser, table, write

PAGES = (
    "docs/index",
    "README",
    "docs/getting-started",
    "docs/serving",
    "docs/mechanisms",
    "docs/reference",
    "docs/http-reference",
    "docs/api",
    "docs/tutorial/index",
    "docs/tutorial/07-bahdanau",
    "claims/report",
    "README.zh",
    "docs/tutorial/index.zh",
    "docs/tutorial/01-rnn.zh",
    "docs/tutorial/03-gru.zh",
    "docs/tutorial/06-seq2seq.zh",
    "docs/tutorial/07-bahdanau.zh",
    "docs/tutorial/08-luong.zh",
    "docs/tutorial/10-keys-and-values.zh",
    "docs/tutorial/11-transformer.zh",
    "claims/report.zh",
)
FLAGS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
CATEGORIES = ("accessibility", "performance", "best-practices")
GOAL = 0.95
TEXT = (".html", ".css", ".js", ".svg", ".json", ".txt")
PICTURES = """
import { chromium } from 'playwright-core'
const [, , executablePath, flags, base, out, ...pages] = process.argv
const browser = await chromium.launch({ executablePath, args: flags.split(' ') })
for (const page of pages) for (const [width, colorScheme] of [[1280, 'light'], [390, 'dark']]) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme })
  const tab = await context.newPage()
  await tab.goto(`${base}/${page}.html`)
  await tab.waitForTimeout(300)
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth)
  if (wide > 0) console.log(`${page} at ${width} pixels is ${wide} pixels too wide`)
  await tab.screenshot({ path: `${out}/${page.replaceAll('/', '-')}-${width}.png` })
  await context.close()
}
await browser.close()
"""


class CompressingHandler(SimpleHTTPRequestHandler):
    """Static files, text compressed."""

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if path.suffix not in TEXT or not path.is_file():
            super().do_GET()
            return
        body = gzip.compress(path.read_bytes())
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=31536000")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def scores(address: str, tools: Path, chromium: str) -> dict[str, Any]:
    """Run Lighthouse on one page; return its scores and the audits that cost points."""
    command = [str(tools / "node_modules" / ".bin" / "lighthouse"), address, "--quiet", "--output=json"]
    command += [f"--only-categories={','.join(CATEGORIES)}", f"--chrome-flags={FLAGS}"]
    environment = os.environ | {"CHROME_PATH": chromium}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, timeout=180)
    report = json.loads(done.stdout)
    lost = [
        reference["id"]
        for name in CATEGORIES
        for reference in report["categories"][name]["auditRefs"]
        if reference["weight"]
        and (report["audits"][reference["id"]]["score"] or 0) < 0.9
        and report["audits"][reference["id"]]["scoreDisplayMode"] not in ("notApplicable", "manual", "informative")
    ]
    return {"lost": lost, **{name: report["categories"][name]["score"] for name in CATEGORIES}}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("site", type=Path)
    options.add_argument("tools", type=Path, help="folder with Lighthouse")
    options.add_argument("--pictures", type=Path)
    options.add_argument("--only-pictures", action="store_true")
    options.add_argument("--note", default="")
    given = options.parse_args()
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("Chromium must be installed, found none")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(CompressingHandler, directory=str(given.site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}"
    if given.pictures:
        given.pictures.mkdir(parents=True, exist_ok=True)
        script = given.tools / "pictures.mjs"
        script.write_text(PICTURES, encoding="utf-8")
        command = ["node", str(script.resolve()), chromium, FLAGS, base, str(given.pictures.resolve()), *PAGES]
        subprocess.run(command, check=True)
    if given.only_pictures:
        return
    found = {page: scores(f"{base}/{page}.html", given.tools, chromium) for page in PAGES}
    rows = [
        [page, *(f"{100 * each[name]:.0f}" for name in CATEGORIES), ", ".join(each["lost"])]
        for page, each in found.items()
    ]
    lowest = {name: min(each[name] for each in found.values()) for name in CATEGORIES}
    text = heading("The site by Lighthouse", "python -m benchmarks.site_quality build/site LIGHTHOUSE", given.threads)
    text += f"\n{__doc__ or ''}\n" + table(["page", *CATEGORIES, "audits below 0.9"], rows)
    text += (
        f"\nLowest: {', '.join(f'{name} {100 * score:.0f}' for name, score in lowest.items())}; goal {100 * GOAL:.0f}."
    )
    text += f" {given.note}\n"
    write("site-quality", text, found)


if __name__ == "__main__":
    main()
