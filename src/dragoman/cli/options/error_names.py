"""Replace setting names in error messages by the names of command-line options."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dragoman.config.options_environment_toml import flag_name
from dragoman.config.validation_errors import SettingError
from dragoman.errors import ConfigError

__all__ = ["named_as_typed"]


@contextmanager
def named_as_typed(*names: str) -> Iterator[None]:
    """Replace the name of a setting at the start of an error message by its option: ``engine`` -> ``--engine``."""
    try:
        yield
    except SettingError as error:
        raise ConfigError(error.named(flag_name)) from None
    except ConfigError as error:
        message = str(error).removeprefix("the ")
        for name in sorted(names, key=len, reverse=True):
            spoken = name.replace("_", " ")  # "backward layer must be …"
            for start in (name, spoken):
                if message.startswith(f"{start} "):
                    raise ConfigError(flag_name(name) + message.removeprefix(start)) from None
        raise
