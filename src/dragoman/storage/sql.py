"""Functions of SQLAlchemy, and the tables, imported at their first use: a server that starts needs neither."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import *  # noqa: F403

    from dragoman.storage.tables import *  # noqa: F403


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    import sqlalchemy  # noqa: PLC0415 -- an extra

    from dragoman.storage import tables  # noqa: PLC0415 -- an extra

    value = globals()[name] = getattr(tables if name.isupper() else sqlalchemy, name)
    return value
