"""Parse an untrusted SentencePiece model, which can hang or crash native code, in a limited process."""

from __future__ import annotations

import hashlib
import subprocess
import sys

from dragoman.errors import BundleError

_MAX_BYTES = 16 << 20  # three times a model of 256,000 tokens; parsing takes ten times its size
_MAX_MEMORY = 2 << 30  # bytes of address space: far more than the largest model needs
_CPU_SECONDS = 1  # a model of 256,000 tokens takes a third of it
_TIMEOUT = 30  # seconds of wall-clock time, for a busy machine

_SCRIPT = f"""
import resource, sys
limits = (
    (resource.RLIMIT_AS, {_MAX_MEMORY}), (resource.RLIMIT_CPU, {_CPU_SECONDS}), (resource.RLIMIT_FSIZE, 0),
    (resource.RLIMIT_CORE, 0),
)
for limit, value in limits:
    try:
        resource.setrlimit(limit, (value, value))
    except (OSError, ValueError):
        pass
from sentencepiece import SentencePieceProcessor
model = SentencePieceProcessor(model_proto=sys.stdin.buffer.read())
model.decode(model.encode("A sentence, \\u00e0 l'essai \\u2014 \\u4f60\\u597d 123."))
sys.exit(0 if len(model) else 1)
"""

_passed: set[str] = set()


def check_sentencepiece(data: bytes) -> None:
    """Reject a model that cannot be parsed within the limits; the result is cached by content."""
    digest = hashlib.sha256(data).hexdigest()
    if digest in _passed:
        return
    if len(data) > _MAX_BYTES or not _readable(data):
        raise BundleError(
            f"the tokenizer must be a SentencePiece model of at most {_MAX_BYTES:,} bytes that can be read in "
            f"{_CPU_SECONDS} s, got {len(data):,} bytes that cannot; get the bundle from a trusted source"
        )
    _passed.add(digest)


def _readable(data: bytes) -> bool:
    command = [sys.executable, "-I", "-c", _SCRIPT]
    try:
        done = subprocess.run(command, input=data, capture_output=True, check=False, timeout=_TIMEOUT)  # noqa: S603 -- a fixed command
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0
