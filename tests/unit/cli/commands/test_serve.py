"""``dragoman serve`` as a person types it; a real server for the one bundle it is tried with."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from dragoman import environment
from dragoman.bundle.model_store import ModelStore
from dragoman.cli.commands import serve as serve_command
from dragoman.cli.main import load_command
from dragoman.config.settings_sources import leaf_fields
from dragoman.errors import MissingExtraError
from dragoman.server.access.api_keys import ApiKeyStore, read_keys
from dragoman.server.models import registry
from dragoman.server.settings import ServerSettings
from tests.server.bundles import tiny_bundle
from tests.unit.bundle.test_model_store import add_entry
from tests.unit.cli.tiny_translators import command, ran, typed


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bundle(tmp_path_factory.mktemp("bundles") / "tiny", "en", "de")


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("DRAGOMAN_")]:
        monkeypatch.delenv(name)


def test_every_setting_is_an_option_with_help():
    options = {option.name: option for option in load_command("serve").params}
    own = {
        "bundles",
        "config",
        "get",
        "catalog",
        "allow_http",
        "check",
        "new_key",
        "rights",
        "expires",
        "list_keys",
        "revoke_key",
        "help",
        "on",
        "min_replicas",
        "max_replicas",
    }
    assert set(options) - own == {path.replace(".", "_") for path, _ in leaf_fields(ServerSettings)}
    assert all(option.help for name, option in options.items() if name != "help")


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("x", "--max-replicas", "2"), 2, "error: --max-replicas needs --on; write --on ray"),
        (
            ("x", "--on", "ray", "--min-replicas", "3", "--max-replicas", "2"),
            2,
            "error: --max-replicas must be at least --min-replicas, got 2 and 3; ",
        ),
        (("x", "--on", "spark"), 2, "error: --on must be ray or ray://HOST:PORT, got 'spark'; "),
        (("nowhere",), 1, "error: nowhere does not exist; check its spelling, and name a bundle"),
        (("x", "--port", "99999"), 2, "error: --port must be less than or equal to 65535, got 99999; "),
        (("x", "--log", "xml"), 2, "error: --log must be one of text, json, off, got 'xml'"),
        (("x", "--config", "none.toml"), 2, "error: --config must be a TOML file, got none.toml; there is no such"),
        (("--new-key", "anna"), 2, "error: --new-key needs --keys; name the file"),
        (("a=nowhere", "a=nowhere"), 2, "error: models must have different names, got 'a' twice"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(arguments: tuple[str, ...], code: int, told: str):
    result = typed("serve", *arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr.startswith(told)
    assert len(result.stderr.splitlines()) == 1


def test_the_first_line_is_printed_before_the_server_is_imported(bundle: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "dragoman.server.models.routing", None)  # its import fails
    for given in (str(bundle), f"mine={bundle}"):
        result = typed("serve", given)
        assert result.exit_code != 0
        assert result.stderr.splitlines()[:1] == [f"opening {given}"]


def test_a_wrong_variable(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DRAGOMAN_PROT", "1")
    result = typed("serve", "x")
    assert (result.exit_code, "did you mean DRAGOMAN_PORT?" in result.stderr) == (2, True)


def test_without_the_packages_it_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(environment, "is_installed", lambda module: module != "uvicorn")
    result = typed("serve", "x")
    assert result.exit_code == 3
    assert environment.install_command("serve") in result.stderr


def test_a_new_key_is_printed_once(tmp_path: Path):
    keys = tmp_path / "keys.txt"
    result = typed("serve", "--new-key", "anna", "--keys", keys, "--rights", "admin")
    assert result.exit_code == 0
    secret = result.stdout.strip()
    found = ApiKeyStore(keys).find(secret)
    assert found is not None
    assert (found.name, found.rights) == ("anna", frozenset({"admin"}))
    assert secret not in keys.read_text()
    assert secret not in result.stderr


def test_check_says_what_would_be_served(bundle: Path, tmp_path: Path):
    config = tmp_path / "serve.toml"
    config.write_text(f'port = 0\n[bundles]\nmine = "{bundle}"\n')
    result = typed("serve", "--config", config, "--check")
    assert result.exit_code == 0, result.stderr
    assert re.match(r"model   mine: \w+ → \w+, ", result.stderr)
    assert result.stderr.splitlines()[-1] == "check   1 model opened and translated a sentence"
    config.write_text("port = 0\nkeys = 'none'\n")
    assert typed("serve", bundle, "--config", config, "--check").exit_code == 2


def test_a_model_that_several_routes_use_is_printed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DRAGOMAN_MODELS", str(tmp_path / "models"))
    store = ModelStore.of_user()
    for name in ("pt-en", "en-de"):
        add_entry(store, name, *name.split("-"))
    add_entry(store, "pt-de", "pt", "de", route=("pt-en", "en-de"))
    printed = typed("serve", "pt-en", "pt-de", "--check").stderr
    assert [line.split(",")[1] for line in printed.splitlines() if line.startswith("bundle ")] == [
        " pt-en in the model store",
        " pt-de in the model store",
    ]


@pytest.mark.parametrize("command", ["get", "mirror", "serve"])
def test_the_catalog_has_a_variable(command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("DRAGOMAN_CATALOG", "missing.json")
    monkeypatch.setenv("DRAGOMAN_MODELS", str(tmp_path / "models"))
    arguments = {"get": ["en-pt"], "mirror": [str(tmp_path / "m"), "en-pt"], "serve": ["--get", "en-pt", "--port", "0"]}
    result = typed(command, *arguments[command])
    assert result.exit_code != 0
    assert "--catalog must be an address, a file or a folder" in result.stderr


def test_check_fails_where_serving_would(bundle: Path, monkeypatch: pytest.MonkeyPatch):
    def missing(*_: object, **__: object) -> None:
        raise MissingExtraError("onnxruntime must be installed to serve it")

    monkeypatch.setattr(registry, "open_translator", missing)
    checked, served = (typed("serve", bundle, "--port", "0", *more) for more in (["--check"], []))
    assert checked.exit_code == served.exit_code == 3
    assert checked.stderr.splitlines()[-1] == served.stderr.splitlines()[-1]
    assert "onnxruntime must be installed" in checked.stderr


def test_keys_are_listed_limited_revoked_and_expire(tmp_path: Path):
    keys = tmp_path / "keys.txt"
    keys.write_text(f"# ours\nold {'0' * 64}\n")
    keys.chmod(0o600)
    new = ("serve", "--keys", keys, "--new-key")
    assert typed(*new, "anna", "--limits-tokens-per-minute", "50", "--expires", "90d").exit_code == 0
    assert typed(*new, "ben", "--rights", "admin,metrics", "--expires", "2999-01-31").exit_code == 0
    listed = typed("serve", "--keys", keys, "--list-keys").stdout.splitlines()
    assert listed[0] == "old: no rights, never expires"
    assert re.fullmatch(r"anna: no rights, 50 tokens per minute, expires \d{4}-\d\d-\d\dT[\d:]{8}Z", listed[1])
    assert listed[2] == "ben: rights admin,metrics, expires 2999-01-31T00:00:00Z"
    assert typed("serve", "--keys", keys, "--revoke-key", "anna").exit_code == 0
    assert [line.split()[:2] for line in keys.read_text().splitlines()][:2] == [["#", "ours"], ["old", "0" * 64]]
    assert [key.name for key in read_keys(keys)] == ["old", "ben"]
    assert keys.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--new-key", "a", "--limits-texts", "3"), "--limits-texts has no effect with --new-key"),
        (("--new-key", "a", "bundle"), "bundle has no effect with --new-key"),
        (("--new-key", "a", "--check"), "--check has no effect with --new-key"),
        (("--new-key", "a", "--on", "ray"), "--on has no effect with --new-key"),
        (
            ("--list-keys", "--limits-tokens-per-minute", "3"),
            "--limits-tokens-per-minute has no effect with --list-keys",
        ),
        (("--list-keys", "--revoke-key", "a"), "--revoke-key has no effect with --list-keys"),
        (("--expires", "9d"), "--expires needs --new-key"),
        (("--new-key", "a", "--expires", "soon"), "--expires must be a duration or a date, got 'soon'; write 12h, 90d"),
        (("--new-key", "a", "--expires", "2001-01-01"), "--expires must be in the future, got 2001-01-01"),
        (("--revoke-key", "carl"), "--revoke-key must be the name of a key in"),
    ],
)
def test_options_of_keys_that_have_no_effect_are_refused(tmp_path: Path, arguments: tuple[str, ...], told: str):
    (tmp_path / "keys.txt").write_text("")
    result = typed("serve", "--keys", tmp_path / "keys.txt", *arguments)
    assert result.exit_code == 2
    assert f"error: {told}" in result.stderr
    assert (tmp_path / "keys.txt").read_text() == ""


def test_settings_that_a_reload_does_not_read_are_named(caplog: pytest.LogCaptureFixture):
    started = ServerSettings(port=1)
    for now, told in ((started, []), (ServerSettings.model_validate({"port": 2, "limits": {"texts": 9}}), ["port"])):
        caplog.clear()
        with caplog.at_level("INFO", "dragoman.server"):
            serve_command._log_changed(started, now)
        assert [message.partition(",")[0] for message in caplog.messages] == told
    assert caplog.messages == ["port, limits.texts changed in the file of settings: restart the server to use them"]


def test_a_port_that_is_taken(bundle: Path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        done = ran("serve", bundle, "--port", str(other.getsockname()[1]))
    assert done.returncode == 2
    opening, *told = done.stderr.splitlines()
    assert opening.startswith(b"opening ")
    assert [b"error: the server cannot listen on 127.0.0.1, port " in line for line in told] == [True]


def test_from_start_to_end(bundle: Path, tmp_path: Path):
    typed_line = command("serve", f"tiny={bundle}", "--host", "0.0.0.0", "--port", "0", "--threads", "1")
    process = subprocess.Popen(typed_line, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert process.stderr is not None
    try:
        said = []
        for line in process.stderr:
            said.append(line.rstrip())
            if line.startswith("serving"):
                break
        assert said.pop(0) == f"opening tiny={bundle}"
        assert re.match(r"model   tiny: \w+ → \w+, ready, ", said[0])
        assert said[1] == "keys    not required"
        assert said[2].startswith("warning the server is open to the network")
        url = said[3].removeprefix("serving ").replace("0.0.0.0", "127.0.0.1")
        assert httpx.get(f"{url}/readyz").json() == {"status": "ok"}
        (model,) = httpx.get(f"{url}/v1/models").json()["models"]
        asked = {"q": "a man", "source": model["source"], "target": model["target"]}
        assert "translatedText" in httpx.post(f"{url}/translate", json=asked, timeout=30).json()
        assert "dragoman_batch_size_count 1.0" in httpx.get(f"{url}/metrics").text
        process.send_signal(signal.SIGTERM)
        rest = process.stderr.read()
        assert process.wait(60) == 0
        assert " POST /translate 200 " in rest
        assert "a man" not in rest
        assert "Traceback" not in rest
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.mark.parametrize("caught", [signal.SIGTERM, signal.SIGHUP])
def test_it_can_be_ended_while_it_is_about_to_start(bundle: Path, tmp_path: Path, caught: signal.Signals):
    process = subprocess.Popen(command("serve", bundle, "--port", "0"), stderr=subprocess.PIPE, cwd=tmp_path)
    try:
        facts = Path(f"/proc/{process.pid}")
        begun = time.monotonic()
        while not _catches(facts, caught):
            assert time.monotonic() - begun < 60
            time.sleep(0.002)
        assert "uvloop" not in (facts / "maps").read_text(), "long before there is a server"
        for number in dict.fromkeys((caught, signal.SIGTERM)):
            process.send_signal(number)
        _, told = process.communicate(timeout=60)
        assert (process.returncode, told) in {(0, b""), (0, f"opening {bundle}\n".encode())}
    finally:
        process.kill()
        process.wait()


def _catches(facts: Path, number: signal.Signals) -> bool:
    """Whether a process, by its folder of /proc, has a handler for a signal."""
    (caught,) = re.findall(r"SigCgt:\s*(\w+)", (facts / "status").read_text())
    return bool(int(caught, 16) >> (number - 1) & 1)
