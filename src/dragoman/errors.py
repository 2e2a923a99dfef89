"""What can go wrong, as one tree.

::

    DragomanError                 every error a user can mend; the command line prints it in one line
    ├── ConfigError               a setting is unknown, of the wrong type, out of range, or does not fit another
    │   └── CombinationError      parts that do not compose; the message lists the ones that do
    ├── DataError                 a corpus, a batch or a line of text is not what it should be
    ├── TokenizerError            a tokenizer cannot be trained, saved, loaded or used on this text
    ├── BundleError               a saved model or checkpoint is damaged, incomplete or of another version
    ├── TrainingError             training cannot go on: it diverges, or memory or the disk does not suffice
    └── MissingExtraError         a command needs a package that the base install leaves out

Anything else that escapes is a fault of ours.

A message reads ``<setting> must be <rule>, got <value>; <how to mend it>``.
"""

__all__ = [
    "BundleError",
    "CombinationError",
    "ConfigError",
    "DataError",
    "DragomanError",
    "MissingExtraError",
    "TokenizerError",
    "TrainingError",
]


class DragomanError(Exception):
    """The root: catch this one to catch all that a user can mend."""


class ConfigError(DragomanError):
    """A setting is unknown, of the wrong type, out of range, or does not fit another."""


class CombinationError(ConfigError):
    """Parts that do not compose; the message lists the ones that do."""


class DataError(DragomanError):
    """A corpus, a batch or a line of text is not what it should be."""


class TokenizerError(DragomanError):
    """A tokenizer cannot be trained, saved, loaded or used on this text."""


class BundleError(DragomanError):
    """A saved model or checkpoint is damaged, incomplete or of another version."""


class TrainingError(DragomanError):
    """Training cannot go on: it diverges, or memory or the disk does not suffice."""


class MissingExtraError(DragomanError):
    """A command needs a package that the base install leaves out."""
