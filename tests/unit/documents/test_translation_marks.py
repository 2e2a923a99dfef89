"""Marks of machine translations and the rules for what may be replaced."""

from dragoman.documents.translation_marks import EarlierTranslation, find_mark


def marked(*forms: str, source: str = "Open", new: tuple[bool, ...] = (), is_reviewed: bool = False) -> str:
    """Return the mark of a translation whose forms were empty before, or kept where `new` is False."""
    is_new = new or (True,) * len(forms)
    before = tuple("" if each else form for form, each in zip(forms, is_new, strict=True))
    return EarlierTranslation(source, before, is_reviewed=is_reviewed).new_mark(forms, is_new)


def writable(*forms: str, mark: str = "", source: str = "Open", is_reviewed: bool = False) -> list[str]:
    """Return for each form whether it is written "now", with --"again", or "never"."""
    earlier = EarlierTranslation(source, forms, mark, is_reviewed)
    both = zip(earlier.writable(), earlier.writable(again=True), strict=True)
    return ["now" if now else "again" if again else "never" for now, again in both]


def test_what_may_be_replaced():
    own = marked("Abrir")
    assert writable("") == writable("", mark=own, is_reviewed=True) == ["now"]
    assert writable("Abrir") == ["again"], "a draft of another author"
    assert writable("Abrir", is_reviewed=True) == ["never"]
    assert writable("Abrir", mark=own) == ["again"], "an own translation that is up to date"
    assert writable("Abrir", mark=own, source="Open it") == ["now"]
    assert writable("Abra", mark=own, source="Open it") == ["again"], "a person changed it"
    assert writable("Abrir", mark=own, source="Open it", is_reviewed=True) == ["never"]
    assert EarlierTranslation("Open", ("Abrir",), own).is_own
    assert not EarlierTranslation("Open", ("Abra",), own).is_own


def test_forms_have_their_own_authors():
    reviewed = marked("Pessoa", "Abrir", new=(False, True), is_reviewed=True)
    assert writable("Pessoa", "Abrir", mark=reviewed, source="Open it") == ["never", "now"]
    draft = marked("Pessoa", "Abrir", new=(False, True))
    assert writable("Pessoa", "Abrir", mark=draft, source="Open it") == ["again", "now"]
    later = EarlierTranslation("Open", ("Pessoa", "Abrir"), reviewed).new_mark(["Pessoa", "Abra"], [False, True])
    assert writable("Pessoa", "Abra", mark=later, source="Open it") == ["never", "now"], "it is not forgotten"
    assert writable("Abrir", "", "", mark=marked("Abrir")) == ["again", "now", "now"], "more forms than in the mark"


def test_marks_are_found_in_comments():
    mark = marked("a", "b", new=(False, True))
    assert find_mark(f"# note, {mark} (do not edit)") == mark
    for text in ("", "dragoman:", "dragoman:abc-def", "# dragoman:3f2a9c1b77e0", "see dragoman: translate"):
        assert find_mark(text) == ""
    assert writable("Abrir", mark="dragoman:3f2a9c1b77e0-8d2c01aa93f1") == ["again"], "not of this text"
