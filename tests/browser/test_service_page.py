"""The page of a real server: streaming, word links and details of a translation."""

from __future__ import annotations

from typing import Any

import httpx

from tests.browser.chromium import Chromium
from tests.browser.page_steps import ENGLISH, GERMAN, SECOND, look, typed

FAINTEST = 0.08


def answered(service: str, text: str = ENGLISH, **options: Any) -> dict[str, Any]:
    """The server's response for the translation."""
    body = {"text": text, "source": "en", "target": "de", "alignments": True, "weights": True, **options}
    (translation,) = httpx.post(f"{service}/v1/translate", json=body).raise_for_status().json()["translations"]
    found: dict[str, Any] = translation
    return found


def test_text_appears_as_it_comes(chromium: Chromium, service: str):
    steps = f"""
    await output().waitFor();
    await deliverEventsSingly();
    await page.evaluate(() => {{
      window.drafts = [];
      const output = document.querySelector('.output');
      new MutationObserver(() => output.getAttribute('aria-busy') === 'true' && drafts.push(output.textContent))
        .observe(output, {{ childList: true, characterData: true, subtree: true }});
    }});
    await write({" ".join([ENGLISH, SECOND] * 10)!r});
    return [await page.evaluate(() => drafts), await output().textContent(), await output().getAttribute('lang')];
    """
    drafts, final, language = look(chromium, service, steps)
    assert (final, language) == (" ".join([GERMAN, "dort schläft Mann Ein."] * 10), "de")
    drafts = [draft for draft in drafts if final.startswith(draft)]
    assert len(set(drafts)) >= 2  # text is shown before the last event
    assert drafts == sorted(drafts, key=len)


def test_typing_on_cancels_what_was_asked(chromium: Chromium, service: str):
    steps = f"""
    const cancelled = [];
    page.on('requestfailed', request => cancelled.push(request.failure().errorText));
    let held;
    const isHeld = new Promise(resolve => held = resolve);
    await page.route('**/v1/translate', () => held(), {{times: 1}});  // the first is never answered
    await page.locator('#text').fill({" ".join([ENGLISH] * 60)!r});
    await isHeld;
    await page.locator('#text').fill({ENGLISH!r});
    await page.waitForFunction(expected => document.querySelector('.output').textContent === expected, {GERMAN!r});
    return cancelled;
    """
    assert set(look(chromium, service, steps)) == {"net::ERR_ABORTED"}


def test_the_language_is_detected_and_can_be_swapped(chromium: Chromium, service: str):
    steps = """
    const source = page.locator('#source');
    const before = await source.locator('option:checked').textContent();
    await write('Two dogs play here with us and a small man sleeps there.');
    const detected = await source.locator('option:checked').textContent();
    await page.locator('#source').selectOption('en');
    await write('Two dogs play here.');
    await page.getByRole('button', { name: 'Swap the languages' }).click();
    await page.waitForFunction(() => document.querySelector('.output').textContent.startsWith('Two'));
    return [before, detected, await source.inputValue(), await page.locator('#target').inputValue(),
            await page.locator('#text').inputValue(), await page.locator('#text').getAttribute('lang')];
    """
    before, detected, *swapped = look(chromium, service, steps)
    assert (before.strip(), detected.strip()) == ("Detect language", "English (detected)")
    assert swapped == ["de", "en", GERMAN, "de"]


def test_the_same_language_on_both_sides_is_not_swapped(chromium: Chromium, service: str):
    steps = """
    await page.locator('#target').selectOption('de');
    await page.locator('#text').fill('Zwei Hunde spielen hier mit uns im Schnee, und ein Mann schläft.');
    await page.waitForFunction(() => document.querySelector('.output').textContent.startsWith('Zwei'));
    const swap = page.locator('.swap');
    return [await swap.getAttribute('aria-disabled'),
            await page.locator(`#${await swap.getAttribute('aria-describedby')}`).textContent()];
    """
    assert look(chromium, service, steps) == ["true", "Both languages are the same."]


def test_a_word_is_marked_and_linked_with_what_it_looked_at(chromium: Chromium, service: str):
    steps = f"""
    {typed()}
    await word('t0:0:1').hover();
    const target = await lit();
    const path = await page.locator('path.link').first().getAttribute('d');
    const box = await word('s:0:1').boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    const source = await lit();
    await page.mouse.move(2, 2);
    return [target, source, await lit(), path, await accessibility(page)];
    """
    target, source, left, path, faults = look(chromium, service, steps)
    answer = answered(service)
    row = answer["weights"][1]
    looked = [word for word, weight in zip(answer["source_words"], row, strict=True) if weight >= FAINTEST]
    assert (target["target"], sorted(target["source"])) == (["spielen"], sorted(looked))
    assert target["links"] == len(looked)
    assert target["status"].startswith(f"spielen attends to play {round(100 * row[2])}%")
    assert path.startswith("M")
    assert "C" in path
    assert source["source"] == ["dogs"]
    assert "Hunde" in source["target"]
    assert source["status"].startswith("dogs is attended to by Hunde")
    assert (left["source"], left["target"], left["links"]) == ([], [], 0)
    assert faults == []


def test_the_keyboard_does_the_same(chromium: Chromium, service: str):
    steps = f"""
    {typed()}
    await word('t0:0:1').hover();
    const hovered = await lit();
    await page.mouse.move(2, 2);
    await page.locator('#text').focus();
    for (let presses = 0; presses < 8 && !(await output().evaluate(each => each === document.activeElement)); presses++)
      await page.keyboard.press('Tab');
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowRight');
    const focused = await lit();
    const ring = await word('t0:0:1').evaluate(each => getComputedStyle(each).outlineStyle);
    await page.keyboard.press('Escape');
    const escaped = await lit();
    await page.locator('#text').focus();
    await page.keyboard.press('Control+Home');
    await page.keyboard.press('ArrowRight');
    return [hovered, focused, ring, escaped.links, (await lit()).source];
    """
    hovered, focused, ring, escaped, source = look(chromium, service, steps)
    assert focused == hovered
    assert (ring, escaped, source) == ("solid", 0, ["Two"])


def test_the_heat_map_shows_the_weights(chromium: Chromium, service: str):
    steps = f"""
    {typed()}
    await tool('heatMap').click();
    const map = await page.evaluate(() => [...document.querySelectorAll('#tool tbody tr')].map(row => ({{
      word: row.querySelector('th').textContent,
      cells: [...row.querySelectorAll('td')].map(cell => cell.textContent),
    }})));
    const drawn = await page.$$eval('#tool .cell', cells => cells.map(cell => [
      Number(cell.dataset.row), Number(cell.dataset.column), Number(cell.getAttribute('fill-opacity'))]));
    await page.locator('#tool text.target').nth(2).hover();
    const label = await litTarget('Hunde');
    await page.mouse.move(2, 2);
    await eventually(lit, found => found.target.length === 0);
    const ground = await page.locator('#tool .ground').boundingBox();
    await page.mouse.move(ground.x + 36, ground.y + 60);
    return [map, drawn, label, await litTarget('Hunde'), await accessibility(page)];
    """
    rows, drawn, label, cell, faults = look(chromium, service, steps)
    answer = answered(service)
    assert [row["word"] for row in rows] == answer["target_words"]
    for row, weights in zip(rows, answer["weights"], strict=True):
        assert row["cells"] == [f"{round(100 * weight)}%" for weight in weights]
    for row, column, opacity in drawn:
        assert abs(opacity - answer["weights"][row][column]) <= 0.0006
    assert label["target"] == cell["target"] == ["Hunde"]
    assert faults == []


def test_sentences_of_a_longer_text_are_gone_through(chromium: Chromium, service: str):
    steps = f"""
    {typed(f"{ENGLISH} {SECOND}")}
    await tool('heatMap').click();
    const rows = () => page.locator('#tool tbody th').allTextContents();
    const first = await rows();
    await page.getByRole('button', {{ name: 'Next sentence' }}).click();
    const second = await rows();
    await word('t0:0:0').hover();
    return [first, second, await rows(), (await lit()).source];
    """
    first, second, hovered, source = look(chromium, service, steps)
    assert (first, second) == (["hier", "spielen", "Hunde", "Zwei."], ["dort", "schläft", "Mann", "Ein."])
    assert hovered == first
    assert "here." in source


def test_an_alternative_takes_the_place_of_a_sentence(chromium: Chromium, service: str):
    text = f"Two wolves play here. {SECOND}"
    steps = f"""
    {typed(text)}
    const before = await output().textContent();
    await tool('alternatives').click();
    const others = page.locator('#tool li');
    await others.nth(1).waitFor();
    const found = await others.locator('.alternative').allTextContents();
    await others.nth(1).getByRole('button').click();
    const after = await output().textContent();
    await word('t0:0:1').hover();
    const links = (await lit()).links;
    const taken = await others.nth(1).getByRole('button').textContent();
    return [before, found, after, taken, links, await accessibility(page)];
    """
    before, found, after, taken, links, faults = look(chromium, service, steps)
    first, _, rest = before.partition(".")
    assert found[0] == f"{first}."
    assert len(set(found)) == len(found) >= 2
    assert after == f"{found[1]}{rest}"
    assert links >= 1
    assert (taken, faults) == ("Selected", [])


def test_the_glossary_is_obeyed_and_kept(chromium: Chromium, service: str):
    steps = f"""
    const sent = [];
    page.on('request', request => request.url().endsWith('/v1/translate') && sent.push(JSON.parse(request.postData())));
    await page.locator('#source').selectOption('en');
    {typed()}
    await tool('glossary').click();
    await page.getByRole('button', {{ name: 'Add a term' }}).click();
    await page.getByLabel('Term', {{ exact: true }}).fill('dogs');
    await page.getByLabel('Its translation').fill('Katzen');
    await page.waitForFunction(() => document.querySelector('.output').textContent.includes('Katzen'));
    const obeyed = await output().textContent();
    await page.getByRole('button', {{ name: 'Add a term' }}).click();
    await page.getByLabel('Term', {{ exact: true }}).last().fill('Zwei');
    await page.getByRole('checkbox').last().check();
    const faults = await accessibility(page);
    await page.reload();
    {typed()}
    return [obeyed, await output().textContent(), sent.at(-1).glossary, faults];
    """
    obeyed, again, glossary, faults = look(chromium, service, steps)
    assert "Hunde" not in obeyed
    assert again == obeyed
    assert (glossary, faults) == ({"dogs": "Katzen", "Zwei": None}, [])


def test_flags_are_explained(chromium: Chromium, service: str):
    steps = f"""
    {typed()}
    const without = await page.locator('.flags').count();
    await page.locator('#model').selectOption('beginner');
    await page.locator('.flags li').first().waitFor();
    const english = await page.locator('.flags li').allTextContents();
    const faults = await accessibility(page);
    await page.locator('#interface-language').selectOption('zh');
    return [without, english, await page.locator('.flags li').allTextContents(), faults];
    """
    without, english, chinese, faults = look(chromium, service, steps)
    flags = answered(service, model="beginner")["flags"]
    assert without == 0
    assert len(english) == len(chinese) == len(flags) > 0
    for flag, said in zip(flags, english, strict=True):
        assert flag["detail"] in said
        assert flag["meaning"].split()[0] in said
    assert all(any("\u4e00" <= letter <= "\u9fff" for letter in said) for said in chinese)
    for flag, said in zip(flags, chinese, strict=True):
        assert said.strip().endswith("\uff09")
        assert "(" not in said
        assert flag["name"] in {"from-nothing", "dropped"} or flag["detail"] not in said
    assert faults == []


def test_two_models_stand_side_by_side(chromium: Chromium, service: str):
    steps = f"""
    {typed()}
    await page.locator('#compare').click();
    await settled(1);
    const columns = await page.locator('.output').allTextContents();
    const marked = await page.evaluate(() => [...document.querySelectorAll('.output')].map(
      each => [...each.querySelectorAll('.different')].map(word => word.textContent)));
    await word('t1:0:0').hover();
    const second = await lit();
    const made = await page.locator('.model-info').allTextContents();
    const faults = await accessibility(page);
    await page.locator('#compare').click();
    return [columns, marked, second.target.length, made, faults, await page.locator('.output').count()];
    """
    columns, marked, lit, made, faults, left = look(chromium, service, steps)
    assert columns == [answered(service, model=name)["text"] for name in ("turner", "beginner")]
    for other, words in zip(reversed(columns), marked, strict=True):
        assert set(words) - set(other.split())
    assert (lit, made, faults, left) == (1, ["by turner", "by beginner"], [], 1)


def test_a_model_is_opened(chromium: Chromium, service: str):
    steps = f"""
    {typed()}
    await tool('inspection').click();
    await page.locator('#tool table').waitFor();
    const heads = await page.locator('#tool .heads button').count();
    const columns = await page.locator('#tool thead th').allTextContents();
    return [heads, columns, await page.locator('#tool tbody tr').count(), await accessibility(page)];
    """
    heads, columns, rows, faults = look(chromium, service, steps)
    assert (heads, rows, faults) == (1, 5, [])
    assert columns == ["Two", "dogs", "play", "here.", "⟨end⟩"]


def test_a_correction_is_sent_with_the_keyboard_and_counts_at_once(chromium: Chromium, service: str):
    text, right = "A small man plays there.", "Dort spielt ein kleiner Mann."
    steps = f"""
    await write({text!r});
    await output().focus();
    await page.keyboard.press('F2');
    const field = page.locator('#correction');
    await field.fill('gone');
    await page.keyboard.press('Escape');
    const afterEscape = [await field.count(), await output().textContent() === 'gone',
                         await page.evaluate(() => document.activeElement.textContent)];
    await page.keyboard.press('Enter');
    await field.fill({right!r});
    await page.keyboard.press('Control+Enter');
    await page.waitForFunction(right => document.querySelector('.output').textContent === right, {right!r});
    const notice = await page.getByText('from now on').count();
    await write({text.replace("small", "big")!r});
    const match = await page.getByRole('button', {{ name: 'Correct' }}).click()
      .then(() => page.locator('.match').textContent());
    return [afterEscape, notice, await page.getByText('from now on').count(), match, await width()];
    """
    after_escape, notice, later, match, width = look(chromium, service, steps)
    assert after_escape == [0, False, "Correct"]
    assert (notice, later) == (1, 0)
    assert right in match
    assert width <= 1200


def test_alternatives_at_the_caret_are_chosen_with_the_keyboard(chromium: Chromium, service: str):
    steps = f"""
    {typed()}
    await output().focus();
    await page.keyboard.press('F2');
    const field = page.locator('#correction');
    await field.evaluate(each => each.setSelectionRange(each.value.indexOf('Hunde'), each.value.indexOf('Hunde')));
    const list = page.locator('ul[aria-label="Alternatives here"] button');
    await page.keyboard.press('Alt+ArrowDown');
    await list.nth(1).waitFor();
    const texts = await list.allTextContents();
    await page.keyboard.press('ArrowDown');
    const focused = await page.evaluate(() => document.activeElement.textContent);
    const faults = await accessibility(page);
    await page.keyboard.press('Enter');
    const chosen = await field.inputValue();
    await page.keyboard.press('Alt+ArrowDown');
    await list.first().waitFor();
    await page.keyboard.press('Escape');
    const left = await field.evaluate(each => each === document.activeElement);
    return [texts, focused, chosen, left, await list.count(), faults];
    """
    texts, focused, chosen, left, listed, faults = look(chromium, service, steps)
    assert all(text.startswith("hier spielen") for text in texts)
    assert focused == chosen == texts[1] != texts[0]
    assert (left, listed, faults) == (True, 0, [])


def test_the_match_of_the_memory_and_the_effort_are_shown(chromium: Chromium, service: str):
    steps = """
    const body = { source_text: 'Three men sleep here.', text: 'hier schlafen drei Männer.',
                    draft: 'hier schlafen Männer drei.', source: 'en', target: 'de' };
    await page.evaluate(async body => {
      const headers = { 'Content-Type': 'application/json' };
      await fetch('v1/corrections', { method: 'POST', headers, body: JSON.stringify(body) });
    }, body);
    await write('Three men play here.');
    const marked = await page.locator('.match mark').allTextContents();
    await page.getByRole('button', { name: 'Use this' }).click();
    const taken = await page.locator('#correction').inputValue();
    await tool('effort').click();
    await page.locator('#tool .bar').first().waitFor();
    return [marked, taken, await page.locator('#tool').textContent(), await accessibility(page), await width()];
    """
    phone: dict[str, Any] = {"width": 390, "height": 844, "touch": True}
    for options in ({}, phone):
        marked, taken, panel, faults, width = look(chromium, service, steps, **options)
        assert (marked, taken) == (["sleep"], "hier schlafen drei Männer.")
        assert "Words changed" in panel
        assert (faults, width <= 1200) == ([], True)


def test_without_memories_nothing_can_be_corrected(chromium: Chromium, service: str):
    steps = f"""
    await page.route('**/frontend/settings', async route => {{
      const settings = await (await route.fetch()).json();
      await route.fulfill({{ json: {{ ...settings, suggestions: false }} }});
    }});
    await page.reload();
    {typed()}
    await output().focus();
    await page.keyboard.press('F2');
    return [await page.getByRole('button', {{ name: 'Correct' }}).count(), await page.locator('#correction').count(),
            await page.locator('footer').last().textContent()];
    """
    buttons, fields, footer = look(chromium, service, steps)
    assert (buttons, fields) == (0, 0)
    assert "stored" not in footer
