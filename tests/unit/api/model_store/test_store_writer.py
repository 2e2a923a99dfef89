"""Changes of the store are atomic, and one process makes them at a time."""

import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.api.model_store.store_writer import (
    changed_in_place,
    check_place,
    install,
    keep_file,
    locked,
    remove,
    remove_unused_files,
    swap_versions,
    verify,
    with_version,
)
from dragoman.bundle import Bundle
from dragoman.bundle.bundle import write_calibration
from dragoman.bundle.model_store import ModelEntry, ModelStore, StoredVersion
from dragoman.errors import BundleError, ConfigError
from testkit.random_bundle import random_bundle
from tests.unit.bundle.test_confidence import FITTED

WAIT = """
import sys
from pathlib import Path
from dragoman.api.model_store.store_writer import locked
from dragoman.bundle.model_store import ModelStore
with locked(ModelStore(Path(sys.argv[1])), lambda: print("waits", flush=True)):
    print("has it", flush=True)
"""


def add(store: ModelStore, name: str, version: str, text: bytes = b"vocabulary", seed: int = 1) -> ModelEntry:
    path = store.folder.parent / "vocab.spm"
    path.unlink(missing_ok=True)  # a hard link to a stored file
    path.write_bytes(text)
    with locked(store):
        bundle = random_bundle(store.folder / ".drafts" / name, "vaswani2017-desk", seed=seed)
        stored = StoredVersion(
            version=version,
            folder=f"{version}-{bundle.digest[:8]}",
            digest=bundle.digest,
            origin="https://a",
            files=(keep_file(store, path),),
            date="2026-01-01",
        )
        source, target = name.split("-")
        entry = ModelEntry(name=name, source=source, target=target, kind="firefox", versions=(stored,))
        entry = with_version(store.read(name) if name in store.names() else None, entry)
        install(store, bundle.folder, entry)
        remove_unused_files(store)
    return entry


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "models")


def test_an_update_keeps_the_last_version_and_back_returns_to_it(store: ModelStore):
    for number, text in enumerate((b"a", b"b", b"c"), 1):
        add(store, "en-pt", f"{number}.0", text, seed=number)
    folders = [each.version for each in store.read("en-pt").versions]
    assert folders == ["3.0", "2.0"]
    assert len([each for each in (store.models / "en-pt").iterdir() if each.is_dir()]) == 2
    assert len(list(store.files.iterdir())) == 2
    assert swap_versions(store, "en-pt").current.version == "2.0"
    assert store.bundle(store.read("en-pt")).name.startswith("2.0-")
    verify(store, "en-pt")


def test_a_calibrated_model_is_verified_with_its_new_digest(store: ModelStore):
    entry = add(store, "en-pt", "1.0")
    path = store.bundle(entry)
    with changed_in_place(path):
        changed = write_calibration(Bundle.open(path), "en-pt", FITTED)
    assert store.read("en-pt").current.digest == changed.digest != entry.current.digest
    assert verify(store, "en-pt").current.folder == entry.current.folder
    copied = path.rename(store.folder.parent / "bundle")
    with changed_in_place(copied):  # not of a store
        pass


def test_there_is_no_way_back_from_the_first_version(store: ModelStore):
    add(store, "en-pt", "1.0")
    with pytest.raises(ConfigError, match="en-pt has no previous version"):
        swap_versions(store, "en-pt")


def test_a_file_of_two_models_is_kept_once_and_until_both_are_removed(store: ModelStore):
    add(store, "en-pt", "1.0")
    add(store, "pt-en", "1.0")
    assert len(list(store.files.iterdir())) == 1
    remove(store, "en-pt")
    assert store.names() == ["pt-en"]
    verify(store, "pt-en")
    remove(store, "pt-en")
    assert list(store.files.iterdir()) == []


def test_a_model_of_a_route_is_not_removed(store: ModelStore):
    add(store, "pt-en", "1.0")
    entry = ModelEntry(name="pt-de", source="pt", target="de", kind="firefox", route=("pt-en", "en-de"))
    (store.models / "pt-de").mkdir()
    (store.models / "pt-de" / "entry.json").write_text(entry.model_dump_json(), encoding="utf-8")
    with pytest.raises(ConfigError, match="pt-en is kept as long as the store has the route pt-de"):
        remove(store, "pt-en")


@pytest.mark.parametrize("damage", ["file", "missing", "bundle"])
def test_damage_is_found(store: ModelStore, damage: str):
    entry = add(store, "en-pt", "1.0")
    verify(store, "en-pt")
    file = store.files / entry.current.files[0].sha256
    if damage == "file":
        file.write_bytes(b"vocabularY")
    elif damage == "missing":
        file.unlink()
    else:
        (store.bundle(entry) / "card.md").write_text("x", encoding="utf-8")
    with pytest.raises(BundleError, match="dragoman models update en-pt gets it again"):
        verify(store, "en-pt")


def test_what_a_killed_process_left_is_removed(store: ModelStore):
    entry = add(store, "en-pt", "1.0")
    for left in ("models/fr-en/1.0-aaaaaaaa", "models/en-pt/2.0-bbbbbbbb", ".drafts/en-pt.tmp"):
        (store.folder / left).mkdir(parents=True)
        (store.folder / left / "weights.safetensors").write_bytes(b"x")
    with locked(store):
        pass
    assert sorted(each.name for each in store.models.iterdir()) == ["en-pt"]
    assert [each.name for each in (store.models / "en-pt").iterdir() if each.is_dir()] == [entry.current.folder]
    assert list((store.folder / ".drafts").iterdir()) == []


def test_files_of_the_user_in_the_folder_stay(store: ModelStore):
    mine = ["models/my-model/weights.safetensors", "models/en-pt/notes/a.txt", "models/en-pt/used.txt", "models/a.txt"]
    mine += ["files/thesis.doc", "drafts/letter.txt", "downloads/x.iso"]
    for path in mine:
        (store.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (store.folder / path).write_bytes(b"mine")
    with pytest.raises(ConfigError, match="en-pt is not of the model store; rename it"):
        check_place(store, "en-pt")
    add(store, "en-pt", "1.0")
    add(store, "en-pt", "2.0", b"b", seed=2)
    remove(store, "en-pt")
    assert [path for path in mine if not (store.folder / path).is_file()] == []
    assert store.names() == []


def test_links_in_a_copied_store_are_not_followed(store: ModelStore, tmp_path: Path):
    add(store, "en-pt", "1.0")
    (tmp_path / "home" / "1.0-aaaaaaaa").mkdir(parents=True)
    (store.models / "en-pt" / "2.0-bbbbbbbb").symlink_to(tmp_path / "home", target_is_directory=True)
    (store.files / ("0" * 64)).symlink_to(tmp_path / "home")
    remove(store, "en-pt")
    assert (tmp_path / "home" / "1.0-aaaaaaaa").is_dir()


def test_a_route_through_itself_is_one_line(store: ModelStore):
    for name, other in (("pt-de", "de-pt"), ("de-pt", "pt-de")):
        entry = ModelEntry(name=name, source=name[:2], target=name[3:], kind="firefox", route=(other, other))
        (store.models / name).mkdir(parents=True)
        (store.models / name / "entry.json").write_text(entry.model_dump_json(), encoding="utf-8")
    with pytest.raises(BundleError, match="pt-de needs the model de-pt, which is not stored"):
        verify(store, "pt-de")


def test_a_second_process_waits(store: ModelStore):
    with locked(store):
        other = subprocess.Popen([sys.executable, "-c", WAIT, str(store.folder)], stdout=subprocess.PIPE, text=True)
        assert other.stdout is not None
        assert other.stdout.readline() == "waits\n"
    with other:
        assert other.stdout.read() == "has it\n"


def test_a_name_that_is_not_stored(store: ModelStore):
    add(store, "en-pt", "1.0")
    with pytest.raises(ConfigError, match="en-pr is not in the model store; did you mean en-pt"):
        remove(store, "en-pr")
