"""Open the database, SQLite or PostgreSQL, bring its tables to the current version, copy it to a file and back."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from dragoman.environment import import_package, require
from dragoman.errors import ConfigError, DataError
from dragoman.storage import sql

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection, Engine, Table

VARIABLE = "DRAGOMAN_DATABASE"
IN_MEMORY = "memory"
_BUSY_SECONDS = 30
_LOCK = 0x6472676D  # of PostgreSQL, while tables are changed
_COPIED_ROWS = 5000
_PRIVATE = 0o600


def default_url() -> str:
    """Return DRAGOMAN_DATABASE, or the file in the user's data folder."""
    import platformdirs  # noqa: PLC0415 -- only for the default

    if url := os.environ.get(VARIABLE):
        return url
    return f"sqlite:///{platformdirs.user_data_path('dragoman', appauthor=False) / 'dragoman.db'}"


class Database:
    """An open database whose tables have the current version."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @classmethod
    def open(cls, url: str | None = None) -> Self:
        """Open a database by its URL, by default that of `default_url`; an empty one gets its tables.

        `IN_MEMORY` is a new one of this process.
        """
        engine = _engine(url or default_url())
        opened = cls(engine)
        with opened.write() as connection:
            _migrate(connection)
        return opened

    @property
    def is_postgresql(self) -> bool:
        return self.engine.dialect.name == "postgresql"

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        """Begin a transaction that sees one state of the database."""
        options: dict[str, Any] = {"isolation_level": "REPEATABLE READ"} if self.is_postgresql else {}
        with _plain_errors(), self.engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        """Begin a transaction; what it wrote is on the disk when it ends without an exception."""
        options = {"dragoman_writes": True}
        with _plain_errors(), self.engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection

    def close(self) -> None:
        self.engine.dispose()


@contextlib.contextmanager
def _plain_errors() -> Iterator[None]:
    """Report errors of the database, such as a full disk, a lock or a lost connection, as `DataError`."""
    from sqlalchemy.exc import DBAPIError, IntegrityError  # noqa: PLC0415 -- an extra

    try:
        yield
    except IntegrityError:
        raise
    except UnicodeEncodeError:
        raise DataError("text for the database must be Unicode, got half of a surrogate pair; decode it") from None
    except DBAPIError as error:
        raise _unusable(error.orig) from error


def _unusable(error: BaseException | None) -> DataError:
    reason = str(error).strip().partition("\n")[0]
    return DataError(f"the database cannot be used: {reason}; correct it, or name another with --database")


def _engine(url: str) -> Engine:
    sqlalchemy: Any = import_package("sqlalchemy", "memory", "a database")
    options: dict[str, Any] = {"connect_args": {"timeout": _BUSY_SECONDS, "check_same_thread": False}}
    if url == IN_MEMORY:  # one connection, which one thread uses at a time
        options |= {"poolclass": sqlalchemy.QueuePool, "pool_size": 1, "max_overflow": 0}
        return _sqlite("sqlite://", options)
    try:
        parsed = sqlalchemy.make_url(url)
    except sqlalchemy.exc.ArgumentError:
        parsed = None
    kind = "" if parsed is None else parsed.get_backend_name()
    if parsed is None or kind not in ("sqlite", "postgresql") or (kind == "sqlite" and not parsed.database):
        raise ConfigError(
            f"database must be sqlite:///FILE or postgresql://USER@HOST/NAME, got {url.partition('@')[0]!r}; write one"
        )
    if kind == "postgresql":
        require("psycopg", "postgresql", "a PostgreSQL database")
        engine: Engine = sqlalchemy.create_engine(parsed.set(drivername="postgresql+psycopg"), pool_pre_ping=True)
        return engine
    _create_file(Path(parsed.database))
    return _sqlite(parsed, options)


def _create_file(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=_PRIVATE)
    except OSError as error:
        raise ConfigError(f"database must be a file that can be written, got {path}: {error.strerror}") from None


def check_default() -> None:
    """Raise if the file of the default URL cannot be used; SQLAlchemy, which is slow to import, is not needed."""
    path = Path(default_url().removeprefix("sqlite:///"))
    _create_file(path)
    try:
        with contextlib.closing(sqlite3.connect(path, _BUSY_SECONDS, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'schema_version'").fetchone():
                _check_version(max(connection.execute("SELECT version FROM schema_version").fetchone() or (0,)))
    except sqlite3.Error as error:
        raise _unusable(error) from error


def _sqlite(url: Any, options: dict[str, Any]) -> Engine:
    made = sql.create_engine(url, **options)
    sql.event.listen(made, "connect", _configure_sqlite)
    sql.event.listen(made, "begin", _begin_sqlite)
    return made


def _configure_sqlite(connection: Any, _: object) -> None:
    connection.isolation_level = None  # transactions begin in `_begin_sqlite`, not before the first change
    pragmas = ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "cache_size = -65536")
    for pragma in (*pragmas, "secure_delete = ON"):  # what is erased must not stay in free pages
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    """Take the write lock at once: a transaction that reads first could not wait for it."""
    is_writing = connection.get_execution_options().get("dragoman_writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writing else "BEGIN")


def _create_tables(connection: Connection) -> None:
    sql.METADATA.create_all(connection)


def _index_hashes_alone(connection: Connection) -> None:
    connection.exec_driver_sql("DROP INDEX memory_unit_hashes")
    connection.exec_driver_sql("CREATE INDEX memory_unit_hashes ON memory_units (hash)")


def _count_days(connection: Connection) -> None:
    """Usage is counted by day, and was by month."""
    _create_tables(connection)
    if sql.inspect(connection).has_table("usage"):
        connection.exec_driver_sql(
            "INSERT INTO usage_days SELECT owner, month || '-01', characters, 0, 0, 0, 0 FROM usage"
        )
        connection.exec_driver_sql("DROP TABLE usage")


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (
    _create_tables,
    _create_tables,  # each adds those that miss
    _index_hashes_alone,
    _count_days,
)
"""Changes of the tables, in order; the version of a database is the number of those it has."""


def _check_version(known: int) -> None:
    if known > len(MIGRATIONS):
        raise ConfigError(
            f"the database has version {known}, and this program supports {len(MIGRATIONS)}; use a newer Dragoman"
        )


def _migrate(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
    sql.VERSIONS.create(connection, checkfirst=True)
    known = connection.execute(sql.select(sql.VERSIONS.c.version)).scalar() or 0
    _check_version(known)
    if known < len(MIGRATIONS):
        for migration in MIGRATIONS[known:]:
            migration(connection)
        connection.execute(sql.delete(sql.VERSIONS))
        connection.execute(sql.insert(sql.VERSIONS).values(version=len(MIGRATIONS)))


def insert_rows(connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows with all columns of a table in their order: several times as fast as SQLAlchemy's `insert`."""
    if not rows:
        return
    columns = ", ".join(f'"{column.name}"' for column in table.columns)
    if connection.dialect.name != "postgresql":
        marks = ", ".join("?" * len(table.columns))
        connection.exec_driver_sql(f'INSERT INTO "{table.name}" ({columns}) VALUES ({marks})', list(rows))  # noqa: S608
        return
    import psycopg  # noqa: PLC0415 -- an extra

    try:
        driver: Any = connection.connection.driver_connection
        with driver.cursor() as cursor, cursor.copy(f'COPY "{table.name}" ({columns}) FROM STDIN') as copy:
            for row in rows:
                copy.write_row(row)
    except psycopg.Error as error:
        raise _unusable(error) from error


def back_up(database: Database, file: Path) -> int:
    """Write one state of the whole database to a new SQLite file; return the number of rows."""
    from dragoman.files import atomic_write  # noqa: PLC0415

    with atomic_write(file) as draft:
        draft.touch(mode=_PRIVATE)
        with contextlib.closing(Database.open(f"sqlite:///{draft}")) as copy:
            rows = _copy(database, copy)
        with contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")  # one file, which can be read where nothing is written
    return rows


def restore(database: Database, file: Path, *, force: bool = False) -> int:
    """Replace the content of a database by that of a backup, in one transaction; return the number of rows."""
    if not file.is_file():
        raise ConfigError(f"{file} does not exist; name a file of dragoman database backup")
    with file.open("rb") as stream:
        if not stream.read(16).startswith(b"SQLite format 3"):
            raise ConfigError(f"{file} is no backup; name a file of dragoman database backup")
    with tempfile.TemporaryDirectory() as folder:  # opening changes an old version
        copy = Path(shutil.copyfile(file, Path(folder) / "backup.db"))
        with contextlib.closing(Database.open(f"sqlite:///{copy}")) as source:
            return _copy(source, database, force=force)


def _copy(source: Database, target: Database, *, force: bool = False) -> int:
    rows = 0
    # Documents must not live longer in a backup than in the database.
    tables = [table for table in sql.METADATA.sorted_tables if table not in (sql.DOCUMENTS, sql.DOCUMENT_PARTS)]
    with source.read() as reading, target.write() as writing:
        for table in reversed(tables):
            if not force and writing.execute(sql.select(table).limit(1)).first() is not None:
                raise ConfigError("the database has content, which would be lost; replace it with --force")
            writing.execute(sql.delete(table))
        for table in tables:
            result = reading.execution_options(yield_per=_COPIED_ROWS).execute(sql.select(table))
            for some in result.mappings().partitions():
                writing.execute(sql.insert(table), [dict(row) for row in some])
                rows += len(some)
            key = table.autoincrement_column
            if target.is_postgresql and key is not None:  # rows came with their numbers
                last = sql.func.coalesce(sql.select(sql.func.max(key)).scalar_subquery(), 0) + 1
                sequence = sql.func.pg_get_serial_sequence(table.name, key.name)
                writing.execute(sql.select(sql.func.setval(sequence, last, False)))
    return rows


def export_key(database: Database, key: str, file: Path) -> int:
    """Write all that an API key stored as JSON lines, one per row, with the name of its table; return their number."""
    from dragoman.files import atomic_write  # noqa: PLC0415

    rows = 0
    with atomic_write(file) as draft, database.read() as connection:
        draft.touch(mode=_PRIVATE)
        with draft.open("w", encoding="utf-8") as stream:
            for table, condition in owned_tables(key).items():
                result = connection.execution_options(yield_per=_COPIED_ROWS).execute(
                    sql.select(table).where(condition)
                )
                for row in result.mappings():
                    stream.write(json.dumps({"table": table.name, **row}, ensure_ascii=False) + "\n")
                    rows += 1
    return rows


def erase_key(database: Database, key: str) -> int:
    """Delete all that an API key stored; return the number of rows. Its reviews of other memories lose their name."""
    with database.write() as connection:
        owned = owned_tables(key)
        counts = [
            sql.select(sql.func.count()).select_from(table).where(condition) for table, condition in owned.items()
        ]
        rows = sum(connection.execute(count).scalar_one() for count in counts)
        for table, condition in owned.items():
            if "owner" in table.c:
                connection.execute(sql.delete(table).where(condition))
        connection.execute(sql.update(sql.REVIEWS).where(sql.REVIEWS.c.reviewer == key).values(reviewer="erased"))
    if not database.is_postgresql:
        with database.engine.connect() as connection:  # the log of changes has what they replaced
            connection.connection.driver_connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # type: ignore[union-attr]
    return rows


def owned_tables(key: str) -> dict[Table, ColumnElement[bool]]:
    """Return the tables that have rows of an API key, each with the condition that selects them."""
    memories = sql.select(sql.MEMORIES.c.id).where(sql.MEMORIES.c.owner == key)
    directions = sql.select(sql.DIRECTIONS.c.id).where(sql.DIRECTIONS.c.memory.in_(memories))
    glossaries = sql.select(sql.GLOSSARIES.c.id).where(sql.GLOSSARIES.c.owner == key)
    reviews = sql.REVIEWS.c
    owned = (sql.MEMORIES, sql.JOBS, sql.GLOSSARIES, sql.USAGE, sql.DOCUMENTS)
    return {table: table.c.owner == key for table in owned} | {
        sql.DIRECTIONS: sql.DIRECTIONS.c.memory.in_(memories),
        sql.UNITS: sql.UNITS.c.direction.in_(directions),
        sql.REVIEWS: sql.or_(reviews.direction.in_(directions), reviews.reviewer == key),
        sql.TERMS: sql.TERMS.c.glossary.in_(glossaries),
    }
