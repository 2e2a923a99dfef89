"""An untrusted SentencePiece model is first parsed in a separate process."""

import subprocess

import pytest

from dragoman.bundle import sandboxed_parse
from dragoman.bundle.sandboxed_parse import check_sentencepiece
from dragoman.errors import BundleError
from dragoman.text import SentencePieceTokenizer


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandboxed_parse, "_passed", set())


def test_a_good_model_passes(subwords: SentencePieceTokenizer):
    check_sentencepiece(subwords.to_bytes())
    assert len(sandboxed_parse._passed) == 1


@pytest.mark.parametrize(
    "code",
    [
        "import os; os.abort()",
        "while True: pass",
        "x = bytearray(1 << 40)",
        "open('written', 'wb', buffering=0).write(b'1')",
        "raise SystemExit(1)",
    ],
    ids=["crash", "hang", "memory", "write", "refusal"],
)
def test_what_would_harm_us_harms_nobody(
    code: str, tmp_path, monkeypatch: pytest.MonkeyPatch, subwords: SentencePieceTokenizer
):
    monkeypatch.chdir(tmp_path)
    limits, read, rest = sandboxed_parse._SCRIPT.partition("from sentencepiece")
    monkeypatch.setattr(sandboxed_parse, "_SCRIPT", f"{limits}{code}\n{read}{rest}")
    with pytest.raises(
        BundleError, match="must be a SentencePiece model of at most 16,777,216 bytes that can be read in 1 s"
    ):
        check_sentencepiece(subwords.to_bytes())
    assert [path.stat().st_size for path in tmp_path.iterdir()] in ([], [0])


def test_waiting_has_an_end(monkeypatch: pytest.MonkeyPatch):
    def never(*args: object, **settings: object) -> None:
        raise subprocess.TimeoutExpired("python", 30)

    monkeypatch.setattr(subprocess, "run", never)
    with pytest.raises(BundleError, match="got 3 bytes that cannot"):
        check_sentencepiece(b"abc")


def test_a_large_model_is_refused_before_it_is_parsed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sandboxed_parse, "_readable", lambda data: True)
    with pytest.raises(BundleError, match="got 16,777,217 bytes that cannot"):
        check_sentencepiece(bytes((16 << 20) + 1))
