"""What people do with the server's page, as steps of a visit, and what must hold after each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.browser.chromium import Chromium

__all__ = ["ENGLISH", "GERMAN", "HELPERS", "SECOND", "look", "typed"]

ENGLISH = "Two dogs play here."
GERMAN = "hier spielen Hunde Zwei."
SECOND = "A man sleeps there."

HELPERS = """
const output = (column = 0) => page.locator('.output').nth(column);
const settled = async (column = 0) => {
  await page.waitForFunction(number => {
    const output = document.querySelectorAll('.output')[number];
    return output?.matches('[aria-busy=false]:not(.stale)') && output.querySelector('[data-spot]');
  }, column);
};
const write = async text => {
  await page.locator('#text').fill(text);
  await page.waitForFunction(() => {
    const output = document.querySelector('.output');
    return !output.querySelector('[data-spot]') || output.matches('.stale, [aria-busy=true]');
  });
  await settled();
};
const word = spot => page.locator(`[data-spot="${spot}"]`);
const tool = name => page.locator(`[data-tool="${name}"]`);
const lit = () => page.evaluate(() => ({
  source: [...document.querySelectorAll('.mirror .lit')].map(each => each.textContent),
  target: [...document.querySelectorAll('.output .lit')].map(each => each.textContent),
  links: document.querySelectorAll('path.link').length,
  says: document.querySelector('.says').textContent.replace(/\\s+/g, ' ').trim(),
}));
const width = () => page.evaluate(() => document.documentElement.scrollWidth);
"""


def typed(text: str = ENGLISH) -> str:
    """Steps: a text is typed, and translated."""
    return f"await write({text!r});"


def look(chromium: Chromium, address: str, steps: str, *, allowed: Sequence[str] = (), **options: Any) -> Any:
    """Do the steps; the page asks nobody else for anything, and complains of nothing but what is allowed."""
    seen = chromium.visit(address, HELPERS + steps, **options)
    assert seen.requests == []
    assert [each for each in seen.complaints if not any(part in each for part in allowed)] == []
    return seen.result
