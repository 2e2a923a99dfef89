"""Any damage to a checkpoint is found, and the one before it is taken instead."""

import functools
import itertools
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from dragoman.bundle import verify
from dragoman.config import load_config
from dragoman.training.checkpoint import CheckpointStore

FLIPS = 1000
CUTS = 200
PAGE = 4096
FILES = [
    "average.safetensors",
    "dragoman.toml",
    "manifest.json",
    "optimizer.safetensors",
    "state.json",
    "weights.safetensors",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two checkpoints, 20 and 40, of several pages a file."""
    folder = tmp_path_factory.mktemp("run") / "checkpoints"
    for update in (20, 40):
        config = load_config("luong2015-desk", [f"training.seed={update}"])
        generator = torch.Generator().manual_seed(update)
        weights, optimizer, average = ({"w": torch.randn(2500, generator=generator)} for _ in range(3))
        state = {"update": update}
        CheckpointStore(folder).save(
            update, weights=weights, optimizer=optimizer, average=average, state=state, config=config
        )
    assert newest(folder) == (40, 0)
    return folder


def newest(folder: Path) -> tuple[int | None, int]:
    """The update that is resumed, and the number of damage reports."""
    notes: list[str] = []
    found = CheckpointStore(folder).latest(notes.append)
    assert all("step_40 is damaged (" in note and note.endswith("; using step_20 instead") for note in notes)
    return None if found is None else found.update, len(notes)


@contextmanager
def damaged(path: Path, data: bytes) -> Iterator[None]:
    """A file with other content, for a while."""
    before = path.read_bytes()
    assert data != before
    path.write_bytes(data)
    yield
    path.write_bytes(before)


def flipped(path: Path, bit: int) -> bytes:
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    return bytes(data)


def flips(folder: Path, count: int) -> Iterator[tuple[Path, bytes]]:
    """Half of them anywhere, half in a file drawn first, so that small files get their share."""
    generator = random.Random(4)
    paths = [folder / "step_40" / name for name in FILES]
    sizes = [path.stat().st_size for path in paths]
    for number in range(count):
        path = generator.choices(paths, sizes if number % 2 else None)[0]
        yield path, flipped(path, generator.randrange(8 * path.stat().st_size))


@pytest.mark.slow
def test_every_flipped_bit_is_found(folder: Path):
    missed = []
    for path, data in flips(folder, FLIPS):
        with damaged(path, data):
            if newest(folder) != (20, 1):
                missed.append(path.name)
    assert missed == []
    assert newest(folder) == (40, 0)


def test_every_bit_of_the_manifest_counts(folder: Path):
    path = folder / "step_40" / "manifest.json"
    for bit in range(0, 8 * path.stat().st_size, 11):
        with damaged(path, flipped(path, bit)):
            assert newest(folder) == (20, 1), bit


def test_without_hashes_flipped_bits_go_unnoticed(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dragoman.training.checkpoint.verify", functools.partial(verify, hash_files=False))
    missed = 0
    for path, data in flips(folder, 200):
        with damaged(path, data):
            missed += newest(folder) == (40, 0)
    assert missed > 100


def test_every_truncation_is_found(folder: Path):
    generator = random.Random(5)
    for number in range(CUTS):
        path = folder / "step_40" / FILES[number % len(FILES)]
        with damaged(path, path.read_bytes()[: generator.randrange(path.stat().st_size)]):
            assert newest(folder) == (20, 1), path.name


@pytest.mark.parametrize("name", FILES)
def test_zeroed_and_repeated_pages_are_found(name: str, folder: Path):
    path = folder / "step_40" / name
    data = path.read_bytes()
    for start in range(0, len(data), PAGE):
        end = min(start + PAGE, len(data))
        for page in (bytes(end - start), (data[:PAGE] * 2)[1 : 1 + end - start]):
            with damaged(path, data[:start] + page + data[end:]):
                assert newest(folder) == (20, 1)
    for longer in (data + bytes(1), data + bytes(PAGE), data * 2):
        with damaged(path, longer):
            assert newest(folder) == (20, 1)


SOME = [names for count in range(1, len(FILES)) for names in itertools.combinations(FILES, count)]


def test_files_of_another_checkpoint_are_found(folder: Path, tmp_path: Path):
    """Any of them, but not all: 62 mixtures of two checkpoints, each file good by itself."""
    assert len(SOME) == 62
    for names in SOME:
        mixed = tmp_path / "mixed"
        shutil.copytree(folder, mixed)
        for name in names:
            shutil.copy(folder / "step_20" / name, mixed / "step_40" / name)
        assert newest(mixed) == (20, 1), names
        shutil.rmtree(mixed)


def test_files_in_each_others_place_are_found(folder: Path):
    for one, other in itertools.combinations(FILES, 2):
        first, second = folder / "step_40" / one, folder / "step_40" / other
        a, b = first.read_bytes(), second.read_bytes()
        with damaged(first, b), damaged(second, a):
            assert newest(folder) == (20, 1)


def test_a_whole_checkpoint_under_another_number_is_found(folder: Path, tmp_path: Path):
    shutil.copytree(folder / "step_20", tmp_path / "step_20")
    shutil.copytree(folder / "step_20", tmp_path / "step_40")
    assert newest(tmp_path) == (20, 1)


@pytest.mark.parametrize("name", FILES)
def test_missing_files_and_other_kinds_of_files_are_found(name: str, folder: Path, tmp_path: Path):
    copy = tmp_path / "checkpoints"
    shutil.copytree(folder, copy)
    path = copy / "step_40" / name
    path.unlink()
    assert newest(copy) == (20, 1)
    path.symlink_to(folder / "step_40" / name)
    assert newest(copy) == (20, 1)
    path.unlink()
    path.mkdir()
    assert newest(copy) == (20, 1)


def test_files_too_many_are_found(folder: Path, tmp_path: Path):
    copy = tmp_path / "checkpoints"
    shutil.copytree(folder, copy)
    (copy / "step_40" / "extra").touch()
    assert newest(copy) == (20, 1)
