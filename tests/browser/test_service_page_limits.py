"""The page where something is missing: a browser that keeps or copies nothing, a server that cannot do all."""

from __future__ import annotations

from tests.browser.chromium import Chromium
from tests.browser.page_steps import ENGLISH, GERMAN, look, typed

REFUSED = "Failed to load resource"  # how Chromium notes an answer of 400 and more


def test_a_text_is_there_again_after_another_page(chromium: Chromium, service: str):
    steps = f"""
    {typed()}
    await page.locator('footer a').click();
    await page.waitForURL('**/docs');
    await page.goBack();
    await settled();
    const back = [await page.locator('#text').inputValue(), await output().textContent()];
    await page.reload();
    await settled();
    return [back, await page.locator('#text').inputValue()];
    """
    assert look(chromium, service, steps) == [[ENGLISH, GERMAN], ENGLISH]


def test_a_browser_that_keeps_nothing_will_do(chromium: Chromium, service: str):
    steps = f"""
    await page.addInitScript(() => {{
      const refuse = {{ get() {{ throw new DOMException('it is not allowed', 'SecurityError'); }} }};
      for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, refuse);
    }});
    await page.reload();
    {typed()}
    return output().textContent();
    """
    assert look(chromium, service, steps) == GERMAN


def test_copying_works_without_https(chromium: Chromium, service: str):
    steps = f"""
    await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', {{ value: undefined }}));
    {typed()}
    await page.locator('.copy').click();
    await page.getByText('Copied').waitFor();
    const field = page.locator('#text');
    await field.fill('');
    await field.press('Control+v');
    return field.inputValue();
    """
    assert look(chromium, service, steps) == GERMAN


def test_the_page_opens_when_the_server_does(chromium: Chromium, service: str):
    steps = """
    let asked = 0;
    await page.route('**/frontend/settings', route => ++asked > 1 ? route.continue() : route.abort());
    await page.reload();
    await page.locator('.notice').waitFor();
    const said = await page.locator('.notice p').first().textContent();
    await page.locator('#text').waitFor();
    return [said, asked, await page.locator('.notice').count()];
    """
    assert look(chromium, service, steps, allowed=[REFUSED]) == ["The server cannot be reached.", 2, 0]


def test_seconds_are_shown_but_not_read_out(chromium: Chromium, service: str):
    steps = f"""
    await page.locator('#text').waitFor();
    const full = {{ status: 503, headers: {{ 'Retry-After': '9' }}, body: '{{}}' }};
    await page.route('**/v1/translate', route => route.fulfill(full));
    await page.locator('#text').fill({ENGLISH!r});
    await page.getByText('Trying again in').waitFor();
    return page.getByRole('alert').ariaSnapshot();
    """
    said = look(chromium, service, steps, allowed=[REFUSED])
    assert "The server is busy." in said
    assert "Trying again" not in said


def test_a_text_in_the_target_language_is_offered_others(chromium: Chromium, service: str):
    german = "Zwei Hunde spielen im Schnee, und ein Mann schaut ihnen dabei zu."
    steps = f"""
    await page.locator('#target').selectOption('de');
    await page.locator('#text').fill({german!r});
    await page.getByText('This text is in German already.').waitFor();
    const before = [await output().textContent(), await tool('inspection').isDisabled(), await accessibility(page)];
    await page.getByRole('button', {{ name: 'Translate into English' }}).click();
    await settled();
    return [before, await page.locator('#target').inputValue(), await page.locator('.target .aside').count()];
    """
    assert look(chromium, service, steps) == [[german, True, []], "en", 0]


def test_a_server_without_glossaries_says_so(chromium: Chromium, service: str):
    steps = f"""
    await page.locator('#source').selectOption('en');
    {typed()}
    const refusal = {{ status: 501, body: '{{"error": "install the extra train on it"}}' }};
    await page.route('**/v1/translate', route =>
      route.request().postDataJSON().glossary ? route.fulfill(refusal) : route.continue());
    await tool('glossary').click();
    await page.getByRole('button', {{ name: 'Add a term' }}).click();
    await page.getByLabel('Term', {{ exact: true }}).fill('dogs');
    await page.getByLabel('Its translation').fill('Katzen');
    await page.locator('.notice').waitFor();
    const said = await page.locator('.notice').textContent();
    await page.getByRole('button', {{ name: 'Remove dogs' }}).click();
    await settled();
    return [said, await page.locator('.notice').count(), await output().textContent()];
    """
    said, left, text = look(chromium, service, steps, allowed=[REFUSED])
    assert "This server cannot use a glossary." in said
    assert "the extra train" in said
    assert (left, text) == (0, GERMAN)


def test_many_flags_do_not_bury_the_translation(chromium: Chromium, service: str):
    steps = """
    await page.route('**/v1/translate', async route => {
      const answer = await route.fetch();
      const flag = { name: 'numbers', detail: 'lost 7', meaning: 'numbers were lost' };
      const flags = `"flags":${JSON.stringify([flag, flag])}`;
      const body = (await answer.text()).replaceAll(/"flags":\\[[^\\]]*\\]/g, flags);
      await route.fulfill({ response: answer, body });
    });
    await write('Two dogs play here. A man sleeps there. Two wolves play here. A dog sleeps here.');
    const lines = page.locator('.flags li');
    const shown = () => lines.evaluateAll(all => all.filter(each => each.checkVisibility()).length);
    const before = await shown();
    await page.getByText('4 more').click();
    return [before, await shown(), await accessibility(page)];
    """
    assert look(chromium, service, steps) == [4, 8, []]
