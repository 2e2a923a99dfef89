"""Adaptations to memories: a better model is used, a poisoned one is not, and texts do not stay in the folder."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.api.adaptation import KEPT_VERSIONS, AdaptationFolder, AdaptationSettings
from dragoman.api.training.checked_training import check_training
from dragoman.api.training.training_run import train_model
from dragoman.bundle.locate import find_bundle
from dragoman.config import load_config
from dragoman.errors import ConfigError
from dragoman.storage.database import Database
from dragoman.storage.memories import MemoryStore, Unit
from testkit.training_faults.project import make_project

WORDS = {"ba": "ka", "ce": "lo", "di": "mi", "fo": "nu", "gu": "pa", "ha": "re", "ji": "su", "ke": "ta", "lu": "vi"}

SIZES = ("model.embedding=32", "model.encoder.hidden=32", "model.decoder.hidden=32")
FASTER = ("training.learning_rate=0.01", "training.max_updates=300", "training.validate_every=100")


def sentences(count: int, seed: int) -> list[tuple[str, str]]:
    """Distinct sentences of the invented language, with their translations."""
    generator, found = random.Random(seed), dict[str, str]()
    while len(found) < count:
        words = generator.choices([*WORDS], k=generator.randint(4, 8))
        found[" ".join(words)] = " ".join(WORDS[each] for each in reversed(words))
    return [*found.items()]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that has seen the language for a moment."""
    folder = tmp_path_factory.mktemp("base")
    project = make_project(folder)
    config = load_config(project.config, [*SIZES, "training.max_updates=150", "training.learning_rate=0.01"])
    trained = train_model(check_training(config, folder, folder / "run"))
    assert trained.bundle is not None
    return trained.bundle.folder


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    database = Database.open(f"sqlite:///{tmp_path / 'memories.db'}")
    yield MemoryStore(database)
    database.close()


@pytest.fixture
def adaptations(tmp_path: Path, base: Path, store: MemoryStore) -> AdaptationFolder:
    for side, name in enumerate(("general.en", "general.de")):
        lines = [pair[side] for pair in sentences(300, 1)]
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    store.create("", "work")
    general = (str(tmp_path / "general.en"), str(tmp_path / "general.de"))
    return AdaptationFolder.create(
        tmp_path / "adapted", AdaptationSettings(str(base), ("work",), general, overrides=FASTER)
    )


def remember(store: MemoryStore, pairs: list[tuple[str, str]]) -> None:
    store.add(store.get("", "work"), "en", "de", [Unit(*pair) for pair in pairs])


@pytest.mark.slow
def test_a_better_model_is_used_a_poisoned_one_is_not(
    adaptations: AdaptationFolder, store: MemoryStore, base: Path
) -> None:
    folder = adaptations.folder
    assert find_bundle(folder).path.resolve() == base.resolve()
    remember(store, sentences(2200, 2))
    first = adaptations.adapt(store)
    assert first.is_used, first.reason
    assert first.version == adaptations.used_version == 1
    assert first.scores["domain"]["chrf++_after"] > first.scores["domain"]["chrf++_before"]
    assert not list(folder.rglob("*.jsonl")) + list(folder.rglob("prepared")) or {
        each.name for each in folder.rglob("*.jsonl")
    } == {"adaptations.jsonl", "changes.jsonl"}  # no texts
    assert all(each.before != each.after for each in adaptations.changes())
    assert len(adaptations.changes()) > 10

    unchanged = adaptations.adapt(store)
    assert not unchanged.version
    assert "no unit is new" in unchanged.reason

    generator = random.Random(3)
    targets = [target for _, target in sentences(500, 5)]
    generator.shuffle(targets)
    remember(store, [(source, target) for (source, _), target in zip(sentences(500, 4), targets, strict=True)])
    poisoned = adaptations.adapt(store)
    assert not poisoned.is_used, poisoned.reason
    assert "new units are unlike the translations of the model in use" in poisoned.reason
    assert not poisoned.scores  # nothing was trained
    assert adaptations.used_version == 1
    assert [each.is_used for each in adaptations.records] == [True, False]
    assert not (folder / "versions" / "0002").exists()

    assert "the base model" in adaptations.back().reason
    assert find_bundle(folder).path.resolve() == base.resolve()
    with pytest.raises(ConfigError, match="no version before"):
        adaptations.back()


def test_few_units_are_not_enough(adaptations: AdaptationFolder, store: MemoryStore) -> None:
    remember(store, sentences(20, 2))
    assert "20 approved units, 200 are needed" in adaptations.adapt(store).reason
    assert adaptations.records == []


def test_pending_and_foreign_units_are_not_learned(adaptations: AdaptationFolder, store: MemoryStore) -> None:
    memory = store.get("", "work")
    store.add(memory, "en", "de", [Unit(*pair, state="pending") for pair in sentences(300, 2)])
    store.add(memory, "en", "fr", [Unit(*pair) for pair in sentences(300, 2)])
    assert "0 approved units" in adaptations.adapt(store).reason


def test_old_versions_are_removed_but_never_the_one_in_use(adaptations: AdaptationFolder) -> None:
    for version in range(1, KEPT_VERSIONS + 3):
        adaptations._path(version).mkdir(parents=True)
    adaptations._use(adaptations._path(1))
    adaptations._remove_old()
    assert adaptations.versions == [1, *range(3, KEPT_VERSIONS + 3)]
    assert adaptations.used_version == 1


def test_settings_are_checked(tmp_path: Path, adaptations: AdaptationFolder, base: Path) -> None:
    with pytest.raises(ConfigError, match="has no adaptations; begin with"):
        AdaptationFolder(tmp_path)
    with pytest.raises(ConfigError, match="has adaptations already"):
        AdaptationFolder.create(adaptations.folder, adaptations.settings)
    short = tmp_path / "short"
    short.write_text("ba\n" * 10, encoding="utf-8")
    with pytest.raises(ConfigError, match="must have at least 200 pairs, got 10"):
        AdaptationFolder.create(tmp_path / "other", AdaptationSettings(str(base), ("work",), (str(short), str(short))))
    assert not (tmp_path / "other").exists()
