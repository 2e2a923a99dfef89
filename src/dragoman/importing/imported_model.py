"""The result of every importer: settings, weights and tokenizers of a model that is not a bundle yet."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dragoman.bundle.shortlist import Shortlist
from dragoman.bundle.weights import Quantization
from dragoman.config.search import InferenceConfig
from dragoman.errors import BundleError
from dragoman.importing.file_formats.weight_table import Array
from dragoman.importing.language_tokens import LanguageTokens
from dragoman.text import Tokenizer


@dataclass
class ImportedModel:
    """Settings of the model section, weights by their names in Dragoman, and tokenizers.

    `languages` are source and target as far as the files name them. `languages_file` is the file whose content names
    them; it is empty if only the names of files and folders do. `target_tokens` are those of which one must begin
    each source sentence, if the model has several target languages. `language_tokens` give the directions of a model
    with several. `notes` are facts that a user should read.
    """

    model: dict[str, Any]
    weights: dict[str, Array]
    tokenizers: dict[str, Tokenizer]
    languages: tuple[str, str] = ("", "")
    languages_file: str = ""
    target_tokens: tuple[str, ...] = ()
    language_tokens: LanguageTokens | None = None
    notes: list[str] = field(default_factory=list)
    inference: InferenceConfig | None = None
    quantization: Quantization | None = None
    shortlist: Shortlist | None = None


def setting(table: Any, name: str, kind: type, default: Any = None, *, file: str = "config.json") -> Any:
    """Return an entry of a JSON object and check its type; an absent one has the default, or is an error."""
    value = table.get(name, default) if isinstance(table, dict) else None
    if isinstance(value, bool) and kind is not bool:
        value = None
    if not isinstance(value, kind):
        got = "" if value is None else f", got {ascii(value)[:60]}"
        raise BundleError(f"{name} in {file} must be {_KINDS[kind]}{got}; get the model again")
    return value


def require_values(table: Any, wanted: Sequence[tuple[str, Any, Any]], *, file: str = "config.json") -> None:
    """Require settings (name, default, only supported value) of an architecture."""
    for name, default, value in wanted:
        got = table.get(name, default)
        if got != value:
            raise BundleError(
                f"{name} in {file} must be {str(value).lower()}, got {ascii(got)[:60].lower()}; this variant of the "
                "architecture is not supported"
            )


_KINDS = {
    int: "a whole number",
    bool: "true or false",
    str: "text",
    float: "a number",
    dict: "an object",
    list: "a list",
}
