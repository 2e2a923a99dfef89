"""News of parts in any order: the text comes in order, and is the whole."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.api.table_engine import subwords, table_translator

SUBWORDS = subwords()
TEXTS = st.lists(
    st.sampled_from(["the house is small.", "a house", "1 2 3", "你好。", "small!", "\n", " "]), max_size=5
).map(" ".join)


@given(TEXTS, st.integers(0, 1000))
@settings(deadline=None)
def test_any_order_gives_the_whole(text: str, seed: int):
    translator, _ = table_translator(tokenizers=SUBWORDS)
    wanted = translator.translate(text).text
    (reading,) = translator.read([text], split=True)
    unfolding = translator.unfolding(reading)
    told = [unfolding.begin()]
    if reading.waiting:
        translator.search(reading.waiting, reading.request)
    draw = random.Random(seed)
    places = [place for place, part in enumerate(reading.parts) if part.sentence is not None]
    left = dict.fromkeys(places, 0)
    while left:
        place = draw.choice(list(left))
        pieces = reading.parts[place].found[0].pieces
        left[place] += draw.randint(0, 3)
        if left[place] < len(pieces):
            told.append(unfolding.wrote(place, pieces[: left[place]]))
        else:
            del left[place]
            told.append(unfolding.done(place))
        assert wanted.startswith("".join(told))
    assert unfolding.is_over
    assert "".join(told) == wanted == translator.translation(reading).text


def test_what_comes_early_waits():
    translator, _ = table_translator({"a house": "das Haus"}, tokenizers=SUBWORDS)
    (reading,) = translator.read(["a house\na house"], split=True)
    translator.search(reading.waiting, reading.request)
    unfolding = translator.unfolding(reading)
    assert unfolding.begin() == ""
    assert unfolding.wrote(1, reading.parts[1].found[0].pieces) == ""
    assert unfolding.done(0) == "das Haus\ndas Haus"
    assert not unfolding.is_over
    assert unfolding.done(1) == ""
    assert unfolding.is_over
