"""Make the pictures of the server's page in docs/images::

python -m tests.browser.service_shots transformer=BUNDLE rnn=BUNDLE     # both from English to German
python -m tests.browser.service_shots --imported en-pt=BUNDLE pt-en=BUNDLE
python -m tests.browser.service_shots --memory en-pt=BUNDLE     # DRAGOMAN_DATABASE has the memory of docs/memory.md
python -m tests.browser.service_shots --effort NAME=FOLDER      # of dragoman adapt, with its database
"""

import argparse
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image

from tests.browser.chromium import Chromium, missing
from tests.browser.page_steps import HELPERS
from tests.browser.screenshots import MOST_BYTES
from tests.browser.served import served

ROOT = Path(__file__).resolve().parents[2]
TEXT = "Two dogs are playing in the snow. A woman with a red umbrella walks past three men in bright orange vests."
ODD = "Le musée est fermé le lundi, mais le jardin reste ouvert jusqu'à 18 heures."
NOTICE = "The museum is closed on Mondays, but the old garden stays open until six. Children under ten do not pay."
PUMP = "Remove the cover of the pump."
PHONE = {"width": 390, "height": 844, "touch": True}


@dataclass(frozen=True)
class PageShot:
    """A picture: what was done before it was taken, and in which browser."""

    name: str
    steps: str
    options: dict[str, Any] = field(default_factory=dict)


def shots() -> Iterable[PageShot]:
    """The page with its main parts, wide and narrow, light and dark, in both languages."""
    typed = f"await write({TEXT!r});"
    umbrella = "await word('t0:1:4').hover();"
    tapped = "await word('t0:1:5').tap();"
    yield PageShot("service", typed + umbrella, {"height": 560})
    yield PageShot("service-dark", f"{typed} await tool('heatMap').click(); {umbrella}", {"height": 1110, "dark": True})
    both = "await page.locator('#compare').click(); await settled(1);"
    yield PageShot("service-compare", f"{typed} {both} await word('s:1:4').hover({{ force: true }});", {"height": 560})
    others = "await tool('alternatives').click(); await page.locator('#tool li').nth(2).waitFor();"
    yield PageShot("service-chinese", f"{typed} {umbrella} {others} {umbrella}", {"height": 960, "language": "zh-CN"})
    inspection = "await tool('inspection').click(); await page.locator('#tool table').waitFor();"
    yield PageShot(
        "service-inside", f"page.setDefaultTimeout(60000); {typed} {umbrella} {inspection}", {"height": 1330}
    )
    yield PageShot("service-phone", typed + tapped, PHONE)
    odd = f"await page.locator('#source').selectOption('en'); await write({ODD!r});"
    yield PageShot("service-phone-dark", odd, {**PHONE, "dark": True, "language": "zh-CN"})


def imported_shots() -> Iterable[PageShot]:
    """The page with two imported models, and the alignment of a word."""
    typed = f"page.setDefaultTimeout(60000); await write({NOTICE!r});"
    yield PageShot("imported", f"{typed} await word('t0:0:9').hover();", {"height": 560})
    yield PageShot("imported-phone", f"{typed} await word('t0:0:9').tap();", PHONE)


def memory_shots() -> Iterable[PageShot]:
    """A correction, with the match of the memory and alternatives at the caret; the effort of the weeks."""
    typed = f"page.setDefaultTimeout(60000); await write({PUMP!r}); await output().focus();"
    listed = """
    await page.keyboard.press('F2');
    const field = page.locator('#correction');
    await field.evaluate(each => each.setSelectionRange(each.value.indexOf('tampa'), each.value.indexOf('tampa')));
    await page.keyboard.press('Alt+ArrowDown');
    await page.locator('form ul button').nth(1).waitFor();
    """
    yield PageShot("memory", typed + listed, {"height": 820})
    yield PageShot("memory-phone", typed + listed, {**PHONE, "height": 1290})


def effort_shots() -> Iterable[PageShot]:
    """The effort of some weeks, and what the last night changed."""
    effort = "await tool('effort').click(); await page.locator('#tool .changes').waitFor();"
    below = "await page.locator('[data-tool=effort]').evaluate(each => each.scrollIntoView());"
    yield PageShot("memory-effort", effort + below, {"height": 1000})
    yield PageShot("memory-effort-phone", effort + below, PHONE)


def take(chromium: Chromium, address: str, shot: PageShot, folder: Path) -> Path:
    """Take it, and make it small."""
    path = folder / f"{shot.name}.png"
    steps = f"{HELPERS} {shot.steps} await page.waitForTimeout(200); await page.screenshot({{ path: {str(path)!r} }});"
    chromium.visit(address, steps, **({"width": 1280} | shot.options))
    with Image.open(path) as picture:
        few = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
    assert path.stat().st_size <= MOST_BYTES, f"{path.name} has {path.stat().st_size} bytes"
    return path


def main() -> None:
    """Make them all."""
    parser = argparse.ArgumentParser(description="Make the pictures of the server's page in docs/images.")
    parser.add_argument("bundles", nargs="+", help="NAME=BUNDLE, from English to German")
    parser.add_argument("--imported", action="store_true", help="bundles are an imported pair, en-pt and pt-en")
    parser.add_argument("--memory", action="store_true", help="the bundle is from English to Portuguese")
    parser.add_argument("--effort", action="store_true", help="the bundle is a folder of dragoman adapt")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    asked = parser.parse_args()
    if reason := missing():
        parser.error(reason)
    bundles = {name: Path(path) for name, _, path in (each.partition("=") for each in asked.bundles)}
    chromium = Chromium()
    try:
        used = {"DRAGOMAN_DATABASE": os.environ.get("DRAGOMAN_DATABASE", "memory")}
        flags = ("--memory", "products") if asked.memory else ()
        with served(bundles, *flags, environment=used) as address:
            kinds = {"memory": memory_shots, "effort": effort_shots, "imported": imported_shots}
            chosen = next((made for name, made in kinds.items() if getattr(asked, name)), shots)()
            for shot in chosen:
                path = take(chromium, address, shot, asked.out.resolve())
                print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
    finally:
        chromium.close()


if __name__ == "__main__":
    main()
