"""All models: loaded when they are asked for, unloaded when there is no room, changed for new ones under way."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from dragoman.api.translator import Translator
from dragoman.bundle import Bundle
from dragoman.engines.protocol import Attentive
from dragoman.errors import ConfigError, DragomanError, MissingExtraError
from dragoman.search.settings import SearchSettings
from dragoman.server.errors import Draining, ModelFailed, NotInstalled
from dragoman.server.jobs import ModelFacts, Reloaded
from dragoman.server.meter import Meter, NoMeter
from dragoman.server.model import Model, Way, give_back_memory, open_bundle, open_translator, stamp_of
from dragoman.server.routing import Routes
from dragoman.server.settings import ServerSettings

__all__ = ["Fleet"]

Found = TypeVar("Found")

_STILL_USED = 2.0  # seconds that sentences may go on with a model that was unloaded

_log = logging.getLogger(__name__)


class Fleet:
    """Models by name. What was handed out goes on working, whatever becomes of the model meanwhile.

    Everything is done by the event loop but opening, which has a thread of its own: one model at a time, so that two
    large ones are never made at once.
    """

    def __init__(self, settings: ServerSettings, threads: int, meter: Meter | None = None) -> None:
        self.models: dict[str, Model] = {}
        self.routes = Routes(())
        self._settings, self._threads, self._meter = settings, threads, meter or NoMeter()
        self._loader = ThreadPoolExecutor(1, "dragoman-loader")
        self._loading: dict[tuple[str, Way], asyncio.Task[Translator]] = {}
        self._one_reload = asyncio.Lock()

    async def open(self, bundles: Mapping[str, Path]) -> None:
        """Open all bundles, and load as many as there is room for; what is wrong with one is raised."""
        if not bundles:
            raise ConfigError("a server must have at least one bundle, got none; name one")
        for name, path in bundles.items():
            bundle, stamp = await self._apart(functools.partial(open_bundle, path))
            self.models[name] = Model(name, path, bundle, stamp)
        self._look_at_routes()
        for name in bundles:
            if self._has_room_for(self.models[name].bundle):
                await self._load(self.models[name], "usual")

    def close(self) -> None:
        """Let go of all models."""
        for task in self._loading.values():
            task.cancel()
        self._loader.shutdown(wait=False, cancel_futures=True)
        for model in self.models.values():
            model.open.clear()

    def facts(self) -> Sequence[ModelFacts]:
        """What there is to say about each."""
        return [model.facts() for model in self.models.values()]

    @property
    def is_ready(self) -> bool:
        """Whether there are models, and not all of them have failed."""
        return any(model.state != "failed" for model in self.models.values())

    async def able(self, name: str, search: SearchSettings, *, phrases: bool) -> Translator:
        """A translator that can search like this: the usual one, or one on an engine that lacks nothing."""
        usual = await self.translator(name)
        if usual.engine.lacks(search, phrases=phrases) is None:
            return usual
        return await self.translator(name, "able")

    async def translator(self, name: str, way: Way = "usual") -> Translator:
        """A translator of a model, which is loaded if need be: once, for all who wait for it."""
        model = self.models[name]
        if way == "inspected":
            way = next((each for each, found in model.open.items() if isinstance(found.engine, Attentive)), way)
        if way not in model.open:
            return await self._loaded(model, way)
        model.used[way] = time.monotonic()
        return model.open[way]

    async def reload(self) -> Reloaded:
        """Look at every bundle again; one that is new is opened, warmed up, and takes the old one's place."""
        reloaded: list[str] = []
        kept: list[str] = []
        failed: dict[str, str] = {}
        async with self._one_reload:
            for model in self.models.values():
                try:
                    is_new = await self._renew(model)
                except Exception as error:  # noqa: BLE001 -- the old one goes on, whatever is wrong with the new
                    failed[model.name] = str(error) if isinstance(error, DragomanError) else type(error).__name__
                    continue
                (reloaded if is_new else kept).append(model.name)
            self._look_at_routes()
        return Reloaded(tuple(reloaded), tuple(kept), failed)

    async def _renew(self, model: Model) -> bool:
        stamp = ""
        try:
            stamp = await self._apart(lambda: stamp_of(model.path))
            if stamp == model.stamp:
                return False
            bundle, stamp = await self._apart(lambda: open_bundle(model.path))
            if bundle.digest == model.bundle.digest:
                model.stamp = stamp
                return False
            fresh: dict[Way, Translator] = {}
            if "usual" in model.open:
                fresh["usual"] = await self._opened(bundle, "usual")
        except Exception as error:
            if stamp != model.refused or not stamp:
                _log.error("%s keeps its bundle: %s", model.name, error)
                self._meter.reloaded(model.name, False)
            model.refused = stamp
            raise
        model.bundle, model.stamp, model.refused, model.failure = bundle, stamp, "", ""
        model.open, model.used = fresh, dict.fromkeys(fresh, time.monotonic())
        self._make_room(None, but=model)  # it may be larger than the old one was
        self._give_back_soon()
        self._tell(model)
        self._meter.reloaded(model.name, True)
        _log.info("%s has a new bundle, %s", model.name, bundle.digest[:12])
        return True

    async def _loaded(self, model: Model, way: Way) -> Translator:
        """Wait for a model with all others who do; who leaves does not end it."""
        loading = self._load_once(model, way)
        try:
            return await asyncio.shield(loading)
        except asyncio.CancelledError:
            if loading.cancelled():  # by `close`, and not whoever waits here
                raise Draining(
                    "the server must be up to translate, got a request while it shuts down", retry_after=1.0
                ) from None
            raise

    def _load_once(self, model: Model, way: Way) -> asyncio.Task[Translator]:
        key = model.name, way
        if key not in self._loading:
            task = asyncio.create_task(self._load_asked(model, way))
            task.add_done_callback(lambda _: self._loading.pop(key, None))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())  # maybe nobody waits any more
            self._loading[key] = task
        return self._loading[key]

    async def _load_asked(self, model: Model, way: Way) -> Translator:
        """Whoever asked is told nothing of folders, and that it is not their fault."""
        try:
            return await self._load(model, way)
        except (MissingExtraError, ConfigError) as error:
            if way == "usual":
                raise self._failed(model, error) from error
            what = "every step of the search" if way == "able" else "the inside of a model"
            raise NotInstalled(
                f"a server must have an engine that opens {what}, got none for {model.name}; install dragoman[train] "
                "on it, or ask for less"
            ) from error
        except Exception as error:
            raise self._failed(model, error) from error

    @staticmethod
    def _failed(model: Model, error: Exception) -> ModelFailed:
        _log.error("%s cannot be loaded: %s", model.name, error)
        return ModelFailed(
            f"{model.name} must be loaded to translate, got a failure; ask again later", retry_after=30.0
        )

    async def _load(self, model: Model, way: Way) -> Translator:
        if way == "usual":
            model.is_loading = True
            self._tell(model)
        try:
            await self._look_again(model)
            bundle = model.bundle
            self._make_room(bundle, but=model)
            translator = await self._opened(bundle, way)
        except Exception as error:
            if way == "usual":
                model.failure = str(error)
            raise
        finally:
            if way == "usual":
                model.is_loading = False
            self._tell(model)
        if model.bundle is bundle:
            model.open[way], model.used[way] = translator, time.monotonic()
            model.failure = "" if way == "usual" else model.failure
            self._make_room(None, but=model)
        self._tell(model)
        return translator

    async def _look_again(self, model: Model) -> None:
        """See that the bundle of a model that is not open is the one that is there by now."""
        if not model.open and await self._apart(lambda: stamp_of(model.path)) != model.stamp:
            model.bundle, model.stamp = await self._apart(lambda: open_bundle(model.path))
            self._look_at_routes()

    async def _opened(self, bundle: Bundle, way: Way) -> Translator:
        return await self._apart(lambda: open_translator(bundle, way, self._settings, self._threads))

    async def _apart(self, work: Callable[[], Found]) -> Found:
        return await asyncio.get_running_loop().run_in_executor(self._loader, work)

    def _has_room_for(self, bundle: Bundle) -> bool:
        return self._settings.memory_bytes is None or self._used() + _weights(bundle) <= self._settings.memory_bytes

    def _used(self) -> int:
        return sum(model.size for model in self.models.values())

    def _make_room(self, coming: Bundle | None, *, but: Model) -> None:
        """Unload what was not asked for longest, until there is room for what comes, or nothing else is left."""
        most = self._settings.memory_bytes
        if most is None:
            return
        size = 0 if coming is None else _weights(coming)
        others = [(model.used[way], model, way) for model in self.models.values() for way in model.open]
        for _, model, way in sorted((each for each in others if each[1] is not but), key=lambda each: each[0]):
            if self._used() + size <= most:
                return
            del model.open[way]
            self._give_back_soon()
            _log.info("%s is unloaded (%s)", model.name, way)
            self._tell(model)

    def _give_back_soon(self) -> None:
        """Give the memory of what was unloaded back, when those who still use it should be done."""
        asyncio.get_running_loop().call_later(_STILL_USED, self._give_back)

    def _give_back(self) -> None:
        with contextlib.suppress(RuntimeError):  # closed meanwhile
            self._loader.submit(give_back_memory)

    def _tell(self, model: Model) -> None:
        self._meter.model(model.name, model.state, model.size)

    def _look_at_routes(self) -> None:
        self.routes = Routes.of({name: model.languages for name, model in self.models.items()})


def _weights(bundle: Bundle) -> int:
    """What a bundle may take before it is known how precisely its engine keeps it."""
    return int(bundle.manifest["files"]["weights.safetensors"]["size"])
