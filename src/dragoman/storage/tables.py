"""Tables of the database. A change needs a migration in `storage.database`."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

METADATA = MetaData()

VERSIONS = Table("schema_version", MetaData(), Column("version", Integer, nullable=False))

MEMORIES = Table(
    "memories",
    METADATA,
    Column("id", String(36), primary_key=True),
    Column("owner", String(64), nullable=False),  # name of an API key; empty: the operator
    Column("name", String(200), nullable=False),
    Column("is_shared", Boolean, nullable=False),  # every key may read it
    Column("created", BigInteger, nullable=False),  # microseconds since 1970, as all times
    Column("updated", BigInteger, nullable=False),
    UniqueConstraint("owner", "name"),
)

DIRECTIONS = Table(  # the languages of the units of a memory
    "memory_directions",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("memory", String(36), ForeignKey("memories.id", ondelete="CASCADE"), nullable=False),
    Column("source", String(35), nullable=False),
    Column("target", String(35), nullable=False),
    Column("next", Integer, nullable=False),  # number of the next unit
    Column("units", Integer, nullable=False),  # that are approved
    UniqueConstraint("memory", "source", "target"),
)

JOBS = Table(  # imports and exports over HTTP
    "memory_jobs",
    METADATA,
    Column("id", String(36), primary_key=True),
    Column("owner", String(64), nullable=False),
    Column("memory", String(36), ForeignKey("memories.id", ondelete="CASCADE"), nullable=False),
    Column("operation", String(8), nullable=False),
    Column("status", String(16), nullable=False),
    Column("error", Text, nullable=False),
    Column("skipped", Integer, nullable=False),
    Column("created", BigInteger, nullable=False),
)

UNITS = Table(
    "memory_units",
    METADATA,
    Column("direction", Integer, ForeignKey("memory_directions.id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("hash", BigInteger, nullable=False),  # of the source without its numbers and placeholders
    Column("source", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("before", Text, nullable=False),  # sources of the units before and after it; empty: not known
    Column("after", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("state", String(8), nullable=False),  # approved, pending, rejected
    Column("origin", Text, nullable=False),  # name of the file, or suggestion
    PrimaryKeyConstraint("direction", "number"),
    Index("memory_unit_hashes", "hash"),
    Index(
        "memory_units_to_review",
        *("direction", "state", "number"),
        sqlite_where=text("state <> 'approved'"),
        postgresql_where=text("state <> 'approved'"),
    ),
    sqlite_with_rowid=False,
)

POSTINGS = Table(  # in which units of a batch a term occurs: storage.memory_index
    "memory_postings",
    METADATA,
    Column("direction", Integer, ForeignKey("memory_directions.id", ondelete="CASCADE"), nullable=False),
    Column("term", Integer, nullable=False),
    Column("first", Integer, nullable=False),
    Column("numbers", LargeBinary, nullable=False),
    PrimaryKeyConstraint("direction", "term", "first"),
    sqlite_with_rowid=False,
)

REVIEWS = Table(  # who approved or rejected a unit, and when
    "memory_reviews",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("direction", Integer, ForeignKey("memory_directions.id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("state", String(8), nullable=False),
    Column("reviewer", Text, nullable=False),  # name of an API key; empty: the operator
    Column("created", BigInteger, nullable=False),
    Index("memory_reviews_of_unit", "direction", "number"),
)

GLOSSARIES = Table(
    "glossaries",
    METADATA,
    Column("id", String(36), primary_key=True),
    Column("owner", String(64), nullable=False),
    Column("name", Text, nullable=False),
    Column("created", String(40), nullable=False),  # ISO 8601, as the API returns it
    Index("glossary_owners", "owner"),
)

TERMS = Table(  # of a glossary and language pair
    "glossary_terms",
    METADATA,
    Column("glossary", String(36), ForeignKey("glossaries.id", ondelete="CASCADE"), nullable=False),
    Column("source", String(35), nullable=False),
    Column("target", String(35), nullable=False),
    Column("place", Integer, nullable=False),  # order of the language pairs
    Column("digest", String(64), nullable=False),  # of the terms
    Column("characters", BigInteger, nullable=False),
    Column("terms", Text, nullable=False),  # JSON
    PrimaryKeyConstraint("glossary", "source", "target"),
)

COUNTED = ("characters", "remembered", "corrections", "edits", "words")
"""Of a day: characters translated, those of them that a memory answered, corrections, and of those with a draft the
words changed, and all words of the correction."""

USAGE = Table(
    "usage_days",
    METADATA,
    Column("owner", String(64), nullable=False),
    Column("day", String(10), nullable=False),  # ISO 8601, UTC
    *(Column(name, BigInteger, nullable=False) for name in COUNTED),
    PrimaryKeyConstraint("owner", "day"),
)

DOCUMENTS = Table(  # translations that wait for their download; not in backups
    "documents",
    METADATA,
    Column("id", String(64), primary_key=True),  # hash of the secret that allows the download
    Column("owner", String(64), nullable=False),
    Column("client", String(64), nullable=False),  # salted hash of the key or the address
    Column("name", Text, nullable=False),
    Column("status", String(16), nullable=False),  # translating, done, error
    Column("error", Text, nullable=False),
    Column("characters", Integer, nullable=False),
    Column("size", Integer, nullable=False),
    Column("is_downloaded", Boolean, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("until", BigInteger, nullable=False),
)

DOCUMENT_PARTS = Table(
    "document_parts",
    METADATA,
    Column("document", String(64), ForeignKey("documents.id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("data", LargeBinary, nullable=False),
    PrimaryKeyConstraint("document", "number"),
)
