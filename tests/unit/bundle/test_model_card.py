"""The model card contains the known facts and omits the others."""

import re

from dragoman.bundle import imported_model_card, model_card
from dragoman.bundle.model_card import card_section
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


def test_text_of_untrusted_files_is_plain():
    config = parse_config(load_config("luong2015-desk").model_dump(exclude_none=True) | {"description": "a\x1b[2J<b>c"})
    facts = {
        "format": "Marian",
        "origin": "x\x1b]0;y\x07<script>\u202e",
        "files": [("<i>", 1, "d")],
        "notes": ["</p>\x9b 1 < 2"],
    }
    card = imported_model_card(config, facts | {"parameters": 1, "versions": {}, "licence": "\x1b<a>"})
    assert [character for character in card if not character.isprintable() and character != "\n"] == []
    assert re.findall("<[A-Za-z/!?]", card) == []
    assert "1 < 2" in card


ORIGIN = "| | |\n|---|---|\n| Imported from | Firefox |\n| Name | enpt |"
BASE = {"digest": "d" * 64, "trained": 1000, "parameters": 50_000, "new_tokens": 3, "origin": ORIGIN}


def test_the_card_of_a_fine_tuned_model_records_its_base():
    table = load_config("luong2015-desk").model_dump(exclude_none=True) | {"start": {"bundle": "base"}}
    facts = {key: value for key, value in FACTS.items() if key != "licence"}
    card = model_card(parse_config(table), facts | {"base": BASE | {"licence": "MPL-2.0"}})
    assert f"| Bundle | digest {'d' * 64} |" in card
    assert "| Method | fine-tuning of all weights |" in card
    assert "| Trained parameters | 1,000 of 50,000 |" in card
    assert "| New tokens | 3 |" in card
    assert card_section(card, "Origin") == ORIGIN
    assert card_section(card, "Licence").endswith("The card of the base states:\n\nMPL-2.0")
    adapted = parse_config(table | {"training": {"lora": {"rank": 4, "alpha": 8.0}}})
    base = BASE | {"licence": card_section(card, "Licence"), "origin": card_section(card, "Origin")}
    again = model_card(adapted, facts | {"base": base})
    assert "| Method | LoRA, rank 4, alpha 8, merged into the weights |" in again
    assert card_section(again, "Licence") == card_section(card, "Licence"), "stated once, over any number of trainings"
    assert card_section(again, "Origin") == ORIGIN
    frozen = parse_config(table | {"training": {"freeze": ["encoder.*"]}})
    assert "fine-tuning without encoder.*" in model_card(frozen, {"base": BASE})
    assert "The bundle has no licence." in card_section(model_card(frozen, {"base": BASE}), "Licence")
    assert card_section(card, "Nothing") == ""


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
