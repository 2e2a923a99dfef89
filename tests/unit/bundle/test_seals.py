"""A bundle that was checked is not hashed again, unless a file of it changed or a check is required."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.bundle import Bundle, verified_folder
from dragoman.bundle import bundle as bundle_module
from dragoman.bundle.bundle import WEIGHTS, free_parsed, open_outline
from dragoman.errors import BundleError
from dragoman.files import sha256_of_file


class Hashes:
    """The names of files that are hashed whole."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def opened(self, folder: Path, **options: bool) -> list[str]:
        """The hashed files of an opening."""
        self.names.clear()
        Bundle.open(folder, **options)
        return sorted(self.names)


@pytest.fixture
def hashes(monkeypatch: pytest.MonkeyPatch) -> Hashes:
    found, real = Hashes(), sha256_of_file

    def record(path: Path) -> str:
        found.names.append(path.name)
        return real(path)

    monkeypatch.setattr(verified_folder, "sha256_of_file", record)
    return found


@pytest.fixture
def settled(bundle: Bundle, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bundle whose files are old enough, without a wait."""
    monkeypatch.setattr(verified_folder, "_SETTLED_NS", -1)
    return bundle.folder


def test_a_new_bundle_is_checked_whole_and_then_not_again(settled: Path, hashes: Hashes, own_cache: Path):
    everything = sorted(each.name for each in settled.iterdir() if each.name != "manifest.json")
    assert hashes.opened(settled) == everything
    assert hashes.opened(settled) == ["dragoman.toml"]
    assert hashes.opened(settled, verify_again=True) == everything
    assert (own_cache / "seals").stat().st_mode & 0o777 == 0o700


def test_an_outline_reads_the_configuration_only_and_is_no_seal(settled: Path, hashes: Hashes, own_cache: Path):
    open_outline(settled)
    assert hashes.names == ["dragoman.toml"]
    assert not (own_cache / "seals").exists()
    (settled / WEIGHTS).write_bytes(bytes((settled / WEIGHTS).stat().st_size))
    outline = open_outline(settled)
    with pytest.raises(BundleError, match="other content"):
        outline.weights()


def test_what_a_bundle_has_read_can_be_freed(settled: Path):
    bundle = Bundle.open(settled)
    for _ in range(2):
        assert bundle.tokenizers()["source"].size
        free_parsed(bundle)
        assert not {name for name in vars(bundle) if name.startswith("_")}


def test_an_untrusted_bundle_is_parsed_in_the_sandbox_before_its_first_use_only(
    settled: Path, monkeypatch: pytest.MonkeyPatch
):
    asked: list[int] = []
    monkeypatch.setattr(bundle_module, "check_sentencepiece", lambda model: asked.append(len(model)))
    Bundle.open(settled, trusted=True)  # its tokenizer was not parsed: this is no seal
    assert asked == []
    for count in (1, 1):
        Bundle.open(settled)
        assert len(asked) == count
    Bundle.open(settled, verify_again=True)
    assert len(asked) == 2


def _same_size(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def _same_size_and_time(path: Path) -> None:
    """As someone who hides the change would do: the time of the change of the file still tells."""
    facts = path.stat()
    _same_size(path)
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def _replaced(path: Path) -> None:
    facts = path.stat()
    shutil.copy(path, path.with_name("other"))
    _same_size(path.with_name("other"))
    os.utime(path.with_name("other"), ns=(facts.st_atime_ns, facts.st_mtime_ns))
    path.with_name("other").replace(path)


@pytest.mark.parametrize("change", [_same_size, _same_size_and_time, _replaced])
@pytest.mark.parametrize("name", [WEIGHTS, "dragoman.toml", "card.md"])
def test_a_change_after_the_seal_is_noticed(settled: Path, name: str, change: Callable[[Path], None]):
    Bundle.open(settled)
    time.sleep(0.02)  # longer than a tick of the times of files
    change(settled / name)
    with pytest.raises(BundleError, match=r"other content|changed"):
        Bundle.open(settled)


def test_other_times_of_the_same_content_are_hashed_again_and_accepted(settled: Path, hashes: Hashes):
    Bundle.open(settled)
    os.utime(settled / WEIGHTS, (1, 1))
    assert WEIGHTS in hashes.opened(settled)
    assert WEIGHTS not in hashes.opened(settled)


def test_a_file_that_has_just_changed_is_not_sealed(bundle: Bundle, own_cache: Path, hashes: Hashes):
    """A change within the same tick of the clock would leave its times the same."""
    for _ in range(2):
        assert WEIGHTS in hashes.opened(bundle.folder)
    assert not (own_cache / "seals").exists()


def test_a_seal_ends_with_the_month_with_the_version_and_with_another_folder(
    settled: Path, hashes: Hashes, own_cache: Path, monkeypatch: pytest.MonkeyPatch
):
    Bundle.open(settled)
    shutil.copytree(settled, settled.with_name("copy"))
    assert WEIGHTS in hashes.opened(settled.with_name("copy"))
    with monkeypatch.context() as patch:
        patch.setattr(verified_folder, "__version__", "0.0.1")
        assert WEIGHTS in hashes.opened(settled)
    Bundle.open(settled)
    for each in (own_cache / "seals").iterdir():
        os.utime(each, (0, 0))
    assert WEIGHTS in hashes.opened(settled)


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b"\xff", b"[" * 100_000])
def test_a_damaged_seal_is_none(settled: Path, hashes: Hashes, own_cache: Path, content: bytes):
    Bundle.open(settled)
    (seal,) = (own_cache / "seals").iterdir()
    seal.write_bytes(content)
    assert WEIGHTS in hashes.opened(settled)
    assert WEIGHTS not in hashes.opened(settled)


def test_seals_that_others_can_write_are_not_used(settled: Path, hashes: Hashes, own_cache: Path):
    Bundle.open(settled)
    (own_cache / "seals").chmod(0o777)
    for _ in range(2):
        assert WEIGHTS in hashes.opened(settled)


def test_without_a_cache_every_opening_checks(settled: Path, hashes: Hashes, own_cache: Path):
    own_cache.write_text("a file in the way")
    for _ in range(2):
        assert WEIGHTS in hashes.opened(settled)
