"""Read Argos packages (.argosmodel, or their unpacked folder): a CTranslate2 model, SentencePiece and metadata.json."""

from dragoman.errors import BundleError
from dragoman.importing.ctranslate2_folder import read_network
from dragoman.importing.imported_model import ImportedModel, setting
from dragoman.importing.language_tokens import LanguageTokens
from dragoman.importing.source_files import SourceFolder
from dragoman.language_codes import parse_language
from dragoman.text import SPECIALS

_SUBWORDS = "sentencepiece.model"


def matches(folder: SourceFolder) -> bool:
    """Whether a folder holds an unpacked package."""
    return folder.has("metadata.json", "model/model.bin")


def read(folder: SourceFolder) -> ImportedModel:
    """Read the model; raise a `BundleError` if a file is damaged or the architecture has no equivalent."""
    metadata = folder.read_json("metadata.json")
    if not folder.has(_SUBWORDS):
        raise BundleError(
            f"{folder.path} must hold {_SUBWORDS}, got {folder.listing()}; packages with bpe.model are not supported"
        )
    subwords = [folder.read(_SUBWORDS)]
    inner = SourceFolder(folder.path / "model", folder.used, prefix="model/")
    imported = read_network(inner, subwords)
    codes = [str(setting(metadata, name, str, "", file="metadata.json"))[:20] for name in ("from_code", "to_code")]
    if all(codes):
        imported.languages = parse_language(codes[0]), parse_language(codes[1])
        imported.languages_file = "metadata.json"
    prefix = metadata.get("target_prefix") if isinstance(metadata, dict) else None
    if prefix:
        imported.language_tokens = _target_prefix(prefix, imported)
    return imported


def _target_prefix(prefix: object, imported: ImportedModel) -> LanguageTokens:
    """The token that begins every translation."""
    tokenizer, (source, target) = imported.tokenizers["target"], imported.languages
    if not isinstance(prefix, str) or tokenizer.token_to_id(prefix) < len(SPECIALS):
        raise BundleError(
            f"target_prefix in metadata.json must be a token of the target vocabulary, got {ascii(prefix)[:60]}; get "
            "the package again"
        )
    if not (source and target):
        raise BundleError("metadata.json has a target_prefix, but no from_code or to_code")
    return LanguageTokens("target", {target: prefix}, (source,), (target,))
