"""The translator on bundles of tiny models: alone as together, streamed as whole, aligned as scored."""

import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.api.translation.translator import Translator
from dragoman.bundle import Bundle, write_bundle
from dragoman.config import Config
from dragoman.config.engine import EngineName
from dragoman.config.search import SearchSettings
from dragoman.errors import BundleError, ConfigError
from dragoman.models import build_model
from dragoman.text import Tokenizer, train_sentencepiece, train_words
from dragoman.text.glossary import Glossary
from testkit.presets import tiny_config
from tests.unit.api.table_engine import TEXT

FAMILIES = [
    "bahdanau2015-desk",
    "luong2015-local-p-desk",
    "xu2015-desk",
    "vaswani2017-desk",
    "vaswani2017-desk + model.positions=learned + model.max_positions=24 + model.tie=target",
]
FAST = {"vaswani2017": "ctranslate2"}
"""The engine other than torch that runs a family; recurrent ones run on ONNX Runtime."""
ENGINES = [(name, engine) for name in FAMILIES for engine in ("torch", FAST.get(name.split("-")[0], "onnx"))]
SUBWORDS = train_sentencepiece(TEXT, size=340)
WORDS = train_words(TEXT, size=None)
BYTES = slice(4, 260)
TEXTS = [
    "the house is small",
    "a house",
    "12 3",
    "das Haus ist klein. the small house is a house, a small house!",
    "x",
    "你好。我很好！",
    "the small Ωmega house",
    "",
    "is is is is is is is is is is is is is is is is is",
]


def tiny_bundle(folder: Path, name: str, tokenizer: Tokenizer = SUBWORDS, seed: int = 3) -> Bundle:
    model_config = tiny_config(name)
    model = build_model(model_config, tokenizer.size, tokenizer.size, seed=seed)
    with torch.no_grad():
        for values in model.parameters():
            values.mul_(1.5)  # fresh weights are so small that all translations are similar
        for each, values in model.decoder.output.named_parameters():
            if each.endswith("bias"):
                if tokenizer is SUBWORDS:
                    values[BYTES] -= 100  # or nearly all would be noise
                values[tokenizer.eos_id] += 1
    settings = Config.model_validate({"model": model_config.model_dump(), "tokenizer": {"kind": tokenizer.kind}})
    weights = {each: values.detach().numpy() for each, values in model.named_parameters()}
    return write_bundle(folder, settings, weights, {"source": tokenizer, "target": tokenizer}, "A model.")


def translator_of(folder: Path, name: str, tokenizer: Tokenizer = SUBWORDS, **options: Any) -> Translator:
    options = {"search": SearchSettings(beam=3, max_length=14), "engine": "torch", "threads": 1, **options}
    return Translator.open(tiny_bundle(folder / "bundle", name, tokenizer), **options)


@pytest.mark.parametrize(("name", "engine"), ENGINES)
def test_alone_as_together(name: str, engine: EngineName, tmp_path: Path):
    translator = translator_of(tmp_path, name, engine=engine)
    assert translator.engine.name == engine
    together = translator.translate(TEXTS, alignment=True, flags=True, split_sentences=False)
    assert [each.source for each in together] == TEXTS
    for text, found in zip(TEXTS, together, strict=True):
        alone = translator.translate([text], alignment=True, flags=True, split_sentences=False)[0]
        assert (alone.text, alone.alignment) == (found.text, found.alignment)
        assert alone.log_prob == pytest.approx(found.log_prob, abs=1e-4)


@pytest.mark.parametrize(("name", "engine"), ENGINES)
def test_streamed_as_whole(name: str, engine: EngineName, tmp_path: Path):
    translator = translator_of(tmp_path, name, engine=engine)
    assert translator.engine.name == engine
    for text in ("\n".join(TEXTS), "the house is small. " * 5):
        assert "".join(translator.translate_stream(text)) == translator.translate(text).text


@pytest.mark.parametrize(("name", "engine"), ENGINES)
def test_links_and_scores_of_forced_decoding_are_the_search_s_own(name: str, engine: EngineName, tmp_path: Path):
    translator = translator_of(tmp_path, name, engine=engine)
    assert translator.engine.name == engine
    source, target = "the house is small", "das Haus"
    scored = translator.score([source], [target], alignment=True, attention=True)[0]
    settings = SearchSettings(beam=1, max_length=len(scored.tokens))
    found = translator.translate(source, prefix=target, search=settings, alignment=True, attention=True)
    assert found.text == target
    assert scored.alignment == found.alignment
    posterior = translator.translate(source, prefix=target, search=settings, alignment=True, posterior=True)
    assert translator.align([source], [target]) == [posterior.alignment]
    assert np.array(scored.weights) == pytest.approx(np.array(found.weights), abs=1e-5)


def test_unknown_words_come_from_the_source(tmp_path: Path):
    translator = translator_of(tmp_path, "bahdanau2015-desk", WORDS, search=SearchSettings(beam=1, max_length=9))
    unknown = WORDS.unk_id
    with torch.no_grad():
        translator.engine.model.decoder.output.bias[unknown] += 50.0  # type: ignore[attr-defined]
    found = translator.translate("Timbuktu")
    assert set(found.tokens) == {"<unk>"}
    assert set(found.text.split()) == {"Timbuktu"}
    assert found.is_truncated


def test_a_model_without_attention(tmp_path: Path):
    translator = translator_of(tmp_path, "sutskever2014-desk")
    found = translator.translate("the house is small", alignment=True, flags=True)
    assert found.alignment is None
    assert found.source_words == ("the", "house", "is", "small")


@pytest.mark.parametrize(
    ("name", "engine"),
    [(name, engine) for name, engine in ENGINES if name in ("bahdanau2015-desk", "vaswani2017-desk")],
)
def test_threads(name: str, engine: EngineName, tmp_path: Path):
    translator = translator_of(tmp_path, name, engine=engine, threads=2 if engine == "ctranslate2" else 1)
    texts = [f"{text} {number}" for number, text in enumerate(TEXTS * 6)][:50]
    alone = [each.text for each in translator.translate(texts, split_sentences=False)]
    with ThreadPoolExecutor(8) as pool:
        together = list(
            pool.map(lambda _: [each.text for each in translator.translate(texts, split_sentences=False)], range(8))
        )
    assert together == [alone] * 8


def test_a_prefix_is_kept(tmp_path: Path):
    translator = translator_of(tmp_path, "vaswani2017-desk")
    assert translator.translate("the house is small", prefix="das Haus").text.startswith("das Haus")


def test_samples_are_those_of_the_number(tmp_path: Path):
    translator = translator_of(tmp_path, "luong2015-desk")
    settings = SearchSettings(sample=True, max_length=8)
    texts = ["the house is small"] * 6
    whole = [each.text for each in translator.translate(texts, search=settings, split_sentences=False)]
    rest = [each.text for each in translator.translate(texts[4:], search=settings, first=4, split_sentences=False)]
    assert rest == whole[4:]
    assert len(set(whole)) > 1


def test_an_ensemble_of_unlike_families(tmp_path: Path):
    names = ["bahdanau2015-desk", "vaswani2017-desk"]
    bundles = [tiny_bundle(tmp_path / f"{number}", name) for number, name in enumerate(names)]
    settings = SearchSettings(beam=2, max_length=8)
    ensemble = Translator.open(*bundles, engine="torch", threads=1, search=settings)
    assert ensemble.engine_reason.startswith("ensemble of 2")
    assert ensemble.translate("the house is small", alignment=True).alignment is not None
    twice, once = (
        Translator.open(*bundles[:1] * times, engine="torch", threads=1, search=settings) for times in (2, 1)
    )
    assert twice.translate("the house is small").text == once.translate("the house is small").text


def test_an_ensemble_has_one_tokenizer(tmp_path: Path):
    other = train_sentencepiece([*TEXT, "other words"], size=340)
    bundles = [tiny_bundle(tmp_path / f"{id(each)}", "luong2015-desk", each) for each in (SUBWORDS, other)]
    with pytest.raises(ConfigError, match="cannot be an ensemble: their tokenizers"):
        Translator.open(*bundles, engine="torch")


def test_who_streams_can_ask_for_an_engine_whose_steps_are_open(tmp_path: Path):
    bundle = tiny_bundle(tmp_path / "bundle", "vaswani2017-desk")
    settings = SearchSettings(beam=3, max_length=14)
    whole, stepwise = (
        Translator.open(bundle, threads=1, search=settings, incremental=stepwise) for stepwise in (False, True)
    )
    assert (whole.engine.name, stepwise.engine.name) == ("ctranslate2", "torch")
    text = "the house is small"
    assert "".join(stepwise.translate_stream(text)) == "".join(whole.translate_stream(text))


def test_paths_are_opened_and_what_is_wrong_is_said(tmp_path: Path):
    tiny_bundle(tmp_path / "bundle", "luong2015-desk")
    translator = Translator.open(str(tmp_path / "bundle"), engine="torch", threads=1)
    assert translator.engine_reason == "torch float32, 1 thread"
    assert translator.bundles[0].folder == tmp_path / "bundle"
    with pytest.raises(BundleError):
        Translator.open(tmp_path / "nothing")
    with pytest.raises(ConfigError, match="no bundle is given"):
        Translator.open()


@pytest.mark.parametrize("name", ["bahdanau2015-desk", "vaswani2017-desk"])
def test_every_term_of_a_glossary_is_in_the_translation(name: str, tmp_path: Path):
    translator = translator_of(tmp_path, name)
    glossary = Glossary.from_dict({"house": "Haus", "small": "klein"})
    for text in ("the house is small", "a small dog", "the dog"):
        found = translator.translate(text, glossary=glossary)
        for term, wanted in (("house", "Haus"), ("small", "klein")):
            if term in text:
                assert re.search(rf"(?<![a-zA-Z]){wanted}(?![a-zA-Z])", found.text), found.text


@pytest.mark.parametrize(("name", "engine"), [("bahdanau2015-desk", "onnx"), ("vaswani2017-desk", "torch")])
def test_terms_of_one_sentence_do_not_change_others(name: str, engine: EngineName, tmp_path: Path):
    glossary = Glossary.from_dict({"house": "Haus ist klein", "small": "klein", "the": "das"})
    translator = translator_of(tmp_path, name, engine=engine, glossary=glossary)
    together = [each.text for each in translator.translate(TEXTS, split_sentences=False)]
    assert together == [translator.translate(text, split_sentences=False).text for text in TEXTS]


def test_a_forked_process_is_refused_instead_of_waiting_for_threads_it_does_not_have(tmp_path: Path):
    translator = Translator.open(tiny_bundle(tmp_path / "bundle", "vaswani2017-desk"), threads=2)
    assert translator.translate("a b").text
    reader, writer = os.pipe()
    child = os.fork()
    if not child:  # pragma: no cover -- another process
        signal.alarm(60)
        try:
            translator.translate("a b")
        except ConfigError as error:
            os.write(writer, str(error).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as received:
        message = received.read().decode()
    assert os.waitpid(child, 0)[1] == 0
    assert message.startswith("a translator works only in the process that opened it, not in a fork of it; ")
    assert translator.translate("a b").text
