import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dragoman.text.notation import escape, join_pieces, mark_spaces, trace_pieces
from tests.unit.text.samples import AWKWARD, texts

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
pieces_of_all_sorts = st.lists(
    st.one_of(
        st.sampled_from(["▁the", "▁", "house", ",", "我用", "\x1b", "_", "▁▁", "é", "▁a▁b", "\u0301", "Hello\tyou"]),
        st.sampled_from(["<0xE4>", "<0xB8>", "<0xAD>", "<0x1B>", "<0x20>", "<0xFF>", "<", "<0xe4>"]),
        st.sampled_from(["<s>", "</s>", "<pad>", "<unk>"]),
    ),
    max_size=12,
)


def spelt(pieces: list[str]) -> str:
    return "".join(unit.text for unit in trace_pieces(pieces) if not unit.is_special)


@given(texts)
def test_marking_is_undone_by_joining(text: str):
    marked = mark_spaces(text)
    assert " " not in marked
    assert "▁" not in escape(text)
    assert join_pieces(list(marked)) == text
    assert join_pieces([f"▁{marked}"]) == f" {text}"


def test_text_without_marks_is_not_escaped():
    assert escape("Hello, you") == "Hello, you"
    assert escape("a▁\x1b") == "a\x1b_\x1b\x1b"


@pytest.mark.parametrize("text", AWKWARD)
def test_bytes_spell_text(text: str):
    assert join_pieces([BYTES[byte] for byte in escape(text).encode()]) == text


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["▁the", "▁house", "."], " the house."),
        (["▁", "<0xE4>", "<0xB8>", "<0xAD>", "x"], " 中x"),
        (["<0xE4>", "<0xB8>", "x"], "\ufffd\ufffdx"),
        (["<0xE4>", "<0x41>"], "\ufffdA"),
        (["<0xED>", "<0xA0>", "<0x80>"], "\ufffd\ufffd\ufffd"),
        (["<0xE2>", "<0x96>", "<0x81>", "a"], "▁a"),
        (["<s>", "▁a", "</s>", "<pad>"], " a"),
        (["▁a", "<unk>"], " a<unk>"),
        (["\x1b", "x"], "\x1bx"),
        (["\x1b"], "\x1b"),
        (["\x1b", "</s>"], "\x1b"),
        (["<0xe4>", "<0xE4>>", "<"], "<0xe4><0xE4>><"),
        ([], ""),
        ([""], ""),
    ],
)
def test_joining(pieces: list[str], text: str):
    assert join_pieces(pieces) == text


def test_the_look_of_unknown_text_can_be_chosen():
    assert join_pieces(["▁a", "<unk>", "!"], unknown=" ?") == " a ?!"


@given(pieces_of_all_sorts)
@example(["\x1b", "_x"])
def test_the_fast_path_joins_like_the_traced_one(pieces: list[str]):
    assert join_pieces(pieces, unknown="") == spelt(pieces)


@given(pieces_of_all_sorts)
def test_units_go_through_the_pieces_in_order(pieces: list[str]):
    units = trace_pieces(pieces)
    touched = [(unit.first, unit.last) for unit in units]
    assert touched == sorted(touched)
    assert all(0 <= first <= last < len(pieces) for first, last in touched)
    assert {piece for first, last in touched for piece in range(first, last + 1)} == set(range(len(pieces)))
    assert all(unit.text.isspace() or not any(map(str.isspace, unit.text)) for unit in units)


def test_a_unit_knows_its_pieces():
    units = trace_pieces(["▁", "<0xE4>", "<0xB8>", "<0xAD>", "\x1b", "_a"])
    assert [tuple(unit)[:3] for unit in units] == [(" ", 0, 0), ("中", 1, 3), ("▁", 4, 5), ("a", 5, 5)]
