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

A message reads ``<setting> must be <rule>, got <value>; <fix>``.
"""


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
