"""Frames for the tests of cleaning, and pairs that filters get wrong."""

from collections.abc import Iterable

import polars as pl
from hypothesis import strategies as st

from tests.unit.text.samples import texts

Pair = tuple[str, str]

LONG = "word " * 150
BASE64 = "aGVsbG8gd29ybGQ" * 20

TRICKY: list[Pair] = [
    ("", ""),
    ("", "Hallo"),
    (" ", "\u3000"),
    ("a", "b"),
    ("我", "I"),
    ("I'm 19.", "Ich bin 19."),
    ("The Danube steamship company", "Die Donaudampfschifffahrtsgesellschaft"),
    ("We speak Chinese here.", "我们这里说中文。"),
    ("I use Twitter.", "我用Twitter。"),
    ("peace be upon you", "السلام عليكم ورحمة الله وبركاته"),
    ("१२३ और ४५६", "123 and 456"),
    ("👩\u200d👩\u200d👧 🏳\ufe0f\u200d🌈 😀", "a family"),
    ("no no no no no no no no no no no no", "nein nein nein nein nein nein nein nein nein nein"),
    ("ha", "哈哈哈哈哈哈哈哈哈哈哈哈哈哈"),
    ("See http://a.org/x and me@b.com", "Siehe http://a.org/y"),
    ("<b>bold</b>", "fett"),
    ("nul\x00", "bell\x07"),
    ("1.", "1."),
    ("Trinidad", "TRINIDAD!"),
    ("in 1984 and 12", "1985"),
    ("----------------", "................"),
    (LONG, BASE64),
    ("ภาษาไทย ไม่มีช่องว่าง", "Thai has no spaces"),
    ("안녕 세상", "hello world"),
    ("日本語のテキスト、コンピューター", "Japanese text, computer"),
]

pairs = st.lists(st.one_of(st.sampled_from(TRICKY), st.tuples(texts, texts)), max_size=12)


def frame(pairs: Iterable[Pair]) -> pl.DataFrame:
    source, target = zip(*pairs, strict=True) if (pairs := list(pairs)) else ((), ())
    return pl.DataFrame(
        {"source": source, "target": target, "line": range(1, len(source) + 1)},
        schema={"source": pl.String, "target": pl.String, "line": pl.UInt32},
    )


def drops(find, source: str, target: str) -> bool:
    """Whether a filter drops the pair."""
    return bool(find(frame([(source, target)])).item())
