"""Languages of imported models: in names of files (``opus-mt-en-de``), and language tokens with their directions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

from dragoman.errors import ConfigError
from dragoman.language_codes import (
    canonical_language,
    is_known_language,
    is_same_language,
    language_key,
    parse_language,
)
from dragoman.text import ImportedTokenizer

if TYPE_CHECKING:
    from dragoman.importing.imported_model import ImportedModel


TokenPlace = Literal["source", "target", "both"]

_ALIASES = {"als": "sq", "ns": "nso"}  # Tosk Albanian, of NLLB and OPUS-MT; Northern Sotho, of M2M100
_SEVERAL = "mul"  # ISO 639-2: several languages
_MAX_LISTED = 800  # characters


@dataclass(frozen=True)
class LanguageTokens:
    """Language tokens by language, the side they begin, the languages of both sides, and codes left out."""

    place: TokenPlace
    names: Mapping[str, str]
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    skipped: tuple[str, ...] = ()

    @classmethod
    def of(cls, codes: Mapping[str, str], place: TokenPlace, sources: Sequence[str] = ()) -> Self:
        """The languages of tokens, by the code of each token: ``deu_Latn`` is de, ``zho_Hant`` is zh-Hant.

        The script is left out unless tokens of one language differ in it. `sources` are all languages by default.
        """
        parsed = {token: language for token, code in codes.items() if (language := _language(code))}
        counts = Counter(language.partition("-")[0] for language in parsed.values())
        names: dict[str, str] = {}
        keys = set()
        for token, language in parsed.items():
            primary, _, script = language.partition("-")
            is_only_script = counts[primary] == 1 and len(script) == 4
            name = primary if is_only_script or is_same_language(language, primary) else language
            if (key := language_key(name)) not in keys:
                keys.add(key)
                names[name] = token
        used = set(names.values())
        skipped = tuple(code for token, code in codes.items() if token not in used)
        return cls(place, names, tuple(sources) or tuple(names), tuple(names), skipped)

    def choose(self, languages: Sequence[str], source: str | None, target: str | None) -> Self:
        """Keep directions between some languages, and from or to one language."""
        chosen = {_find(code, (*self.sources, *self.targets), "--languages") for code in languages}
        sources = tuple(each for each in self.sources if each in chosen or not chosen)
        targets = tuple(each for each in self.targets if each in chosen or not chosen)
        if source:
            sources = (_find(source, sources, "--source-language") if self.place == "both" else source,)
        elif self.place != "both":
            sources = self.sources  # one language, or several without tokens
        if target:
            targets = (_find(target, targets, "--target-language"),)
        used = {*targets, *(sources if self.place == "both" else ())}
        names = {language: token for language, token in self.names.items() if language in used}
        return replace(self, names=names, sources=sources, targets=targets)

    def directions(self) -> list[tuple[str, str]]:
        return [(source, target) for source in self.sources for target in self.targets if source != target]

    def settings(self) -> dict[str, Any]:
        """Return the settings of the section [data]."""
        directions = self.directions()
        if not directions:
            got = ", ".join(dict.fromkeys((*self.sources, *self.targets)))
            raise ConfigError(f"the languages must be two that differ, got {got}; name another")
        source, target = next((each for each in directions if each[0] == "en"), directions[0])
        table: dict[str, Any] = {"source": source, "target": target, "language_tokens": self.place}
        if self.sources == self.targets:
            table["languages"] = list(self.targets)
        else:
            table["directions"] = [":".join(each) for each in directions]
        table["language_token_names"] = [":".join(each) for each in self.names.items()]
        return table


def _find(code: str, languages: Sequence[str], option: str) -> str:
    for language in languages:
        if is_same_language(code, language):
            return language
    legal = ", ".join(dict.fromkeys(languages))
    shown = legal if len(legal) <= _MAX_LISTED else legal[:_MAX_LISTED] + "…"
    raise ConfigError(f"{option} must be one of the languages of the model ({shown}), got {code!r}; name another")


def _language(code: str) -> str:
    """The canonical code of the language of a token; empty if it is none."""
    try:
        primary, _, rest = canonical_language(code).partition("-")
        language = parse_language("-".join(filter(None, (_ALIASES.get(primary, primary), rest))))
    except ConfigError:
        return ""
    return language if is_known_language(language) else ""


def add_target_tokens(model: ImportedModel) -> None:
    """Find the language tokens in the vocabulary of a source tokenizer; each gives a direction."""
    tokenizer = model.tokenizers["source"]
    assert isinstance(tokenizer, ImportedTokenizer)
    model.target_tokens = tokenizer.language_tokens
    if model.target_tokens:
        codes = {token: token.strip("<>") for token in model.target_tokens}
        model.language_tokens = LanguageTokens.of(codes, "source", [model.languages[0] or _SEVERAL])


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
            f"--target-language must be one of the languages of the model ({shown})"
            f"{f', got {wanted!r}' if wanted else ''}; name the one that the bundle translates to"
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


_CODE = r"[a-z]{2,3}(?:_(?:[A-Za-z]{4}|[A-Za-z]{2}))?"
_HYPHENATED = (
    re.compile(rf"opus-mt-(?:tc-)?(?:big-|base-|tiny-)?({_CODE})-({_CODE})(?![A-Za-z_])"),
    re.compile(rf"\btranslate-({_CODE})[-_]({_CODE})(?:-|\Z)"),
    re.compile(rf"\.({_CODE})-({_CODE})\."),
    re.compile(rf"\A({_CODE})-({_CODE})\Z"),
)
_JOINED = re.compile(r"\.([a-z]{2,3}[A-Za-z_]{2,13})(?=\.)")
_ENGLISH = "en"
_SHORT = 4  # letters of two codes of two letters


def find_pair(*names: str) -> tuple[str, str]:
    """Return the canonical codes of the first name with two languages; empty strings if none has them."""
    for name in names:
        if pair := _hyphenated(name) or _joined(name):
            return parse_language(pair[0]), parse_language(pair[1])
    return "", ""


def _hyphenated(name: str) -> tuple[str, str] | None:
    for pattern in _HYPHENATED:
        found = pattern.search(name)
        if found and all(map(is_known_language, found.groups())):
            return found[1], found[2]
    return None


def _joined(name: str) -> tuple[str, str] | None:
    """The languages of codes without a separator: enpt, zh_hanten, hbsen. Longer codes need English as the other."""
    for found in _JOINED.finditer(name):
        text = found[1]
        splits = [(text[:place], text[place:]) for place in range(2, len(text) - 1)]
        for split in splits:
            if all(map(_is_code, split)) and (_ENGLISH in split or len(text) == _SHORT):
                return split
    return None


def _is_code(text: str) -> bool:
    return re.fullmatch(_CODE, text) is not None and is_known_language(text)
