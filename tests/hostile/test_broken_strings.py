"""Files of strings that were damaged at random are read or refused in one line; what is written can be read again."""

from __future__ import annotations

import random

import pytest

from dragoman.documents.document import select_target
from dragoman.documents.formats import read_document
from dragoman.errors import DataError
from tests.unit.documents.strings.test_bilingual import CATALOG, TS
from tests.unit.documents.strings.test_strings import CASES
from tests.unit.documents.text.test_po_plurals import TEMPLATE
from tests.unit.documents.uppercase_translation import uppercased

FILES = {name: text for name, (text, *_) in CASES.items()} | {"a.ts": TS, "a.xcstrings": CATALOG, "a.pot": TEMPLATE}
COUNT = 200
SIGNS = [
    *"\"'{}[]<>&|*=:;,#%$@\\/ \n\t\r-?!\x1e\u2028\ufeff",
    "{{",
    "}}",
    "%s",
    "<!--",
    "]]>",
    "/*",
    "->",
    "\\u00",
    " \n ",
]


def damaged(text: str, chance: random.Random) -> str:
    """Return a text with one to three random changes."""
    for _ in range(chance.randint(1, 3)):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.choice((0, 1, 1, 2, 5, 30)))
        new = chance.choice(("", chance.choice(SIGNS), chance.choice(SIGNS), text[start:end] * 2))
        text = text[:start] + new + text[end:]
    return text


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_read_without_loss_or_refused(name: str):
    chance = random.Random(name)
    read = 0
    faults: list[str] = []
    for _ in range(COUNT):
        data = damaged(FILES[name], chance).encode()
        try:
            document = read_document(name, data)
        except DataError as error:
            faults += [str(error)] if "; " not in str(error) or len(str(error).splitlines()) != 1 else []
            continue
        read += 1
        assert document.write(document.segments, language="pl") == data
        select_target(document, "pl")
        written = document.write([uppercased(each) for each in document.segments], language="pl")
        try:
            read_document(name, written)
        except DataError as error:
            raise AssertionError(f"{data.decode()}\nbecame\n{written.decode()}\n{error}") from None
    assert faults == []
    assert 0 < read < COUNT
