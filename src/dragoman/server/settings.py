"""How the service is to run. Flags go before ``DRAGOMAN_*`` variables, and those before the file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from dragoman.config.closed import Closed, NotNegative, Positive, Size
from dragoman.engines.choose import EngineName, PrecisionName

__all__ = ["Limits", "ServerSettings"]

MIB = 1 << 20


class Limits(Closed):
    """What is refused before any work is done for it."""

    body_bytes: Size = MIB
    """The largest body of a request but for documents."""
    file_bytes: Size = 10 * MIB
    """The largest document."""
    text_characters: Size = 5000
    """The longest text."""
    texts: Size = 64
    """The most texts of a request."""
    alternatives: Annotated[int, Field(ge=0)] = 5
    """The most alternatives of a text."""
    request_pieces: Size = 8192
    """The most source pieces of a request, all its texts together, counted after normalisation."""
    sentence_pieces: Size = 200
    """Sentences of more source pieces are translated in parts: the time of a search grows with the square of them."""
    file_characters: Size = 200_000
    """The most text of a document."""
    seconds: Positive = 30.0
    """How long a request may take, its body included; a document may take ten times as long."""
    body_seconds: Positive = 10.0
    """How long the body of a request may take to arrive."""
    queue_seconds: Positive = 5.0
    """A request that would wait longer than this for its turn is refused with 503."""
    connections: Size = 512
    """The most connections at once."""
    pieces_a_minute: Annotated[int, Field(ge=0)] = 0
    """How many source pieces a key, or an address without one, may have translated in a minute; 0 is no limit."""


class ServerSettings(Closed):
    """All settings of ``dragoman serve`` but the bundles."""

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 5000
    """LibreTranslate's port; 0 takes a free one."""
    hosts: tuple[str, ...] = ()
    """Names that the server may be asked for by (the Host header), beside those of the loopback; `*` is any."""
    origins: tuple[str, ...] = ("*",)
    """Where pages may come from that call it (CORS). No credentials are ever allowed."""
    engine: EngineName = "auto"
    precision: PrecisionName = "auto"
    threads: Size | None = None
    """How many batches are translated at once, of all models together; as many as there are cores if not given."""
    stepwise: bool = False
    """Take engines whose every step is open: text streams piece by piece, and stops within a step."""
    beam: Size = 4
    batch_pieces: Size = 2048
    """The most source pieces of a batch, padding among them."""
    batch_sentences: Size = 32
    batch_wait: NotNegative = 0.0
    """Seconds that a batch which is not full waits for company while every worker is free."""
    memory_bytes: Size | None = None
    """Models beyond so many bytes are unloaded, those first that were not asked for longest; without, none is."""
    watch: NotNegative = 0.0
    """Look for new bundles in the place of the old ones every so many seconds; 0 is never."""
    drain_seconds: NotNegative = 30.0
    """How long requests that are under way may take to end after a SIGTERM."""
    drain_notice: NotNegative = 0.0
    """How long it goes on taking requests after a SIGTERM, while `/readyz` says no; for load balancers."""
    keys: str | None = None
    """A file of keys, one a line; see docs/serving.md. Without, everybody may translate."""
    trust_proxy: bool = False
    """Believe X-Forwarded-For: only behind a proxy that sets it."""
    page: bool = True
    docs: bool = True
    """Serve `/docs` and `/openapi.json`."""
    metrics: bool = True
    log: Literal["text", "json", "off"] = "text"
    limits: Limits = Limits()
