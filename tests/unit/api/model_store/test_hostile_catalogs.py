"""Catalogs that try to replace other models, to damage the store, or to deceive in a table."""

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.api.model_store.get_models import Source, fetch, free_name, plan_get, update
from dragoman.api.model_store.mirror_models import mirror
from dragoman.bundle.model_store import ModelEntry, ModelStore
from dragoman.catalogs.find_catalog import read_catalog
from dragoman.errors import BundleError, ConfigError, DataError
from dragoman.files import sha256_of_file
from testkit.random_models.random_firefox import firefox_folder
from testkit.random_models.random_marian import SHAPES, write_vocabularies

LONG = {f"{number}{'s' * 900}": 1.0 for number in range(1200)}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Files of a random model of Firefox Translations."""
    folder = tmp_path_factory.mktemp("students")
    write_vocabularies(folder, SHAPES["shared, swish"])
    model = firefox_folder(folder / "firefox", (folder / "source.spm").read_bytes(), lexicon=True)
    return {path.name: path.read_bytes() for path in model.iterdir()}


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "models")


def catalog(folder: Path, files: dict[str, bytes], **changes: Any) -> str:
    """A mirror with one model, with any fields."""
    (folder / "m").mkdir(parents=True)
    listed = []
    for name, data in files.items():
        path = folder / "m" / name
        path.write_bytes(data)
        listed.append({"name": name, "url": f"m/{name}", "size": len(data), "sha256": sha256_of_file(path)})
    model = {"kind": "firefox", "source": "en", "target": "pt", "version": "1.0", "files": listed} | changes
    text = json.dumps({"format": "dragoman-mirror", "version": 1, "models": [model]})
    (folder / "mirror.json").write_text(text, encoding="utf-8")
    return str(folder)


def get(store: ModelStore, address: str, kind: str | None = None) -> ModelEntry:
    return fetch(store, plan_get(store, "en-pt", Source(kind, address)))[-1]


def test_a_model_of_another_kind_does_not_replace_a_stored_one(
    store: ModelStore, files: dict[str, bytes], tmp_path: Path
):
    first = get(store, catalog(tmp_path / "a", files))
    for number, kind in enumerate(("b/en-pt", "b/x-en-pt", "c/x-EN-PT")):
        other = get(store, catalog(tmp_path / str(number), files, kind=kind, version="6"), kind)
        assert (other.kind, store.read("en-pt")) == (kind, first)
    assert store.names() == ["en-pt", "en-pt-en-pt", "x-EN-PT-2", "x-en-pt"]


def test_a_model_of_several_pairs_has_a_name_for_each():
    names: dict[str, tuple[str, str]] = {}
    for pair in ("en-de", "de-fr", "en-de"):
        names[free_name(pair, "a/x-en-de-fr", names)] = pair, "a/x-en-de-fr"
    assert list(names) == ["x-en-de-fr", "x-en-de-fr-2"]


@pytest.mark.parametrize(
    "changes", [{"version": "_1"}, {"version": "../../x"}, {"kind": "_en-pt"}, {"kind": "k" * 900}, {"kind": "../.."}]
)
def test_odd_names_have_a_plain_folder(
    store: ModelStore, files: dict[str, bytes], tmp_path: Path, changes: dict[str, str]
):
    entry = get(store, catalog(tmp_path / "a", files, **changes))
    assert store.bundle(entry).parent.parent == store.models
    assert store.entries() == [entry]


def test_file_names_of_catalogs_can_be_stored(store: ModelStore, files: dict[str, bytes], tmp_path: Path):
    odd = {name.replace(".", f".@+{'a' * 120}.", 1): data for name, data in files.items()}
    entry = get(store, catalog(tmp_path / "a", odd))
    assert [each.name for each in store.read(entry.name).current.files] == list(odd)


def test_an_entry_that_could_not_be_read_is_not_written(store: ModelStore, files: dict[str, bytes], tmp_path: Path):
    with pytest.raises(BundleError, match="the entry of en-pt must have at most 1,048,576 bytes, got"):
        get(store, catalog(tmp_path / "a", files, scores=LONG))
    assert store.names() == []
    assert get(store, catalog(tmp_path / "b", files)).name == "en-pt"


def test_scores_are_numbers(store: ModelStore, files: dict[str, bytes], tmp_path: Path):
    with pytest.raises(DataError, match=r"scores\.bleu must be a finite number"):
        get(store, catalog(tmp_path / "a", files, scores={"bleu": float("nan")}))


def test_texts_are_one_line_without_control_characters(files: dict[str, bytes], tmp_path: Path):
    text = "MIT\n\nnext    dragoman\x1b[31m \u202eget"
    address = catalog(tmp_path / "a", files, licence=text, version="1\n2", scores={"a\rb": 1})
    (model,) = read_catalog(address).models
    assert (model.licence, model.version) == ("MIT next dragoman [31m get", "1 2")
    assert dict(model.scores) == {"a b": 1}


def test_a_mirror_does_not_name_a_repository(files: dict[str, bytes], tmp_path: Path):
    (model,) = read_catalog(catalog(tmp_path / "a", files, repository="evil/model")).models
    assert model.repository == ""


def test_passwords_are_not_recorded():
    assert Source(catalog="https://user:a@b@host.example/m/@x").address == "https://host.example/m/@x"
    assert Source(catalog="file:///m").address == Source(catalog="/m").address == Source().address == ""


def test_a_model_of_a_local_catalog_is_not_updated_from_a_public_one(
    store: ModelStore, files: dict[str, bytes], tmp_path: Path
):
    address = catalog(tmp_path / "a", files)
    get(store, address)
    with pytest.raises(ConfigError, match="en-pt is of a local catalog"):
        update(store, "en-pt", Source())
    assert [is_new for _, is_new in update(store, "en-pt", Source(catalog=address))] == [False]


def test_the_path_of_a_local_catalog_is_not_shared(store: ModelStore, files: dict[str, bytes], tmp_path: Path):
    source = Source(catalog=catalog(tmp_path / "a", files, origin=str(tmp_path / "list.json")))
    mirror(store, tmp_path / "mirror", [plan_get(store, "en-pt", source)])
    assert get(store, str(tmp_path / "mirror")).current.origin == "list.json"
    assert str(tmp_path) not in (tmp_path / "mirror" / "mirror.json").read_text(encoding="utf-8")


def test_a_mirror_does_not_replace_other_files(store: ModelStore, files: dict[str, bytes], tmp_path: Path):
    address, mine = catalog(tmp_path / "a", files), tmp_path / "work" / "en-pt" / next(iter(files))
    mine.parent.mkdir(parents=True)
    mine.write_bytes(b"mine")
    plan = plan_get(store, "en-pt", Source(catalog=address))
    with pytest.raises(ConfigError, match=r"en-pt exists, and .*work is no mirror yet; name another folder"):
        mirror(store, tmp_path / "work", [plan])
    assert mine.read_bytes() == b"mine"


def test_models_of_one_name_are_apart_in_a_mirror(store: ModelStore, files: dict[str, bytes], tmp_path: Path):
    for kind in ("b/x-en-pt", "c/x-en-pt"):
        source = Source(kind, catalog(tmp_path / kind[0], files, kind=kind))
        mirror(store, tmp_path / "mirror", [plan_get(store, "en-pt", source)])
    assert sorted(path.name for path in (tmp_path / "mirror").iterdir()) == ["mirror.json", "x-en-pt", "x-en-pt-2"]
