"""Make the pictures of pages in docs/images::

    python -m tests.browser.screenshots --bundle BUNDLE     # BUNDLE: a Transformer from English to German
    python -m tests.browser.screenshots --runs rnn=RUN transformer=RUN --test SOURCE REFERENCE

Without a bundle only those of the translations made by hand (`tests/browser/samples.py`) are made; those of the report
of ``dragoman compare`` (`comparison_shots.py`) likewise, unless there are runs.
"""

import argparse
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from dragoman.api.inspection.inspector import inspect_sentence
from dragoman.api.translation.translator import Translator
from dragoman.inspection.pages.inspection import render_inspection_page
from dragoman.inspection.result import InspectionResult
from tests.browser.chromium import Chromium, missing
from tests.browser.comparison_shots import shots_by_hand, shots_of_runs
from tests.browser.samples import ARABIC, CHINESE, HEBREW

ROOT = Path(__file__).resolve().parents[2]
LONG = (
    "A group of young men in bright orange vests are standing on the side of a busy street while a woman with a red "
    "umbrella walks her small dog past them."
)
MOST_BYTES = 250_000
TOP = "await page.evaluate(() => scrollTo(0, 0));"


@dataclass(frozen=True)
class Shot:
    """A picture: of which page (HTML), how large, and what was done before it was taken."""

    name: str
    html: str
    steps: str = ""
    width: int = 1200
    height: int = 1000
    dark: bool = False


def take(chromium: Chromium, shot: Shot, folder: Path) -> Path:
    """Take it, and make it small: pages have few colours."""
    path = folder / f"{shot.name}.png"
    with tempfile.TemporaryDirectory() as scratch:
        page = Path(scratch) / "page.html"
        page.write_text(shot.html, encoding="utf-8")
        # The pointer away, so that nothing is lit but what was chosen.
        steps = f"{shot.steps}\nawait page.mouse.move(1, 1);\nawait page.screenshot({{ path: '{path.as_posix()}' }});"
        chromium.visit(page, steps, width=shot.width, height=shot.height, dark=shot.dark)
    with Image.open(path) as picture:
        few = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
    assert path.stat().st_size <= MOST_BYTES, f"{path.name} has {path.stat().st_size} bytes"
    return path


def choosing(side: str, number: int) -> str:
    """Steps: a word is chosen."""
    return f"await page.locator('.sample .{side} .word').nth({number}).click();"


def scrolled(heading: str) -> str:
    """Steps: a part of the page is moved to the top."""
    return (
        f"await page.evaluate(() => scrollTo(0, scrollY - 16 + document.getElementById('{heading}')"
        ".closest('section').getBoundingClientRect().top));"
    )


def by_hand() -> Iterable[Shot]:
    """The inspection page of translations in other scripts; no model wrote them."""
    alternative = "await page.locator('.alternative').first().click();"
    yield Shot("inspection-chinese", _page(CHINESE), choosing("source", 6), height=1010)
    yield Shot("inspection-arabic-dark", _page(ARABIC), choosing("target", 2), height=990, dark=True)
    phone = choosing("target", 2) + alternative
    yield Shot("inspection-hebrew-phone", _page(HEBREW), phone + TOP, width=390, height=1180)
    yield Shot("inspection-hebrew-phone-dark", _page(HEBREW), phone + scrolled("steps"), 390, 1180, dark=True)


def of_a_model(bundle: Path) -> Iterable[Shot]:
    """The inspection page of a long sentence."""
    translator = Translator.open(str(bundle), engine="torch", threads=1)
    page = _page(inspect_sentence(translator, LONG), inspect_sentence(translator, "Two dogs are playing in the snow."))
    chosen = choosing("target", 3) + "await page.locator('.alternative').first().click();"
    yield Shot("inspection", page, chosen + TOP, height=1230)
    yield Shot("inspection-dark", page, chosen + scrolled("attention"), height=1660, dark=True)
    yield Shot("inspection-steps", page, chosen + scrolled("steps"), height=1530)
    yield Shot("inspection-phone", page, chosen + TOP, width=390, height=1180)


def _page(*inspected: InspectionResult) -> str:
    return render_inspection_page(inspected, title="What the translator sees")


def main() -> None:
    """Make them all."""
    parser = argparse.ArgumentParser(description="Make the pictures of docs/images.")
    parser.add_argument("--bundle", type=Path, help="a Transformer bundle from English to German")
    parser.add_argument("--runs", nargs="+", default=[], help="systems as dragoman compare takes them")
    parser.add_argument("--test", nargs=2, type=Path, help="the texts to compare them on")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    asked = parser.parse_args()
    if reason := missing():
        parser.error(reason)
    shots = [*by_hand(), *(of_a_model(asked.bundle) if asked.bundle else ())]
    shots += [Shot(**shot) for shot in shots_by_hand()]
    shots += [Shot(**shot) for shot in (shots_of_runs(asked.runs, *asked.test) if asked.runs and asked.test else ())]
    chromium = Chromium()
    try:
        for shot in shots:
            path = take(chromium, shot, asked.out.resolve())
            print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
    finally:
        chromium.close()


if __name__ == "__main__":
    main()
