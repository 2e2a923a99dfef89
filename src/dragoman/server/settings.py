"""Settings of the server, and its limits on requests."""

from typing import Annotated, Literal

from pydantic import Field

from dragoman.config.base import Bytes, Cli, NotNegative, Positive, Settings, Share, Size, ZeroBytes
from dragoman.config.engine import DeviceName, EngineName, PrecisionName

MIB = 1 << 20

_ADDRESS, _ENGINE, _ACCESS, _LIFECYCLE = "Address", "Engine", "Access and logs", "Lifecycle"
_MEMORY = "Storage and memory"


class Limits(Settings):
    """Limits of requests; a request that exceeds one is rejected before any work."""

    body_bytes: Annotated[Bytes, Cli(default="1 MiB")] = MIB
    """Maximum size of a request body in bytes, except for documents."""
    file_bytes: Annotated[Bytes, Cli(default="10 MiB")] = 10 * MIB
    """Maximum size of a document in bytes."""
    text_characters: Size = 5000
    """Maximum number of characters per text."""
    texts: Annotated[Size, Field(le=1000)] = 64
    """Maximum number of texts per request, 1000 at most."""
    alternatives: Annotated[int, Field(ge=0)] = 5
    """Maximum number of alternatives per text."""
    request_tokens: Size = 8192
    """Maximum number of source tokens per request, counted after normalisation."""
    sentence_tokens: Size = 200
    """Maximum number of source tokens per search; longer sentences are translated in chunks."""
    file_characters: Size = 200_000
    """Maximum number of characters per document."""
    seconds: Positive = 30.0
    """Maximum duration of a request in seconds, its body included; documents have ten times as long."""
    body_seconds: Positive = 10.0
    """Maximum time in seconds for a request body to arrive."""
    queue_seconds: Positive = 5.0
    """Maximum expected wait in the queue in seconds; beyond it requests are rejected with status 503."""
    connections: Size = 512
    """Maximum number of open connections."""
    tokens_per_minute: Annotated[int, Field(ge=0)] = 0
    """Maximum number of source tokens per minute, per API key or address; 0 is no limit."""


class ServerSettings(Settings):
    """All settings of ``dragoman serve`` except the bundles."""

    host: Annotated[str, Cli(_ADDRESS)] = "127.0.0.1"
    """Address to listen on; 0.0.0.0 is every IPv4 address of the machine."""
    port: Annotated[int, Field(ge=0, le=65535), Cli(_ADDRESS)] = 5000
    """Port to listen on; 0 selects a free port."""
    hosts: Annotated[tuple[str, ...], Cli(_ADDRESS, metavar="NAME,…", default="loopback names")] = ()
    """Host names of the server, in addition to loopback names; `*` accepts every Host header."""
    origins: Annotated[tuple[str, ...], Cli(_ADDRESS, metavar="ORIGIN,…")] = ("*",)
    """Origins of web pages that may call the server (CORS), always without credentials; `*` is every origin."""
    engine: Annotated[EngineName, Cli(_ENGINE)] = "auto"
    """Engine that runs the models; `auto` selects the fastest."""
    precision: Annotated[PrecisionName, Cli(_ENGINE)] = "auto"
    """Number format of the weights; `auto` is float32, or int8 for a model with int8 weights on onnx."""
    device: Annotated[DeviceName, Cli(_ENGINE)] = "cpu"
    """Device: the processor, a CUDA device, or a CUDA device if the engine finds one."""
    shortlist: Annotated[bool, Cli(_ENGINE)] = True
    """Choose among the tokens of a model's lexical shortlist, if it has one and the engine is onnx."""
    threads: Annotated[Size | None, Cli(_ENGINE, default="all cores")] = None
    """Number of batches translated in parallel, over all models."""
    incremental: Annotated[bool, Cli(_ENGINE)] = False
    """Select engines that run one step at a time: text streams token by token and cancellation takes one step."""
    beam: Annotated[Size | None, Cli(_ENGINE, default="5, or that of the model")] = None
    """Width of the beam, for requests that do not set one."""
    min_confidence: Annotated[Share, Cli(_ENGINE, metavar="P")] = 0.0
    """Reject texts whose confidence is below this probability, for requests that set none; needs calibrated models."""
    batch_tokens: Annotated[Size, Cli(_ENGINE)] = 2048
    """Maximum number of source tokens per batch, padding included."""
    batch_sentences: Annotated[Size, Cli(_ENGINE)] = 32
    """Maximum number of sentences per batch."""
    batch_wait: Annotated[NotNegative, Cli(_ENGINE)] = 0.0
    """Seconds that a partial batch waits for more sentences while all workers are idle."""
    memory_bytes: Annotated[Bytes | None, Cli(_ENGINE, default="most of the available memory", metavar="SIZE")] = None
    """Memory limit of loaded models, in bytes or as `2 GiB`; the least recently used are unloaded."""
    cache_size: Annotated[ZeroBytes, Cli(_ENGINE, default="0, no cache", metavar="SIZE")] = 0
    """Memory for translations that are kept, in bytes or as `64 MiB`; each API key, or address, has its own."""
    preload: Annotated[int, Field(ge=0), Cli(_ENGINE)] = 4
    """Number of models loaded at the start if their memory permits; others are loaded at their first request."""
    unload_idle: Annotated[NotNegative, Cli(_ENGINE)] = 0.0
    """Seconds after its last request when a model is unloaded; 0 is never."""
    reload_interval: Annotated[NotNegative, Cli(_LIFECYCLE)] = 0.0
    """Polling interval for new bundles in seconds; 0 disables polling."""
    drain_seconds: Annotated[NotNegative, Cli(_LIFECYCLE)] = 30.0
    """Maximum time in seconds for running requests to finish after SIGTERM; the process ends at most 2 s later."""
    drain_notice: Annotated[NotNegative, Cli(_LIFECYCLE)] = 0.0
    """Seconds after SIGTERM in which requests are still accepted while `/readyz` fails; for load balancers."""
    keys: Annotated[str | None, Cli(_ACCESS, metavar="FILE", default="no key required")] = None
    """File of API keys, one per line."""
    database: Annotated[str | None, Cli(_MEMORY, metavar="URL", default="a file in the user's data folder")] = None
    """Database of all that is stored: sqlite:///FILE, or postgresql://USER@HOST/NAME for several machines."""
    memory: Annotated[tuple[str, ...], Cli(_MEMORY, metavar="NAME,…", default="none")] = ()
    """Memories that every request may use, with any key; exact matches replace translations."""
    memory_threshold: Annotated[int, Field(ge=1, le=101), Cli(_MEMORY)] = 99
    """Smallest score of a match that replaces a translation, for requests that set none: 99 is the same text."""
    trust_proxy: Annotated[bool, Cli(_ACCESS)] = False
    """Read client addresses from X-Forwarded-For; only behind a proxy that sets it."""
    page: Annotated[bool, Cli(_ADDRESS)] = True
    """Serve the web page."""
    docs: Annotated[bool, Cli(_ADDRESS)] = True
    """Serve `/docs` and `/openapi.json`."""
    metrics: Annotated[bool, Cli(_ACCESS)] = True
    """Serve `/metrics` for Prometheus."""
    log: Annotated[Literal["text", "json", "off"], Cli(_ACCESS)] = "text"
    """Format of the access log: one line per request, never a text."""
    limits: Annotated[Limits, Cli("Limits")] = Field(default_factory=Limits)
    """Limits of requests."""
