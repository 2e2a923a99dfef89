"""Choose the target language of a multilingual model: the token that begins each of its source sentences."""

from __future__ import annotations

from dragoman.errors import ConfigError
from dragoman.importing.imported_model import ImportedModel
from dragoman.language_codes import canonical_language, language_key, parse_language
from dragoman.text import ImportedTokenizer

__all__ = ["choose_target"]

_MAX_LISTED = 800  # characters


def choose_target(model: ImportedModel, language: str | None, code: str | None = None) -> None:
    """Put the token of a language before each source sentence; `language` is a code, or the files name it.

    A token has a code of ISO 639-1 or 639-3, or several parts: ``>>deu<<``, ``>>cmn_Hans<<``. `code` is the language as
    the user wrote it: a model may have several codes of one language.
    """
    codes = {token: token.strip("<>") for token in model.target_tokens}
    wanted = language or model.languages[1]
    found = [token for token, each in codes.items() if each == code] or (_best(codes, wanted) if wanted else [])
    if len(found) != 1:
        legal = ", ".join(sorted(ascii(codes[token])[1:-1] for token in found or codes))
        shown = legal if len(legal) <= _MAX_LISTED else legal[:_MAX_LISTED] + "…"
        raise ConfigError(
            f"--target-language must be one of the languages of the model ({shown}), got "
            f"{repr(wanted) if wanted else 'none'}; name the one that the bundle translates to"
        )
    tokenizer = model.tokenizers["source"]
    assert isinstance(tokenizer, ImportedTokenizer)
    model.tokenizers["source"] = tokenizer.with_prefix(found[0])
    model.languages = (model.languages[0], parse_language(wanted))
    model.notes.append(f"{found[0]} is put before each source sentence; a sentence that begins with another keeps it")


def _best(codes: dict[str, str], wanted: str) -> list[str]:
    """The tokens of a language: of the same code, else of the same script and region, else of any."""
    keys = {token: language_key(canonical_language(code)) for token, code in codes.items()}
    key = language_key(wanted)
    tiers = (
        [token for token, code in codes.items() if canonical_language(code) == wanted],
        [token for token, each in keys.items() if each == key],
        [token for token, each in keys.items() if each.language == key.language and not (key.script or key.region)],
    )
    return next((tier for tier in tiers if tier), [])
