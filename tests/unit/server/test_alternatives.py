from dragoman.api.translation import Translation, joined
from dragoman.server.alternatives import alternatives_of


def found(*texts: str) -> Translation:
    nbest = tuple(Translation("", text, -float(rank), pieces=("x",)) for rank, text in enumerate(texts))
    return Translation("source", texts[0], 0.0, pieces=("x",), nbest=nbest)


def test_all_but_the_best() -> None:
    assert alternatives_of(found("a", "b", "c")) == (("b", -1.0), ("c", -2.0))


def test_none_where_none_were_asked_for() -> None:
    assert alternatives_of(Translation("a", "b")) == ()


def test_no_text_comes_twice_and_none_is_empty() -> None:
    assert [text for text, _ in alternatives_of(found("a", "a", "", "b", "b"))] == ["b"]


def test_what_must_be_kept_is_there() -> None:
    translation = found("Hallo {name}", "Hallo name", "Servus {name}")

    assert [text for text, _ in alternatives_of(translation, ["{name}"])] == ["Servus {name}"]


def test_sentences_are_put_together_rank_by_rank() -> None:
    whole = joined(
        "s", "  A.\n\nB. A.", [found("A.", "a."), found("B.", "b.", "bb."), found("A.", "aa.")], is_cut=False
    )

    assert alternatives_of(whole) == (("  a.\n\nb. aa.", -1.0), ("  a.\n\nbb. aa.", -4 / 3))
