"""HTML, asynchronous calls and closing, of any translator."""

import asyncio
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from dragoman.api.translation.options import TranslationCancelled
from dragoman.api.translation.translator import Translator
from dragoman.errors import ConfigError, DataError
from dragoman.text import Tokenizer
from tests.unit.api.table_engine import TableEngine, languages, table_translator

SLOW = {"seconds": 0.002}
CALLS: dict[str, Callable[[Translator], Any]] = {
    "translate": lambda closed: closed.translate("a house"),
    "async": lambda closed: asyncio.run(closed.translate_async("a house")),
    "stream": lambda closed: list(closed.translate_stream("a house")),
    "html": lambda closed: closed.translate_html("<p>a house"),
    "score": lambda closed: closed.score(["a"], ["b"]),
    "align": lambda closed: closed.align(["a"], ["b"]),
}


def test_the_loop_continues_while_it_translates(tokenizers: dict[str, Tokenizer]):
    translator, engine = table_translator(other=str.upper, tokenizers=tokenizers, engine=SLOW)
    texts = [f"the house is small {number}" for number in range(10)]

    async def main() -> tuple[list[str], int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.001)
                ticks += 1

        ticking = asyncio.create_task(tick())
        found = await translator.translate_async(texts)
        ticking.cancel()
        return [each.text for each in found], ticks

    found, ticks = asyncio.run(main())
    assert found == [each.text for each in translator.translate(texts)]
    assert ticks > 20  # of hundreds of steps of 2 ms
    assert engine.steps > 200


def test_a_cancelled_task_ends_the_search(tokenizers: dict[str, Tokenizer]):
    translator, engine = table_translator(tokenizers=tokenizers, engine=SLOW)

    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await translator.translate_async([f"the house is small {number}" for number in range(1000)])
        reached = -1
        while engine.steps != reached:  # on a busy machine the thread may need time to see it
            reached = engine.steps
            await asyncio.sleep(0.2)
        assert reached < 1000, "of about 10,000 steps"
        assert (await translator.translate_async("a house")).text == "a house"

    asyncio.run(main())


def test_a_flag_of_the_caller_ends_it_too(tokenizers: dict[str, Tokenizer]):
    translator, _ = table_translator(tokenizers=tokenizers)
    flag = threading.Event()
    flag.set()
    with pytest.raises(TranslationCancelled):
        asyncio.run(translator.translate_async("a house", cancelled=flag))


@pytest.mark.parametrize("name", CALLS)
def test_a_closed_translator_states_so(name: str, tokenizers: dict[str, Tokenizer]):
    translator, _ = table_translator(tokenizers=tokenizers)
    with translator as same:
        assert same is translator
        CALLS[name](translator)
    with pytest.raises(ConfigError, match=r"^This translator is closed; open it again\.$"):
        CALLS[name](translator)
    assert repr(translator) == "Translator(en → de; closed)"
    translator.close()  # again: nothing happens


def test_closing_frees_the_engine_of_every_direction(tokenizers: dict[str, Tokenizer]):
    engine = TableEngine(tokenizers)
    translator = Translator(engine, languages("en", "de"), tokenizers)
    translator.translate("a house", posterior=True)
    freed = weakref.ref(engine)
    del engine
    translator.close()
    assert freed() is None


def test_html_keeps_its_markup(tokenizers: dict[str, Tokenizer]):
    translator, _ = table_translator({"the house is small": "das Haus ist klein"}, tokenizers=tokenizers)
    page = '<p class="a">the <b>house</b> is small</p><pre>a house</pre><script>let a = "house"</script>'
    expected = page.replace("the <b>house</b> is small", "das <b>Haus</b> ist klein")
    assert translator.translate_html(page) == expected


def test_html_and_a_stream_must_be_one_string(tokenizers: dict[str, Tokenizer]):
    translator, _ = table_translator(tokenizers=tokenizers)
    texts: Any = ["a house"]
    for translate in (translator.translate_html, translator.translate_stream):
        with pytest.raises(DataError, match="a text must be a string, and several a list of strings, got list"):
            translate(texts)


def test_a_text_of_html_that_would_lose_a_placeholder_stays(tokenizers: dict[str, Tokenizer]):
    translator, _ = table_translator(other=lambda _: "{other}", tokenizers=tokenizers)
    with pytest.warns(UserWarning, match="1 text not translated, since placeholders or words would be lost, first: "):
        assert translator.translate_html("<p>a house {name}</p>") == "<p>a house {name}</p>"
