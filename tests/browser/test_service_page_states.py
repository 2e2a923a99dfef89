"""The page of a real server in all its states: phones, darkness, Chinese, documents, and what goes wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser.chromium import Chromium
from tests.browser.page_steps import ENGLISH, GERMAN, SECOND, look, typed
from tests.browser.served import served

REFUSED = "Failed to load resource"  # how Chromium notes an answer of 400 and more


def test_it_fits_a_narrow_phone_and_words_can_be_tapped(chromium: Chromium, service: str):
    long = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen"
    steps = f"""
    const widths = {{ empty: await width() }};
    await page.locator('#source').selectOption('en');
    {typed(f"{ENGLISH} {SECOND} {long}")}
    await word('t0:0:2').tap();
    const tapped = await lit();
    widths.tapped = await width();
    for (const name of ['alternatives', 'heatMap', 'glossary']) {{
      await tool(name).click();
      await page.waitForTimeout(300);
      if (name === 'glossary') await page.getByRole('button', {{ name: 'Add a term' }}).click();
      widths[name] = await width();
    }}
    await page.locator('#compare').click();
    await settled(1);
    widths.compare = await width();
    await word('s:0:0').evaluate(each => each.scrollIntoView());
    const path = (await page.locator('path.link').count()) && 'still';
    return [widths, tapped, path, await accessibility(page)];
    """
    widths, tapped, still, faults = look(chromium, service, steps, width=320, height=740, touch=True)
    assert widths == dict.fromkeys(widths, 320)
    assert (tapped["target"], tapped["source"][:1]) == (["Hunde"], ["dogs"])
    assert tapped["links"] >= 1
    assert (still, faults) == (0, [])


def test_darkness_follows_the_system_until_it_is_chosen(chromium: Chromium, service: str):
    steps = f"""
    const dark = page.locator('#dark');
    const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    {typed()}
    await word('t0:0:1').hover();
    const seen = [await ground()];
    const faults = await accessibility(page);
    await tool('heatMap').click();
    faults.push(...await accessibility(page));
    await dark.click();
    seen.push(await ground(), await dark.getAttribute('aria-pressed'));
    await page.reload();
    await page.locator('#text').waitFor();
    seen.push(await ground());
    await dark.click();
    await page.emulateMedia({{ colorScheme: 'light' }});
    await page.waitForFunction(() => document.documentElement.dataset.theme === 'light');
    return [seen, await ground(), faults];
    """
    (by_system, chosen, pressed, kept), followed, faults = look(chromium, service, steps, dark=True)
    assert by_system == "rgb(19, 23, 22)"
    assert chosen == kept == followed == "rgb(244, 242, 237)"
    assert (pressed, faults) == ("false", [])


def test_the_page_speaks_chinese(chromium: Chromium, service: str):
    steps = f"""
    {typed()}
    await tool('heatMap').click();
    await word('t0:0:1').hover();
    const tag = () => page.evaluate(() => document.documentElement.lang);
    const seen = [await tag(), (await lit()).status, await tool('heatMap').textContent()];
    seen.push(await page.locator('#target option').allTextContents());
    const faults = await accessibility(page);
    await page.locator('#interface-language').selectOption('en');
    await page.reload();
    return [seen, await tag(), await tool('heatMap').textContent(), faults];
    """
    (tag, status, tool, targets), kept, english, faults = look(chromium, service, steps, language="zh-CN")
    assert (tag, tool) == ("zh-Hans", "热力图")
    assert status.startswith("spielen 关注 play")
    assert set(targets) == {"德语", "英语"}
    assert (kept, english, faults) == ("en", "Heat map", [])


def test_text_runs_the_way_it_is_written(chromium: Chromium, service: str):
    steps = """
    await page.locator('#source').selectOption('en');
    const text = page.locator('#text');
    const way = () => page.evaluate(
      () => [...document.querySelectorAll('#text, .mirror')].map(each => getComputedStyle(each).direction));
    await text.fill('ذهب الطلاب إلى المكتبة');
    const arabic = await way();
    await text.fill('我们明天去北京');
    const fits = await page.evaluate(() => {
      const [field, mirror] = ['#text', '.mirror'].map(each => document.querySelector(each));
      return Math.abs(field.scrollHeight - mirror.clientHeight) <= 1;
    });
    return [arabic, await way(), fits, await text.getAttribute('lang')];
    """
    assert look(chromium, service, steps) == [["rtl", "rtl"], ["ltr", "ltr"], True, "en"]


@pytest.mark.parametrize("way", ["drop", "button"])
def test_a_document_is_translated(chromium: Chromium, service: str, tmp_path: Path, way: str):
    path = tmp_path / "dogs.txt"
    path.write_text(f"{ENGLISH}\n", encoding="utf-8")
    dropping = f"""
    const files = await page.evaluateHandle(text => {{
      const files = new DataTransfer();
      files.items.add(new File([text], 'dogs.txt', {{ type: 'text/plain' }}));
      return files;
    }}, {ENGLISH + chr(10)!r});
    await page.dispatchEvent('body', 'dragenter', {{ dataTransfer: files }});
    await page.getByText('Drop the document').waitFor();
    await page.dispatchEvent('body', 'drop', {{ dataTransfer: files }});
    """
    choosing = f"await page.locator('#file').setInputFiles({str(path)!r});"
    steps = f"""
    await page.locator('#text').waitFor();
    {dropping if way == "drop" else choosing}
    const link = page.getByRole('link', {{ name: 'Download' }});
    await link.waitFor();
    const faults = await accessibility(page);
    const text = await page.evaluate(async address => (await fetch(address)).text(), await link.getAttribute('href'));
    const left = await page.getByText('Drop the document').count();
    await page.getByRole('button', {{ name: 'Close' }}).click();
    return [text, left, await link.count(), faults];
    """
    assert look(chromium, service, steps) == [f"{GERMAN}\n", 0, 0, []]


def test_a_document_that_cannot_be_read_says_why(chromium: Chromium, service: str, tmp_path: Path):
    path = tmp_path / "holiday.jpeg"
    path.write_bytes(b"\xff\xd8\xff")
    steps = f"""
    await page.locator('#text').waitFor();
    await page.locator('#file').setInputFiles({str(path)!r});
    await page.locator('.document .reason').waitFor();
    return [await page.locator('.document').textContent(), await accessibility(page)];
    """
    said, faults = look(chromium, service, steps, allowed=[REFUSED])
    assert "holiday.jpeg was not translated." in said
    assert ".docx" in said
    assert faults == []


def test_a_busy_server_is_asked_again(chromium: Chromium, service: str):
    steps = f"""
    await page.locator('#text').waitFor();
    let refused = 0;
    await page.route('**/v1/translate', route => ++refused > 1 ? route.continue() : route.fulfill({{
      status: 503, headers: {{ 'Retry-After': '2' }}, body: '{{"error": "it is full"}}',
    }}));
    await page.locator('#text').fill({ENGLISH!r});
    const notice = page.locator('.notice');
    await notice.waitFor();
    const said = await notice.locator('p').first().textContent();
    const faults = await accessibility(page);
    await settled();
    return [said, await output().textContent(), await notice.count(), refused, faults];
    """
    said, text, left, asked, faults = look(chromium, service, steps, allowed=[REFUSED])
    assert said in ("The server is busy. Trying again in 2 s.", "The server is busy. Trying again in 1 s.")
    assert (text, left, asked, faults) == (GERMAN, 0, 2, [])


def test_it_comes_back_when_the_server_does(chromium: Chromium, service: str):
    steps = f"""
    await page.locator('#text').waitFor();
    await page.context().setOffline(true);
    await page.locator('#text').fill({ENGLISH!r});
    await page.locator('.notice').waitFor();
    const said = await page.locator('.notice p').first().textContent();
    await page.context().setOffline(false);
    await settled();
    return [said, await output().textContent()];
    """
    said, text = look(chromium, service, steps, allowed=[REFUSED])
    assert said.startswith("The server cannot be reached.")
    assert text == GERMAN


def test_what_is_refused_is_said_in_words(chromium: Chromium, service: str):
    steps = f"""
    const asked = [];
    page.on('request', request => request.url().endsWith('/v1/translate') && asked.push(1));
    await page.locator('#text').fill('x'.repeat(5001));
    await page.getByRole('alert').waitFor();
    const tooLong = await page.getByRole('alert').textContent();
    const count = await page.locator('#count').textContent();
    await page.waitForTimeout(400);
    const silent = asked.length;
    const large = {{ status: 413, body: '{{"error": "text must be shorter"}}' }};
    await page.route('**/v1/translate', route => route.fulfill(large));
    await page.locator('#text').fill({ENGLISH!r});
    await page.locator('.notice').waitFor();
    return [tooLong, count, silent, await page.locator('.notice').textContent(), await accessibility(page)];
    """
    too_long, count, silent, large, faults = look(chromium, service, steps, allowed=[REFUSED])
    assert "5,000 characters" in too_long
    assert "5,001 / 5,000" in count
    assert "The request is too large for this server." in large
    assert "text must be shorter" in large
    assert (silent, faults) == (0, [])


def test_a_key_is_asked_for_and_kept_for_the_tab_alone(chromium: Chromium, toys: dict[str, Path], tmp_path: Path):
    keys = tmp_path / "keys"
    command = [sys.executable, "-m", "dragoman", "serve", "--keys", str(keys), "--new-key", "somebody"]
    secret = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout.split()[-1]
    steps = f"""
    const field = page.locator('#key');
    await field.waitFor();
    const asked = await page.locator('.key label').textContent();
    const faults = await accessibility(page);
    await field.fill('wrong');
    await page.keyboard.press('Enter');
    await page.locator('#text').fill({ENGLISH!r});
    await page.getByText('does not accept this key').waitFor();
    await field.fill({secret!r});
    await page.keyboard.press('Enter');
    await settled();
    const kept = await page.evaluate(
      secret => [JSON.stringify(localStorage).includes(secret), sessionStorage.length], {secret!r});
    return [asked, faults, await output().textContent(), await field.count(), kept];
    """
    with served({"turner": toys["turner"]}, "--keys", str(keys), "--threads", "1") as address:
        asked, faults, text, left, kept = look(chromium, address, steps, allowed=[REFUSED])
    assert (asked, faults) == ("This server requires an API key.", [])
    assert (text, left, kept) == (GERMAN, 0, [False, 1])


@pytest.mark.parametrize(("language", "hint"), [("en", "Point at a word"), ("zh-CN", "将鼠标移到某个词上")])
def test_words_without_links_have_no_hint(chromium: Chromium, service: str, language: str, hint: str):
    steps = f"""
    {typed()}
    const linked = (await lit()).status;
    await page.route('**/v1/translate', async route => {{
      const response = await route.fetch();
      const body = (await response.text()).replace(/"(alignment|weights)":\\[.*?\\]{{2,}}/g, '"$1":null');
      await route.fulfill({{ response, body }});
    }});
    await page.locator('#text').fill({SECOND!r});
    const note = page.locator('.target .aside');
    await note.waitFor();
    return [linked, await note.textContent(), (await lit()).status];
    """
    linked, note, status = look(chromium, service, steps, language=language)
    assert linked.startswith(hint)
    assert note
    assert status == ""
