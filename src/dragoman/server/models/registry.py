"""Model registry: lazy loading, LRU unloading by memory, hot reload."""

import asyncio
import contextlib
import functools
import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from dragoman.api.translation.multi_model.routing import RoutingTable
from dragoman.api.translation.translator import Translator
from dragoman.bundle import Bundle
from dragoman.bundle.bundle import free_parsed
from dragoman.config.corpus import Direction
from dragoman.config.search import SearchSettings
from dragoman.engines.protocol import AttentionEngine
from dragoman.engines.select import prefers_torch
from dragoman.environment import available_memory, trim_heap
from dragoman.errors import ConfigError, DragomanError, MissingExtraError
from dragoman.language_codes import match_rank
from dragoman.server.errors import Draining, ModelUnavailable, NotInstalled
from dragoman.server.metrics import ServerMetrics
from dragoman.server.models.served_model import (
    EngineRole,
    ServedModel,
    fingerprint,
    open_bundle,
    open_translator,
    planned_bytes,
)
from dragoman.server.request_types import ModelInfo, ReloadResult
from dragoman.server.settings import ServerSettings

Result = TypeVar("Result")

_TRIM_INTERVAL = 10.0  # seconds; a trim takes milliseconds
_TRIMS = 6  # after the last request, which may take a while and keeps its model
_POLL_USED = 1.0  # seconds until a model that a long request uses may be idle
_PROCESS_BYTES = 300 << 20  # of the server without models, and of its requests
_MODEL_SHARE = 0.75  # of the available memory, without a limit in the settings

_log = logging.getLogger(__name__)


class ModelRegistry:
    """Models by name. A returned translator keeps working after its model is unloaded or replaced.

    Runs on the event loop, except that one thread opens models: never two at a time, because of their memory.
    """

    def __init__(self, settings: ServerSettings, threads: int, metrics: ServerMetrics | None = None) -> None:
        self.models: dict[str, ServedModel] = {}
        self.routes = RoutingTable(())
        self._settings, self._threads, self._metrics = settings, threads, metrics or ServerMetrics()
        self._loader = ThreadPoolExecutor(1, "dragoman-loader")
        self._loading: dict[tuple[str, EngineRole], asyncio.Task[Translator]] = {}
        self._reload_lock = asyncio.Lock()
        self._limit = settings.memory_bytes or _default_limit()
        self._tasks: list[asyncio.Task[None]] = []
        self._trims_due = 0

    async def open(self, bundles: Mapping[str, Path], *, load_all: bool = False) -> None:
        """Open all bundles, and load the first models, or all one after the other; raises if one of them is invalid.

        The files of the others are verified before they are loaded; now only their configuration is.
        """
        if not bundles:
            raise ConfigError("a server needs at least one bundle; name one")
        for name, path in bundles.items():
            bundle, found = await self._in_loader(functools.partial(open_bundle, path, outline=True))
            free_parsed(bundle)
            self.models[name] = ServedModel(name, path, bundle, found, is_checked=path.is_file())
        self._update_routes()
        for number, model in enumerate(self.models.values()):
            if load_all or (number < self._settings.preload and self._fits(model)):
                await self._load(model, "default")
            else:
                self._report(model)
        self._tasks.append(asyncio.create_task(self._trim()))
        if self._settings.unload_idle:
            self._tasks.append(asyncio.create_task(self._unload_idle(self._settings.unload_idle)))

    def close(self) -> None:
        """Unload all models."""
        for task in (*self._tasks, *self._loading.values()):
            task.cancel()
        self._loader.shutdown(wait=False, cancel_futures=True)
        for model in self.models.values():
            model.translators.clear()

    def infos(self) -> Sequence[ModelInfo]:
        """Return the description of every model."""
        return [model.info() for model in self.models.values()]

    @property
    def is_ready(self) -> bool:
        """Whether at least one model has not failed."""
        return any(model.state != "failed" for model in self.models.values())

    async def get_capable(self, name: str, search: SearchSettings, *, phrases: bool) -> Translator:
        """Return a translator that supports these settings: the default, or one on a more capable engine."""
        default = await self.get(name)
        is_supported = default.engine.unsupported(search, phrases=phrases) is None
        if is_supported and not (phrases and prefers_torch(default.engine)):
            return default
        return await self.get(name, "capable")

    def preload_for_phrases(self, pairs: Sequence[Direction] | None = None) -> None:
        """Start to load the engine for required phrases of loaded models, as many as the memory limit allows.

        With `pairs`, only models of these languages are loaded. Torch takes seconds to import: without this, the first
        request with a glossary waits for it.
        """
        limit, planned = self._limit, self._used_bytes()
        for model in self.models.values():
            default = model.translators.get("default")
            if default is None or "capable" in model.translators or not prefers_torch(default.engine):
                continue
            if pairs is not None and not _has_languages(model.directions, pairs):
                continue
            if limit is None or planned + planned_bytes(model.bundle) <= limit:
                planned += planned_bytes(model.bundle)
                self._load_once(model, "capable")

    async def get(self, name: str, role: EngineRole = "default") -> Translator:
        """Return a translator of a model; the model is loaded if necessary, once for all callers."""
        if (model := self.models.get(name)) is None:  # removed since its route was found
            raise ModelUnavailable(f"the model {name} is no longer served", retry_after=1)
        if role == "inspection":
            opened = model.translators.items()
            role = next((each for each, found in opened if isinstance(found.engine, AttentionEngine)), role)
        self._trims_due = _TRIMS
        if role not in model.translators:
            return await self._wait_loaded(model, role)
        model.last_used[role] = time.monotonic()
        return model.translators[role]

    @contextlib.contextmanager
    def in_use(self, name: str, translator: Translator) -> Iterator[None]:
        """Count a translator as in use: it is not idle, and others are unloaded before it."""
        model = self.models.get(name)  # None: removed meanwhile
        users = [] if model is None else [(model, role) for role in model.roles(translator)]
        for each, role in users:
            each.users[role] += 1
        try:
            yield
        finally:
            for each, role in users:
                each.users[role] -= 1
                each.last_used[role] = time.monotonic()

    async def reload(self, bundles: Mapping[str, Path] | None = None) -> ReloadResult:
        """Check every bundle; replace, add and remove models. `bundles` are the paths of all, by default as before."""
        added: list[str] = []
        reloaded: list[str] = []
        kept: list[str] = []
        failed: dict[str, str] = {}
        async with self._reload_lock:
            paths = {name: model.path for name, model in self.models.items()} if bundles is None else dict(bundles)
            removed = [name for name in self.models if name not in paths]
            for name, path in paths.items():
                is_known = name in self.models
                try:
                    is_new = await (self._replace(self.models[name], path) if is_known else self._add(name, path))
                except Exception as error:  # noqa: BLE001 -- the old bundle stays after every error
                    failed[name] = str(error) if isinstance(error, DragomanError) else type(error).__name__
                    continue
                (reloaded if is_known and is_new else kept if is_known else added).append(name)
            if any(name in self.models for name in paths):  # never a server without models
                for name in removed:
                    del self.models[name]
                    self._metrics.set_model(name, "removed", 0)
                    self._trims_due = _TRIMS
            else:
                removed = []
            self.models = {name: self.models[name] for name in (*paths, *self.models) if name in self.models}
            self._update_routes()
        return ReloadResult(tuple(reloaded), tuple(kept), failed, tuple(added), tuple(removed))

    async def _add(self, name: str, path: Path) -> bool:
        """Open the bundle of a new model, and load it if it fits."""
        bundle, found = await self._in_loader(lambda: open_bundle(path, verify_again=True))
        model = ServedModel(name, path, bundle, found)
        if self._fits(model):
            await self._load(model, "default")
        else:
            free_parsed(bundle)
        self.models[name] = model
        return True

    async def _replace(self, model: ServedModel, path: Path) -> bool:
        found = ""
        try:
            found = await self._in_loader(lambda: fingerprint(path))
            if found == model.fingerprint and path == model.path:
                return False
            bundle, found = await self._in_loader(lambda: open_bundle(path, verify_again=True))
            if bundle.digest == model.bundle.digest:
                free_parsed(bundle)
                model.adopt(bundle, found, path)
                return False
            fresh: dict[EngineRole, Translator] = {}
            if "default" in model.translators:
                fresh["default"] = await self._open(bundle, "default")
        except Exception as error:
            if found != model.rejected_fingerprint or not found:
                _log.error("%s keeps its bundle: %s", model.name, error)
                self._metrics.count_reload(model.name, False)
            model.rejected_fingerprint = found
            raise
        if not fresh:
            free_parsed(bundle)
        model.adopt(bundle, found, path)
        model.rejected_fingerprint, model.has_failed = "", False
        model.translators, model.last_used = fresh, dict.fromkeys(fresh, time.monotonic())
        self._free_memory(0, keep=model)  # the new bundle may be larger
        self._trims_due = _TRIMS
        self._report(model)
        self._metrics.count_reload(model.name, True)
        _log.info("%s has a new bundle, %s", model.name, bundle.digest[:12])
        return True

    async def _wait_loaded(self, model: ServedModel, role: EngineRole) -> Translator:
        """Wait for a shared load; a cancelled caller does not cancel it."""
        loading = self._load_once(model, role)
        try:
            return await asyncio.shield(loading)
        except asyncio.CancelledError:
            if loading.cancelled():  # by `close`
                raise Draining from None
            raise

    def _load_once(self, model: ServedModel, role: EngineRole) -> asyncio.Task[Translator]:
        key = model.name, role
        if key not in self._loading:
            task = asyncio.create_task(self._load_for_request(model, role))
            task.add_done_callback(lambda _: self._loading.pop(key, None))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())  # retrieved: callers may be gone
            self._loading[key] = task
        return self._loading[key]

    async def _load_for_request(self, model: ServedModel, role: EngineRole) -> Translator:
        """Load a translator; errors for clients do not contain paths."""
        try:
            return await self._load(model, role)
        except (MissingExtraError, ConfigError) as error:
            if role == "default":
                raise self._unavailable(model, error) from error
            feature = "these options" if role == "capable" else "inspection"
            raise NotInstalled(
                f"no engine on this server supports {feature} for {model.name}; install the extra train on it, or use "
                "fewer options"
            ) from error
        except Exception as error:
            raise self._unavailable(model, error) from error

    @staticmethod
    def _unavailable(model: ServedModel, error: Exception) -> ModelUnavailable:
        _log.error("%s cannot be loaded: %s", model.name, error)
        source, target = model.directions[0]
        return ModelUnavailable(
            f"the model {model.name} from {source} to {target} could not be loaded; try again later, or contact the "
            "server operator, whose log has the cause",
            retry_after=30,
        )

    async def _load(self, model: ServedModel, role: EngineRole) -> Translator:
        if role == "default":
            model.is_loading = True
            self._report(model)
        try:
            await self._refresh_unloaded(model)
            bundle = model.bundle
            self._free_memory(model.planned_size if role == "default" else planned_bytes(bundle), keep=model)
            translator = await self._open(bundle, role)
        except Exception:
            model.has_failed |= role == "default"
            raise
        finally:
            if role == "default":
                model.is_loading = False
            self._report(model)
        if model.bundle.digest == bundle.digest:
            model.translators[role], model.last_used[role] = translator, time.monotonic()
            model.has_failed &= role != "default"
            self._free_memory(0, keep=model)
        self._report(model)
        return translator

    async def _refresh_unloaded(self, model: ServedModel) -> None:
        """Use the current bundle on disk for a model without open translators; verify it if it was not yet."""
        if model.translators:
            return
        is_new = await self._in_loader(lambda: fingerprint(model.path)) != model.fingerprint
        if is_new or not model.is_checked:
            bundle, found = await self._in_loader(lambda: open_bundle(model.path, verify_again=is_new))
            is_other = bundle.digest != model.bundle.digest
            model.adopt(bundle, found, model.path)
            if is_other:
                self._update_routes()

    async def _open(self, bundle: Bundle, role: EngineRole) -> Translator:
        return await self._in_loader(lambda: open_translator(bundle, role, self._settings, self._threads))

    async def _in_loader(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._loader, work)

    def _fits(self, model: ServedModel) -> bool:
        limit = self._limit
        return limit is None or self._used_bytes() + model.planned_size <= limit

    def _used_bytes(self) -> int:
        return sum(model.size for model in self.models.values())

    def _free_memory(self, needed: int, *, keep: ServedModel) -> None:
        """Unload the least recently used translators until the needed bytes are free, or no other is left."""
        limit = self._limit
        if limit is None:
            return
        others = [(model.last_used[role], model, role) for model in self.models.values() for role in model.translators]
        others.sort(key=lambda each: (each[1].users[each[2]] > 0, each[0]))
        for _, model, role in [each for each in others if each[1] is not keep]:
            if self._used_bytes() + needed <= limit:
                return
            self._unload(model, role)

    async def _unload_idle(self, seconds: float) -> None:
        """Unload translators that were not used for a time."""
        while True:
            now, next_time, is_changed = time.monotonic(), math.inf, False
            for model in self.models.values():
                for role in list(model.translators):
                    end = model.last_used[role] + seconds
                    if end > now or model.users[role]:
                        next_time = min(next_time, max(end, now + _POLL_USED))
                    else:
                        self._unload(model, role)
                        is_changed = True
            if is_changed:
                await self._in_loader(trim_heap)
            await asyncio.sleep(min(seconds, next_time - now))

    def _unload(self, model: ServedModel, role: EngineRole) -> None:
        del model.translators[role]
        if not model.translators:
            free_parsed(model.bundle)
        self._trims_due = _TRIMS
        _log.info("%s is unloaded (%s)", model.name, role)
        self._report(model)

    async def _trim(self) -> None:
        """Return freed memory while models are used, and afterwards: glibc keeps the most that requests ever took."""
        while True:
            await asyncio.sleep(_TRIM_INTERVAL)
            if self._trims_due:
                self._trims_due -= 1
                await self._in_loader(trim_heap)

    def _report(self, model: ServedModel) -> None:
        self._metrics.set_model(model.name, model.state, model.size)

    def _update_routes(self) -> None:
        self.routes = RoutingTable.build({name: model.directions for name, model in self.models.items()})


def _default_limit() -> int | None:
    """Return the memory for models if the settings have no limit, so that many models never use up the memory."""
    available = available_memory()
    return None if available is None else max(0, round(_MODEL_SHARE * available) - _PROCESS_BYTES)


def _has_languages(directions: Sequence[Direction], pairs: Sequence[Direction]) -> bool:
    """Whether a model has both languages of a pair; of thousands of directions, each language is compared once."""
    sources, targets = ({direction[side] for direction in directions} for side in (0, 1))
    return any(
        any(match_rank(code, source) is not None for code in sources)
        and any(match_rank(code, target) is not None for code in targets)
        for source, target in pairs
    )
