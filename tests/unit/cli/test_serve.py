"""``dragoman serve`` as a person types it; a real server for the one bundle it is tried with."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

import httpx
import pytest
from typer.main import get_command

from dragoman import environment
from dragoman.cli.main import app
from dragoman.server.keys import Keys
from dragoman.server.settings import ServerSettings
from dragoman.server.settings_file import setting_names
from tests.server.bundles import tiny_bundle
from tests.unit.cli.tiny_translators import command, ran, typed


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bundle(tmp_path_factory.mktemp("bundles") / "tiny", "en", "de")


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("DRAGOMAN_")]:
        monkeypatch.delenv(name)


def test_every_setting_is_a_flag_and_tells_its_default():
    serve = get_command(app).commands["serve"]  # type: ignore[attr-defined]
    options = {option.name: option for option in serve.params}
    own = {"bundles", "config", "check", "new_key", "rights", "help"}
    assert set(options) - own == {name.replace(".", "_") for name in setting_names()}
    defaults = ServerSettings().model_dump()
    defaults |= {f"limits_{name}": value for name, value in defaults.pop("limits").items()}
    words = {"1 MiB": 1 << 20, "10 MiB": 10 << 20, "yes": True, "no": False, "*": ("*",), "loopback's": ()}
    words |= {"never": None, "all cores": None, "everybody": None, "the fastest": "auto", "float32": "auto"}
    for name, default in defaults.items():
        told = str(options[name].show_default).partition(":")[0]
        written = f"{default:g}" if isinstance(default, float) else str(default)
        assert (words[told] == default) if told in words else (told == written), name


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ((), 2, "error: bundles must be given, got none; name a folder"),
        (("nowhere",), 1, "error: nowhere must be a folder that can be read"),
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


def test_a_wrong_variable(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DRAGOMAN_PROT", "1")
    result = typed("serve", "x")
    assert (result.exit_code, "did you mean DRAGOMAN_PORT?" in result.stderr) == (2, True)


def test_without_the_packages_it_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(environment, "is_installed", lambda module: module != "uvicorn")
    result = typed("serve", "x")
    assert result.exit_code == 3
    assert 'pip install "dragoman[serve]"' in result.stderr


def test_a_new_key_is_printed_once(tmp_path: Path):
    keys = tmp_path / "keys.txt"
    result = typed("serve", "--new-key", "anna", "--keys", keys, "--rights", "admin")
    assert result.exit_code == 0
    secret = result.stdout.strip()
    found = Keys(keys).find(secret)
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
    assert result.stderr.splitlines()[-1] == "check   settings and bundles are good"
    config.write_text("port = 0\nkeys = 'none'\n")
    assert typed("serve", bundle, "--config", config, "--check").exit_code == 2


def test_a_port_that_is_taken(bundle: Path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        done = ran("serve", bundle, "--port", str(other.getsockname()[1]))
    assert done.returncode == 2
    assert b"host and port must be an address that is free" in done.stderr
    assert len(done.stderr.splitlines()) == 1


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
        assert re.match(r"model   tiny: \w+ → \w+, ready, ", said[0])
        assert said[1] == "keys    not needed"
        assert said[2].startswith("warning others on the network can use it")
        url = said[3].removeprefix("serving ").replace("0.0.0.0", "127.0.0.1")
        assert httpx.get(f"{url}/readyz").json() == {"status": "ok"}
        (model,) = httpx.get(f"{url}/v1/models").json()["models"]
        asked = {"q": "a man", "source": model["source"], "target": model["target"]}
        assert "translatedText" in httpx.post(f"{url}/translate", json=asked, timeout=30).json()
        assert "dragoman_batch_size_count 1.0" in httpx.get(f"{url}/metrics").text
        process.send_signal(signal.SIGTERM)
        begun = time.monotonic()
        rest = process.stderr.read()
        assert process.wait(10) == 0
        assert time.monotonic() - begun < 5
        assert " POST /translate 200 " in rest
        assert "a man" not in rest
        assert "Traceback" not in rest
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def test_it_can_be_ended_while_it_is_about_to_start(bundle: Path, tmp_path: Path):
    process = subprocess.Popen(command("serve", bundle, "--port", "0"), stderr=subprocess.PIPE, cwd=tmp_path)
    try:
        facts = Path(f"/proc/{process.pid}")
        begun = time.monotonic()
        while not _catches(facts, signal.SIGTERM):
            assert time.monotonic() - begun < 20
            time.sleep(0.002)
        assert "uvloop" not in (facts / "maps").read_text(), "long before there is a server"
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=10)
        assert (process.returncode, told) == (0, b"")
    finally:
        process.kill()
        process.wait()


def _catches(facts: Path, number: signal.Signals) -> bool:
    """Whether a process, by its folder of /proc, has a handler for a signal."""
    (caught,) = re.findall(r"SigCgt:\s*(\w+)", (facts / "status").read_text())
    return bool(int(caught, 16) >> (number - 1) & 1)
