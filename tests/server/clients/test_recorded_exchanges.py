"""Requests of existing clients, as they send them, and what they need from the responses.

Each file is one client: `made` states whether its requests were recorded or written from its source.
`$key` is the API key, other names are values captured from earlier responses. `expect` has values of the response by
path, `kept` strings that the response must contain as often as given.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from dragoman.server.access.api_keys import create_key
from dragoman.server.settings import ServerSettings
from tests.server.asgi_calls import Caller

FILES = sorted(Path(__file__).parent.glob("*.json"))


@pytest.mark.parametrize("with_keys", [False, True], ids=["without keys", "with keys"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_client_gets_what_it_needs(path: Path, with_keys: bool, tmp_path: Path) -> None:
    recorded = json.loads(path.read_text(encoding="utf-8"))
    values = {"key": create_key(tmp_path / "keys", "anna") if with_keys else "none"}
    call = Caller(settings=ServerSettings(keys=str(tmp_path / "keys") if with_keys else None))
    assert recorded["made"] in {"recorded", "from source"}
    for number, each in enumerate(recorded["exchanges"]):
        sent = json.loads(_filled(json.dumps(each["request"]), values))
        how = {name: sent[name] for name in ("headers", "json", "content") if name in sent}
        if with_keys:
            _check_key(call, sent, how, values["key"])
        response = call(sent["method"], sent["path"], **how)
        place = f"{path.name}, exchange {number + 1}: {response.text[:300]}"
        expected = each.get("status", 200)
        assert response.status_code == (each.get("status with keys", expected) if with_keys else expected), place
        body = response.json() if "json" in response.headers.get("content-type", "") else response.text
        for where, wanted in each.get("expect", {}).items():
            assert _value(body, where) == wanted, place
        for string, count in each.get("kept", {}).items():
            assert json.dumps(body, ensure_ascii=False).count(json.dumps(string)[1:-1]) == count, (string, place)
        values |= {name: _value(body, where) for name, where in each.get("capture", {}).items()}


def _check_key(call: Caller, sent: dict[str, Any], how: dict[str, Any], key: str) -> None:
    """Check that a request whose client sends a key fails with another one."""
    if key in json.dumps(sent):
        wrong = json.loads(json.dumps({"path": sent["path"], **how}).replace(key, "guess"))
        assert call(sent["method"], wrong.pop("path"), **wrong).status_code == 403


def _filled(text: str, values: dict[str, str]) -> str:
    return re.sub(r"\$(\w+)", lambda match: values[match[1]], text)


def _value(body: Any, where: str) -> Any:
    for part in where.split("."):
        body = body[int(part)] if isinstance(body, list) else body[part]
    return body


def test_all_clients_are_there() -> None:
    wanted = [
        "dialect",
        "google",
        "kiss",
        "libreoffice",
        "lingarr",
        "mastodon",
        "microsoft",
        "omegat",
        "weblate-deepl",
        "weblate-libretranslate",
        "wordpress",
    ]
    assert set(wanted) <= {path.stem for path in FILES}
