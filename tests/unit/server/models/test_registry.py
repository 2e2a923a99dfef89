"""Model registry: shared loading, unloading by memory, reloading, invalid bundles."""

import asyncio
import gc
import shutil
import threading
import weakref
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import save_file

from dragoman.bundle import Bundle
from dragoman.config.search import SearchSettings
from dragoman.errors import BundleError, ConfigError, MissingExtraError
from dragoman.server.errors import Draining, ModelUnavailable, NotInstalled
from dragoman.server.metrics import ServerMetrics
from dragoman.server.models import registry as fleet_module
from dragoman.server.models import served_model as model_module
from dragoman.server.models.registry import ModelRegistry
from dragoman.server.models.served_model import estimate_bytes, open_translator, planned_bytes
from dragoman.server.settings import ServerSettings
from testkit.untrusted_bundles import reseal
from tests.server.bundles import tiny_bundle


class Book(ServerMetrics):
    def __init__(self) -> None:
        super().__init__()
        self.states: list[tuple[str, str]] = []
        self.reloads: list[tuple[str, bool]] = []

    def set_model(self, name: str, state: str, size: int) -> None:
        self.states.append((name, state))

    def count_reload(self, name: str, is_good: bool) -> None:
        self.reloads.append((name, is_good))


def run(
    test: Callable[[ModelRegistry], Awaitable[None]],
    bundles: dict[str, Path],
    metrics: Book | None = None,
    **settings: Any,
) -> None:
    async def go() -> None:
        fleet = ModelRegistry(ServerSettings(beam=2, **settings), 1, metrics)
        try:
            await fleet.open(bundles)
            await test(fleet)
        finally:
            fleet.close()

    asyncio.run(go())


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return tiny_bundle(tmp_path / "bundle", "en", "de")


def open_size(path: Path) -> int:
    bundle = Bundle.open(path)
    return estimate_bytes(bundle, open_translator(bundle, "default", ServerSettings(), 1))


def states(fleet: ModelRegistry) -> dict[str, str]:
    return {facts.name: facts.state for facts in fleet.infos()}


def test_a_bundle_becomes_a_model(bundle: Path):
    async def test(fleet: ModelRegistry) -> None:
        (facts,) = fleet.infos()
        assert (facts.name, facts.source, facts.target, facts.family) == ("m", "en", "de", "transformer")
        assert (facts.state, facts.engine, facts.precision) == ("ready", "ctranslate2", "float32")
        assert facts.bytes == open_size(bundle) > (bundle / "weights.safetensors").stat().st_size
        assert len(facts.digest) == 64
        assert fleet.is_ready
        assert (await fleet.get("m")).translate("a b").text

    run(test, {"m": bundle})


def test_what_is_wrong_at_the_start_is_raised(tmp_path: Path):
    async def never(fleet: ModelRegistry) -> None:
        raise AssertionError

    with pytest.raises(BundleError):
        run(never, {"m": tmp_path})
    with pytest.raises(ConfigError, match="at least one bundle"):
        run(never, {})


def test_a_bundle_must_say_its_languages(tmp_path: Path):
    from testkit.random_bundle import random_bundle

    random_bundle(tmp_path / "bundle")
    with pytest.raises(ConfigError, match="does not state its source and target language; import it again"):
        model_module.open_bundle(tmp_path / "bundle")


def test_many_wait_for_one_load(bundle: Path, monkeypatch: pytest.MonkeyPatch):
    opened: list[str] = []
    threads: list[str] = []
    open_translator = model_module.open_translator

    def counted(bundle: Any, way: Any, *rest: Any) -> Any:
        opened.append(way)
        threads.append(threading.current_thread().name)
        return open_translator(bundle, way, *rest)

    monkeypatch.setattr(fleet_module, "open_translator", counted)

    async def test(fleet: ModelRegistry) -> None:
        found = await asyncio.gather(*(fleet.get("m", "capable") for _ in range(20)))
        assert len(set(map(id, found))) == 1
        assert opened == ["default", "capable"]
        assert all(name.startswith("dragoman-loader") for name in threads)

    run(test, {"m": bundle})


def test_who_leaves_does_not_end_the_load_of_others(bundle: Path):
    async def test(fleet: ModelRegistry) -> None:
        leaves, stays = (asyncio.create_task(fleet.get("m", "capable")) for _ in range(2))
        await asyncio.sleep(0)
        leaves.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaves
        assert (await stays).translate("a b").text

    run(test, {"m": bundle})


def test_who_waits_for_a_load_when_it_closes_is_told(bundle: Path):
    async def test(fleet: ModelRegistry) -> None:
        waits = asyncio.create_task(fleet.get("m", "capable"))
        await asyncio.sleep(0)
        fleet.close()
        with pytest.raises(Draining):
            await waits

    run(test, {"m": bundle})


def test_what_was_not_asked_for_longest_is_unloaded(tmp_path: Path):
    bundles = {name: tiny_bundle(tmp_path / name, "en", name) for name in ("aa", "bb", "cc")}
    size = open_size(bundles["aa"])

    async def test(fleet: ModelRegistry) -> None:
        assert states(fleet) == {"aa": "ready", "bb": "ready", "cc": "unloaded"}
        assert fleet.is_ready
        await fleet.get("bb")
        old = await fleet.get("aa")
        await fleet.get("cc")
        assert states(fleet) == {"aa": "ready", "bb": "unloaded", "cc": "ready"}
        assert old.translate("a b").text
        assert sum(facts.bytes for facts in fleet.infos()) <= 2 * size
        await fleet.get("bb")
        assert states(fleet) == {"aa": "unloaded", "bb": "ready", "cc": "ready"}
        assert fleet.infos()[0].engine == "ctranslate2", "it is known what it was"

    run(test, bundles, memory_bytes=2 * size)


def test_the_first_models_are_loaded_at_the_start_and_others_at_their_first_request(tmp_path: Path):
    bundles = {name: tiny_bundle(tmp_path / name, "en", name) for name in ("aa", "bb", "cc")}
    damaged = bundles["cc"] / "weights.safetensors"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"\x01")

    async def test(fleet: ModelRegistry) -> None:
        assert states(fleet) == {"aa": "ready", "bb": "unloaded", "cc": "unloaded"}
        assert (await fleet.get("bb")).translate("a b").text
        with pytest.raises(ModelUnavailable, match="the model cc from en to cc could not be loaded; try again later"):
            await fleet.get("cc")
        assert states(fleet) == {"aa": "ready", "bb": "ready", "cc": "failed"}
        assert fleet.infos()[2].why == "it could not be loaded; the log of the server has the cause"

    run(test, bundles, preload=1)


def test_a_model_that_is_not_used_is_unloaded_and_its_memory_freed(bundle: Path):
    async def test(fleet: ModelRegistry) -> None:
        model = fleet.models["m"]
        for _ in range(2):
            translator = weakref.ref(await fleet.get("m"))
            assert "_tokenizers" in vars(model.bundle)
            async with asyncio.timeout(60):
                while states(fleet) != {"m": "unloaded"}:
                    await asyncio.sleep(0.01)
            gc.collect()
            assert translator() is None
            assert "_tokenizers" not in vars(model.bundle)

    run(test, {"m": bundle}, unload_idle=0.05)


def test_memory_that_requests_freed_is_returned_to_the_system(bundle: Path, monkeypatch: pytest.MonkeyPatch):
    trims: list[int] = []
    monkeypatch.setattr(fleet_module, "_TRIM_INTERVAL", 0.01)
    monkeypatch.setattr(fleet_module, "trim_heap", lambda: trims.append(1))

    async def test(fleet: ModelRegistry) -> None:
        await asyncio.sleep(0.1)
        assert not trims
        await fleet.get("m")
        async with asyncio.timeout(60):
            while len(trims) < fleet_module._TRIMS:
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        assert len(trims) == fleet_module._TRIMS

    run(test, {"m": bundle})


def test_memory_of_an_idle_model_is_returned_at_once(bundle: Path, monkeypatch: pytest.MonkeyPatch):
    trims: list[int] = []
    monkeypatch.setattr(fleet_module, "trim_heap", lambda: trims.append(1))  # every 10 s by the other task

    async def test(fleet: ModelRegistry) -> None:
        await fleet.get("m")
        async with asyncio.timeout(5):
            while not trims:
                await asyncio.sleep(0.01)
        assert states(fleet) == {"m": "unloaded"}

    run(test, {"m": bundle}, unload_idle=0.05)


def test_models_that_requests_use_are_unloaded_last(tmp_path: Path):
    bundles = {name: tiny_bundle(tmp_path / name, "en", name) for name in ("aa", "bb", "cc")}

    async def test(fleet: ModelRegistry) -> None:
        used = await fleet.get("aa")
        await fleet.get("bb")
        with fleet.in_use("aa", used):
            await fleet.get("cc")
        assert states(fleet) == {"aa": "ready", "bb": "unloaded", "cc": "ready"}

    run(test, bundles, memory_bytes=2 * open_size(bundles["aa"]))


def test_a_bundle_that_moved_is_opened_at_its_new_place(bundle: Path, tmp_path: Path):
    async def test(fleet: ModelRegistry) -> None:
        shutil.copytree(bundle, tmp_path / "moved")
        assert (await fleet.reload({"m": tmp_path / "moved"})).kept == ("m",)
        shutil.rmtree(bundle)
        while states(fleet) != {"m": "unloaded"}:
            await asyncio.sleep(0.01)
        assert (await fleet.get("m")).translate("a b").text

    run(test, {"m": bundle}, unload_idle=0.05)


def test_without_a_setting_most_of_the_available_memory_is_the_limit(bundle: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fleet_module, "available_memory", lambda: 300 << 20)

    async def test(fleet: ModelRegistry) -> None:
        assert states(fleet) == {"m": "unloaded"}

    run(test, {"m": bundle})


def test_one_model_may_be_larger_than_all_room(bundle: Path):
    async def test(fleet: ModelRegistry) -> None:
        assert states(fleet) == {"m": "unloaded"}
        await fleet.get("m")
        assert states(fleet) == {"m": "ready"}

    run(test, {"m": bundle}, memory_bytes=1)


def test_a_new_bundle_takes_the_place_of_the_old(bundle: Path):
    book = Book()

    async def test(fleet: ModelRegistry) -> None:
        assert (await fleet.reload()).kept == ("m",)
        old = await fleet.get("m")
        digest = fleet.infos()[0].digest
        tiny_bundle(bundle, "en", "fr", seed=2)
        found = await fleet.reload()
        assert (found.reloaded, found.kept, found.failed) == (("m",), (), {})
        assert fleet.infos()[0].digest != digest
        assert await fleet.get("m") is not old
        assert [(route.source, route.target) for route in fleet.routes.all] == [("en", "fr")]
        assert old.translate("a b c").text, "work under way goes on"
        assert book.reloads == [("m", True)]

    run(test, {"m": bundle}, book)


def test_a_damaged_file_is_reported_though_the_manifest_is_the_same(bundle: Path):
    async def test(fleet: ModelRegistry) -> None:
        weights = bundle / "weights.safetensors"
        content = weights.read_bytes()
        weights.write_bytes(content[:-100])
        assert "bytes instead of" in (await fleet.reload()).failed["m"]
        assert (await fleet.get("m")).translate("a b").text, "the model in memory stays"
        weights.write_bytes(content)
        assert (await fleet.reload()).kept == ("m",)

    run(test, {"m": bundle})


def test_a_reload_adds_moves_and_removes_models(bundle: Path, tmp_path: Path):
    other, moved = tiny_bundle(tmp_path / "other", "de", "fr"), tiny_bundle(tmp_path / "moved", "en", "fr", seed=2)

    async def test(fleet: ModelRegistry) -> None:
        found = await fleet.reload({"m": bundle, "new": other, "bad": tmp_path / "none"})
        assert (found.added, found.kept, found.removed, list(found.failed)) == (("new",), ("m",), (), ["bad"])
        assert states(fleet) == {"m": "ready", "new": "ready"}
        assert ("en", "fr") in {(route.source, route.target) for route in fleet.routes.all}, "through de"
        old = await fleet.get("m")
        found = await fleet.reload({"m": moved})
        assert (found.reloaded, found.removed) == (("m",), ("new",))
        assert [(route.source, route.target) for route in fleet.routes.all] == [("en", "fr")]
        assert await fleet.get("m") is not old
        with pytest.raises(ModelUnavailable, match="the model new is no longer served; try again in 1 s"):
            await fleet.get("new")
        found = await fleet.reload({"bad": tmp_path / "none"})
        assert (found.removed, states(fleet)) == ((), {"m": "ready"}), "never a server without models"

    run(test, {"m": bundle}, memory_bytes=1 << 30)


def test_a_bad_bundle_is_reported_and_the_old_one_goes_on(bundle: Path):
    book = Book()

    async def test(fleet: ModelRegistry) -> None:
        old = await fleet.get("m")
        manifest = (bundle / "manifest.json").read_text()
        (bundle / "manifest.json").write_text(manifest.replace('"size": ', '"size": 1'))
        for _ in range(2):
            found = await fleet.reload()
            assert list(found.failed) == ["m"]
            assert "it is damaged" in found.failed["m"]
        assert book.reloads == [("m", False)], "said once"
        assert await fleet.get("m") is old
        assert states(fleet) == {"m": "ready"}
        shutil.rmtree(bundle)
        assert list((await fleet.reload()).failed) == ["m"]
        tiny_bundle(bundle, "en", "de", seed=3)
        assert (await fleet.reload()).reloaded == ("m",)

    run(test, {"m": bundle}, book)


def replace_weights(bundle: Path, weights: dict[str, Any]) -> None:
    """Write weights that `write_bundle` refuses."""
    save_file(weights, bundle / "weights.safetensors")
    reseal(bundle)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 3e38])
def test_a_bundle_whose_weights_give_no_finite_score_is_refused(bundle: Path, value: float):
    """Those of 3e38 are finite; the translation is not."""

    async def test(fleet: ModelRegistry) -> None:
        old = await fleet.get("m")
        made = Bundle.open(bundle)
        weights = {name: array.copy() for name, array in made.weights().items()}
        for array in weights.values():
            array.flat[::7] = value
        replace_weights(bundle, weights)
        found = await fleet.reload()
        assert "finite" in found.failed["m"]
        assert await fleet.get("m") is old
        assert old.translate("a b").text

    run(test, {"m": bundle})


def test_a_bundle_without_finite_weights_is_not_served_at_all(bundle: Path):
    made = Bundle.open(bundle)
    weights = {name: array * float("nan") for name, array in made.weights().items()}
    replace_weights(bundle, weights)

    async def never(fleet: ModelRegistry) -> None:
        raise AssertionError

    with pytest.raises(BundleError, match="must hold finite weights, got NaN or infinity in"):
        run(never, {"m": bundle})


def test_one_that_cannot_translate_is_bad_too(bundle: Path, monkeypatch: pytest.MonkeyPatch):
    async def test(fleet: ModelRegistry) -> None:
        old = await fleet.get("m")
        tiny_bundle(bundle, "en", "de", seed=2)

        def broken(*_: Any) -> Any:
            raise RuntimeError("out of order")

        with monkeypatch.context() as patch:
            patch.setattr(fleet_module, "open_translator", broken)
            assert (await fleet.reload()).failed == {"m": "RuntimeError"}
        assert await fleet.get("m") is old

    run(test, {"m": bundle})


def test_what_the_usual_engine_lacks_another_has(bundle: Path):
    async def test(fleet: ModelRegistry) -> None:
        plain, sampled = SearchSettings(beam=2), SearchSettings(sample=True)
        assert (await fleet.get_capable("m", plain, phrases=False)).engine.name == "ctranslate2"
        assert (await fleet.get_capable("m", sampled, phrases=False)).engine.name == "torch"
        assert (await fleet.get_capable("m", plain, phrases=True)).engine.name == "torch"
        assert (await fleet.get("m", "inspection")) is (await fleet.get("m", "capable"))

    run(test, {"m": bundle})


def test_the_engine_for_glossaries_is_loaded_in_the_background(bundle: Path):
    async def test(fleet: ModelRegistry) -> None:
        fleet.preload_for_phrases()
        assert set(fleet.models["m"].translators) == {"default"}, "nothing waits for it"
        await asyncio.gather(*fleet._loading.values())
        assert fleet.models["m"].translators["capable"].engine.name == "torch"
        fleet.preload_for_phrases()
        assert not fleet._loading

    run(test, {"m": bundle})


def test_the_engine_for_glossaries_is_not_loaded_beyond_the_memory_limit(bundle: Path):
    async def test(fleet: ModelRegistry) -> None:
        fleet.preload_for_phrases()
        assert not fleet._loading

    run(test, {"m": bundle}, memory_bytes=1)


def test_only_engines_that_fit_together_are_loaded_for_glossaries(bundle: Path):
    limit = 2 * open_size(bundle) + round(1.5 * planned_bytes(Bundle.open(bundle)))

    async def test(fleet: ModelRegistry) -> None:
        assert set(fleet.models) == {"a", "b"}
        fleet.preload_for_phrases()
        await asyncio.gather(*fleet._loading.values())
        roles = [sorted(model.translators) for model in fleet.models.values()]
        assert roles == [["capable", "default"], ["default"]]

    run(test, {"a": bundle, "b": bundle}, memory_bytes=limit)


def test_a_glossary_of_other_languages_loads_nothing(bundle: Path):
    async def test(fleet: ModelRegistry) -> None:
        fleet.preload_for_phrases([("xx", "de"), ("en", "xx")])
        assert not fleet._loading
        fleet.preload_for_phrases([("xx", "de"), ("en-GB", "de")])
        assert fleet._loading
        await asyncio.gather(*fleet._loading.values())

    run(test, {"m": bundle})


def test_without_such_an_engine_it_is_said(bundle: Path, monkeypatch: pytest.MonkeyPatch):
    async def test(fleet: ModelRegistry) -> None:
        def missing(*_: Any) -> Any:
            raise MissingExtraError("torch")

        monkeypatch.setattr(fleet_module, "open_translator", missing)
        with pytest.raises(
            NotInstalled, match=r"no engine on this server supports .* for m; install the extra train"
        ) as refused:
            await fleet.get_capable("m", SearchSettings(sample=True), phrases=False)
        assert refused.value.status == 501
        assert states(fleet) == {"m": "ready"}

    run(test, {"m": bundle})


def test_one_that_cannot_be_loaded_any_more_is_no_fault_of_who_asks(bundle: Path, caplog: pytest.LogCaptureFixture):
    async def test(fleet: ModelRegistry) -> None:
        shutil.rmtree(bundle)
        with pytest.raises(ModelUnavailable) as refused:
            await fleet.get("m")
        assert (refused.value.status, refused.value.retry_after) == (503, 30.0)
        assert str(bundle) not in str(refused.value)
        assert states(fleet) == {"m": "failed"}
        assert not fleet.is_ready
        tiny_bundle(bundle, "en", "de", seed=2)
        await fleet.get("m")
        assert states(fleet) == {"m": "ready"}

    run(test, {"m": bundle}, memory_bytes=1)
    assert "m cannot be loaded" in caplog.text


def test_a_model_that_writes_nothing_is_named(bundle: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(model_module, "_WARM_UP", "")
    with pytest.raises(BundleError, match="translates a sentence with no text; train a new run"):
        model_module.open_translator(Bundle.open(bundle), "default", ServerSettings(), 1)
