"""Convert saved configurations of earlier format versions to the current setting names."""

from __future__ import annotations

import copy
from typing import Any

_RENAMED_IN_VERSION_2 = {
    "data.max_pieces": "max_tokens",
    "start.new_pieces": "new_tokens",
}
"""Settings by their dotted names in version 1, with their new names in the same table."""


def migrate_config(table: dict[str, Any], version: int) -> dict[str, Any]:
    """The settings of a `dragoman.toml` from a bundle or checkpoint of a format version, with their current names."""
    table = copy.deepcopy(table)
    if version < 2:
        for path, name in _RENAMED_IN_VERSION_2.items():
            *sections, old = path.split(".")
            section: Any = table
            for each in sections:
                section = section.get(each) if isinstance(section, dict) else None
            if isinstance(section, dict) and old in section and name not in section:
                section[name] = section.pop(old)
    return table
