"""A glossary: terms that a translation must hold, from text to the phrases of a search."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.api.translation.batching import beam_rows
from dragoman.api.translation.glossary_constraints import MAX_CONSTRAINT_TOKENS
from dragoman.api.translation.prepared_text import Chunk
from dragoman.config.search import SearchSettings
from dragoman.errors import ConfigError, DataError
from dragoman.search.beam.constrained import ConstrainedBeam
from dragoman.text import Tokenizer
from dragoman.text.glossary import Glossary, lenient_glossary
from tests.unit.api.table_engine import languages, table_translator

HOUSE = {"the house is small": "das Haus ist klein", "a house": "ein Haus"}


def test_a_glossary(tokenizers: dict[str, Tokenizer]):
    glossary = Glossary.from_dict({"house": "Gebäude", "small": None})
    translator, engine = table_translator(tokenizers=tokenizers, glossary=glossary)
    translator.translate(["the house is small", "nothing", "a house, a house"], split_sentences=False)
    required = {
        tokenizers["source"].decode(sentence.tokens): [tokenizers["target"].decode(each) for each in sentence.phrases]
        for batch in engine.batches
        for sentence in batch
    }
    assert required == {"the house is small": ["Gebäude", "small"], "nothing": [], "a house, a house": ["Gebäude"]}
    translator.translate("a house", glossary=Glossary.from_dict({}))
    assert engine.batches[-1][0].phrases == []


def test_a_dictionary_is_no_glossary(tokenizers: dict[str, Tokenizer]):
    translator, _ = table_translator(tokenizers=tokenizers)
    terms: Any = {"house": "Gebäude"}
    with pytest.raises(ConfigError, match=r"glossary must be a Glossary, got dict; use Glossary\.from_dict"):
        translator.translate("a house", glossary=terms)
    with pytest.raises(ConfigError, match="glossary must be a Glossary, got dict"):
        table_translator(tokenizers=tokenizers, glossary=terms)


def test_terms_of_chinese_have_no_space_before_them(tokenizers: dict[str, Tokenizer]):
    glossary = Glossary.from_dict({"house": "很好", "small": "房子"})
    translator, engine = table_translator(tokenizers=tokenizers, glossary=glossary)
    translator.translate("the house is small")
    target = tokenizers["target"]
    for phrase, term in zip(engine.batches[0][0].phrases, ("很好", "房子"), strict=True):
        assert target.decode([*target.encode("x"), *phrase]) == f"x{term}"


def test_a_term_that_cannot_be_written_is_named(words: dict[str, Tokenizer], tmp_path: Path):
    with pytest.raises(DataError, match="'Bonna' for 'Bonn'"):
        table_translator(tokenizers=words, glossary=Glossary.from_dict({"Bonn": "Bonna"}))
    translator, engine = table_translator(tokenizers=words)
    path = tmp_path / "terms.tsv"
    path.write_text("Bonn\tein\nXyz\n")
    for _ in range(2):
        with pytest.raises(DataError, match="must be written with tokens of the model") as caught:
            translator.translate("in", glossary=Glossary.from_file(path))
        assert str(caught.value).startswith(f"{path}:2: ")
    assert engine.batches == []


def test_a_glossary_is_checked_once(tokenizers: dict[str, Tokenizer], monkeypatch: pytest.MonkeyPatch):
    glossary = Glossary.from_dict({"house": "Haus"})
    made: list[Glossary] = []
    normalized = Glossary.normalized

    def counted(self: Glossary, normalize: Callable[[str], str]) -> Glossary:
        made.append(self)
        return normalized(self, normalize)

    monkeypatch.setattr(Glossary, "normalized", counted)
    translator, _ = table_translator(tokenizers=tokenizers, glossary=glossary)
    for _ in range(3):
        translator.translate("a house")
    assert made == [glossary]


def test_terms_are_normalised_as_the_text_is(tokenizers: dict[str, Tokenizer]):
    config = languages("en", "de")
    config = config.model_copy(update={"tokenizer": config.tokenizer.model_copy(update={"normal_form": "nfkc"})})
    translator, engine = table_translator(tokenizers=tokenizers, config=config)
    glossary = Glossary({"ﬁne hou\xadse": "Ｈａｕｓ"})
    translator.translate("a ﬁne house", glossary=glossary)
    assert [tokenizers["target"].decode(each) for each in engine.batches[0][0].phrases] == ["Haus"]
    with pytest.raises(DataError, match="one translation"):
        translator.translate("a", glossary=Glossary.from_dict({"ﬁne": "a", "fine": "b"}))
    with pytest.raises(DataError, match="invisible characters"):
        translator.translate("a", glossary=Glossary({"house": "\u200b"}))


def test_terms_of_a_sentence_are_bounded(tokenizers: dict[str, Tokenizer]):
    names = [chr(ord("a") + number) * 3 for number in range(26)]
    translator, engine = table_translator(tokenizers=tokenizers, glossary=Glossary.from_dict(dict.fromkeys(names)))
    assert all(len(tokenizers["target"].encode(name)) > 2 for name in names)
    translator.translate(" ".join(names[:2]) + " aaa" * 100)
    assert len(engine.batches) == 1, "a term counts once, however often it stands there"
    with pytest.raises(DataError, match=f"at most {MAX_CONSTRAINT_TOKENS} tokens.*'aaa', 'bbb'.*split the sentence"):
        translator.translate(" ".join(names))
    with pytest.raises(DataError, match="at most"):
        translator.translate("a", glossary=Glossary.from_dict({"a": "xyz" * 30}))


def test_sentences_with_terms_are_grouped_by_the_width_of_their_beams(tokenizers: dict[str, Tokenizer]):
    glossary = Glossary.from_dict({"house": "Haus Haus Haus", "small": "klein"})
    translator, engine = table_translator(tokenizers=tokenizers, batch_tokens=400, glossary=glossary)
    texts = ["the house is a small house", *["nothing at all"] * 30, *["a small dog"] * 30]
    assert len(translator.translate(texts, split_sentences=False)) == len(texts)
    settings = SearchSettings()
    for batch in engine.batches:
        widths = [beam_rows(Chunk("", search_input=sentence), settings) for sentence in batch]
        assert widths == [
            ConstrainedBeam.of([sentence], settings.beam, [99]).width if sentence.phrases else settings.beam
            for sentence in batch
        ]
        assert max(widths) < 2 * min(widths)
        longest = max(len(sentence.tokens) + 1 for sentence in batch)
        assert len(batch) == 1 or len(batch) * longest * max(widths) <= 400 * 5


def test_words_of_placeholders_and_addresses_are_no_terms(tokenizers: dict[str, Tokenizer]):
    glossary = Glossary.from_dict({"house": "Gebäude"})
    translator, engine = table_translator(tokenizers=tokenizers, glossary=glossary)
    for text in ("a {house} is small", "a https://house.org/house is small", "a %(house)s is small"):
        translator.translate(text, split_sentences=False)
        assert engine.batches[-1][0].phrases == []


def test_a_lenient_glossary_requires_the_terms_that_the_model_can_write(words: dict[str, Tokenizer]):
    glossary = lenient_glossary({"Bonn": "Bonna", "in": "ein"})
    translator, engine = table_translator(tokenizers=words, glossary=glossary)
    translator.translate("in Bonn", split_sentences=False)
    assert [words["target"].decode(each) for each in engine.batches[-1][0].phrases] == ["ein"]


def test_a_lenient_glossary_requires_the_terms_that_fit_into_the_limit(tokenizers: dict[str, Tokenizer]):
    names = [f"term{chr(97 + number)}" for number in range(26)]
    glossary = lenient_glossary(dict.fromkeys(names, None))
    translator, engine = table_translator(tokenizers=tokenizers, glossary=glossary)
    translator.translate(" ".join(names), split_sentences=False)
    required = engine.batches[-1][0].phrases
    assert 0 < len(required) < len(names)
    assert sum(map(len, required)) <= MAX_CONSTRAINT_TOKENS
