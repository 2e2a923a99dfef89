"""Steps of a visit to the server's page, and the checks after each visit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.browser.chromium import Chromium

ENGLISH = "Two dogs play here."
GERMAN = "hier spielen Hunde Zwei."
SECOND = "A man sleeps there."

HELPERS = """
const output = (column = 0) => page.locator('.output').nth(column);
const settled = async (column = 0) => {
  await page.waitForFunction(number => {
    const output = document.querySelectorAll('.output')[number];
    return output?.matches('[aria-busy=false]:not(.stale)') && output.querySelector('[data-position]');
  }, column);
};
const write = async text => {
  await page.locator('#text').fill(text);
  await settled();
};
const word = position => page.locator(`[data-position="${position}"]`);
const tool = name => page.locator(`[data-tool="${name}"]`);
const lit = () => page.evaluate(() => ({
  source: [...document.querySelectorAll('.mirror .lit')].map(each => each.textContent),
  target: [...document.querySelectorAll('.output .lit')].map(each => each.textContent),
  links: document.querySelectorAll('path.link').length,
  status: document.querySelector('.attention-status').textContent.replace(/\\s+/g, ' ').trim(),
}));
// Read again until `holds` is true of the value; the last value read is returned.
const eventually = async (read, holds) => {
  for (const end = Date.now() + 60000; ;) {
    const value = await read();
    if (holds(value) || Date.now() > end) return value;
    await page.waitForTimeout(20);
  }
};
const litTarget = word => eventually(lit, found => found.target[0] === word);
// Deliver the events of a streamed answer to the page one by one, however late the page reads them.
const deliverEventsSingly = () => page.evaluate(() => {
  const original = window.fetch;
  window.fetch = async (path, request) => {
    const response = await original(path, request);
    if (path !== 'v1/translate') return response;
    const events = (await response.text()).split(/(?<=\\n\\n)/).map(event => new TextEncoder().encode(event));
    const body = new ReadableStream({
      async pull(controller) {
        await new Promise(resolve => setTimeout(resolve));
        if (events.length) controller.enqueue(events.shift());
        else controller.close();
      },
    });
    return new Response(body, response);
  };
});
const width = () => page.evaluate(() => document.documentElement.scrollWidth);
"""


def typed(text: str = ENGLISH) -> str:
    """Steps that type a text and wait for its translation."""
    return f"await write({text!r});"


def look(chromium: Chromium, address: str, steps: str, *, allowed: Sequence[str] = (), **options: Any) -> Any:
    """Run the steps; the page must contact no other host and log no error that is not allowed."""
    seen = chromium.visit(address, HELPERS + steps, **options)
    assert seen.requests == []
    assert [each for each in seen.complaints if not any(part in each for part in allowed)] == []
    return seen.result
