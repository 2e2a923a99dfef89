"""The page on a phone: nothing moves under a finger, links leave other words alone, unavailable buttons explain why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import Chromium
from tests.browser.page_steps import ENGLISH, SECOND, look, typed
from tests.browser.served import served
from tests.browser.toy_translators import toy_translator

PHONE: Any = {"width": 390, "height": 844, "touch": True}
REFUSED = "Failed to load resource"  # how Chromium notes an answer of 400 and more

MEASURE = """
// Layout shifts from now on, those after a tap included, and the places of buttons and words.
const startMeasuring = () => page.evaluate(() => {
  window.shifts = [];
  new PerformanceObserver(list => {
    for (const each of list.getEntries()) {
      const moved = each.sources.map(({ node }) => node?.parentElement).filter(
        parent => !parent?.closest('.attention-status, .mirror')); // another text in a place of the same size
      if (each.value < 0.0005) continue; // a pixel of a line of text is 0.0001, a line moved by its height 0.002
      if (moved.length) window.shifts.push(`${each.value}: ${moved.map(parent => parent?.outerHTML.slice(0, 80))}`);
    }
  })
    .observe({ type: 'layout-shift' });
});
const shifts = async () => {
  await page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));
  return page.evaluate(() => window.shifts);
};
const places = () => page.evaluate(() => [...document.querySelectorAll('[data-tool], [data-position^=t0]')]
  .map(each => each.getBoundingClientRect().top + scrollY));
"""


@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_nothing_moves_when_words_are_tapped_and_maps_appear(chromium: Chromium, service: str, language: str):
    steps = f"""
    {MEASURE}
    {typed(f"{ENGLISH} {SECOND}")}
    await startMeasuring();
    const before = await places();
    const moved = [];
    const look = async name => {{
      const now = await places();
      if (now.some((top, index) => top !== before[index])) moved.push(name);
    }};
    for (const position of ['t0:0:2', 't0:1:0', 't0:1:0', 't0:0:0']) {{
      await word(position).tap();
      await look(position);
    }}
    const byWords = await shifts();
    for (const name of ['heatMap', 'alternatives', 'glossary']) {{
      await tool(name).tap();
      await page.locator('#tool .panel').waitFor();
      await look(name);
    }}
    await tool('heatMap').tap();
    await page.locator('#tool .map').first().waitFor();
    const byPanels = await shifts(); // of what is below them
    await word('t0:0:2').tap();
    await look('a word above a heat map');
    return [moved, byWords, (await shifts()).slice(byPanels.length)];
    """
    assert look(chromium, service, steps, language=language, **PHONE) == [[], [], []]


def test_the_first_translation_moves_no_button(chromium: Chromium, service: str):
    steps = f"""
    {MEASURE}
    await tool('heatMap').waitFor();
    await startMeasuring();
    const tops = () => page.evaluate(() => [...document.querySelectorAll('[data-tool]')].map(
      each => each.getBoundingClientRect().top + scrollY));
    const before = await tops();
    {typed()}
    return [before, await tops(), await shifts()];
    """
    before, after, shifts = look(chromium, service, steps, **PHONE)
    assert after == before
    assert shifts == []


@pytest.mark.parametrize("width", [390, 1280])
def test_a_link_touches_its_own_words_only(chromium: Chromium, service: str, width: int):
    text = "Two dogs play here. A man sleeps there. " * 6
    steps = f"""
    await page.locator('#source').selectOption('en');
    {typed(text.strip())}
    const crossed = [];
    for (const position of ['t0:0:0', 't0:3:2', 's:2:1']) {{
      if (position[0] === 't') await word(position).click();
      else await word(position).hover({{ force: true }});
      await page.locator('path.link').first().waitFor();
      crossed.push(...await page.evaluate(() => {{
        const frame = document.querySelector('.panes').getBoundingClientRect();
        const words = [...document.querySelectorAll('[data-position]:not(.lit)')].flatMap(
          each => [...each.getClientRects()].map(rect => [each.dataset.position, rect]));
        return [...document.querySelectorAll('path.link')].flatMap(path => {{
          // The pen is up between the parts of a path: only points on its strokes count.
          const found = [];
          for (const part of path.getAttribute('d').split(/(?=M)/)) {{
            const stroke = document.createElementNS('http://www.w3.org/2000/svg', 'path');
            stroke.setAttribute('d', part);
            const length = stroke.getTotalLength();
            for (let at = 0; at <= length; at += 2) {{
              const {{ x, y }} = stroke.getPointAtLength(at);
              const [left, top] = [x + frame.left, y + frame.top];
              found.push(...words.filter(([, rect]) =>
                rect.left + 1 < left && left < rect.right - 1 && rect.top + 1 < top && top < rect.bottom - 1)
                .map(([position]) => position));
            }}
          }}
          return found;
        }});
      }}));
    }}
    const reaches = await page.evaluate(() => [...document.querySelectorAll('path.link')].every(
      path => path.getBoundingClientRect().width > 10));
    return [crossed, reaches];
    """
    assert look(chromium, service, steps, width=width, height=900) == [[], True]


def test_a_heat_map_has_a_legend(chromium: Chromium, service: str):
    steps = f"""
    {typed()}
    await tool('heatMap').tap();
    const legend = page.locator('#tool .legend');
    await legend.waitFor();
    const shades = await page.evaluate(() => [...document.querySelectorAll('.legend .shade')].map(
      each => Number(each.getAttribute('fill-opacity'))));
    const colour = selector => page.evaluate(
      name => getComputedStyle(document.querySelector(name)).fill, selector);
    const same = (await colour('.legend .shade')) === (await colour('.map .cell'));
    return [(await legend.innerText()).replace(/\\s+/g, ' '), shades, same, await accessibility(page)];
    """
    text, shades, same, faults = look(chromium, service, steps, **PHONE)
    assert text == "Attention weight 0% 25% 50% 75% 100%"
    assert (shades, same, faults) == ([0, 0.25, 0.5, 0.75, 1], True, [])


def test_unavailable_buttons_say_why(chromium: Chromium, service: str):
    steps = f"""
    await tool('heatMap').waitFor();
    const asked = {{}};
    const ask = async (name, button) => {{
      await button.tap({{ force: true }}); // Playwright waits for it to be enabled
      const hint = page.locator(`#${{await button.getAttribute('aria-describedby')}}`);
      await eventually(() => hint.evaluate(each => getComputedStyle(each).opacity), value => value === '1');
      const box = await hint.boundingBox();
      asked[name] = [await hint.textContent(), box.x >= 0 && box.x + box.width <= 390,
        await button.getAttribute('aria-disabled')];
    }};
    await ask('heat map', tool('heatMap'));
    await ask('swap', page.locator('.swap'));
    await ask('copy', page.locator('.copy'));
    await ask('clear', page.locator('.pane').first().locator('.square'));
    const widths = await width();
    const faults = await accessibility(page);
    const hint = (await lit()).status;
    {typed()}
    const left = await page.locator('[aria-disabled=true]').count();
    return [asked, widths, faults, hint, left, await tool('heatMap').getAttribute('aria-describedby')];
    """
    asked, width, faults, hint, left, description = look(chromium, service, steps, **PHONE)
    assert asked == {
        "heat map": ["Translate a text first.", True, "true"],
        "swap": ["The languages can be swapped once the source language is known.", True, "true"],
        "copy": ["There is no translation to copy.", True, "true"],
        "clear": ["There is no text to clear.", True, "true"],
    }
    assert (width, faults) == (390, [])
    assert hint.startswith("Alternatives, the heat map, and layers and heads are available once")
    assert (left, description) == (0, None)


def test_a_glossary_is_offered_only_where_the_engine_can_use_it(chromium: Chromium, service: str):
    steps = f"""
    const sent = [];
    page.on('request', request => {{
      if (request.url().endsWith('/v1/translate')) sent.push(request.postDataJSON().glossary ?? null);
    }});
    await page.evaluate(() => localStorage.setItem('dragoman.glossary.en.de',
      JSON.stringify([{{ source: 'dogs', target: 'Hündchen', isKept: false }}])));
    await page.route('**/v1/models', async route => {{
      const response = await route.fetch();
      const body = await response.json();
      for (const model of body.models) Object.assign(model, {{ supports_glossary: false, supports_inspection: false }});
      await route.fulfill({{ response, json: body }});
    }});
    await page.reload();
    {typed()}
    const reason = async name => {{
      const id = await tool(name).getAttribute('aria-describedby');
      return id && page.locator(`#${{id}}`).textContent();
    }};
    await tool('glossary').tap({{ force: true }});
    return [await reason('glossary'), await reason('inspection'), await page.locator('#tool .panel').count(), sent];
    """
    glossary, inspection, panels, sent = look(chromium, service, steps, **PHONE)
    assert glossary == "This server cannot use a glossary: it needs torch (the extra train)."
    assert inspection == "This server cannot show single layers and heads: it needs torch (the extra train)."
    assert panels == 0
    assert set(sent) == {None}


@pytest.fixture(scope="module")
def pivots(toys: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server from English to German and from German to Arabic: English to Arabic has a pivot."""
    folder = tmp_path_factory.mktemp("pivot") / "bundle"
    toy_translator(folder, "de", "ar", updates=30)
    with served({"forth": toys["turner"], "on": folder}, "--beam", "1", "--threads", "1") as address:
        yield address


def test_a_direct_model_is_preferred_to_a_pivot(chromium: Chromium, pivots: str):
    steps = f"""
    await page.locator('#text').waitFor();
    const first = await page.locator('#target').inputValue();
    {typed()}
    const direct = [await page.locator('#target').inputValue(), await page.locator('.model-info').textContent()];
    await page.locator('#source').selectOption('en');
    const kept = await page.locator('#target').inputValue();
    await page.locator('#target').selectOption('ar');
    await settled();
    const reason = await page.locator(`#${{await tool('inspection').getAttribute('aria-describedby')}}`).textContent();
    const sent = page.waitForRequest(each => each.url().endsWith('/v1/translate') && each.postDataJSON().glossary);
    await tool('glossary').click();
    await page.getByRole('button', {{ name: 'Add a term' }}).click();
    await page.getByLabel('Term', {{ exact: true }}).fill('dogs');
    await page.getByLabel('Its translation').fill('قطط');
    const asked = (await sent).postDataJSON();
    await settled();
    return [first, direct, kept, asked, reason];
    """
    first, direct, kept, sent, inspection = look(chromium, pivots, steps)
    assert (first, kept) == ("de", "de")  # not Arabic, the first by name
    assert direct == ["de", "by forth"]
    assert (sent["target"], sent["glossary"]) == ("ar", {"dogs": "قطط"}), "the second model requires the terms"
    assert inspection == "Layers and heads are those of one model, but this translation goes through German."


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("unknown_language", "此服务器不支持该语言。"),
        ("invalid_request", "服务器无法理解该请求。"),
        ("too_large", "内容过大，超出服务器单次处理的上限。"),
    ],
)
def test_errors_are_chinese_in_the_chinese_interface(chromium: Chromium, service: str, code: str, said: str):
    steps = f"""
    await page.locator('#text').waitFor();
    await page.route('**/v1/translate', route => route.fulfill({{ status: 400, contentType: 'application/problem+json',
      body: JSON.stringify({{ status: 400, error: 'this must not be shown', code: {code!r} }}) }}));
    await page.locator('#text').fill({ENGLISH!r});
    await page.getByRole('alert').waitFor();
    return page.getByRole('alert').innerText();
    """
    shown = look(chromium, service, steps, language="zh-CN", allowed=[REFUSED])
    assert said in shown
    assert "must not" not in shown


def test_a_real_error_of_a_document_is_chinese(chromium: Chromium, service: str, tmp_path: Path):
    broken = tmp_path / "broken.docx"
    broken.write_bytes(b"not a document")
    steps = f"""
    await page.locator('#source').selectOption('en');
    await page.locator('#file').setInputFiles({str(broken)!r});
    await page.locator('.document .reason').waitFor();
    return page.locator('.document .reason').textContent();
    """
    shown = look(chromium, service, steps, language="zh-CN", allowed=[REFUSED])
    assert shown == "无法读取此文档：文件为空、已损坏，或内容与扩展名不符。"


def test_an_error_within_a_stream_is_retried_when_the_server_says(chromium: Chromium, service: str):
    steps = f"""
    await page.locator('#text').waitFor();
    let count = 0;
    const events = [['text', {{ index: 0, text: 'Zwei' }}],
      ['error', {{ status: 503, error: 'busy', code: 'overloaded', retry_after: 4 }}]];
    const body = events.map(([name, value]) => `event: ${{name}}\ndata: ${{JSON.stringify(value)}}\n\n`).join('');
    await page.route('**/v1/translate', route => ++count > 1
      ? route.continue() : route.fulfill({{ status: 200, contentType: 'text/event-stream', body }}));
    await page.locator('#text').fill({ENGLISH!r});
    const notice = page.locator('.notice span').getByText('Trying again in');
    await notice.waitFor();
    const said = await notice.textContent();
    await settled();
    return [said, count];
    """
    said, count = look(chromium, service, steps)
    assert said in {"Trying again in 4 s.", "Trying again in 3 s."}
    assert count == 2


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en", ["French (detected)", "No model translates from French; the text is translated as English."]),
        ("zh-CN", ["法语（自动检测）", "没有法语模型，按英语翻译。"]),
    ],
)
def test_a_language_without_a_model_is_named_in_full(
    chromium: Chromium, service: str, language: str, expected: list[str]
):
    steps = """
    await page.locator('#text').waitFor();
    await page.locator('#text').fill('Deux chiens jouent dans la neige devant la maison.');
    const note = page.locator('.unavailable');
    await note.waitFor();
    const isCut = await note.evaluate(each => each.scrollWidth > each.clientWidth);
    return [await page.locator('#source option:checked').innerText(), await note.innerText(), isCut];
    """
    assert look(chromium, service, steps, language=language, **PHONE) == [*expected, False]


@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_formats_are_listed_once(chromium: Chromium, service: str, language: str, tmp_path: Path):
    picture = tmp_path / "picture.png"
    picture.write_bytes(b"no document")
    steps = f"""
    await page.locator('#source').selectOption('en');
    await page.locator('#file').setInputFiles({str(picture)!r});
    await page.locator('.document .reason').waitFor();
    return page.locator('.document').innerText();
    """
    shown = look(chromium, service, steps, language=language, allowed=[REFUSED])
    assert shown.count(".docx") == 1
