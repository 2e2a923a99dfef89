"""Settings from flags, variables and a file, and errors that name the place of a wrong one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dragoman.config.settings_sources import PathTables, leaf_fields, load_settings
from dragoman.errors import ConfigError
from dragoman.server.settings import ServerSettings

ROOT = Path(__file__).parents[3]


def load(flags: dict[str, Any], environ: dict[str, str], file: Path | None) -> tuple[ServerSettings, PathTables]:
    return load_settings(
        ServerSettings,
        flags,
        environ,
        file,
        path_tables=("bundles",),
        path_settings=("keys",),
        hint="see --help",
    )


def written(folder: Path, text: str) -> Path:
    path = folder / "serve.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_without_any_all_is_as_the_schema_says():
    assert load({}, {"PATH": "/bin"}, None)[0] == ServerSettings()


def test_flags_go_before_variables_and_those_before_the_file(tmp_path: Path):
    file = written(tmp_path, 'port = 1\nbeam = 2\nhost = "0.0.0.0"\n[limits]\ntexts = 1\nseconds = 3\n')
    environ = {"DRAGOMAN_PORT": "11", "DRAGOMAN_BEAM": "12", "DRAGOMAN_LIMITS_TEXTS": "13"}
    settings = load({"port": 21, "beam": None}, environ, file)[0]
    assert (settings.port, settings.beam, settings.host) == (21, 12, "0.0.0.0")
    assert (settings.limits.texts, settings.limits.seconds) == (13, 3.0)


def test_variables_are_read_by_their_type():
    environ = {
        "DRAGOMAN_HOSTS": "a.example, *.b.example",
        "DRAGOMAN_PAGE": "false",
        "DRAGOMAN_INCREMENTAL": "1",
        "DRAGOMAN_MEMORY_BYTES": "1000",
        "DRAGOMAN_BATCH_WAIT": "0.5",
        "DRAGOMAN_KEYS": "keys.txt",
        "DRAGOMAN_LOG": "json",
        "DRAGOMAN_LIMITS_SECONDS": "9",
    }
    settings = load({}, environ, None)[0]
    assert settings.hosts == ("a.example", "*.b.example")
    assert (settings.page, settings.incremental, settings.memory_bytes) == (False, True, 1000)
    assert (settings.batch_wait, settings.keys, settings.log) == (0.5, "keys.txt", "json")
    assert settings.limits.seconds == 9.0


@pytest.mark.parametrize(
    ("text", "number"),
    [("2 GiB", 2 << 30), ("1.5gib", 3 << 29), ("500 MB", 500_000_000), ("64KiB", 65536), ("5000", 5000)],
)
def test_sizes_may_have_a_unit(text: str, number: int, tmp_path: Path):
    file = tmp_path / "serve.toml"
    file.write_text(f'memory_bytes = "{text}"\n', encoding="utf-8")
    for settings, _ in (load({}, {}, file), load({"memory_bytes": text}, {}, None)):
        assert settings.memory_bytes == number
    with pytest.raises(
        ConfigError, match="--memory-bytes must be a number of bytes, or a size such as 500 MB or 2 GiB"
    ):
        load({"memory_bytes": f"{text} of it"}, {}, None)


def test_variables_of_others_are_left_alone():
    environ = {
        "DRAGOMAN_CACHE": "x",
        "DRAGOMAN_CATALOG": "x",
        "DRAGOMAN_SERVICE_HOST": "10.0.0.1",
        "DRAGOMAN_SERVICE_PORT_HTTP": "5000",
        "DRAGOMAN_PORT_5000_TCP_ADDR": "10.0.0.1",
    }
    assert load({}, environ, None)[0] == ServerSettings()


def test_paths_of_a_file_are_relative_to_it_and_others_are_not(tmp_path: Path):
    assert load({}, {}, written(tmp_path, 'keys = "keys.txt"\n'))[0].keys == str(tmp_path / "keys.txt")
    file = written(tmp_path, 'keys = "/srv/keys.txt"\n')
    assert load({}, {}, file)[0].keys == "/srv/keys.txt"
    assert load({}, {"DRAGOMAN_KEYS": "k"}, file)[0].keys == "k"
    assert load({"keys": "k.txt"}, {}, file)[0].keys == "k.txt"


def test_bundles_of_a_file_are_beside_it(tmp_path: Path):
    file = written(tmp_path, '[bundles]\nen-de = "models/a"\n')
    assert load({}, {}, file)[1]["bundles"] == {"en-de": str(tmp_path / "models" / "a")}


@pytest.mark.parametrize(
    ("flags", "environ", "file", "told"),
    [
        ({"port": 70000}, {}, "", "--port must be less than or equal to 65535, got 70000; "),
        ({"limits.texts": 0}, {}, "", "--limits-texts must be greater than or equal to 1, got 0; "),
        ({"engine": "torhc"}, {}, "", "--engine must be one of auto, torch, ctranslate2, onnx, got 'torhc'; did you"),
        ({}, {"DRAGOMAN_PORT": "x"}, "", "DRAGOMAN_PORT must be a whole number, got 'x'; "),
        ({}, {"DRAGOMAN_PORT": "tcp://10.0.0.1:5000"}, "", "enableServiceLinks: false"),
        ({}, {"DRAGOMAN_PAGE": "maybe"}, "", "DRAGOMAN_PAGE must be true or false, got 'maybe'; "),
        ({}, {"DRAGOMAN_PROT": "1"}, "", "DRAGOMAN_PROT is no known variable; did you mean"),
        ({}, {"DRAGOMAN_XYZZY": "1"}, "", "; unset it"),
        ({}, {}, "prot = 1", "serve.toml: prot is no known setting; did you mean port?"),
        ({}, {}, "[limits]\ntext = 1", "limits.text is no known setting; did you mean texts?"),
        ({}, {}, "port = '1'", "serve.toml: port must be a whole number, got '1'; "),
        ({}, {}, "limits = 3", "limits must be a table"),
        ({}, {}, "bundles = 3", "bundles must be a table of paths, got 3"),
        ({}, {}, "port = ", "must be valid TOML"),
        ({}, {}, "hosts = [1]", "serve.toml: hosts must be text, got 1; "),
    ],
)
def test_what_is_wrong_is_told_by_where_it_stands(
    tmp_path: Path, flags: dict[str, Any], environ: dict[str, str], file: str, told: str
):
    with pytest.raises(ConfigError) as caught:
        load(flags, environ, written(tmp_path, file))
    assert told in str(caught.value)
    assert "\n" not in str(caught.value).partition(": ")[0]


def test_a_file_that_is_not_there(tmp_path: Path):
    with pytest.raises(ConfigError, match="no such file"):
        load({}, {}, tmp_path / "none.toml")


def test_every_setting_has_a_name():
    assert {"port", "limits.texts", "limits.tokens_per_minute"} < set(dict(leaf_fields(ServerSettings)))
    assert "limits" not in dict(leaf_fields(ServerSettings))


def test_variables_of_other_parts_are_left_to_them():
    files = [ROOT / ".ci" / "checks", ROOT / ".ci" / "run", ROOT / "justfile", ROOT / "conftest.py"]
    files.append(ROOT / "src/dragoman/api/notebook/tutorial_lab.py")
    found = {word for file in files for word in re.findall(r"DRAGOMAN_[A-Z_]+", file.read_text(encoding="utf-8"))}
    assert "DRAGOMAN_HYPOTHESIS" in found
    assert load({}, dict.fromkeys(found, "x"), None)[0] == ServerSettings()
