"""The model card contains the known facts and omits the others."""

from dragoman.bundle import model_card
from dragoman.config import load_config, parse_config, preset_names

DATA = {
    "source": "en",
    "target": "de",
    "train": [{"files": ["a/b/train.en", "a/b/train.de"]}, {"files": ["x.tsv"], "name": "web | crawl\n# no"}],
    "validation": {"files": ["valid.tsv"]},
    "test": [{"files": ["test.tsv"]}],
}
FACTS = {
    "parameters": 1234567,
    "updates": 4000,
    "epochs": 7,
    "seconds": 3725.4,
    "tokens": 9_000_000,
    "machine": "2 cores",
    "versions": {"torch": "2.13"},
    "pairs": {"train": 29000, "validation": 1014},
    "scores": [{"set": "validation", "name": "BLEU", "value": 35.123, "signature": "nrefs:1|case:mixed|tok:13a"}],
    "start": "abc123",
    "licence": "CC BY 4.0",
}


def test_it_tells_all_it_was_told():
    config = parse_config(load_config("luong2015-desk").model_dump(exclude_none=True) | {"data": DATA})
    card = model_card(config, FACTS)
    assert card.startswith("# A translator from en to de\n")
    told = ["1,234,567", "4,000", "1 h 2 min", "2 cores", "29,000", "CC BY 4.0", "abc123", "| torch | 2.13 |"]
    told += ["| validation | BLEU | 35.12 | nrefs:1\\|case:mixed\\|tok:13a |", "train.en and train.de", "valid.tsv"]
    assert [text for text in told if text not in card] == []
    assert "a/b" not in card
    assert "| web \\| crawl # no |" in card


def test_it_leaves_out_what_it_was_not_told():
    for name in preset_names():
        card = model_card(load_config(name), {})
        assert card.startswith("# A translator\n")
        assert "None" not in card
        assert "## Scores" not in card
        assert [line for line in card.splitlines() if line.startswith("## ")] == [
            "## Model",
            "## Training",
            "## Limits",
            "## Use",
            "## Licence",
        ]


def test_short_times_have_seconds():
    assert "| Time | 1 min 15 s |" in model_card(load_config("cho2014-desk"), {"seconds": 75.2})
