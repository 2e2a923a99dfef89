import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dragoman.text.tokenizers.notation import escape, join_tokens, mark_spaces, trace_tokens
from tests.unit.text.samples import AWKWARD, texts

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
tokens_of_all_sorts = st.lists(
    st.one_of(
        st.sampled_from(["▁the", "▁", "house", ",", "我用", "\x1b", "_", "▁▁", "é", "▁a▁b", "\u0301", "Hello\tyou"]),
        st.sampled_from(["<0xE4>", "<0xB8>", "<0xAD>", "<0x1B>", "<0x20>", "<0xFF>", "<", "<0xe4>"]),
        st.sampled_from(["<s>", "</s>", "<pad>", "<unk>"]),
    ),
    max_size=12,
)


def spelt(tokens: list[str]) -> str:
    return "".join(unit.text for unit in trace_tokens(tokens) if not unit.is_special)


@given(texts)
def test_marking_is_undone_by_joining(text: str):
    marked = mark_spaces(text)
    assert " " not in marked
    assert "▁" not in escape(text)
    assert join_tokens(list(marked)) == text
    assert join_tokens([f"▁{marked}"]) == f" {text}"


def test_text_without_marks_is_not_escaped():
    assert escape("Hello, you") == "Hello, you"
    assert escape("a▁\x1b") == "a\x1b_\x1b\x1b"


@pytest.mark.parametrize("text", AWKWARD)
def test_bytes_spell_text(text: str):
    assert join_tokens([BYTES[byte] for byte in escape(text).encode()]) == text


@pytest.mark.parametrize(
    ("tokens", "text"),
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
def test_joining(tokens: list[str], text: str):
    assert join_tokens(tokens) == text


def test_the_look_of_unknown_text_can_be_chosen():
    assert join_tokens(["▁a", "<unk>", "!"], unknown=" ?") == " a ?!"


@given(tokens_of_all_sorts)
@example(["\x1b", "_x"])
def test_the_fast_path_joins_like_the_traced_one(tokens: list[str]):
    assert join_tokens(tokens, unknown="") == spelt(tokens)


@given(tokens_of_all_sorts)
def test_units_go_through_the_tokens_in_order(tokens: list[str]):
    units = trace_tokens(tokens)
    touched = [(unit.first, unit.last) for unit in units]
    assert touched == sorted(touched)
    assert all(0 <= first <= last < len(tokens) for first, last in touched)
    assert {token for first, last in touched for token in range(first, last + 1)} == set(range(len(tokens)))
    assert all(unit.text.isspace() or not any(map(str.isspace, unit.text)) for unit in units)


def test_a_unit_knows_its_tokens():
    units = trace_tokens(["▁", "<0xE4>", "<0xB8>", "<0xAD>", "\x1b", "_a"])
    assert [tuple(unit)[:3] for unit in units] == [(" ", 0, 0), ("中", 1, 3), ("▁", 4, 5), ("a", 5, 5)]
