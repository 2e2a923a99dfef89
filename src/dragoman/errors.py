"""Exception classes of the package, all derived from `DragomanError`.

::

    DragomanError                 every error that a user can fix; the command line prints it in one line
    ├── ConfigError               a setting is unknown, of the wrong type, out of range, or does not fit another
    │   └── CombinationError      parts that cannot be combined; the message lists those that can
    ├── DataError                 a corpus, a batch or a line of text is invalid
    ├── TokenizerError            a tokenizer cannot be trained, saved, loaded or used on this text
    ├── BundleError               a saved model or checkpoint is damaged, incomplete or of another version
    ├── TrainingError             training cannot continue: it diverges, or memory or disk space is exhausted
    └── MissingExtraError         a command needs a package that is not in the base install

Any other exception is a bug.

A message about a value reads ``<setting> must be <rule>, got <value>; <fix>``. One about a state is a plain sentence
that names the way out.
"""

from collections.abc import Iterable
from difflib import SequenceMatcher

_MIN_PREFIX = 3  # letters
_SIMILAR, _VERY_SIMILAR = 0.6, 0.75  # ratios of SequenceMatcher; source and force have 0.73
_MAX_SUGGESTIONS = 4


class DragomanError(Exception):
    """Base class of all errors that a user can fix."""


class ConfigError(DragomanError):
    """A setting is unknown, of the wrong type, out of range, or does not fit another."""


class CombinationError(ConfigError):
    """Parts that cannot be combined; the message lists those that can."""


class DataError(DragomanError):
    """A corpus, a batch or a line of text is invalid."""


class TokenizerError(DragomanError):
    """A tokenizer cannot be trained, saved, loaded or used on this text."""


class BundleError(DragomanError):
    """A saved model or checkpoint is damaged, incomplete or of another version."""


class TrainingError(DragomanError):
    """Training cannot continue: it diverges, or memory or disk space is exhausted."""


class MissingExtraError(DragomanError):
    """A command needs a package that is not in the base install."""


def did_you_mean(name: str, legal: Iterable[str], *, otherwise: str = "", prefix: str = "") -> str:
    """Return ``; did you mean …?`` if legal names are similar; else, under the heading `otherwise`, all legal names.

    Similar is the only name that begins with `name`; or names with the same letters; or the closest ones; or those that
    share a word with it. `prefix`, which all names have, is not compared.
    """
    known = list(legal)
    bare = {each: each.removeprefix(prefix).lower().replace("_", "-") for each in known}
    typed = name.removeprefix(prefix).lower().replace("_", "-")
    longer = [each for each, text in bare.items() if text.startswith(typed) and len(typed) >= _MIN_PREFIX]
    exchanged = [each for each, text in bare.items() if sorted(text) == sorted(typed)]
    ratios = {each: _similarity(text, typed) for each, text in bare.items()}
    closest = [each for each, ratio in ratios.items() if ratio == max(ratios.values()) > 0]
    sharing = [each for each, text in bare.items() if _is_word_of(typed, text) or _is_word_of(text, typed)]
    similar = (longer if len(longer) == 1 else exchanged) or closest or sharing
    if 0 < len(similar) <= _MAX_SUGGESTIONS:
        return f"; did you mean {' or '.join(similar)}?"
    return f"; {otherwise}: {', '.join(known)}" if known and otherwise else ""


def _similarity(text: str, typed: str) -> float:
    """Return how similar two names are, 0 if one is no likely misspelling of the other; typos rarely begin a word."""
    ratio = SequenceMatcher(None, text, typed).ratio()
    is_likely = abs(len(text) - len(typed)) <= len(typed) / 2
    return ratio if is_likely and ratio >= (_SIMILAR if text[:1] == typed[:1] else _VERY_SIMILAR) else 0


def _is_word_of(word: str, name: str) -> bool:
    return len(word) > 1 and f"-{word}-" in f"-{name}-"
