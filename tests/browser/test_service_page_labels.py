"""The page explains its marks: underlines of compared translations, bars of a layer, and a text that is too long."""

from __future__ import annotations

from tests.browser.chromium import Chromium
from tests.browser.page_steps import GERMAN, look, typed

IN_GERMAN = "Zwei Hunde spielen im Schnee, und ein Mann schaut ihnen dabei zu."


def test_compared_translations_have_a_legend_and_a_pause_has_a_reason(chromium: Chromium, service: str):
    steps = f"""
    await page.locator('#target').selectOption('de');
    {typed()}
    const without = await page.locator('.legend').count();
    await page.locator('#compare').click();
    await settled(1);
    const legend = await page.locator('.legend .item').allTextContents();
    const faults = await accessibility(page);
    await page.locator('#text').fill({IN_GERMAN!r});
    await page.getByText('Not compared: the text is in the target language already.').waitFor();
    const columns = await page.locator('.output').count();
    {typed()}
    await settled(1);
    return [without, legend, faults, columns, await page.locator('.output').first().textContent()];
    """
    without, legend, faults, columns, text = look(chromium, service, steps)
    assert (without, faults, columns, text) == (0, [], 1, GERMAN)
    assert legend == ["differs from the other translation", "sentence with a possible problem"]


def test_bars_of_a_layer_have_labels_and_heads_stay_in_their_column(chromium: Chromium, service: str):
    steps = f"""
    await page.route('**/v1/inspect', async route => {{
      const answer = await route.fetch();
      const body = await answer.json();
      for (const name of ['predicted', 'entropy'])
        body[name] = body[name].map(([head]) => Array(9).fill(head));
      await route.fulfill({{ response: answer, json: body }});
    }});
    {typed()}
    await tool('inspection').click();
    await page.locator('#tool table').waitFor();
    const labels = await page.locator('#tool .total').allTextContents();
    const titles = await page.locator('#tool .map rect title').allTextContents();
    const lefts = await page.locator('#tool .layer:first-child button').evaluateAll(
      all => all.map(each => each.getBoundingClientRect().left));
    const name = await page.locator('#tool .layer:first-child .name').evaluate(
      each => each.getBoundingClientRect().right);
    return [labels, titles, lefts, name];
    """
    labels, titles, lefts, name = look(chromium, service, steps, language="zh-CN", width=390, height=844)
    assert labels == ["覆盖度", "熵"]
    assert {title.split()[0] for title in titles} == {"覆盖度", "熵"}
    assert len(lefts) == 10
    assert len(set(lefts)) < len(lefts)  # they wrap
    assert min(lefts) == lefts[0] >= name


def test_a_text_that_is_too_long_scrolls_and_its_message_is_in_view(chromium: Chromium, service: str):
    steps = """
    await page.locator('#text').fill('我们 '.repeat(2000));
    await page.getByRole('alert').waitFor();
    const box = await page.locator('.pane').first().boundingBox();
    const message = await page.getByRole('alert').boundingBox();
    const inside = await page.locator('.text').first().evaluate(each => each.scrollHeight > each.clientHeight);
    return [box.height, message.y + message.height, inside, (await output().textContent()).trim()];
    """
    height, bottom, scrolls, result = look(chromium, service, steps, language="zh-CN", width=390, height=844)
    assert height < 844
    assert bottom < 844
    assert scrolls
    assert result == "文本过长，没有翻译。"
