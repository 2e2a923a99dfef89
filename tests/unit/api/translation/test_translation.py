from dataclasses import replace

import lxml.html
import pytest

from dragoman.api.translation.translation import Translation, join_sentences


def found(*texts: str) -> Translation:
    nbest = tuple(Translation("", text, -float(rank), tokens=("x",)) for rank, text in enumerate(texts))
    return Translation("source", texts[0], 0.0, tokens=("x",), nbest=nbest)


def test_all_but_the_best() -> None:
    assert found("a", "b", "c").alternatives() == (("b", -1.0), ("c", -2.0))


def test_none_where_none_were_asked_for() -> None:
    assert Translation("a", "b").alternatives() == ()


def test_no_text_comes_twice_and_none_is_empty() -> None:
    assert [text for text, _ in found("a", "a", "", "b", "b").alternatives()] == ["b"]


def test_what_must_be_kept_is_there() -> None:
    translation = found("Hallo {name}", "Hallo name", "Servus {name}")

    assert [text for text, _ in translation.alternatives()] == ["Servus {name}"]


def test_sentences_are_put_together_rank_by_rank() -> None:
    whole = join_sentences(
        "s", "  A.\n\nB. A.", [found("A.", "a."), found("B.", "b.", "bb."), found("A.", "aa.")], is_cut=False
    )

    assert whole.alternatives() == (("  a.\n\nb. aa.", -1.0), ("  a.\n\nbb. aa.", -4 / 3))


ALIGNED = Translation(
    "a <b>", "x & y", source_words=("a", "<b>"), target_words=("x", "&", "y"), alignment=((0, 0), (1, 2))
)


def test_a_translation_prints_as_its_text() -> None:
    assert str(ALIGNED) == f"{ALIGNED}" == "x & y"


@pytest.mark.parametrize(
    "translation",
    [ALIGNED, replace(ALIGNED, alignment=None, weights=((0.9, 0.1), (0.5, 0.5), (0.0, 1.0)))],
    ids=["links", "weights"],
)
def test_a_notebook_shows_the_alignment(translation: Translation) -> None:
    page = lxml.html.fromstring(translation._repr_html_())

    assert page.findtext("p") == "x & y"
    assert [each.text for each in page.iter("text")] == ["a", "<b>", "x", "&", "y"]
    assert not list(page.iter("script"))
    assert len(page.find_class("cell")) == (2 if translation.alignment else 5)


def test_a_notebook_shows_a_map_per_sentence() -> None:
    whole = join_sentences("s", "x & y x & y", [ALIGNED, ALIGNED], is_cut=False)

    assert whole._repr_html_().count("<svg") == 2


def test_a_notebook_shows_the_text_alone_without_alignment() -> None:
    html = Translation("<i>", "<script>alert(1)</script>")._repr_html_()

    assert "<script" not in html
    assert "svg" not in html
    assert "&lt;script&gt;" in html
