"""Read Marian models (.npz) and Firefox or Bergamot models (.bin), with the vocabularies of both.

Ids are those of SentencePiece, or of a separate list of tokens (``*vocab.yml``), which YAML libraries write with one
``token: id`` per line. It is parsed line by line: a YAML parser would turn tokens such as ``no``, ``1_000`` and ``~``
into other values and end lines at U+0085 and U+2028.
"""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sentencepiece import SentencePieceProcessor

from dragoman.bundle.sandboxed_parse import check_sentencepiece
from dragoman.bundle.shortlist import Shortlist
from dragoman.config.search import InferenceConfig
from dragoman.errors import BundleError
from dragoman.importing.file_formats.bergamot_file import read_bergamot, read_lexical_shortlist
from dragoman.importing.file_formats.weight_table import read_npz
from dragoman.importing.imported_model import ImportedModel, TokenOrder, setting
from dragoman.importing.language_tokens import add_target_tokens, find_pair
from dragoman.importing.marian_network import convert_network, convert_quantization, parse_options
from dragoman.importing.source_files import COMPRESSED, MAX_TEXT_BYTES, SourceFolder
from dragoman.language_codes import parse_language
from dragoman.text import UNK_ID, ImportedTokenizer, Tokenizer

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


_MAX_MODEL = 2 << 30
_MAX_LEXICON = 256 << 20
_LEXICON = re.compile(rf"lex\..*\.bin{COMPRESSED}")
_BINARY = re.compile(rf"model\..*\.bin{COMPRESSED}")
_VOCABULARY = re.compile(rf"(src|trg)?vocab\..*spm{COMPRESSED}")
_METADATA, _MODEL_INFO, _README = "metadata.json", "model_info.json", "README.md"
_DECODER = re.compile(r".*decoder\.yml|config\..*yml")
_MAX_SETTINGS = 1 << 20
_ITEM = re.compile(r"\s*-\s+[\"']?([^\"'\s]+)[\"']?\s*")
_README_LANGUAGES = re.compile(r"^\* (source|target) language(?:s|\(s\)): *(.+?) *$", re.MULTILINE)


def matches_firefox(folder: SourceFolder) -> bool:
    """Whether a folder holds a model of Firefox or Bergamot."""
    names = folder.names()
    return any(map(_BINARY.fullmatch, names)) and any(map(_VOCABULARY.fullmatch, names))


def read_firefox(folder: SourceFolder) -> ImportedModel:
    """Read the model; raise a `BundleError` if a file is damaged or the architecture has no equivalent."""
    name = _only(folder, [each for each in folder.names() if _BINARY.fullmatch(each)], "model.*.bin")
    found = sorted(each for each in folder.names() if _VOCABULARY.fullmatch(each))  # src… before trg…
    listed = [each for each in _decoder_lists(folder).get("vocabs", []) if each in found]
    vocabularies = list(dict.fromkeys(listed)) or found
    orders, models = read_vocabularies(folder, vocabularies, ())
    data = folder.read_decompressed(name, max_bytes=_MAX_MODEL)
    weights, config = read_bergamot(folder.path / name, data)
    settings, arrays = convert_network(parse_options(config), weights, *orders)
    imported = ImportedModel(settings, arrays, _tokenizers(orders, models), find_pair(name))
    _read_metadata(folder, name, data, imported)
    imported.quantization = convert_quantization(settings, weights, len(orders[0].rows))
    imported.shortlist = _shortlist(folder, *orders)
    is_int8 = imported.quantization is not None
    imported.inference = InferenceConfig(beam=1, precision="int8" if is_int8 else "float32")
    imported.notes.append("it was made for greedy search, which is used unless a beam is given; --beam 5 searches more")
    if is_int8:
        size = sum(each.size for each in arrays.values()) / 1e6
        imported.notes.append(
            f"weights are int8, {size:,.0f} MB; the bundle holds the int8 numbers, and ONNX Runtime computes with them"
        )
    elif weights.multipliers:
        imported.notes.append("int8 weights were converted to float32")
    if imported.shortlist is not None:
        imported.notes.append("the lexical shortlist is used by ONNX Runtime; --no-shortlist turns it off")
    imported.notes += _skipped_shortlists(folder, has_one=imported.shortlist is not None)
    return imported


def _read_metadata(folder: SourceFolder, name: str, data: bytes, imported: ImportedModel) -> None:
    """Take the languages and the architecture from metadata.json, and compare its hash with that of the model."""
    if folder.has(_MODEL_INFO):
        _read_model_info(folder, imported)
    if not folder.has(_METADATA):
        return
    table = folder.read_json(_METADATA)
    stated = str(setting(table, "hash", str, "", file=_METADATA)).lower()
    found = hashlib.sha256(data).hexdigest()
    if stated and stated not in {found, folder.used[folder.prefix + name].sha256}:
        raise BundleError(
            f"{folder.path / name} must have the SHA-256 of {_METADATA}, {ascii(stated)[1:-1][:64]}, got {found}; get "
            "the folder again"
        )
    codes = [str(setting(table, f"{side}Language", str, "", file=_METADATA))[:20] for side in ("source", "target")]
    if all(codes):
        imported.languages = parse_language(codes[0]), parse_language(codes[1])
        imported.languages_file = _METADATA
    if architecture := setting(table, "architecture", str, "", file=_METADATA):
        imported.notes.append(f"{_METADATA} names the architecture {ascii(architecture)[1:-1][:40]}")


def _read_model_info(folder: SourceFolder, imported: ImportedModel) -> None:
    """Take the languages from the description of translateLocally; of several source languages, none."""
    table = folder.read_json(_MODEL_INFO)
    sources = setting(table, "srcTags", dict, {}, file=_MODEL_INFO)
    target = setting(table, "trgTag", str, "", file=_MODEL_INFO)
    if len(sources) == 1 and target:
        imported.languages = parse_language(next(iter(sources))[:20]), parse_language(target[:20])
        imported.languages_file = _MODEL_INFO
    elif not any(imported.languages):
        name = str(setting(table, "shortName", str, "", file=_MODEL_INFO))[:40]
        imported.languages = find_pair("-".join(name.split("-")[:2]))


def _skipped_shortlists(folder: SourceFolder, *, has_one: bool) -> list[str]:
    """Return a note on lexical shortlists that are not read: only binary ones of students are."""
    skipped = [each for each in folder.names() if each.startswith("lex") and not (has_one and _LEXICON.fullmatch(each))]
    if not skipped:
        return []
    return [f"the shortlist {', '.join(skipped)[:200]} is not used; only a binary one (lex.*.bin) of a student is"]


def _shortlist(folder: SourceFolder, source: TokenOrder, target: TokenOrder) -> Shortlist | None:
    """The lexical shortlist with the ids of the bundle; as in Marian, a token of both sides may be copied."""
    names = [each for each in folder.names() if _LEXICON.fullmatch(each)]
    if not names:
        return None
    name = _only(folder, names, "lex.*.bin")
    data = folder.read_decompressed(name, max_bytes=_MAX_LEXICON)
    sizes = (max(source.rows) + 1, max(target.rows) + 1)
    frequent, lists = read_lexical_shortlist(folder.path / name, data, *sizes)
    ours = np.full(sizes[1], UNK_ID, np.int64)  # their id to ours
    for number, row in enumerate(target.rows):
        if row >= 0:
            ours[row] = number
    is_shared = source.tokens == target.tokens
    nothing = np.empty(0, np.int64)
    found = [
        np.append(ours[lists[row]], number) if is_shared and row >= 0 else ours[lists[row]] if row >= 0 else nothing
        for number, row in enumerate(source.rows)
    ]
    return Shortlist.of_lists(ours[:frequent].tolist(), found)


def matches_marian(folder: SourceFolder) -> bool:
    """Whether a folder holds a model of Marian."""
    names = folder.names()
    return any(name.endswith(".npz") for name in names) and any(name.endswith(".spm") for name in names)


def read_marian(folder: SourceFolder) -> ImportedModel:
    """Read the model. The ids are those of a list of tokens, if there is one: SentencePiece then only segments."""
    names = folder.names()
    decoder = _decoder_lists(folder)
    name = _only(folder, _weights(names, decoder.get("models", [])), "*.npz")
    models = [each for each in names if each.endswith(".spm")]
    lists = [each for each in names if TOKEN_LISTS.fullmatch(each)]
    if len(lists) > 1:  # the names of the decoder's settings are in the order of source and target
        lists = [each for each in decoder.get("vocabs", []) if each in lists] or lists
    orders, subwords = read_vocabularies(folder, models, lists)
    weights, config = read_npz(folder.file(name, max_bytes=_MAX_MODEL))
    settings, arrays = convert_network(parse_options(config), weights, *orders)
    imported = ImportedModel(settings, arrays, _tokenizers(orders, subwords), *_readme_languages(folder))
    if not imported.languages_file:
        imported.languages = find_pair(name, *models, *folder.path.parts[:-3:-1])
    if lists:
        add_target_tokens(imported)
    imported.notes += _skipped_shortlists(folder, has_one=False)
    return imported


def _weights(names: list[str], listed: list[str]) -> list[str]:
    """The file that the decoder's settings list, else the one with the best chrF, else all."""
    found = [each for each in names if each.endswith(".npz") and not each.endswith(".optimizer.npz")]
    chosen = [each for each in found if each in listed] or [each for each in found if "best-chrf" in each]
    return chosen if len(found) > 1 and chosen else found


def _decoder_lists(folder: SourceFolder) -> dict[str, list[str]]:
    """The lists of decoder.yml, or config.*.yml, of the decoder: ``models`` and ``vocabs``, without folders."""
    names = [each for each in folder.names() if _DECODER.fullmatch(each)]
    found: dict[str, list[str]] = {}
    if len(names) != 1:
        return found
    heading = ""
    for line in folder.read(names[0], max_bytes=_MAX_SETTINGS).decode("utf-8", "replace").splitlines():
        item = _ITEM.fullmatch(line)
        if item and heading:
            found.setdefault(heading, []).append(item[1].rpartition("/")[2])
        elif not item:
            heading = line.rstrip().removesuffix(":") if line.rstrip().endswith(":") else ""
    return found


def _readme_languages(folder: SourceFolder) -> tuple[tuple[str, str], str]:
    """The languages in README.md of an OPUS-MT model, and its name if it has them; of a side with several, none."""
    if not folder.has(_README) or (folder.path / _README).stat().st_size > _MAX_SETTINGS:
        return ("", ""), ""
    text = folder.read(_README, max_bytes=_MAX_SETTINGS).decode("utf-8", "replace")
    found = {side: codes.split() for side, codes in _README_LANGUAGES.findall(text)}
    sides = [found.get(side, []) for side in ("source", "target")]
    if not all(sides) or not all(re.fullmatch(r"[a-z]{2,3}(_[A-Za-z]{2,4})?", each[0]) for each in sides):
        return ("", ""), ""
    source, target = (parse_language(side[0]) if len(side) == 1 else "" for side in sides)
    return (source, target), _README


def _only(folder: SourceFolder, names: list[str], pattern: str) -> str:
    if len(names) != 1:
        raise BundleError(f"{folder.path} must hold one {pattern}, got {len(names)}; put one model into one folder")
    return names[0]


def _tokenizers(orders: tuple[TokenOrder, TokenOrder], models: tuple[bytes, bytes]) -> dict[str, Tokenizer]:
    made: list[Tokenizer] = [
        ImportedTokenizer(order.tokens, model) for order, model in zip(orders, models, strict=True)
    ]
    return dict(zip(("source", "target"), made, strict=True))
