"""Copy a bundle without the tokens that the text of some languages does not need."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.bundle import Bundle, write_bundle
from dragoman.bundle.shortlist import Shortlist
from dragoman.bundle.weights import Quantization
from dragoman.config import Config, DataConfig
from dragoman.errors import ConfigError, DataError
from dragoman.language_codes import is_same_language
from dragoman.text import SPECIALS, ImportedTokenizer, Normalizer, Tokenizer
from dragoman.text.language_scripts import character_script, language_scripts
from dragoman.text.language_tokens import language_tokens
from dragoman.text.tokenizers.subset import needed_tokens, subset_tokenizer

_SIDES = ("source", "target")
_ROWS = {
    "encoder.embedding.weight": "source",
    "decoder.embedding.weight": "target",
    "decoder.output.weight": "target",
    "decoder.output.bias": "target",
}
"""Weights with a row per token, and the side of the tokens."""


@dataclass(frozen=True)
class PruneResult:
    """The new bundle, and counts for a report. `tokens` and `bytes` are those of the old and of the new bundle."""

    bundle: Bundle
    lines: int
    tokens: tuple[int, int]
    """Tokens of both sides; those of a joint vocabulary count once."""
    bytes: tuple[int, int]


def prune_bundle(
    bundle: Bundle,
    lines: Iterable[str],
    output: Path,
    *,
    languages: Sequence[str] = (),
    min_count: int = 1,
    keep_scripts: bool = False,
) -> PruneResult:
    """Write a copy of a bundle with the tokens that are used `min_count` times in some text, in either direction.

    With `keep_scripts`, tokens without letters of other scripts than those of the languages are kept, too. Special
    tokens, bytes, single characters, and tokens that the others are merged from are kept in any case. Of a model with
    several directions, those between `languages` are kept, all by default; tokens of other languages are removed. Texts
    that need no removed token have the same tokens as before.
    """
    if min_count < 1:
        raise ConfigError(f"min_count must be at least 1, got {min_count}; 1 keeps every token of the text")
    config = _config(bundle.config, languages)
    tokenizers = bundle.tokenizers()
    count, used = _count(tokenizers, lines, Normalizer(form=bundle.config.tokenizer.normal_form))
    if not count and not keep_scripts:
        raise DataError("there is no text to choose the tokens by; name files with text of all languages")
    wanted = [{token for token, times in each.items() if times >= min_count} for each in used]
    if keep_scripts:
        wanted = [
            some | _in_scripts(tokenizers[side], _scripts(config)) for side, some in zip(_SIDES, wanted, strict=True)
        ]
    pruned, rows = _subsets(bundle.config, config, tokenizers, wanted)
    weights = {name: array[rows[_ROWS[name]]] if name in _ROWS else array for name, array in bundle.weights().items()}
    size = max(8, *(each.size for each in pruned.values()))
    config = config.model_copy(update={"tokenizer": config.tokenizer.model_copy(update={"size": size})})
    written = write_bundle(
        output,
        config,
        weights,
        pruned,
        _card(bundle, pruned, count, keep_scripts=keep_scripts),
        quantization=_quantization(bundle.quantization(), rows),
        shortlist=_shortlist(bundle.shortlist(), rows, tokenizers["target"].size),
    )
    return PruneResult(
        written, count, (_tokens(tokenizers), _tokens(written.tokenizers())), (_size(bundle), _size(written))
    )


# ------------------------------------------------------------------------------------------------------------- settings


def _config(config: Config, languages: Sequence[str]) -> Config:
    """Keep the directions between some languages."""
    if not languages:
        return config
    data = config.data
    if data is None:
        raise ConfigError(
            f"the bundle names no languages, so {', '.join(languages)[:80]} cannot be kept; leave them out, or import "
            "the model again with its languages"
        )
    directions = data.all_directions()
    known = dict.fromkeys(code for direction in directions for code in direction)
    chosen = set()
    for code in languages:
        found = [each for each in known if is_same_language(code, each)]
        if not found:
            raise ConfigError(f"languages must be those of the model ({', '.join(known)}), got {code!r}; name others")
        chosen.add(found[0])
    kept = [each for each in directions if chosen.issuperset(each)]
    if not kept:
        raise ConfigError(
            f"languages must be those of a direction of the model, got {', '.join(languages)}; name two of a direction"
        )
    if not data.is_multilingual or len(kept) == len(directions):
        return config
    return config.model_copy(update={"data": _chosen_data(data, kept)})


def _chosen_data(data: DataConfig, kept: list[tuple[str, str]]) -> DataConfig:
    used = {code for direction in kept for code in direction}
    source, target = (data.source, data.target) if (data.source, data.target) in kept else kept[0]
    changes: dict[str, Any] = {
        "source": source,
        "target": target,
        "language_tokens": data.language_tokens or "source",
        "languages": [code for code in data.languages if code in used] if data.languages else None,
        "directions": None if data.languages else [":".join(each) for each in kept],
    }
    if data.language_token_names:
        changes["language_token_names"] = [
            f"{code}:{token}" for code, token in data.token_names.items() if code in used
        ]
    return data.model_copy(update=changes)


# --------------------------------------------------------------------------------------------------------------- tokens


def _count(
    tokenizers: dict[str, Tokenizer], lines: Iterable[str], normalize: Normalizer
) -> tuple[int, list[Counter[str]]]:
    """Count lines, and the tokens of each side in all of them."""
    source, target = (tokenizers[side] for side in _SIDES)
    counts: list[Counter[str]] = [Counter(), Counter()]
    number = 0
    for line in lines:
        text = normalize(line)
        number += bool(text.strip())
        counts[0].update(source.tokens(text))
        if target is not source:
            counts[1].update(target.tokens(text))
    return number, counts if target is not source else [counts[0], counts[0]]


def _subsets(
    old: Config, new: Config, tokenizers: dict[str, Tokenizer], wanted: list[set[str]]
) -> tuple[dict[str, Tokenizer], dict[str, NDArray[np.int64]]]:
    """Return the new tokenizers, and the old rows of their tokens."""
    needed = {side: needed_tokens(tokenizers[side], some) for side, some in zip(_SIDES, wanted, strict=True)}
    removed = set(language_tokens(old.data)) if old.data else set()
    spoken = set(language_tokens(new.data)) if new.data else set()
    removed -= spoken
    kept = {side: (some | spoken | _prefix(tokenizers[side])) - removed for side, some in needed.items()}
    if old.model.tie == "all" or tokenizers["source"] is tokenizers["target"]:
        kept = dict.fromkeys(_SIDES, kept["source"] | kept["target"])
    found: dict[str, Tokenizer] = {}
    rows: dict[str, NDArray[np.int64]] = {}
    for side in _SIDES:
        if side == "target" and tokenizers["target"] is tokenizers["source"]:
            found["target"], rows["target"] = found["source"], rows["source"]
            continue
        found[side], ids = subset_tokenizer(tokenizers[side], kept[side], needed[side] - removed)
        rows[side] = np.asarray(ids, np.int64)
    return found, rows


def _scripts(config: Config) -> set[str]:
    codes = dict.fromkeys(code for each in config.data.all_directions() for code in each) if config.data else {}
    unknown = [code for code in codes if not language_scripts(code)]
    if unknown or not codes:
        reason = f"the script of {', '.join(unknown)} is unknown" if unknown else "the bundle names no languages"
        raise ConfigError(f"{reason}, so tokens cannot be chosen by script; name files with text of all languages")
    return {script for code in codes for script in language_scripts(code)}


def _in_scripts(tokenizer: Tokenizer, scripts: set[str]) -> set[str]:
    """Tokens without letters of other scripts."""
    allowed = scripts | {""}
    tokens = (tokenizer.id_to_token(number) for number in range(tokenizer.size))
    return {token for token in tokens if allowed.issuperset(map(character_script, token))}


def _prefix(tokenizer: Tokenizer) -> set[str]:
    return {tokenizer.prefix} if isinstance(tokenizer, ImportedTokenizer) and tokenizer.prefix else set()


def _tokens(tokenizers: dict[str, Tokenizer]) -> int:
    source, target = (tokenizers[side] for side in _SIDES)
    return source.size if source is target else source.size + target.size


# -------------------------------------------------------------------------------------------------------------- weights


def _quantization(quantization: Quantization | None, rows: dict[str, NDArray[np.int64]]) -> Quantization | None:
    """Keep the multipliers of the rows that are kept."""
    if quantization is None:
        return None
    chosen = [
        {name: array[rows[_ROWS[name]]] if name in _ROWS else array for name, array in part.items()}
        for part in (quantization.weights, quantization.inputs)
    ]
    return Quantization(*chosen)


def _shortlist(shortlist: Shortlist | None, rows: dict[str, NDArray[np.int64]], vocab: int) -> Shortlist | None:
    """Renumber the tokens of a shortlist; `vocab` is the number of old target tokens."""
    if shortlist is None:
        return None
    numbers = np.full(vocab, -1, np.int64)
    numbers[rows["target"]] = np.arange(len(rows["target"]))

    def renumbered(tokens: NDArray[Any]) -> NDArray[np.int64]:
        found: NDArray[np.int64] = numbers[tokens]
        return found[found >= len(SPECIALS)]

    starts, ends = shortlist.offsets[rows["source"]], shortlist.offsets[rows["source"] + 1]
    lists: list[Sequence[int] | NDArray[np.int64]] = [
        renumbered(shortlist.tokens[start:end]) for start, end in zip(starts, ends, strict=True)
    ]
    return Shortlist.of_lists(renumbered(shortlist.always).tolist(), lists)


def _card(bundle: Bundle, pruned: dict[str, Tokenizer], lines: int, *, keep_scripts: bool) -> str:
    before, after = _tokens(bundle.tokenizers()), _tokens(pruned)
    chosen = ", ".join(
        filter(None, (f"those of {lines:,} lines of text" * bool(lines), "those of the scripts" * keep_scripts))
    )
    text = (
        f"{after:,} of {before:,} tokens were kept: {chosen}, and single characters. The original bundle has the "
        f"digest {bundle.digest}."
    )
    return f"{bundle.card().rstrip()}\n\n## Pruning\n\n{text}\n"


def _size(bundle: Bundle) -> int:
    return sum(facts["size"] for facts in bundle.manifest["files"].values())
