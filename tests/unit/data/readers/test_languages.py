import pytest

from dragoman.data.readers.languages import pick_language


@pytest.mark.parametrize(
    ("names", "code", "picked"),
    [
        (["de", "en"], "en", "en"),
        (["de-DE", "EN-us"], "en", "EN-us"),
        (["en-US", "en"], "en", "en"),
        (["en-US", "en_GB"], "en-GB", "en_GB"),
        (["en-US", "en-AU"], "en-GB", "en-US"),
        (["eng", "de"], "en", None),
        ([], "en", None),
        (["", "e"], "en", None),
    ],
)
def test_the_language_that_is_meant(names: list[str], code: str, picked: str | None):
    assert pick_language(names, code) == picked
