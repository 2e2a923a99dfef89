"""`dragoman get`, `models search`, `models update` and `mirror`, against a local server; then without a network."""

import functools
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman import Translator
from dragoman.bundle.model_store import ModelStore
from dragoman.importing.import_model import import_model
from testkit.model_server import ModelServer, firefox_files
from testkit.random_models.random_firefox import firefox_folder
from testkit.random_models.random_marian import SHAPES, write_vocabularies
from tests.unit.cli.tiny_translators import command, typed

NETWORK = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname")
_seen: list[tuple[str, object]] = []


@functools.cache
def _watch() -> None:
    """Record attempts to connect; an audit hook cannot be removed."""

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event in NETWORK:
            _seen.append((event, arguments))

    sys.addaudithook(hook)


@pytest.fixture(scope="module")
def students(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model as Firefox Translations exports one."""
    folder = tmp_path_factory.mktemp("students")
    write_vocabularies(folder, SHAPES["shared, swish"])
    return firefox_folder(folder / "firefox", (folder / "source.spm").read_bytes(), lexicon=True)


@pytest.fixture
def server(students: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.setenv("DRAGOMAN_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("DRAGOMAN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DRAGOMAN_OFFLINE", raising=False)
    monkeypatch.chdir(tmp_path)
    with ModelServer() as kit:
        for name, value in kit.environment.items():
            monkeypatch.setenv(name, value)
        files = firefox_files(students)
        kit.add_firefox("en", "pt", files, scores={"bleu": 39.3})
        kit.add_firefox("pt", "en", files)
        kit.add_firefox("en", "de", files)
        yield kit


@pytest.fixture
def store(server: ModelServer) -> ModelStore:
    return ModelStore.of_user()


def run(*arguments: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """The command in this process, which saves the imports."""
    done = typed(*arguments, stdin=stdin)
    return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout_bytes, done.stderr_bytes)


def get(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    done = run("get", *arguments, "--allow-http")
    assert done.returncode == 0, done.stderr.decode()
    return done


def release(server: ModelServer, files: dict[str, bytes]) -> None:
    """Release another version of en-pt in place of the old one."""
    server.registry["en-pt"] = []
    server.records = [
        each for each in server.records if (each["sourceLanguage"], each["targetLanguage"]) != ("en", "pt")
    ]
    server.add_firefox("en", "pt", files, version="3.1")
    shutil.rmtree(Path(os.environ["DRAGOMAN_CACHE"]) / "catalogs")


def digests(store: ModelStore) -> dict[str, str]:
    return {each.name: each.current.digest for each in store.entries() if not each.route}


def test_a_model_is_shown_downloaded_and_translates(server: ModelServer, store: ModelStore):
    done = get("en-pt")
    assert re.search(rb"en-pt +firefox +3.0 +tiny +0.\d MB +not stated +flores200-plus bleu 39.3\n", done.stdout), (
        done.stdout
    )
    assert done.stderr.endswith(b"next    dragoman translate en-pt    or  dragoman serve en-pt\n")
    entry = store.read("en-pt")
    assert entry.current.licence == ""
    assert entry.current.published_scores == {"flores200-plus bleu": 39.3}
    assert server.url in entry.current.origin
    translated = run("translate", "en-pt", "--threads", "1", stdin=b"a b c\n")
    assert (translated.returncode, len(translated.stdout.splitlines())) == (0, 1), translated.stderr


def test_a_stored_model_is_not_downloaded_again(server: ModelServer, store: ModelStore):
    get("en-pt")
    server.stop()
    done = get("en-pt")
    assert b"en-pt is stored, version 3.0; dragoman models update en-pt gets a newer one" in done.stderr


@pytest.mark.slow
def test_two_processes_get_a_model_with_one_download(server: ModelServer, store: ModelStore):
    both = [
        subprocess.Popen(command("get", "en-pt", "--allow-http"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    ends = [each.communicate() for each in both]
    assert [each.returncode for each in both] == [0, 0], ends
    sizes = {path: len(data) for path, data in server.files.items()}
    sent = {path: count for path, count in server.sent.items() if path in sizes}
    assert sent == {path: sizes[path] for path in sent}
    assert store.names() == ["en-pt"]


def test_a_pair_without_a_model_takes_two_and_remembers_the_route(server: ModelServer, store: ModelStore):
    done = get("pt-de")
    assert b"no model translates pt-de directly; two do, through en" in done.stderr
    assert store.read("pt-de").route == ("pt-en", "en-de")
    translated = run("translate", "pt-de", "--threads", "1", stdin=b"a b c\nd\n")
    assert (translated.returncode, len(translated.stdout.splitlines())) == (0, 2), translated.stderr
    assert len(list(store.files.iterdir())) == 3  # the files of both models are the same


def test_the_bundle_is_that_of_an_import_by_hand(
    server: ModelServer, store: ModelStore, students: Path, tmp_path: Path
):
    get("en-pt")
    (tmp_path / "hand").mkdir()
    shutil.copytree(students, tmp_path / "hand" / "en-pt")  # the card has the name of the folder
    by_hand = import_model(tmp_path / "hand" / "en-pt", tmp_path / "bundle").bundle
    assert by_hand.digest == store.read("en-pt").current.digest


def test_a_failed_download_leaves_nothing_in_the_store(server: ModelServer, store: ModelStore):
    server.plant("/cdn/", "wrong-hash")
    server.plant("/models/", "wrong-hash")
    done = run("get", "en-pt", "--allow-http")
    assert done.returncode == 1
    assert done.stderr.count(b"error:") == 1
    assert (store.names(), list(store.files.iterdir()), list(store.models.iterdir())) == ([], [], [])
    server.faults.clear()
    get("en-pt")
    assert run("models", "verify").stdout == b"en-pt: no differences\n"


def test_an_update_that_does_not_translate_leaves_the_old_version(
    server: ModelServer, store: ModelStore, students: Path
):
    get("en-pt")
    old = store.read("en-pt")
    assert run("models", "update", "en-pt", "--allow-http").stdout == b"en-pt: has the newest version\n"
    files = firefox_files(students)
    release(server, files | {"model": files["model"][: len(files["model"]) // 2]})
    failed = run("models", "update", "en-pt", "--allow-http")
    assert (failed.returncode, failed.stdout) == (1, b"")
    assert store.read("en-pt") == old
    assert run("translate", "en-pt", "--threads", "1", stdin=b"a\n").returncode == 0


def test_an_update_and_the_way_back(server: ModelServer, store: ModelStore, students: Path):
    get("en-pt")
    old = digests(store)
    server.sent.clear()
    release(server, {name: data for name, data in firefox_files(students).items() if name != "lex"})
    done = run("models", "update", "en-pt", "--allow-http")
    assert done.stdout == b"en-pt: version 3.1, before 3.0\n", done.stderr
    assert digests(store) != old
    assert server.bytes_sent("/cdn/") + server.bytes_sent("/models/") == 0, "files of the old version are used"
    assert run("models", "update", "en-pt", "--back").stdout == b"en-pt: version 3.0 again, in place of 3.1\n"
    assert digests(store) == old


def test_a_damaged_model_is_downloaded_again(server: ModelServer, store: ModelStore):
    get("en-pt")
    file = next(store.files.iterdir())
    file.write_bytes(b"x" * file.stat().st_size)
    assert b"dragoman models update en-pt gets it again" in run("models", "verify").stderr
    assert run("models", "update", "en-pt", "--allow-http").returncode == 0
    assert run("models", "verify").stdout == b"en-pt: no differences\n"
    (store.models / "en-pt" / "entry.json").write_text("{", encoding="utf-8")
    assert b"dragoman get en-pt replaces it" in run("translate", "en-pt", stdin=b"a\n").stderr
    get("en-pt")
    assert run("models", "verify").stdout == b"en-pt: no differences\n"


def test_search_reads_catalogs_and_then_the_cache(server: ModelServer):
    found = json.loads(run("models", "search", "pt", "--json", "--kind", "firefox", "--allow-http").stdout)
    assert [each["pair"] for each in found] == ["en-pt", "pt-en"]
    server.stop()
    again = run("models", "search", "pt", "--json", "--kind", "firefox", "--offline")
    assert json.loads(again.stdout) == found
    assert run("models", "search", "xx", "--kind", "firefox", "--offline").stderr == b"no model for xx\n"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("en",), "a language pair must be two codes such as en-pt or en-zh-Hant, got 'en'"),
        (("en-pt",), "is not encrypted"),
        (("en-fr", "--allow-http"), "the catalog has no model for en-fr, directly or through English"),
        (("en-pt", "--kind", "tiny", "--allow-http"), "the kind of a model must be one of firefox"),
        (("en-pt", "--catalog", "missing.json"), "--catalog must be an address, a file or a folder"),
    ],
)
def test_mistakes_are_one_line(server: ModelServer, store: ModelStore, arguments: tuple[str, ...], error: str):
    done = typed("get", *arguments)
    assert done.exit_code in (1, 2)
    assert error in done.stderr
    assert done.stderr.count("\n") == 1
    assert not store.folder.exists()


def test_a_mirror_serves_a_machine_without_network(
    server: ModelServer, store: ModelStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    get("en-pt")
    done = run("mirror", "carry", "en-pt", "--allow-http")
    assert done.returncode == 0, done.stderr
    assert run("mirror", "carry", "pt-de", "--allow-http").returncode == 0
    old = digests(store)
    server.stop()
    monkeypatch.setenv("DRAGOMAN_OFFLINE", "1")
    monkeypatch.setenv("DRAGOMAN_MODELS", str(tmp_path / "other"))
    shutil.move(tmp_path / "carry", tmp_path / "stick")
    assert run("get", "en-pt", "--catalog", "stick").returncode == 0
    assert run("get", "pt-de", "--catalog", "stick").returncode == 0
    assert digests(ModelStore.of_user())["en-pt"] == old["en-pt"]
    assert str(tmp_path).encode() not in (tmp_path / "other" / "models" / "en-pt" / "entry.json").read_bytes()
    shutil.rmtree(tmp_path / "cache" / "catalogs")
    refused = run("get", "en-fr")
    assert refused.stderr.count(b"\n") == 1
    assert b"DRAGOMAN_OFFLINE" in refused.stderr


def test_other_commands_make_no_connection(server: ModelServer, store: ModelStore, tmp_path: Path):
    get("pt-de")
    text = tmp_path / "text.txt"
    text.write_text("".join(f"a b {number}\n" for number in range(3)), encoding="utf-8")
    _watch()
    _seen.clear()
    for arguments in (
        ("translate", "pt-de", text, "--threads", "1"),
        ("models",),
        ("models", "verify"),
        ("models", "search", "pt", "--kind", "firefox", "--offline"),
        ("serve", "pt-de", "--check"),
        ("get", "pt-de"),
        ("mirror", "carry", "pt-de"),
        ("get", "pt-en", "--catalog", "carry"),
        ("models", "remove", "pt-de"),
        ("doctor",),
    ):
        done = run(*arguments)
        assert done.returncode in (0, 4), (arguments, done.stderr)  # 4: the random model translates with no text
    assert _seen == []
    shutil.rmtree(tmp_path / "cache" / "catalogs")
    get("en-pt")
    assert _seen, "the test sees connections"


def _asked(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except OSError:
        return 0, ""


@pytest.mark.slow
def test_a_server_gets_models_at_its_start_and_is_not_ready_meanwhile(server: ModelServer, store: ModelStore):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    arguments = ("serve", "--get", "en-pt,pt-de", "--allow-http", "--port", str(port), "--threads", "1")
    server.plant("/cdn/", "status", times=1, option=503)
    origin = server.environment["DRAGOMAN_FIREFOX_RECORDS"]
    for start in ("first", "second"):
        with subprocess.Popen(command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            seen: list[tuple[int, str]] = []
            end = time.monotonic() + 120
            while (not seen or seen[-1][0] != 200) and process.poll() is None and time.monotonic() < end:
                seen = [*seen, answer] if (answer := _asked(f"{url}/readyz"))[0] else seen
                if seen and seen[-1][0] == 503:
                    assert _asked(f"{url}/livez")[0] in (0, 200)
                time.sleep(0.05)
            models = json.loads(_asked(f"{url}/v1/models")[1] or "{}")
            languages = json.loads(_asked(f"{url}/languages")[1] or "[]")
            process.terminate()
            assert process.stdout is not None
            output = process.stdout.read().decode()
        assert seen, output
        assert seen[-1][0] == 200, output
        reasons = {text for code, text in seen if code == 503}
        assert reasons == (
            {'{"status":"not ready","reason":"downloading en-pt, pt-de"}'} if start == "first" else set()
        )
        assert [each["name"] for each in models["models"]] == ["en-pt", "pt-en", "en-de"]
        assert {(each["licence"], each["origin"]) for each in models["models"]} == {("", origin)}
        assert [each["models"][0]["origin"] for each in languages if "models" in each] == [origin, origin]
        routes = [(each["source"], each["target"]) for each in models["routes"]]
        assert ("pt", "de") in routes
        server.faults.clear()
        server.registry.clear()  # the second start requests nothing


@pytest.mark.slow
def test_real_students_of_the_store_translate_as_ones_imported_by_hand(
    server: ModelServer, store: ModelStore, corpora: Path, tmp_path: Path
):
    folder = corpora.parent / "models"
    if not (folder / "firefox-pten").is_dir():
        pytest.skip(f"{folder / 'firefox-pten'} is not there")
    by_hand = {}
    server.registry.clear()
    server.records.clear()
    for pair in ("en-pt", "pt-en"):
        source = folder / f"firefox-{pair.replace('-', '')}"
        server.add_firefox(pair[:2], pair[3:], firefox_files(source))
        by_hand[pair] = import_model(source, tmp_path / pair).bundle.folder

    lines = {"en-pt": b"The weather is nice today.\nHe left.\n", "pt-en": "O tempo est\u00e1 bom hoje.\n".encode()}
    for pair, text in lines.items():
        get(pair)
        stored = run("translate", pair, "--threads", "1", stdin=text).stdout
        assert stored.strip()
        assert stored == run("translate", str(by_hand[pair]), "--threads", "1", stdin=text).stdout
        with Translator.open(pair, threads=1) as translator:
            found = translator.translate(text.decode().splitlines(), split_sentences=False)
        assert [each.text for each in found] == stored.decode().splitlines()
