"""Run the first commands of the README and draw what the terminal shows as a moving picture.

    python -m benchmarks.terminal_picture MODEL

MODEL is a folder with the files of Firefox's en→pt student. A server on this machine offers them as the real catalog
does, so `get` is run with `--allow-http`; the picture shows neither. The output is what the commands print; the pauses
are what they took, at most three seconds. The picture is one SVG file without scripts; readers who prefer reduced
motion see it complete.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path

from testkit.model_server import ModelServer, firefox_files

EMPTY: Mapping[str, str] = {}
COLUMNS, LINE, LEFT, TOP, CHARACTER = 92, 20, 20, 56, 8.43
TYPING = 0.035
MAX_PAUSE, END_PAUSE = 3.0, 6.0
SENTENCE = "The museum is closed on Mondays."
COLOURS = {"background": "#101418", "text": "#d7dde3", "command": "#8fd3ff", "bar": "#1c232a"}
STYLE = """
text { font: 14px/20px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; white-space: pre; }
@media (prefers-reduced-motion: reduce) { * { animation: none !important; } .cover { display: none; } }
"""


@dataclass(frozen=True)
class Step:
    """A command as it is typed, and its lines of output, each with the seconds after the command began."""

    typed: str
    output: list[tuple[float, str]]


def free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


def run(typed: str, command: str, folder: Path, addresses: Mapping[str, str] = EMPTY) -> Step:
    """Run a command of the shell and note when each line came."""
    began = time.monotonic()
    process = subprocess.Popen(
        command,
        shell=True,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment(folder) | addresses,
    )
    assert process.stdout is not None
    output = [(time.monotonic() - began, line.rstrip("\n").replace(str(folder), "~")) for line in process.stdout]
    if process.wait():
        raise SystemExit(f"{command} failed:\n" + "\n".join(line for _, line in output))
    return Step(typed, output)


def environment(folder: Path) -> dict[str, str]:
    """Return the environment with `dragoman` as a command, a cache in a home folder and a narrow terminal."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {
        **os.environ,
        "PATH": path,
        "DRAGOMAN_CACHE": str(folder / ".cache" / "dragoman"),
        "DRAGOMAN_MODELS": str(folder / ".local" / "share" / "dragoman" / "models"),
        "COLUMNS": str(COLUMNS),
        "NO_COLOR": "1",
    }


@contextmanager
def serving(typed: str, folder: Path, bundle: str, port: int) -> Iterator[Step]:
    """Start a server, wait until it answers, and end it afterwards."""
    began = time.monotonic()
    command = ["dragoman", "serve", bundle, "--port", str(port)]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment(folder)
    )
    try:
        assert process.stdout is not None
        output = []
        for line in process.stdout:
            shown = line.rstrip("\n").replace(str(port), "5000").replace(str(folder), "~")
            output.append((time.monotonic() - began, shown))
            if "Ctrl-C" in line:
                break
        urllib.request.urlopen(f"http://127.0.0.1:{port}/languages", timeout=30).close()
        yield Step(typed, output)
    finally:
        process.terminate()
        process.wait(timeout=30)


def record(model: Path) -> list[Step]:
    with tempfile.TemporaryDirectory() as temporary:
        folder, port = Path(temporary), free_port()
        first = "dragoman get en-pt"
        second = f'echo "{SENTENCE}" | dragoman translate en-pt'
        third = "dragoman serve en-pt &"
        with ModelServer() as server:
            server.add_firefox("en", "pt", firefox_files(model))
            step = run(first, f"{first} --allow-http", folder, server.environment)
        steps = [Step(step.typed, [each for each in step.output if "http://127.0.0.1" not in each[1]])]
        steps.append(run(second, second, folder))
        asked = f'curl 127.0.0.1:5000/translate -d q="{SENTENCE}" -d source=en -d target=pt'
        with serving(third, folder, "en-pt", port) as served:
            steps.append(served)
            steps.append(run(asked, asked.replace("curl", "curl -s").replace("5000", str(port)), folder))
    return steps


def wrap(line: str) -> list[str]:
    """Break a line where a terminal does."""
    return [line[start : start + COLUMNS] for start in range(0, len(line), COLUMNS)] or [""]


def draw(steps: list[Step]) -> str:
    """Return the moving picture."""
    now, lines = 0.6, []  # when, text, is it typed
    for step in steps:
        for part in wrap(f"$ {step.typed}"):
            seconds = len(part) * TYPING
            lines.append((now, part, seconds))
            now += seconds
        now += 0.3
        last = 0.0
        for when, text in step.output:
            now += min(when - last, MAX_PAUSE)
            last = when
            lines += [(now, part, 0.0) for part in wrap(text)]
        now += 1.0
    total = now + END_PAUSE
    loop = f"{total:.1f}s {1 - now:.1f}s infinite"  # begins with the complete screen
    width, height = round(2 * LEFT + COLUMNS * CHARACTER), TOP + LINE * len(lines) + 4
    frames, drawn = [STYLE], []
    for number, (when, text, typing) in enumerate(lines):
        y, share = TOP + LINE * number, 100 * when / total
        frames.append(
            f"@keyframes a{number} {{ 0%, {share:.2f}% {{ opacity: 0 }} {share + 0.01:.2f}%, 100% {{ opacity: 1 }} }}"
        )
        colour = COLOURS["command"] if typing else COLOURS["text"]
        drawn.append(
            f'<text x="{LEFT}" y="{y}" fill="{colour}" style="animation: a{number} {loop}">{escape(text)}</text>'
        )
        if typing:
            end, length = 100 * (when + typing) / total, len(text) * CHARACTER
            frames.append(
                f"@keyframes b{number} {{ 0%, {share:.2f}% {{ transform: translateX(0); "
                f"animation-timing-function: steps({len(text)}) }} "
                f"{end:.2f}%, 100% {{ transform: translateX({length:.0f}px); visibility: hidden }} }}"
            )
            drawn.append(
                f'<rect class="cover" x="{LEFT}" y="{y - 15}" width="{length:.0f}" height="{LINE}" '
                f'fill="{COLOURS["background"]}" style="animation: b{number} {loop}"/>'
            )
    dots = "".join(f'<circle cx="{20 + 18 * place}" cy="17" r="5" fill="#4a545e"/>' for place in range(3))
    title = "A terminal: a model is downloaded by its language pair, translates a sentence, and is served"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{title}">\n<title>{title}</title>\n<style>{"".join(frames)}</style>\n'
        f'<clipPath id="window"><rect width="{width}" height="{height}" rx="8"/></clipPath>\n'
        '<g clip-path="url(#window)">\n'
        f'<rect width="{width}" height="{height}" fill="{COLOURS["background"]}"/>\n'
        f'<rect width="{width}" height="34" fill="{COLOURS["bar"]}"/>{dots}\n' + "\n".join(drawn) + "\n</g></svg>\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/images/terminal.svg"))
    given = parser.parse_args()
    given.output.write_text(draw(record(given.model)), encoding="utf-8")


if __name__ == "__main__":
    main()
