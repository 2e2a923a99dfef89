"""A name in the model store works wherever a bundle does; paths that exist take precedence."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from dragoman.bundle import Bundle
from dragoman.bundle.locate import find_bundle, named_bundles
from dragoman.bundle.model_card import imported_model_card, stated_licence
from dragoman.bundle.model_store import ENTRY, ModelEntry, ModelStore, StoredVersion, models_folder, stored_version
from dragoman.config import load_config
from dragoman.errors import BundleError
from dragoman.language_codes import parse_pair
from testkit.random_bundle import random_bundle
from tests.server.bundles import tiny_bundle


def add_entry(store: ModelStore, name: str, source: str, target: str, **more: Any) -> ModelEntry:
    """An entry with a random bundle, as `dragoman get` leaves it."""
    route = more.pop("route", ())
    versions: tuple[StoredVersion, ...] = ()
    if not route:
        bundle = Bundle.open(tiny_bundle(store.models / name / "1.0-aa", source, target, seed=int(more.get("seed", 1))))
        version = StoredVersion(
            version="1.0", folder="1.0-aa", digest=bundle.digest, origin="https://a", files=(), date="2026-01-01"
        )
        versions = (version,)
    kind = str(more.get("kind", "firefox"))
    entry = ModelEntry(name=name, source=source, target=target, kind=kind, versions=versions, route=route)
    (store.models / name).mkdir(parents=True, exist_ok=True)
    (store.models / name / ENTRY).write_text(entry.model_dump_json(), encoding="utf-8")
    return entry


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelStore:
    monkeypatch.setenv("DRAGOMAN_MODELS", str(tmp_path / "models"))
    monkeypatch.chdir(tmp_path)
    store = ModelStore.of_user()
    add_entry(store, "en-pt", "en", "pt")
    return store


def test_a_name_is_a_bundle_and_its_use_is_recorded(store: ModelStore):
    assert store.last_used("en-pt") is None
    assert find_bundle(Path("en-pt")).path == store.models / "en-pt" / "1.0-aa"
    assert store.last_used("en-pt") is not None


@pytest.mark.parametrize("name", ["EN-PT", "eng-por", "en_pt"])
def test_other_spellings_of_the_pair_find_the_model(store: ModelStore, name: str):
    assert find_bundle(Path(name)).path.name == "1.0-aa"


def test_a_path_that_exists_takes_precedence(store: ModelStore, tmp_path: Path):
    random_bundle(tmp_path / "en-pt", "vaswani2017-desk", seed=2)
    assert find_bundle(Path("en-pt")).path == Path("en-pt")


def test_the_model_of_another_kind_is_found_by_its_pair(store: ModelStore):
    add_entry(store, "en-de-opus-mt", "en", "de", kind="opus-mt")
    assert find_bundle(Path("en-de")).path.parent.name == "en-de-opus-mt"
    add_entry(store, "en-de", "en", "de")
    assert find_bundle(Path("en-de")).path.parent.name == "en-de"


def test_a_route_is_two_bundles(store: ModelStore):
    add_entry(store, "pt-de", "pt", "de", route=("pt-en", "en-de"))
    with pytest.raises(BundleError, match="pt-de needs the model pt-en, which is not stored; run dragoman get pt-de"):
        named_bundles("pt-de")
    add_entry(store, "pt-en", "pt", "en")
    add_entry(store, "en-de", "en", "de")
    assert [each.parent.name for each in named_bundles("pt-de")] == ["pt-en", "en-de"]
    with pytest.raises(BundleError, match="pt-de is a route of two models, pt-en and en-de"):
        find_bundle(Path("pt-de"))


@pytest.mark.parametrize(("name", "end"), [("en-fr", "; get it with dragoman get en-fr"), ("student", "; check its")])
def test_a_missing_pair_is_proposed(store: ModelStore, name: str, end: str):
    with pytest.raises(BundleError, match=f"{name} does not exist{end}"):
        find_bundle(Path(name))


@pytest.mark.parametrize("name", ["..", "../models", ".", "en-pt/..", "C:en-pt", "en-pt\n", "é-pt"])
def test_names_that_are_no_names(store: ModelStore, name: str):
    assert store.find(name) is None


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"name": "xx"}, "the name 'xx'"),
        ({"versions": []}, "with 0 versions"),
        ({"later": 1}, "Extra inputs are not permitted"),
        ({"format": 2}, "Input should be 1"),
    ],
)
def test_a_damaged_entry_is_one_line(store: ModelStore, changed: dict[str, object], reason: str):
    path = store.models / "en-pt" / ENTRY
    path.write_text(json.dumps(json.loads(path.read_bytes()) | changed), encoding="utf-8")
    with pytest.raises(BundleError, match=f"{reason}.*; dragoman get en-pt replaces it") as caught:
        find_bundle(Path("en-pt"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("catalog", ["/etc/catalog.json", "file:///etc/catalog.json", "https://a\nb"])
def test_the_catalog_of_a_copied_store_is_no_local_file(store: ModelStore, catalog: str):
    path = store.models / "en-pt" / ENTRY
    entry = json.loads(path.read_bytes())
    entry["versions"][0]["catalog"] = catalog
    path.write_text(json.dumps(entry), encoding="utf-8")
    with pytest.raises(BundleError, match="must be the entry of a stored model"):
        store.read("en-pt")


def test_a_version_cannot_lie_outside_the_store(store: ModelStore):
    path = store.models / "en-pt" / ENTRY
    path.write_text(path.read_text(encoding="utf-8").replace('"1.0-aa"', '"../../x"'), encoding="utf-8")
    with pytest.raises(BundleError, match="must be the entry of a stored model"):
        find_bundle(Path("en-pt"))


def test_a_copied_store_works_and_one_that_cannot_be_written_too(
    store: ModelStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    shutil.copytree(store.folder, tmp_path / "copy")
    shutil.rmtree(store.folder)
    monkeypatch.setenv("DRAGOMAN_MODELS", str(tmp_path / "copy"))
    (tmp_path / "copy" / "models" / "en-pt").chmod(0o500)
    try:
        assert find_bundle(Path("en-pt")).path == tmp_path / "copy" / "models" / "en-pt" / "1.0-aa"
    finally:
        (tmp_path / "copy" / "models" / "en-pt").chmod(0o700)
    assert str(tmp_path).encode() not in (tmp_path / "copy" / "models" / "en-pt" / ENTRY).read_bytes()


def test_the_folder_is_that_of_the_user_by_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv("DRAGOMAN_MODELS", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    if os.name == "posix":
        assert models_folder() == tmp_path / "dragoman" / "models"


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("en-pt", ("en", "pt")),
        ("zh_hant-en", ("zh-Hant", "en")),
        ("en-zh-Hant", ("en", "zh-Hant")),
        ("pt-BR-en", ("pt-BR", "en")),
        ("en-nb", ("en", "nb")),
        ("hbs-en", ("sh", "en")),
        ("en", None),
        ("run-1", None),
        ("my-model", None),
        ("xx-en", None),
    ],
)
def test_pairs(text: str, pair: tuple[str, str] | None):
    assert parse_pair(text) == pair


def test_the_record_of_a_bundle_is_that_of_its_version(store: ModelStore, tmp_path: Path):
    found = stored_version(store.models / "en-pt" / "1.0-aa")
    assert found is not None
    assert found.origin == "https://a"
    assert stored_version(store.models / "en-pt" / "2.0-bb") is None
    assert stored_version(tmp_path / "bundle") is None


@pytest.mark.parametrize("licence", ["", "apache-2.0"])
def test_only_a_stated_licence_of_a_card_is_one(licence: str):
    facts = {"format": "Marian", "origin": "a", "files": (), "notes": (), "versions": {}, "licence": licence}
    assert stated_licence(imported_model_card(load_config("vaswani2017-desk"), facts)) == licence
