"""The inspection page in a browser: opened as a file, without any network."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from dragoman.inspection.pages.inspection import render_inspection_page
from dragoman.inspection.result import BeamNode, Candidate, Counterfactual, InspectionResult, coverage, entropy
from tests.browser.chromium import Chromium, plain_page
from tests.browser.samples import ARABIC, CHINESE, ENGLISH, HEBREW, HOSTILE, PLAIN, drawn

Write = Callable[..., Path]

WORD = "page.locator('.sample .{side} .word').nth({number})"


@pytest.fixture
def written(tmp_path: Path) -> Write:
    def write(*inspected: InspectionResult) -> Path:
        page = tmp_path / "page.html"
        page.write_text(render_inspection_page(inspected, title="Looked into"), encoding="utf-8")
        return page

    return write


def mean_map(one: InspectionResult) -> NDArray[np.float64]:
    mean: NDArray[np.float64] = one.predicted[one.default_layer].mean(0)
    return mean


def figure(said: str, name: str) -> float:
    """A number of the line that describes a word's attention; the page has weights in thousandths."""
    return float(said.partition(f"; {name} ")[2].split()[0])


def test_it_opens_and_asks_for_nothing(chromium: Chromium, written: Write):
    words = [f"word{number}" for number in range(25)]
    page = written(drawn(words, words, range(25), layers=4, heads=4), CHINESE, ARABIC)
    chromium.visit(page)
    seen = chromium.visit(page, "return await page.locator('#open .card').count()")
    assert (seen.result, seen.requests, seen.complaints) == (4, [], [])


def test_it_works_in_the_frame_of_a_notebook(chromium: Chromium, tmp_path: Path):
    page = tmp_path / "notebook.html"
    page.write_text(f"<!DOCTYPE html><meta charset='utf-8'>{ENGLISH._repr_html_()}", encoding="utf-8")
    steps = """
    const frame = page.frameLocator('iframe');
    await frame.locator('.sample .target .word').nth(1).hover();
    return [await frame.locator('.maps .map text.target.lit').first().textContent(),
            await page.locator('iframe').evaluate(frame => frame.offsetHeight)]"""
    seen = chromium.visit(page, steps)
    label, height = seen.result
    assert (label, seen.requests, seen.complaints) == (ENGLISH.target_words[1], [], [])
    assert 300 < height < 800


@pytest.mark.measure
def test_it_opens_sooner_than_plain_text(chromium: Chromium, written: Write):
    words = [f"word{number}" for number in range(25)]
    page = written(drawn(words, words, range(25), layers=4, heads=4), CHINESE, ARABIC)
    assert chromium.opening(page) < chromium.opening(plain_page(page.parent, 2_000_000))


def test_a_word_is_followed_in_both_pictures(chromium: Chromium, written: Write):
    steps = f"""
    const seen = () => page.evaluate(() => ({{
      band: document.querySelector('.maps .band.row').style.display,
      label: document.querySelector('.maps .map text.target.lit')?.textContent,
      links: [...document.querySelectorAll('.link.lit')].every(link => link.dataset.row === '2'),
      count: document.querySelectorAll('.link.lit').length,
      says: document.querySelector('.sample .says').textContent,
    }}));
    await {WORD.format(side="target", number=2)}.hover();
    const hovered = await seen();
    await page.mouse.move(2, 2);
    const left = await seen();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    return [hovered, left, await seen()];
    """
    hovered, left, focused = chromium.visit(written(ENGLISH), steps).result
    row = mean_map(ENGLISH)[2]
    assert hovered["says"].startswith(f"Mann attends to man {round(100 * row[2])}\u00a0%")
    assert figure(hovered["says"], "entropy") == pytest.approx(entropy(row[None])[0], abs=0.02)
    assert (hovered["band"], hovered["label"], hovered["links"]) == ("inline", "Mann", True)
    assert hovered["count"] == int((row >= 0.04).sum())
    assert (left["band"], left["count"], left["says"]) == ("none", 0, "")
    assert focused == hovered


def test_a_touched_word_stays_lit(chromium: Chromium, written: Write):
    steps = f"""
    await {WORD.format(side="source", number=1)}.tap();
    return await page.locator('.sample .says').textContent();
    """
    said = chromium.visit(written(ENGLISH), steps, width=390, touch=True).result
    assert said.startswith("old is attended to by alte")
    assert figure(said, "coverage") == pytest.approx(coverage(mean_map(ENGLISH)[:-1])[1], abs=0.02)


def test_coverage_is_that_of_the_json(chromium: Chromium, written: Write):
    steps = """
    await page.getByLabel('layer 3, head 2', { exact: true }).click();
    const bars = await page.$$eval('.maps .coverage title', found => found.map(each => each.textContent));
    return [bars, await page.$$eval('.sample .source .word', found => found.map(each => each.title))];
    """
    bars, words = chromium.visit(written(ENGLISH), steps).result
    expected = ENGLISH.to_json()["coverage"][2][1]
    for found in (bars, words):
        figures = [float(each.removeprefix("coverage ")) for each in found[: len(expected)]]
        assert figures == pytest.approx(expected, abs=0.01)


def test_layer_head_and_reading_are_chosen(chromium: Chromium, written: Write):
    steps = """
    const shade = cells => cells.map(cell => [Number(cell.dataset.row), Number(cell.dataset.column),
      Number(cell.getAttribute('fill-opacity'))]);
    const cells = () => page.$$eval('.maps .cell', shade);
    const maps = [await cells()];
    await page.getByLabel('layer 3, head 2', { exact: true }).click();
    maps.push(await cells());
    await page.locator('select[name=layer]').selectOption('-1');
    maps.push(await cells());
    await page.locator('select[name=reading]').selectOption('given');
    await page.locator('select[name=head]').selectOption('-1');
    maps.push(await cells());
    return [maps, await page.locator('.thumbnail').count(),
      await page.locator('.thumbnail[aria-pressed=true]').getAttribute('aria-label')];
    """
    maps, thumbnails, pressed = chromium.visit(written(ENGLISH), steps).result
    expected = [
        mean_map(ENGLISH),
        ENGLISH.predicted[2, 1],
        ENGLISH.predicted[:, 1].mean(0),
        ENGLISH.given.mean((0, 1)),
    ]
    for found, weights in zip(maps, expected, strict=True):
        drawn_weights = np.zeros_like(weights)
        for row, column, weight in found:
            drawn_weights[row, column] = weight
        assert np.allclose(drawn_weights, weights, atol=0.006)  # fainter ones are left out
    assert thumbnails == (3 + 1) * (4 + 1)
    assert pressed == "mean of layers, mean of heads"


@pytest.mark.parametrize("one", [ENGLISH, ARABIC])
def test_a_cell_says_its_weight(chromium: Chromium, written: Write, one: InspectionResult):
    steps = """
    const ground = await page.locator('.maps .ground').boundingBox();
    await page.mouse.move(ground.x + 24 * 1.5, ground.y + 24 * 2.5);
    return await page.locator('.of-cell').textContent();
    """
    column = 1 if one is ENGLISH else len(one.source_words) - 1
    share = mean_map(one)[2, column]
    said = chromium.visit(written(one), steps).result
    assert said.startswith(f"{one.target_words[2]} attends to {one.source_words[column]}: ")
    assert float(said.split()[-2]) == pytest.approx(100 * share, abs=0.6)


def test_decoding_step_by_step(chromium: Chromium, written: Write):
    steps = """
    const seen = async () => [await page.locator('.place').textContent(),
      await page.locator('.tokens:not(.path) .token').allTextContents(),
      await page.locator('.candidates li').count(), await page.locator('.candidates .written bdi').allTextContents(),
      await page.locator('.sample .word.chosen bdi').allTextContents()];
    const states = [await seen()];
    await page.locator('input[type=range]').focus();
    await page.keyboard.press('ArrowRight');
    states.push(await seen());
    await page.keyboard.press('End');
    states.push(await seen());
    await page.getByRole('button', { name: 'One step back' }).click();
    states.push(await seen());
    await page.getByRole('button', { name: 'Play' }).click();
    await page.waitForFunction(() => document.querySelector('.place').textContent === '6 of 6');
    return states;
    """
    first, second, last, back = chromium.visit(written(ENGLISH), steps).result
    assert first == ["1 of 6", ["▁Der"], 5, ["▁Der"], []]
    assert second == ["2 of 6", ["▁Der", "▁alte"], 5, ["▁alte"], ["alte"]]
    assert (last[0], last[1][-1], last[3], last[4]) == ("6 of 6", "⟨end⟩", ["⟨end⟩"], ["⟨end⟩"])
    assert (back[0], back[4]) == ("5 of 6", ["."])


def test_a_step_shows_where_its_token_looked(chromium: Chromium, written: Write):
    tokens = np.eye(3)[[0, 1, 2, 2]] * 0.8  # the two tokens of the second word attend to different words
    words = np.stack([tokens[0], tokens[1:3].mean(0), tokens[3]])
    one = replace(PLAIN, predicted=words[None, None], given=words[None, None, 1:], steps=tokens[None, None])
    steps = """
    const shades = async () => (await page.locator('.look').evaluateAll(
      found => found.map(each => each.style.getPropertyValue('--weight')))).map(Number);
    const seen = [];
    for (const step of ['1', '2']) {
      await page.getByRole('button', { name: 'One step on' }).click();
      seen.push(await shades());
    }
    return seen;
    """
    assert chromium.visit(written(one), steps).result == [[0, 0.8, 0], [0, 0, 0.8]]


@pytest.mark.parametrize(("width", "touch"), [(1200, False), (390, True)])
def test_a_long_map_keeps_its_names_in_sight(chromium: Chromium, written: Write, width: int, touch: bool):
    words = [f"word{number}" for number in range(46)]
    steps = """
    const left = selector => page.locator(selector).first().evaluate(each => each.getBoundingClientRect().left);
    const box = page.locator('.maps .scroll').first();
    const before = await left('.names');
    const hidden = await box.evaluate(each => each.scrollWidth - each.clientWidth);
    await box.evaluate(each => each.scrollTo(400, 0));
    return [hidden, before, await left('.names'), await left('.maps .ground')];
    """
    result = chromium.visit(written(drawn(words, words, range(46))), steps, width=width, touch=touch).result
    hidden, before, after, ground = result
    assert before == after
    if touch:
        assert ground < 0
    else:
        assert hidden == 0, "all of it is seen at once"


def test_what_if(chromium: Chromium, written: Write):
    steps = f"""
    await {WORD.format(side="target", number=0)}.click();
    const none = await page.locator('.alternatives').textContent();
    await page.locator('.places .word').filter({{ hasText: 'schläft' }}).click();
    await page.locator('.alternative').first().click();
    const texts = selector => page.locator(selector).allTextContents();
    return [none, await texts('.compared'), await texts('.compared del'), await texts('.compared ins'),
      await page.locator('.places :disabled').count()];
    """
    none, texts, gone, new, fixed = chromium.visit(written(ENGLISH), steps).result
    assert none == "No other word was tried here."
    assert texts == ["Der alte Mann schläft .", "Der alte Mann ruht sich aus ."]
    assert (gone, new, fixed) == (["schläft"], ["ruht sich aus"], 4)


def test_the_tree_of_the_beam(chromium: Chromium, written: Write):
    steps = """
    const said = () => page.locator('[aria-labelledby=tree] .says').textContent();
    const counts = [await page.locator('.node').count(), await page.locator('.node.best').count()];
    await page.locator('.node').nth(1).hover();
    const saw = [await said()];
    await page.locator('.node').first().focus();
    await page.keyboard.press('ArrowRight');
    saw.push(await said());
    await page.keyboard.press('ArrowDown');
    saw.push(await said());
    await page.getByLabel('Hide what was dropped').check();
    counts.push(await page.locator('.node').count());
    await page.locator('.node').last().hover();
    saw.push(await said());
    return [counts, saw];
    """
    counts, saw = chromium.visit(written(ENGLISH), steps).result
    assert counts == [len(ENGLISH.tree), 6, 6]
    second = ENGLISH.tree[1]
    assert f"step 1, place 2 in the beam; log-probability −{-second.log_prob:.3f} up to it, 35\u00a0%" in saw[0]
    assert saw[1].startswith("▁alte: step 2, place 1")
    assert saw[1].endswith("on the way to the translation")
    assert "step 2, place 2" in saw[2]
    assert saw[3].startswith("⟨end⟩: step 6; log-probability")


@pytest.mark.slow
def test_a_large_tree_stays_usable(chromium: Chromium, written: Write):
    nodes = [
        BeamNode(
            (step - 1) * 50 + rank // 2 if step else -1, f"p{rank}", step, rank, -0.1 * step - rank, False, rank == 0
        )
        for step in range(100)
        for rank in range(50)
    ]
    nodes.append(BeamNode(99 * 50, "</s>", 100, -1, -10.1, is_end=True, is_best=True))
    seen = chromium.visit(
        written(replace(ENGLISH, tree=tuple(nodes))),
        """
        const few = await page.locator('.node').count();
        await page.getByLabel('Hide what was dropped').uncheck();
        const all = await page.locator('.node').count();
        return [few, all];
        """,
    )
    assert seen.result == [101, 5001]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("one", [CHINESE, ARABIC, HEBREW, PLAIN])
def test_a_phone_shows_it_without_sideways_scrolling(
    chromium: Chromium, written: Write, one: InspectionResult, dark: bool
):
    steps = "return await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)"
    seen = chromium.visit(written(one), steps, width=360, height=740, dark=dark, touch=True)
    assert (seen.result, seen.complaints) == (0, [])


def test_right_to_left_is_read_so(chromium: Chromium, written: Write):
    steps = f"""
    const lefts = selector => page.$$eval(selector, found => found.map(each => each.getBoundingClientRect().left));
    await {WORD.format(side="source", number=0)}.focus();
    await page.keyboard.press('ArrowLeft');
    return [await lefts('.sample .source .word'), await lefts('.sample .target .word'),
      await lefts('.maps svg:not(.links) text.source'), await page.locator('.sample .chosen bdi').textContent(),
      await page.locator('.sample .says bdi').allTextContents()];
    """
    source, target, columns, chosen, says = chromium.visit(written(ARABIC), steps, width=1600).result
    assert source == sorted(source, reverse=True)
    assert target == sorted(target)
    assert columns == sorted(columns, reverse=True)
    assert chosen == ARABIC.source_words[1]
    assert says[0] == ARABIC.source_words[1]


def test_several_sentences_and_one_without_attention(chromium: Chromium, written: Write):
    steps = """
    const before = await page.locator('.translations button').allTextContents();
    await page.locator('.translations button').nth(1).click();
    await page.locator('.sample .target .word').nth(1).click();
    return [before, await page.locator('#open h2').allTextContents(), await page.locator('.map').count(),
      await page.locator('.alternative').count(), await page.locator('.place').textContent()];
    """
    seen = chromium.visit(written(ENGLISH, PLAIN), steps)
    assert seen.result == [
        [ENGLISH.source, PLAIN.source],
        ["mean log-probability −0.700", "Step by step", "What if"],
        0,
        1,
        "2 of 4",
    ]
    assert seen.complaints == []


def test_hostile_texts_are_shown_and_nothing_runs(chromium: Chromium, written: Write):
    texts = HOSTILE
    hostile = replace(
        drawn(texts, texts, range(len(texts))),
        source="".join(texts),
        candidates=tuple(tuple(Candidate(text, 0.1) for text in texts) for _ in range(len(texts) + 1)),
        counterfactuals=(Counterfactual(1, texts[1], 0.1, " ".join(texts[::-1]), -1.0),),
        flags=texts,
        model=texts[2],
    )
    steps = f"""
    for (const side of ['source', 'target']) {{
      for (let number = 0; number < {len(texts)}; number++) {{
        await page.locator(`.sample .${{side}} .word`).nth(number).click();
      }}
    }}
    await {WORD.format(side="target", number=1)}.click();
    await page.locator('.alternative').first().click();
    for (const at of [0, 1, 2, 5]) await page.locator('.node').nth(at).hover();
    await page.locator('.map .ground').hover();
    return [await page.title(), await page.locator('#live img, #live b, #live script').count(),
      await page.locator('.flag').first().textContent(), await page.evaluate(() => document.body.innerText)];
    """
    seen = chromium.visit(written(hostile, hostile), steps)
    title, foreign, flag, text = seen.result
    assert (title, foreign, flag) == ("Looked into", 0, texts[0])
    assert not set("\u202e\u2066\x00\x1b") & set(text)
    assert (seen.requests, seen.complaints) == ([], [])


def test_without_scripting_there_is_a_map(chromium: Chromium, written: Write):
    steps = "return [await page.locator('#static svg').count(), await page.locator('#static .cell').count()]"
    maps, cells = chromium.visit(written(ENGLISH, PLAIN, CHINESE), steps, scripting=False).result
    assert maps == 2
    assert cells > 30


def test_nothing_to_show_is_said(chromium: Chromium, written: Write):
    seen = chromium.visit(written(), "return await page.locator('main').innerText()")
    assert "There is no translation to show." in seen.result
    assert seen.complaints == []


def test_a_sentence_of_no_words(chromium: Chromium, written: Write):
    steps = """
    const words = await page.locator('.sample .sentence .word').allInnerTexts();
    const cells = await page.locator('.maps .cell').count();
    await page.locator('select[name=reading]').selectOption('given');
    return [await page.locator('#open .card').count(), words.map(word => word.trim()), cells,
      await page.locator('.maps .cell').count(), (await page.locator('#open').innerText()).includes('1 of 1')];
    """
    seen = chromium.visit(written(drawn([], [], [])), steps)
    assert seen.result == [4, ["⟨end⟩", "⟨end⟩"], 1, 0, True]
    assert seen.complaints == []


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_that_shuts_people_out(chromium: Chromium, written: Write, dark: bool):
    steps = f"""
    await {WORD.format(side="target", number=2)}.click();
    await page.locator('.alternative').first().click();
    return await accessibility(page);
    """
    assert chromium.visit(written(ENGLISH, ARABIC), steps, dark=dark).result == []
