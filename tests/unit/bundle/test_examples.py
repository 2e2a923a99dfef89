"""Example models of an installation: found by name, used without a name, never written to."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from dragoman import Translator
from dragoman.bundle import Bundle, locate
from dragoman.bundle.bundle import WEIGHTS
from dragoman.bundle.locate import example_bundles, find_bundle
from dragoman.bundle.model_card import card_section, stated_licence
from dragoman.server.models.served_model import ServedModel
from tests.server.bundles import tiny_bundle
from tests.unit.cli.tiny_translators import typed

MAX_BYTES = 4_000_000
NOTE = "note    a small example model of everyday sentences (en→de); get a real one with dragoman get en-de\n"
QUICK = ("--threads", "1", "--max-length", "6")


@pytest.mark.parametrize("folder", example_bundles(), ids=lambda folder: folder.name)
def test_a_shipped_example_is_small_and_its_card_is_complete(folder: Path):
    bundle = Bundle.open(folder)
    assert sum(path.stat().st_size for path in folder.iterdir()) <= MAX_BYTES
    stored = load_file(folder / WEIGHTS)
    assert all(array.dtype == np.int8 for array in stored.values() if array.ndim == 2)
    card, data = bundle.card(), bundle.config.data
    assert data is not None
    assert (data.source, data.target) == ("en", "de")
    licence = stated_licence(card)
    assert all(word in licence for word in ("CC BY 2.0 FR", "tatoeba.org", "manythings.org/anki"))
    assert "everyday sentences" in bundle.config.description
    assert all(word in card_section(card, "Limits") for word in ("long sentences", "names", "specialised"))
    assert "| Tatoeba test | bleu |" in card_section(card, "Scores")


def test_the_shipped_example_translates_short_sentences():
    """The real weights, as a user gets them: a broken or swapped file would give other words."""
    with Translator.open("everyday", threads=1) as translator:
        found = translator.translate(["Where is the station?", "I don't understand.", "It is raining."])
    assert [str(each).lower() for each in found] == ["wo ist der bahnhof?", "ich verstehe nicht.", "es regnet."]


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation with one example, and a new user: no stored models, an empty cache and folder."""
    folder = tmp_path / "package" / "examples"
    monkeypatch.setattr(locate, "EXAMPLES", folder)
    monkeypatch.setattr(locate, "EXAMPLE", folder / "everyday")
    monkeypatch.setenv("DRAGOMAN_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("DRAGOMAN_CACHE", str(tmp_path / "cache"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tiny_bundle(folder / "everyday", "en", "de")


def facts(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*")}


def test_translate_without_a_model_uses_it_with_a_note_and_writes_nothing_to_it(example: Path):
    before = facts(example.parent)
    done = typed("translate", *QUICK, stdin="a b c")
    assert done.exit_code == 0, done.output
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr.startswith(NOTE)
    named = typed("translate", "everyday", *QUICK, stdin="a b c")
    assert named.stdout == done.stdout
    assert named.stderr.startswith(f"bundle  {example}, everyday, an example model\n")
    with Translator.open("everyday", threads=1) as translator:
        assert translator.languages == ("en", "de")
    assert facts(example.parent) == before


def test_serve_without_a_model_opens_it(example: Path):
    done = typed("serve", "--check", "--threads", "1")
    assert done.exit_code == 0, done.output
    assert done.stderr.startswith(NOTE)
    assert "\nmodel   everyday: en → de, " in done.stderr
    named = typed("serve", "everyday", "--check", "--threads", "1")
    assert named.stderr.startswith(f"bundle  {example}, everyday, an example model\n")
    assert "\nmodel   everyday: en → de, " in named.stderr


def test_a_file_of_settings_must_name_models(example: Path):
    Path("serve.toml").write_text("port = 5001\n", encoding="utf-8")
    done = typed("serve", "--check", "--config", "serve.toml")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: no model was given; name a bundle")
    assert "and without --config, the example model" in " ".join(typed("serve", "--help").stdout.split())


def test_the_server_states_its_origin(example: Path, tmp_path: Path):
    bundle = Bundle.open(example)
    assert bundle.config.description
    assert ServedModel("everyday", example, bundle, "").info().origin == bundle.config.description
    other = Bundle.open(shutil.copytree(example, tmp_path / "everyday"))
    assert ServedModel("everyday", other.folder, other, "").info().origin == ""


def test_models_lists_it(example: Path):
    head, row = typed("models").stdout.splitlines()
    assert head.split()[:3] == ["name", "pair", "kind"]
    assert row.split()[:3] == ["everyday", "en-de", "example"]
    (listed,) = json.loads(typed("models", "--json").stdout)
    assert (listed["bundle"], listed["origin"]) == (str(example), "part of Dragoman")


def test_a_path_with_its_name_comes_first(example: Path):
    Path("everyday").mkdir()
    assert "everyday has no model" in typed("translate", "everyday").stderr
    Path("everyday").rmdir()
    assert find_bundle(Path("everyday")).path == example


@pytest.mark.parametrize("command", ["translate", "serve"])
def test_without_an_example_a_model_must_be_named(command: str, example: Path):
    shutil.rmtree(example)
    done = typed(command)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: no model was given; name a bundle, a run or a project, or get a model: ")
    assert len(done.stderr.splitlines()) == 1
    assert example_bundles() == []
