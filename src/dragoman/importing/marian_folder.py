"""Read native Marian models (.npz) and Firefox or Bergamot models (.bin), with their SentencePiece vocabularies."""

from __future__ import annotations

import re

import numpy as np
from sentencepiece import SentencePieceProcessor

from dragoman.bundle.sandboxed_parse import check_sentencepiece
from dragoman.bundle.shortlist import Shortlist
from dragoman.errors import BundleError
from dragoman.importing.file_formats.bergamot_file import read_bergamot
from dragoman.importing.file_formats.lexical_shortlist_file import read_lexical_shortlist
from dragoman.importing.file_formats.npz_file import read_npz
from dragoman.importing.imported_model import ImportedModel
from dragoman.importing.marian_network import convert_network, convert_quantization, parse_options
from dragoman.importing.source_files import MAX_TEXT_BYTES, SourceFolder
from dragoman.importing.token_order import TokenOrder
from dragoman.language_codes import is_known_language
from dragoman.text import UNK_ID, ImportedTokenizer, Tokenizer

__all__ = ["matches_firefox", "matches_marian", "read_firefox", "read_marian"]

_MAX_MODEL = 2 << 30
_MAX_LEXICON = 256 << 20
_LEXICON = re.compile(r"lex\..*\.bin(?:\.gz)?")
_BINARY = re.compile(r"model\..*\.bin(?:\.gz)?")
_VOCABULARY = re.compile(r"(src|trg)?vocab\..*spm(?:\.gz)?|vocab\.spm")
_PAIR = re.compile(r"\.([a-z]{2})([a-z]{2})\.")


def matches_firefox(folder: SourceFolder) -> bool:
    """Whether a folder holds a model of Firefox or Bergamot."""
    names = folder.names()
    return any(map(_BINARY.fullmatch, names)) and any(map(_VOCABULARY.fullmatch, names))


def read_firefox(folder: SourceFolder) -> ImportedModel:
    """Read the model; raise a `BundleError` if a file is damaged or the architecture has no equivalent."""
    name = _only(folder, [each for each in folder.names() if _BINARY.fullmatch(each)], "model.*.bin")
    vocabularies = sorted(each for each in folder.names() if _VOCABULARY.fullmatch(each))  # src… before trg…
    orders, models = _orders(folder, vocabularies)
    data = folder.read_decompressed(name, max_bytes=_MAX_MODEL)
    weights, config = read_bergamot(folder.path / name, data)
    settings, arrays = convert_network(parse_options(config), weights, *orders)
    imported = ImportedModel(settings, arrays, _tokenizers(orders, models), _languages(name))
    imported.quantization = convert_quantization(settings, weights, len(orders[0].rows))
    imported.shortlist = _shortlist(folder, *orders)
    if imported.quantization is not None:
        imported.notes.append("weights are int8; the bundle holds them as float32 and their multipliers")
    elif weights.multipliers:
        imported.notes.append("int8 weights were converted to float32")
    if imported.shortlist is not None:
        imported.notes.append("the lexical shortlist is used by ONNX Runtime; --no-shortlist turns it off")
    return imported


def _shortlist(folder: SourceFolder, source: TokenOrder, target: TokenOrder) -> Shortlist | None:
    """The lexical shortlist of the folder, with the ids of the bundle.

    As in Marian, a source token that is also a target token may be copied.
    """
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
    """Read the model; raise a `BundleError` if a file is damaged or the architecture has no equivalent."""
    name = _only(folder, [each for each in folder.names() if each.endswith(".npz")], "*.npz")
    orders, models = _orders(folder, [each for each in folder.names() if each.endswith(".spm")])
    weights, config = read_npz(folder.file(name, max_bytes=_MAX_MODEL))
    settings, arrays = convert_network(parse_options(config), weights, *orders)
    return ImportedModel(settings, arrays, _tokenizers(orders, models), _languages(name))


def _only(folder: SourceFolder, names: list[str], pattern: str) -> str:
    if len(names) != 1:
        raise BundleError(f"{folder.path} must hold one {pattern}, got {len(names)}; put one model into one folder")
    return names[0]


def _orders(folder: SourceFolder, names: list[str]) -> tuple[tuple[TokenOrder, TokenOrder], list[bytes]]:
    """Token orders and SentencePiece models of source and target; ids are those of SentencePiece."""
    if len(names) not in (1, 2):
        raise BundleError(
            f"{folder.path} must hold one or two vocabularies (.spm), got {len(names)}; keep one per side"
        )
    models = [folder.read_decompressed(name, max_bytes=MAX_TEXT_BYTES) for name in names]
    orders = []
    for name, model in zip(names, models, strict=True):
        check_sentencepiece(model)
        processor = SentencePieceProcessor(model_proto=model)
        tokens = [processor.id_to_piece(number) for number in range(len(processor))]
        if missing := [each for each in ("</s>", "<unk>") if each not in tokens]:
            raise BundleError(f"{folder.path / name} must hold {missing[0]}, got none; get the model again")
        orders.append(TokenOrder.of(tokens, unk=tokens.index("<unk>"), eos=tokens.index("</s>"), start=None))
    return (orders[0], orders[-1]), [models[0], models[-1]]


def _tokenizers(orders: tuple[TokenOrder, TokenOrder], models: list[bytes]) -> dict[str, Tokenizer]:
    made: list[Tokenizer] = [
        ImportedTokenizer(order.tokens, model) for order, model in zip(orders, models, strict=True)
    ]
    return dict(zip(("source", "target"), made, strict=True))


def _languages(name: str) -> tuple[str, str]:
    """The languages of a name such as model.enpt.intgemm.alphas.bin."""
    found = _PAIR.search(name)
    return (found[1], found[2]) if found and all(map(is_known_language, found.groups())) else ("", "")
