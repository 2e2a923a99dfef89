"""`dragoman models` lists the store; a stored name works in every command that takes a model."""

import json
import shutil
from pathlib import Path

import pytest

from dragoman import SearchSettings, Translators
from dragoman.bundle import locate
from dragoman.bundle.model_store import ModelStore
from tests.unit.bundle.test_model_store import add_entry
from tests.unit.cli.tiny_translators import QUICK_TO_START, typed


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelStore:
    monkeypatch.setattr(locate, "EXAMPLES", tmp_path / "examples")
    monkeypatch.setenv("DRAGOMAN_MODELS", str(tmp_path / "models"))
    monkeypatch.chdir(tmp_path)
    return ModelStore.of_user()


def test_an_empty_store_names_the_next_command(store: ModelStore):
    shown = typed("models")
    assert (shown.exit_code, shown.stdout) == (0, "")
    assert shown.stderr == f"no models in {store.folder}\nnext    dragoman get en-pt\n"


def test_the_table_and_json(store: ModelStore):
    add_entry(store, "en-pt", "en", "pt")
    add_entry(store, "pt-de", "pt", "de", route=("pt-en", "en-de"))
    head, first, second = typed("models").stdout.splitlines()
    assert head.split()[:5] == ["name", "pair", "kind", "version", "size"]
    assert first.split()[:4] == ["en-pt", "en-pt", "firefox", "1.0"]
    assert "not stated" in first
    assert second.endswith("pt-en + en-de")
    facts = json.loads(typed("models", "--json").stdout)
    assert [(each["name"], each["last_used"]) for each in facts] == [("en-pt", None), ("pt-de", None)]


def test_a_damaged_model_does_not_hide_the_others(store: ModelStore):
    for name in ("en-de", "en-fr", "en-pt"):
        add_entry(store, name, "en", name[3:])
    (store.models / "en-de" / "entry.json").write_text("{}", encoding="utf-8")
    shutil.rmtree(store.bundle(store.read("en-fr")))
    shown = typed("models")
    assert (shown.exit_code, [line.split()[0] for line in shown.stdout.splitlines()]) == (0, ["name", "en-pt"])
    assert "dragoman get en-de replaces it" in shown.stderr
    assert "en-fr has no bundle that can be read; dragoman models update en-fr gets it again" in shown.stderr
    assert "is missing; dragoman models update en-fr gets it again" in typed("translate", "en-fr").stderr
    typed("models", "remove", "en-pt")
    assert "no models" not in typed("models").stderr


def test_remove_verify_and_back(store: ModelStore):
    add_entry(store, "en-pt", "en", "pt")
    assert typed("models", "verify").stdout == "en-pt: no differences\n"
    assert typed("models", "update", "en-pt", "--back").stderr.startswith("error: en-pt has no previous version")
    assert typed("models", "remove", "en-pt").stdout == "removed en-pt\n"
    assert typed("models", "remove", "en-pt").exit_code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("translate", "en-pt", "text.txt", *QUICK_TO_START),
        ("score", "en-pt", "text.txt", "text.txt", "--threads", "1"),
        ("evaluate", "en-pt", "--test", "text.txt", "text.txt", "--threads", "1", "--max-length", "6"),
        ("inspect", "en-pt", "a b", "--output", "page.html"),
        ("export", "en-pt", "--to", "ctranslate2", "--output", "exported"),
        ("prune", "en-pt", "--text", "text.txt", "--output", "pruned"),
        ("serve", "en-pt", "--check"),
        ("config", "show", "en-pt"),
        ("new", "my", "--from", "en-pt", "--corpus", "text.txt", "other.txt", "--no-language-check"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_name_works_where_a_bundle_does(store: ModelStore, arguments: tuple[str, ...]):
    add_entry(store, "en-pt", "en", "pt")
    Path("text.txt").write_text("".join(f"a b {number}\n" for number in range(20)), encoding="utf-8")
    Path("other.txt").write_text("".join(f"c {number} d\n" for number in range(20)), encoding="utf-8")
    done = typed(*arguments)
    assert done.exit_code == 0, done.stderr
    assert store.last_used("en-pt") is not None
    if arguments[0] == "evaluate":
        assert "en-pt" in done.stdout


@pytest.mark.parametrize("command", ["translate", "serve", "evaluate"])
def test_a_pair_that_is_not_stored_is_proposed(store: ModelStore, command: str):
    more = ("--test", "a", "b") if command == "evaluate" else ()
    done = typed(command, "en-fr", *more)
    assert done.exit_code != 0
    assert "en-fr does not exist; get it with dragoman get en-fr" in done.stderr


def test_a_stored_model_is_served_under_its_name_and_a_route_as_two_models(store: ModelStore, tmp_path: Path):
    add_entry(store, "pt-en", "pt", "en")
    add_entry(store, "en-de", "en", "de")
    add_entry(store, "pt-de", "pt", "de", route=("pt-en", "en-de"))
    shown = typed("serve", "pt-en", "pt-de", "--check").output
    assert "pt-en" in shown
    assert "en-de" in shown
    assert "1.0-aa " not in shown
    (tmp_path / "serve.toml").write_text('[bundles]\nfirst = "pt-en"\n', encoding="utf-8")
    assert "first" in typed("serve", "--config", "serve.toml", "--check").output


@pytest.fixture
def route(store: ModelStore) -> ModelStore:
    add_entry(store, "pt-en", "pt", "en")
    add_entry(store, "en-de", "en", "de", seed=2)
    add_entry(store, "pt-de", "pt", "de", route=("pt-en", "en-de"))
    return store


def test_a_route_translates_lines_documents_and_in_python_alike(route: ModelStore, tmp_path: Path):
    lines = ["a b c", "", "d e. f g!"]
    Path("text.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    Path("page.html").write_text("<p>a <b>b</b> c</p>", encoding="utf-8")
    beam = ("--beam", "2", "--threads", "1")
    with Translators.open("pt-de", search=SearchSettings(beam=2), threads=1) as translators:
        expected = [each.text for each in translators.translate(lines, split_sentences=False)]
    done = typed("translate", "pt-de", "text.txt", *beam)
    assert done.stdout.splitlines() == expected
    assert typed("translate", "pt-de", "text.txt", "-o", "out.txt", *beam).exit_code == 0
    assert Path("out.txt").read_text(encoding="utf-8").splitlines() == expected
    found = typed("translate", "pt-de", "page.html", *beam)
    assert found.exit_code == 0, found.stderr
    assert '<html lang="de"' in found.stdout or found.stdout.startswith("<p>")
    assert route.last_used("pt-de") is not None


def test_a_route_translates_the_terms_of_a_glossary(route: ModelStore):
    Path("terms.tsv").write_text("pt\tde\nd\th\n", encoding="utf-8")
    done = typed("translate", "pt-de", "-", "--glossary", "terms.tsv", "--beam", "2", stdin="d\n")
    assert "terms   1 with a translation" in done.stderr
    assert "h" in done.stdout, "the second model must write it"
    assert "h" not in typed("translate", "pt-de", "-", "--beam", "2", stdin="d\n").stdout


def test_an_ensemble_is_no_option_of_a_route(route: ModelStore):
    done = typed("translate", "pt-de", "-", "--ensemble", "x", stdin="a\n")
    assert done.stderr == "error: --ensemble is for one model, and pt-de is a route of two; leave it out\n"


def test_a_command_of_one_model_names_those_of_a_route(route: ModelStore):
    Path("text.txt").write_text("a\n", encoding="utf-8")
    done = typed("export", "pt-de", "--to", "onnx")
    assert "pt-de is a route of two models, pt-en and en-de" in done.stderr
