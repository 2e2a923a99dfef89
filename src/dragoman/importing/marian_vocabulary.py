"""Vocabularies of Marian models: ids of SentencePiece, or of a separate list of tokens (``*vocab.yml``).

The lists are written by YAML libraries, but hold one ``token: id`` per line. They are parsed here line by line: a YAML
parser would turn tokens such as ``no``, ``1_000`` and ``~`` into other values and end lines at U+0085 and U+2028.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from sentencepiece import SentencePieceProcessor

from dragoman.bundle.sandboxed_parse import check_sentencepiece
from dragoman.errors import BundleError
from dragoman.importing.imported_model import TokenOrder
from dragoman.importing.source_files import MAX_TEXT_BYTES, SourceFolder

TOKEN_LISTS = re.compile(r".*vocab.*\.ya?ml")
"""Names of lists of tokens."""

_MAX_LIST = 16 << 20  # bytes; a list of 64,000 tokens has 1 MB
_LINE = re.compile(r"(?P<key>.+): +(?P<id>[0-9]{1,7})[ \t\r]*", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_ESCAPED = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    **{letter: letter for letter in ' "/\\'},
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}
"""Characters by the letter after a backslash (YAML 1.2, section 5.7)."""


def read_vocabularies(
    folder: SourceFolder, models: Sequence[str], lists: Sequence[str]
) -> tuple[tuple[TokenOrder, TokenOrder], tuple[bytes, bytes]]:
    """Return token orders and SentencePiece models of both sides from one or two models, and up to two lists."""
    if len(models) not in (1, 2):
        raise BundleError(
            f"{folder.path} must hold one or two vocabularies (.spm), got {len(models)}; keep one per side"
        )
    if len(lists) > 2:
        raise BundleError(f"{folder.path} must hold at most two lists of tokens (*vocab.yml), got {len(lists)}")
    contents = [folder.read_decompressed(name, max_bytes=MAX_TEXT_BYTES) for name in models]
    for content in contents:
        check_sentencepiece(content)
    if lists:
        tokens = [
            parse_token_list(folder.path / name, folder.read_decompressed(name, max_bytes=_MAX_LIST)) for name in lists
        ]
    else:
        tokens = [_pieces(content) for content in contents]
    orders = [_order(folder.path / name, each) for name, each in zip(lists or models, tokens, strict=True)]
    return (orders[0], orders[-1]), (contents[0], contents[-1])


def _pieces(model: bytes) -> list[str]:
    processor = SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(number) for number in range(len(processor))]


def _order(path: Path, tokens: list[str]) -> TokenOrder:
    if missing := [each for each in ("</s>", "<unk>") if each not in tokens]:
        raise BundleError(f"{path} has no {missing[0]}; get the model again")
    return TokenOrder.of(tokens, unk=tokens.index("<unk>"), eos=tokens.index("</s>"), start=None)


def parse_token_list(path: Path, data: bytes) -> list[str]:
    """Return the tokens of a list by id. Each id from 0 on must have one token."""
    try:
        lines = data.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise BundleError(f"{path} must be UTF-8; get the file again") from None
    found: dict[int, str] = {}
    seen: set[str] = set()
    for number, line in enumerate(lines, 1):
        entry = _LINE.fullmatch(line)
        if entry is None and (not line.strip() or line.startswith(("#", "---", "..."))):
            continue
        token = _unquoted(entry["key"]) if entry else None
        if entry is None or token is None or int(entry["id"]) in found or token in seen:
            raise BundleError(
                f"line {number:,} of {path} must be a new token and a new id (token: id), got "
                f"{ascii(line)[1:-1][:60]}; get the file again"
            )
        found[int(entry["id"])] = token
        seen.add(token)
    if not found or max(found) != len(found) - 1:
        raise BundleError(f"{path} must give each id from 0 to {max(found, default=0):,}, got {len(found):,} ids")
    return [found[number] for number in range(len(found))]


def _unquoted(key: str) -> str | None:
    """The text of a YAML scalar on one line; None if its quotes or escapes are wrong."""
    key = key.strip(" ")
    if key[:1] not in {'"', "'"}:
        return key
    inner = key[1:-1]
    if len(key) < 2 or key[-1] != key[0]:
        return None
    if key[0] == "'":
        return inner.replace("''", "'") if "'" not in inner.replace("''", "") else None
    if re.search(r'(?<!\\)(?:\\\\)*"', inner) or (len(inner) - len(inner.rstrip("\\"))) % 2:
        return None
    try:
        plain = _ESCAPE.sub(_character, inner)
        return plain.encode("utf-16", "surrogatepass").decode("utf-16")  # JSON writes two escapes above U+FFFF
    except (KeyError, ValueError, OverflowError):
        return None


def _character(escape: re.Match[str]) -> str:
    digits = escape[1] or escape[2] or escape[3]
    return chr(int(digits, 16)) if digits else _ESCAPED[escape[4]]
