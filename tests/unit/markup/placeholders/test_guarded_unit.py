"""All kinds of placeholders through a translator that damages what it can."""

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.api.translation.markup import MarkupTranslation
from dragoman.api.translation.options import TranslateOptions
from dragoman.api.translation.translation import Translation
from dragoman.markup.placeholders.guarded_unit import guard_text
from dragoman.markup.placeholders.icu_message import parse_icu
from dragoman.markup.placeholders.kinds import KINDS, find_mnemonic
from dragoman.markup.protected_spans import find_placeholders, match_placeholders
from dragoman.markup.tagged_text import TaggedText

EXAMPLES = [(kind.name, example) for kind in KINDS for example in kind.examples]
PAIRED = {"<b>": "</b>", "<0>": "</0>", '<a href="x">': "</a>", '<xliff:g id="x">': "</xliff:g>", "<t0>": "</t0>"}


@pytest.mark.parametrize("around", ["@", "see @ now", "(@)", "go: @, now", "@."])
def test_each_example_is_found_as_its_kind(around: str):
    for name, example in EXAMPLES:
        text = around.replace("@", example)
        found = [(kind, text[start:end]) for kind, start, end in match_placeholders(text)]
        assert found == [(name.replace("-", "_"), example)]


@pytest.mark.parametrize(
    "text",
    [
        "at 10:30 or 10:30:45",
        "note:text and note: text",
        "a smile :) and :D and :P",
        "Tom & Jerry",
        "a well_",
        "it costs $5 or US$ 5",
        "a < b and c > d",
        "x <y and z> w",
        "1/2 [1] [a]",
        "`a' and `b'",
        "100% of 5 % and 3%",
        "a\\b",
    ],
)
def test_ordinary_text_has_none(text: str):
    assert guard_text(text) is None


@pytest.mark.parametrize(
    ("label", "bare", "translation", "expected"),
    [
        ("_Open", "Open", "Abrir", "_Abrir"),
        ("&File", "File", "Arquivo", "&Arquivo"),
        ("Save _As…", "Save As…", "Salvar como…", "_Salvar como…"),
        ("E&xit", "Exit", "Sair", "&Sair"),
        ("Cu_t", "Cut", "Tesoura", "_Tesoura"),
        ("Move do&wn", "Move down", "Mover para baixo", "&Mover para baixo"),
        ("Sa&ve Database As…", "Save Database As…", "Gravar como…", "&Gravar como…"),
        ("&Open...", "Open...", "打开...", "打开(&O)..."),
        ("Go to &file", "Go to file", "Ver folha", "Ver &folha"),
        ("Pag_es:", "Pages:", "Páginas:", "_Páginas:"),
        ("Cance_l", "Cancel", "Anular", "_Anular"),
        ("Or_ientation:", "Orientation:", "Orientação:", "_Orientação:"),
        ("Page Set_up", "Page Setup", "Configurar", "_Configurar"),
    ],
)
def test_a_mnemonic_is_set_again(label: str, bare: str, translation: str, expected: str):
    unit = guard_text(label)
    assert unit is not None
    assert [part.text for part in unit.parts] == [bare]
    done = [TaggedText(translation)]
    assert unit.damage(done) is None
    assert unit.build(done).text == expected


@pytest.mark.parametrize("text", ["AT&T", "snake_case", "__x__", "_x_", "drag&drop", "Q&A", "&amp; x", "a_b", "R&D &c"])
def test_other_text_has_no_mnemonic(text: str):
    assert find_mnemonic(text) is None


def test_an_icu_message_has_whole_sentences():
    text = "You have {n, plural, =0 {no files} one {# file} other {# files}} in {dir}."
    message = parse_icu(text)
    assert message is not None
    assert message.texts == ("You have no files in {dir}.", "You have # file in {dir}.", "You have # files in {dir}.")
    built = message.build([each.upper() for each in message.texts])
    texts = "=0 {YOU HAVE NO FILES IN {DIR}.} one {YOU HAVE # FILE IN {DIR}.} other {YOU HAVE # FILES IN {DIR}.}"
    assert built == f"{{n, plural, {texts}}}"
    assert message.build(["l'{dir}"] * 3).count("l''{dir}") == 3  # one apostrophe would quote the brace


@pytest.mark.parametrize(
    "text", ["{n, plural, one {a}", "Issue #5: {n, plural, one {a} other {b}} left", "{n, plural,}"]
)
def test_an_icu_message_that_cannot_be_taken_apart_is_left_and_marked(text: str):
    work = MarkupTranslation([TaggedText(text)])
    assert work.texts == []
    assert work.finish([]) == [TaggedText(text)]
    assert work.damaged == {0: "an ICU message that cannot be taken apart"}
    marked = work.translation(0, TranslateOptions())
    assert (marked.text, marked.damage) == (text, "an ICU message that cannot be taken apart")


def test_the_count_of_a_plural_is_translated_as_a_number():
    unit = guard_text("{n, plural, =0 {no files} one {# file} few {{n} files, # new} other {{n} of 12 files}}")
    assert unit is not None
    assert [each.text for each in unit.parts] == ["no files", "1 file", "{n} files, # new", "5 of 12 files"]
    texts = ("nada", "1 ficheiro", "{n} ficheiros, # novos", "de 12 ficheiros 5")
    done = [TaggedText(each) for each in texts]
    assert unit.damage(done) is None
    assert unit.build(done).text == (
        "{n, plural, =0 {nada} one {# ficheiro} few {{n} ficheiros, # novos} other {de 12 ficheiros {n}}}"
    )
    for lost in ("um ficheiro", "1 ficheiro 1"):
        assert unit.damage([done[0], TaggedText(lost), *done[2:]]) is not None


def test_breaks_and_tags_stay_in_place():
    unit = guard_text("One <b>two {x}</b>.\\n three<br>four")
    assert unit is not None
    assert [part.text for part in unit.parts] == ["One two {x}.", "three", "four"]
    assert unit.build(unit.parts).text == unit.source.text


def damaging(text: str, draw: random.Random) -> str:
    """Translate by upper case, order and insertion: what a model may do to placeholders."""
    words = text.split()
    for _ in range(draw.randrange(4)):
        match draw.randrange(6):
            case 0:
                words = [word.upper() for word in words]
            case 1:
                draw.shuffle(words)
            case 2 if words:
                words.pop(draw.randrange(len(words)))
            case 3 if words:
                words.insert(draw.randrange(len(words)), draw.choice(words))
            case 4:
                words.insert(draw.randrange(len(words) + 1), draw.choice(["{new}", "%d", "</b>", "<i>", "#", "'", "{"]))
            case _:
                words = [re.sub(r"(\W)", r" \1 ", word) for word in words]
    return " ".join(words)


def translated(text: str, draw: random.Random) -> Translation:
    source, target = text.split(), damaging(text, draw).split()
    links = {(draw.randrange(len(source)), draw.randrange(len(target))) for _ in target} if source and target else set()
    return Translation(
        text, " ".join(target), source_words=tuple(source), target_words=tuple(target), alignment=tuple(sorted(links))
    )


def occurrences(strings: list[str], text: str) -> list[str]:
    longest_first = sorted(set(strings), key=len, reverse=True)
    return sorted(re.findall("|".join(map(re.escape, longest_first)), text))


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.sampled_from([example for _, example in EXAMPLES if example not in {*PAIRED, *PAIRED.values()}]),
            st.sampled_from(sorted(PAIRED)),
            st.sampled_from(["the", "house", "is", "open.", "Go", "(now)", "five,"]),
        ),
        min_size=2,
        max_size=9,
    ),
    st.integers(0, 2**32),
)
def test_none_is_lost_doubled_or_broken_unless_marked(pieces: list[str], seed: int):
    draw = random.Random(seed)
    text = " ".join(f"{piece}here{PAIRED[piece]}" if piece in PAIRED else piece for piece in pieces)
    strings = [piece for piece in pieces if (piece in PAIRED) or any(piece == example for _, example in EXAMPLES)]
    strings += [PAIRED[piece] for piece in pieces if piece in PAIRED]
    work = MarkupTranslation([TaggedText(text) if (unit := guard_text(text)) is None else unit])
    again = work.second_round([translated(each, draw) for each in work.texts])
    (found,) = work.finish([translated(each, draw) for each in again])
    if work.damaged:
        assert found.text == text
    elif strings:
        assert occurrences(strings, found.text) == occurrences(strings, text)
        for start, end in PAIRED.items():
            order = re.findall(f"{re.escape(start)}|{re.escape(end)}", found.text)
            assert order == [start, end] * (len(order) // 2)


@pytest.mark.parametrize(
    "text",
    [
        "The _source field is required.",
        "User_id is missing",
        "Name of User_id",
        "Max_size",
        "Gin&tonic",
        "Bed&breakfast near the sea",
        "_id",
        "AT&T",
    ],
)
def test_identifiers_and_compounds_are_no_mnemonics(text: str):
    assert find_mnemonic(text) is None
    assert any("_" in text[start:end] or "&" in text[start:end] for start, end in find_placeholders(text))
