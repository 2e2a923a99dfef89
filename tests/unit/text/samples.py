"""Texts that tokenizers get wrong, and a small corpus to learn from."""

import random

from hypothesis import strategies as st

AWKWARD = [
    "",
    " ",
    "   ",
    "a",
    " leading",
    "trailing ",
    "two  spaces   three",
    "Hello, you! (Don't panic: 3.14 %)",
    "▁",
    "▁▁ a▁b ▁",
    "\x1b",
    "\x1b_ \x1b\x1b ▁\x1b",
    "_ __",
    "tab\tand\u00a0no-break\u3000ideographic",
    "line\nfeed\r\n",
    "nul\x00bell\x07",
    "<s> </s> <pad> <unk> <0xE4> <0x20>",
    "<",
    "▅ \u2585",
    "\ufffd\ufeff",
    "grün, schön, weiß",
    "e\u0301 \u0308 a\u0308\u0323",
    "नमस्ते दुनिया",
    "سلام\u200cدنیا",
    "안녕 세상",
    "我用Python写代码。",
    "日本語のテキスト、ｶﾅ",
    "ภาษาไทย ไม่มีช่องว่าง",
    "👩\u200d👩\u200d👧 🏳\ufe0f\u200d🌈 😀",
    "𐍈𝔘 𠀀",
    "Ω≈ç√∫ ﬁ ½ ﷺ",
]

NOUNS = [
    "house",
    "dog",
    "cat",
    "tree",
    "river",
    "people",
    "Haus",
    "Hund",
    "Katze",
    "grün",
    "weiß",
    "don't",
    "42",
    "naïve",
]
SYLLABLES = ["ka", "ri", "to", "men", "schu", "le", "peo", "ple", "ver"]
TAILS = [".", "!", "?", ", yes.", " (maybe)", " \u201cso\u201d", "; 50 % \u2013 so."]


def corpus(size: int = 600) -> list[str]:
    """Sentences with punctuation, some accents, words made of syllables, Chinese and the awkward texts themselves."""
    generator = random.Random(7)
    made = [
        " ".join(generator.choices(NOUNS, k=generator.randint(2, 9))) + generator.choice(TAILS) for _ in range(size)
    ]
    invented = [" ".join("".join(generator.choices(SYLLABLES, k=3)) for _ in range(4)) for _ in range(size)]
    chinese = [
        "".join(generator.choices("我你他用写代码好天地人。", k=generator.randint(3, 9))) for _ in range(size // 6)
    ]
    return made + invented + chinese + AWKWARD


# Any text a file can hold, with the characters that make trouble drawn far more often than their share.
unicode_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
nasty_texts = st.text(
    st.sampled_from(
        "ab ▁_\x1b\t\n<>0xE4s/.,'e\u0301\u0308我用\u0e01\u0e34\u200b\u200c\ufeff\u00a0\u3000\u2028😀ｶ\uff9e"
    ),
    max_size=30,
)
texts = st.one_of(st.sampled_from(AWKWARD), nasty_texts, unicode_texts)
