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
from dragoman.cli.main import load_command
from dragoman.config.options_environment_toml import leaf_fields
from dragoman.server.access.api_keys import ApiKeyStore
from dragoman.server.settings import ServerSettings
from tests.server.bundles import tiny_bundle
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
    own = {"bundles", "config", "check", "new_key", "rights", "help", "on", "min_replicas", "max_replicas"}
    assert set(options) - own == {path.replace(".", "_") for path, _ in leaf_fields(ServerSettings)}
    assert all(option.help for name, option in options.items() if name != "help")


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ((), 2, "error: a model must be given, got none; name a bundle, a run or a project"),
        (("x", "--max-replicas", "2"), 2, "error: --max-replicas must come with --on, got it alone; write --on ray"),
        (
            ("x", "--on", "ray", "--min-replicas", "3", "--max-replicas", "2"),
            2,
            "error: --max-replicas must be at least --min-replicas, got 2 and 3; ",
        ),
        (("x", "--on", "spark"), 2, "error: --on must be ray or ray://HOST:PORT, got 'spark'; "),
        (("nowhere",), 1, "error: nowhere must be a bundle, a run or a project folder, got a path that does not"),
        (("x", "--port", "99999"), 2, "error: --port must be less than or equal to 65535, got 99999; "),
        (("x", "--log", "xml"), 2, "error: --log must be one of text, json, off, got 'xml'"),
        (("x", "--config", "none.toml"), 2, "error: --config must be a TOML file, got none.toml; there is no such"),
        (("--new-key", "anna"), 2, "error: --new-key must come with --keys, got it without; name the file"),
        (("a=nowhere", "a=nowhere"), 2, "error: models must have different names, got 'a' twice"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(arguments: tuple[str, ...], code: int, told: str):
    result = typed("serve", *arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr.startswith(told)
    assert len(result.stderr.splitlines()) == 1


def test_the_first_line_is_printed_before_the_server_is_imported(bundle: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "dragoman.server.models.model_names", None)  # its import fails
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
    assert result.stderr.splitlines()[-1] == "check   settings and bundles are valid"
    config.write_text("port = 0\nkeys = 'none'\n")
    assert typed("serve", bundle, "--config", config, "--check").exit_code == 2


def test_a_port_that_is_taken(bundle: Path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        done = ran("serve", bundle, "--port", str(other.getsockname()[1]))
    assert done.returncode == 2
    opening, *told = done.stderr.splitlines()
    assert opening.startswith(b"opening ")
    assert [b"host and port must be a free address" in line for line in told] == [True]


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
