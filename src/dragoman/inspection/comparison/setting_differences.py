"""Compare the settings of several systems: one row per setting with its value in each system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.inspection.comparison.report_types import ComparisonReport, ModelDetails

__all__ = ["SettingRow", "compare_settings"]

_ABSENT = "–"


@dataclass(frozen=True)
class SettingRow:
    """A setting and its value in each system; different values of members are joined by commas."""

    name: str
    values: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether the systems have different values."""
        return len(set(self.values)) > 1


def compare_settings(report: ComparisonReport) -> list[SettingRow]:
    """Return every setting of every system with a configuration, in the order of the configurations."""
    systems = [members for members in report.models.values() if any(member.settings for member in members)]
    names = dict.fromkeys(name for members in systems for member in members for name in member.settings)
    return [SettingRow(name, tuple(_value(members, name) for members in systems)) for name in _by_table(list(names))]


def _by_table(names: Sequence[str]) -> list[str]:
    """Group settings by table, with the tables in order of first occurrence."""
    tables = dict.fromkeys(name.rpartition(".")[0] for name in names)
    tops = dict.fromkeys(table.partition(".")[0] for table in tables)
    ordered = [table for top in tops for table in tables if table.partition(".")[0] == top]
    return [name for table in ordered for name in names if name.rpartition(".")[0] == table]


def _value(members: Sequence[ModelDetails], name: str) -> str:
    values = dict.fromkeys(member.settings.get(name, _ABSENT) for member in members if member.settings)
    return ", ".join(values)
