"""Properties of all formats of `samples`: which texts are found, what an identical translation changes, what stays."""

import pytest

from dragoman.documents.formats import read_document
from tests.unit.documents.samples import SAMPLES
from tests.unit.documents.uppercase_translation import members, texts, translated, unchanged


@pytest.mark.parametrize("suffix", SAMPLES)
def test_exactly_the_texts_are_found(suffix: str):
    data, expected = SAMPLES[suffix]
    assert texts(read_document(f"a.{suffix}", data)) == expected


@pytest.mark.parametrize("suffix", SAMPLES)
def test_an_identical_translation_gives_the_same_bytes(suffix: str):
    data, _ = SAMPLES[suffix]
    assert unchanged(f"a.{suffix}", data) == data


@pytest.mark.parametrize("suffix", SAMPLES)
def test_all_texts_are_replaced(suffix: str):
    data, expected = SAMPLES[suffix]
    result = translated(f"a.{suffix}", data)
    if suffix not in BILINGUAL:
        found = texts(read_document(f"a.{suffix}", result))
        assert " ".join(found).upper() == " ".join(expected).upper()
    if data.startswith(b"PK"):
        assert list(members(result)) == list(members(data))


BILINGUAL = {"sdlxliff", "mqxliff"}
"""Formats whose texts have translations afterwards, and so are no longer to translate."""
