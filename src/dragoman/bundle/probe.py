"""A stranger's SentencePiece model is first read in a process of its own, which may take little and can break nothing.

Its parser is native code. What would hang it, fill the memory or crash it does so there.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys

from dragoman.errors import BundleError

__all__ = ["check_sentencepiece"]

_MEMORY = 2 << 30  # bytes of address space: far more than the largest model takes
_SECONDS = 1  # of computing; a model of 256,000 pieces takes a third of it
_WAIT = 30  # on a machine that is busy with other things

_PROBE = f"""
import resource, sys
for limit, most in (
    (resource.RLIMIT_AS, {_MEMORY}), (resource.RLIMIT_CPU, {_SECONDS}), (resource.RLIMIT_FSIZE, 0),
    (resource.RLIMIT_CORE, 0),
):
    try:
        resource.setrlimit(limit, (most, most))
    except (OSError, ValueError):
        pass
from sentencepiece import SentencePieceProcessor
model = SentencePieceProcessor(model_proto=sys.stdin.buffer.read())
model.decode(model.encode("A sentence, \\u00e0 l'essai \\u2014 \\u4f60\\u597d 123."))
sys.exit(0 if len(model) else 1)
"""

_passed: set[str] = set()


def check_sentencepiece(data: bytes) -> None:
    """Refuse a model that cannot be read with little memory in little time; ask once for each content."""
    digest = hashlib.sha256(data).hexdigest()
    if digest in _passed:
        return
    if not _readable(data):
        raise BundleError(
            f"the tokenizer must be a SentencePiece model that can be read in {_SECONDS} s, got {len(data):,} bytes "
            "that cannot; get the bundle from somebody you trust"
        )
    _passed.add(digest)


def _readable(data: bytes) -> bool:
    command = [sys.executable, "-I", "-c", _PROBE]
    try:
        done = subprocess.run(command, input=data, capture_output=True, check=False, timeout=_WAIT)  # noqa: S603 -- ours
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0
