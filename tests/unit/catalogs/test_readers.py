"""Each form of a catalog becomes models; a wrong field is one line that names it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.catalogs.catalog_model import CatalogFile, CatalogModel, choose, route, search
from dragoman.catalogs.download import download_model
from dragoman.catalogs.find_catalog import KINDS, Catalog, complete, default_catalog, hub_model, read_catalog
from dragoman.catalogs.http_client import Access
from dragoman.catalogs.mirror import write_mirror_catalog
from dragoman.errors import ConfigError, DataError, DragomanError
from testkit.model_server import RECORDS, ModelServer, sha256

HTTP = Access(allow_http=True)
STUDENT = {"model": b"m" * 5000, "lex": b"l" * 900, "vocab": b"v" * 3000}


def one(catalog: Catalog, pair: str) -> CatalogModel:
    """The model of a pair that is chosen."""
    found = choose(catalog.models, *pair.split(" "))
    assert found is not None
    return found


def test_the_registry_and_the_records_are_joined_by_the_hash_of_the_model(server: ModelServer, tmp_path: Path):
    server.add_firefox("en", "pt", STUDENT, version="3.1", scores={"bleu": 40.5})
    model = one(default_catalog("firefox", HTTP), "en pt")
    assert (model.version, model.scores, model.is_released) == ("3.1", {"flores200-plus bleu": 40.5}, True)
    assert {file.content_sha256 for file in model.files} == {sha256(data) for data in STUDENT.values()}
    assert all(file.sha256 and file.compression == "zst" for file in model.files)
    folder = download_model(model, tmp_path, access=HTTP)
    assert {path.read_bytes() for path in folder.iterdir()} == set(STUDENT.values())
    assert model.licence == "", "none is stated"


@pytest.mark.parametrize(("broken", "left"), [("/db/", "3.0"), ("/v1/", sha256(STUDENT["model"])[:12])])
def test_one_of_both_sources_is_enough(broken: str, left: str, server: ModelServer, tmp_path: Path):
    server.add_firefox("en", "pt", STUDENT)
    server.plant(broken, "status", option=500)
    catalog = default_catalog("firefox", HTTP)
    assert one(catalog, "en pt").version == left
    assert len(catalog.notes) == 1
    assert "returned status 500" in catalog.notes[0]
    assert len(list(download_model(catalog.models[0], tmp_path, access=HTTP).iterdir())) == 3


def test_without_both_sources_there_is_one_error(server: ModelServer):
    server.plant("/", "status", option=500)
    with pytest.raises(DataError, match="status 500"):
        default_catalog("firefox", HTTP)


def test_odd_names_of_languages(server: ModelServer):
    two_vocabularies = {"model": b"z" * 99, "srcvocab": b"s" * 50, "trgvocab": b"t" * 50}
    server.add_firefox("en", "zh_hant", two_vocabularies, tags=("en", "zh-Hant"))
    server.add_firefox("zh", "en", STUDENT, tags=("zh-Hans", "en"))
    server.add_firefox("hbs", "en", {"model": b"h" * 99, "vocab": b"v"})
    server.add_firefox("en", "nb", {"model": b"b" * 99, "vocab": b"v"})
    server.add_firefox("en", "no", {"model": b"n" * 99, "vocab": b"v"})
    catalog = default_catalog("firefox", HTTP)
    assert [model.pair for model in search(catalog.models)] == ["en-nb", "en-no", "en-zh-Hant", "sh-en", "zh-en"]
    assert one(catalog, "en zh-TW").files[0].name == "model.enzh_hant.intgemm.alphas.bin"
    assert choose(catalog.models, "en", "zh") is None, "another script"
    assert one(catalog, "zh-Hans en").pair == "zh-en"
    assert one(catalog, "hbs en").pair == "sh-en"
    for language in ("nb", "no"):
        assert one(catalog, f"en {language}").target == language
    records = read_catalog(f"{server.url}{RECORDS}", HTTP)
    assert one(records, "zh en").source == "zh-Hans"


def test_the_newest_stable_version_for_desktops_of_major_3(server: ModelServer):
    def add(content: bytes, **changes: Any) -> str:
        server.add_firefox("en", "pl", {"model": content, "vocab": b"v"}, registry=False, **changes)
        return sha256(content)

    add(b"1", version="3.0")
    add(b"2", version="3.2a1")
    add(b"3", version="4.0")
    add(b"4", version="1.9")
    add(b"5", version="3.3", condition="env.appinfo.OS == 'Android'")
    best = add(b"6", version="3.1", architecture="base-memory", condition="env.appinfo.OS != 'Android'")
    add(b"7", version="3.1")
    server.add_firefox("en", "pl", {"lex": b"alone"}, version="3.9", registry=False)
    catalog = read_catalog(f"{server.url}{RECORDS}", HTTP)
    assert one(catalog, "en pl").files[0].content_sha256 == best
    assert [model.version for model in catalog.models] == ["3.1", "3.1", "3.0", "3.2a1", "3.3"]
    assert "3.9" in catalog.notes[0]


def test_released_models_of_the_registry_come_first(server: ModelServer):
    for status in (None, "Nightly", "Release Android", "Release Desktop"):
        server.add_firefox("en", "pl", {"model": str(status).encode(), "vocab": b"v"}, status=status)
    found = default_catalog("firefox", HTTP).models
    assert [model.is_released for model in found] == [True, True, False, False]
    assert found[0].files[0].content_sha256 == sha256(b"Release Desktop")


def test_two_different_files_of_one_type_leave_out_the_version(server: ModelServer):
    server.add_firefox("en", "pl", {"model": b"a", "vocab": b"v"}, registry=False)
    server.add_firefox("en", "pl", {"vocab": b"other"}, registry=False)
    catalog = read_catalog(f"{server.url}{RECORDS}", HTTP)
    assert (catalog.models, len(catalog.notes)) == ((), 1)
    assert "two different files for vocab" in catalog.notes[0]


def test_argos(server: ModelServer, tmp_path: Path):
    server.add_argos("en", "zt", b"old", "1.9")
    server.add_argos("en", "zt", b"new", "1.10")
    server.add_argos("en", "pb", b"pb")
    server.packages.append({"type": "sbd", "code": "sbd-en", "links": []})
    catalog = default_catalog("argos", HTTP)
    model = one(catalog, "en zh-Hant")
    assert (model.version, model.kind, one(catalog, "en pt-BR").pair) == ("1.10", "argos", "en-pt-BR")
    package = download_model(model, tmp_path, access=HTTP)
    assert (package.suffix, package.read_bytes()) == (".argosmodel", b"new")


def test_the_hub(server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    weights = {"model.safetensors": b"s" * 5000, "pytorch_model.bin": b"p" * 5000, "tf_model.h5": b"t" * 5000}
    server.add_hub(
        "Helsinki-NLP/opus-mt-en-de", {"config.json": b"{}", "source.spm": b"s" * 2000, "README.md": b"#"} | weights
    )
    server.add_hub("Helsinki-NLP/opus-mt-tc-big-en-de", {"config.json": b"{}", "pytorch_model.bin": b"p" * 5000})
    server.add_hub("Helsinki-NLP/opus-mt-en-ROMANCE", {"config.json": b"{}"})
    server.add_hub("HPLT/translate-eu-en-v1.0-hplt_opus", {"model.npz": b"n" * 2000, "model.spm": b"s" * 2000})
    plain = default_catalog("opus-mt", HTTP)
    assert [model.repository for model in plain.models] == ["Helsinki-NLP/opus-mt-en-de"]
    assert one(default_catalog("opus-mt-tc-big", HTTP), "en de").kind == "opus-mt-tc-big"
    assert hub_model("HPLT/translate-eu-en-v1.0-hplt_opus", HTTP).pair == "eu-en"
    model = complete(plain.models[0], HTTP)
    assert [file.name for file in model.files] == ["config.json", "model.safetensors", "source.spm"]
    assert (model.licence, model.version) == ("apache-2.0", server.revision(model.repository))
    folder = download_model(model, tmp_path / "files", access=HTTP)
    assert (folder / "model.safetensors").read_bytes() == b"s" * 5000
    requests = len(server.requests)
    cached = hub_model(model.repository, Access(offline=True))
    assert {file.name: file.sha256 for file in cached.files} == {file.name: file.sha256 for file in model.files}
    assert len(list(download_model(cached, tmp_path / "offline", access=Access(offline=True)).iterdir())) == 3
    with pytest.raises(ConfigError, match="not in the cache"):
        hub_model("Helsinki-NLP/opus-mt-tc-big-en-de", Access(offline=True))
    assert len(server.requests) == requests


def test_errors_of_the_hub(server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    server.add_hub("a/b", {"config.json": b"{}", "model.safetensors": b"s" * 5000})
    model = hub_model("a/b", HTTP)
    path = next(path for path in server.files if path.endswith("safetensors"))
    server.files[path] = b"x" * 5000
    with pytest.raises(DataError, match="SHA-256"):
        download_model(model, tmp_path / "files", access=HTTP)
    assert not (tmp_path / "files" / "model.safetensors").exists()
    for name, message in (("a/none", "is not on"), ("a/b/c", "must be named like"), ("a/../b", "must be named like")):
        with pytest.raises(DragomanError, match=message):
            hub_model(name, HTTP)
    with pytest.raises(ConfigError, match="--allow-http"):
        hub_model("a/b")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ConfigError, match="HF_HUB_OFFLINE forbids"):
        default_catalog("opus-mt", HTTP)


def mirror(folder: Path) -> Path:
    """A mirror with one model."""
    (folder / "en-pt").mkdir(parents=True)
    (folder / "en-pt" / "model.bin").write_bytes(b"model")
    file = CatalogFile("model.bin", "en-pt/model.bin", size=5, sha256=sha256(b"model"))
    model = CatalogModel("firefox", "en", "pt", "3.0", (file,), scores={"x": 1.5}, origin="https://a.example")
    return write_mirror_catalog(folder, [model])


@pytest.mark.parametrize("how", ["folder", "file", "address"])
def test_a_mirror_is_a_catalog_on_disk(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DRAGOMAN_OFFLINE", "1")
    path = mirror(tmp_path / "mirror")
    catalog = read_catalog({"folder": str(path.parent), "file": str(path), "address": path.as_uri()}[how])
    assert catalog.is_local
    model = one(catalog, "en pt")
    assert (model.origin, model.scores) == ("https://a.example", {"x": 1.5})
    folder = download_model(model, tmp_path / "files", is_local=catalog.is_local)
    assert [path.read_bytes() for path in folder.iterdir()] == [b"model"]


def test_a_mirror_is_a_catalog_on_any_web_server(server: ModelServer, tmp_path: Path):
    path = mirror(tmp_path / "mirror")
    server.files |= {"/m/mirror.json": path.read_bytes(), "/m/en-pt/model.bin": b"model"}
    for address in (f"{server.url}/m/", f"{server.url}/m", f"{server.url}/m/mirror.json"):
        catalog = read_catalog(address, HTTP)
        assert not catalog.is_local
        folder = download_model(one(catalog, "en pt"), tmp_path / "files", access=HTTP)
        assert [path.read_bytes() for path in folder.iterdir()] == [b"model"]


def test_a_mirror_that_is_written_by_hand_has_archives(server: ModelServer, tmp_path: Path):
    file = {"name": "en-pt.tar.gz", "url": "en-pt.tar.gz", "size": 5, "sha256": sha256(b"model")}
    model = {"kind": "manuals", "source": "en", "target": "pt", "version": "2", "archive": "tar.gz", "files": [file]}
    catalog = {"format": "dragoman-mirror", "version": 1, "models": [model]}
    server.files |= {"/m/mirror.json": json.dumps(catalog).encode(), "/m/en-pt.tar.gz": b"model"}
    found = one(read_catalog(f"{server.url}/m/", HTTP), "en pt")
    assert download_model(found, tmp_path, access=HTTP) == tmp_path / "en-pt.tar.gz", "the importer unpacks it"


REGISTRY, INDEX = "/db/models.json", "/index.json"
RECORD, ATTACHMENT = ("data", 0), ("data", 0, "attachment")
FILE = ("models", "en-pt", 0, "files", "model")


@pytest.mark.parametrize(
    ("path", "place", "change", "expected"),
    [
        (RECORDS, ATTACHMENT, {"location": "../../etc/passwd"}, "data.0.attachment.location must be a path of letters"),
        (RECORDS, ATTACHMENT, {"location": "//b.example/x"}, "location must be a path"),
        (RECORDS, ATTACHMENT, {"location": "https://b.example/x"}, "location must be a path"),
        (RECORDS, ATTACHMENT, {"size": "12"}, "data.0.attachment.size must be a whole number, got '12'"),
        (RECORDS, ATTACHMENT, {"size": -1}, "data.0.attachment.size must be greater"),
        (RECORDS, ATTACHMENT, {"hash": "0"}, "data.0.attachment.hash must"),
        (RECORDS, RECORD, {"name": "../x"}, "data.0.name must be a file name without a path"),
        (RECORDS, RECORD, {"name": ".hidden"}, "data.0.name must be a path of letters"),
        (RECORDS, RECORD, {"sourceLanguage": "\x1b[31m"}, "data.0.sourceLanguage must be a code"),
        (RECORDS, RECORD, {"attachment": None}, "data.0.attachment must be"),
        (REGISTRY, (), {"baseUrl": "ftp://x/"}, "baseUrl must be an address"),
        (REGISTRY, FILE, {"path": "/etc/passwd"}, "models.en-pt.0.files.model.path must be a path"),
        (REGISTRY, ("models",), {"x": 1}, "models.x must be a list, got 1"),
        (INDEX, (0,), {"code": "../x"}, "0.code must be a file name"),
        (INDEX, (0,), {"links": 1}, "0.links must be a list"),
    ],
)
def test_wrong_fields(path: str, place: tuple[Any, ...], change: dict[str, Any], expected: str, server: ModelServer):
    def edit(path: str, value: Any) -> Any:
        value = entry = json.loads(json.dumps(value))
        for key in place:
            entry = entry[key]
        entry.update(change)
        return value

    server.add_firefox("en", "pt", STUDENT)
    server.add_argos("en", "pt", b"x")
    assert read_catalog(server.url + path, HTTP).models
    server.edit = edit
    with pytest.raises(DataError) as caught:
        read_catalog(f"{server.url}{path}?again", HTTP)
    assert expected in str(caught.value)
    assert str(caught.value).isprintable()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.sampled_from(["..", "file:///"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def catalogs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """One catalog of each form."""
    with ModelServer() as kit:
        kit.add_firefox("en", "pt", STUDENT, scores={"bleu": 1.0})
        kit.add_argos("en", "pt", b"x")
        values = [kit.catalog(path, {}) for path in (RECORDS, REGISTRY, INDEX)]
    path = mirror(tmp_path_factory.mktemp("mirror") / "m")
    return [*(json.dumps(value) for value in values), path.read_text(encoding="utf-8")]


@given(data=st.data())
def test_any_value_of_any_field_is_read_or_refused_in_one_line(
    data: st.DataObject, catalogs: list[str], tmp_path_factory: pytest.TempPathFactory
):
    value = entry = json.loads(data.draw(st.sampled_from(catalogs)))
    while True:
        key = data.draw(st.sampled_from(sorted(entry) if isinstance(entry, dict) else range(len(entry))))
        if not isinstance(entry[key], dict | list) or not entry[key] or data.draw(st.integers(0, 3)) == 0:
            break
        entry = entry[key]
    entry[key] = data.draw(JSON)
    path = tmp_path_factory.mktemp("catalog") / "x.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    models: tuple[CatalogModel, ...] = ()
    message = ""
    try:
        models = read_catalog(str(path)).models
    except DragomanError as error:
        message = str(error)
    assert message.isprintable()
    search(models, "pt")
    for file in (file for model in models for file in model.files):
        assert file.url.startswith(("https://", "http://", "file:///"))
        assert ".." not in file.url
        assert "/" not in file.name


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"url": "../model.bin"}, "url must be a path"),
        ({"url": "https://a.example/x"}, "url must be a path"),
        ({"sha256": ""}, "sha256"),
        ({"size": 0}, "size must be"),
        ({"name": "MODEL.bin"}, "has model.bin twice"),
    ],
)
def test_a_mirror_is_strict(change: dict[str, Any], expected: str, tmp_path: Path):
    path = mirror(tmp_path / "mirror")
    value = json.loads(path.read_bytes())
    files = value["models"][0]["files"]
    files[0 if "name" not in change else 1 :] = [files[0] | change]
    path.write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(DataError, match=expected):
        read_catalog(str(path))


def test_what_is_no_catalog(server: ModelServer, tmp_path: Path):
    for data, expected in ((b"{}", "is no catalog"), (b"[1", "is not JSON"), (b"[" * 99999, "is not JSON")):
        (tmp_path / "x.json").write_bytes(data)
        with pytest.raises(DataError, match=expected):
            read_catalog(str(tmp_path / "x.json"))
    with pytest.raises(ConfigError, match="must be an address, a file or a folder"):
        read_catalog(str(tmp_path / "none"))
    server.files["/x.json"] = b"[" + b"1," * 3_000_000
    with pytest.raises(DataError, match="values"):
        read_catalog(f"{server.url}/x.json", HTTP)
    with pytest.raises(ConfigError, match=f"must be one of {', '.join(KINDS)}"):
        default_catalog("fire")


def test_two_models_translate_through_english(server: ModelServer):
    for source, target in (("pt", "en"), ("en", "de"), ("en", "pt"), ("es", "de")):
        server.add_firefox(source, target, {"model": f"{source}{target}".encode(), "vocab": b"v"})
    models = default_catalog("firefox", HTTP).models
    assert [model.pair for model in route(models, "pt", "de")] == ["pt-en", "en-de"]
    assert [model.pair for model in route(models, "es", "de")] == ["es-de"]
    with pytest.raises(ConfigError, match="has no model for de-pt, directly or through English; it has en-pt; search"):
        route(models, "de", "pt")
    with pytest.raises(ConfigError, match="must be two languages"):
        route(models, "pt", "por")
    assert [model.pair for model in search(models, "de")] == ["en-de", "es-de"]
    assert [model.pair for model in search(models, "en-PT")] == ["en-pt"]
