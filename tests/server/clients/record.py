"""Record the requests of Python packages of Google and Microsoft against a server, for `test_recorded_exchanges`.

python -m tests.server.clients.record

It needs google-cloud-translate, azure-ai-translation-text and deep-translator, which are not part of the extras, and
writes `google.json` and `microsoft.json`: each request, and the whole response.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dragoman.server.access.api_keys import create_key
from tests.server.fake_server import running

requests: Any = import_module("requests")
_HEADERS = ("content-type", "x-goog-api-key", "ocp-apim-subscription-key")
_TEXTS, _HTML = ["Two dogs play in the snow", "A man sleeps on a bench"], "Two <b>dogs</b> &amp; a man in the snow"


@contextmanager
def recorded(key: str) -> Iterator[list[dict[str, Any]]]:
    """Collect the exchanges of all sessions of requests."""
    found: list[dict[str, Any]] = []
    send = requests.Session.send

    def record(session: Any, request: Any, **how: Any) -> Any:
        response = send(session, request, **how)
        sent: dict[str, Any] = {"method": request.method, "path": request.path_url}
        sent["headers"] = {
            name: (value.decode() if isinstance(value, bytes) else value).replace(key, "$key")
            for name, value in request.headers.items()
            if name.lower() in _HEADERS
        }
        if request.body:
            sent["json"] = json.loads(request.body)
        answer = response.json()
        pairs = enumerate(answer) if isinstance(answer, list) else answer.items()
        expected = {str(name): value for name, value in pairs}
        found.append({"request": sent, "status": response.status_code, "expect": expected})
        return response

    requests.Session.send = record
    try:
        yield found
    finally:
        requests.Session.send = send


def google(url: str, key: str) -> None:
    """Call versions 2 and 3 by the package google-cloud-translate."""
    cloud: Any = import_module("google.cloud.translate_v2")
    cloud_v3: Any = import_module("google.cloud.translate_v3")
    transports: Any = import_module("google.cloud.translate_v3.services.translation_service.transports")
    anonymous: Any = import_module("google.auth.credentials").AnonymousCredentials()
    two = cloud.Client(credentials=anonymous, client_options={"api_endpoint": url})
    two._http.headers["X-Goog-Api-Key"] = key
    found = two.translate(_TEXTS, target_language="de")
    assert [each["detectedSourceLanguage"] for each in found] == ["en", "en"]
    assert two.translate(_HTML, "de", source_language="en")["translatedText"].startswith("Two-de <b>dogs-de</b> &amp;")
    assert two.translate("a < b", "de", source_language="en", format_="text", model="nmt")["translatedText"]
    assert [each["language"] for each in two.detect_language(_TEXTS)] == ["en", "en"]
    assert {"language": "de", "name": "German"} in two.get_languages()
    _fails(lambda: two.translate(_TEXTS, "xx"))
    credentials: Any = import_module("google.auth.api_key").Credentials(key)
    rest = transports.TranslationServiceRestTransport(
        host=url.removeprefix("http://"), url_scheme="http", credentials=credentials
    )
    three, project = cloud_v3.TranslationServiceClient(transport=rest), "projects/demo/locations/global"
    plain = three.translate_text(
        parent=project, contents=_TEXTS, target_language_code="de", mime_type="text/plain", source_language_code="en"
    )
    assert [each.translated_text.split()[0] for each in plain.translations] == ["Two-de", "A-de"]
    html = three.translate_text(parent="projects/demo", contents=[_HTML], target_language_code="de")
    assert html.translations[0].detected_language_code == "en"
    assert three.detect_language(parent=project, content=_TEXTS[0]).languages[0].language_code == "en"
    served = three.get_supported_languages(parent=project, display_language_code="en").languages
    assert {each.language_code for each in served if each.support_target} == {"de", "en"}
    _fails(lambda: three.translate_text(parent=project, contents=_TEXTS, target_language_code="xx"))


def microsoft(url: str, key: str) -> None:
    """Call version 3 by the packages azure-ai-translation-text and deep-translator."""
    azure: Any = import_module("azure.ai.translation.text")
    deep: Any = import_module("deep_translator.microsoft")
    client = azure.TextTranslationClient(
        endpoint=url, credential=import_module("azure.core.credentials").AzureKeyCredential(key)
    )
    found = client.translate(body=_TEXTS, to_language=["de", "en"], from_language="fr")
    assert [[each.to for each in one.translations] for one in found] == [["de", "en"]] * 2
    tagged = client.translate(body=[_HTML], to_language=["de"], text_type="Html")[0]
    assert tagged.detected_language.language == "en"
    assert tagged.translations[0].text.startswith("Two-de <b>dogs-de</b> &amp;")
    assert client.get_supported_languages().translation["de"].native_name == "Deutsch"
    _fails(lambda: client.translate(body=_TEXTS, to_language=["xx"]))
    names = {"english": "en", "german": "de"}  # the package requests them from a fixed address
    deep.MicrosoftTranslator._get_supported_languages = lambda self: names
    other = deep.MicrosoftTranslator(source="en", target="de", api_key=key)
    other._base_url = f"{url}/translate?api-version=3.0"
    assert other.translate("Two dogs") == "Two-de dogs-de"


def _fails(call: Callable[[], Any]) -> None:
    """Call with a wrong language; the message of the exception must be that of the server."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 -- each package has its own
        assert "must be one of de, en, got 'xx'" in str(error), error  # noqa: PT017 -- not a test
    else:
        raise SystemExit("the package must raise an exception of its own")


CLIENTS: dict[str, tuple[Callable[[str, str], None], tuple[str, ...]]] = {
    "google": (google, ("google-cloud-translate",)),
    "microsoft": (microsoft, ("azure-ai-translation-text", "deep-translator")),
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        key = create_key(Path(folder) / "keys", "anna")
        with running({"keys": str(Path(folder) / "keys")}) as server:
            for name, (call, packages) in CLIENTS.items():
                with recorded(key) as exchanges:
                    call(server.url, key)
                source = ", ".join(f"{package} {version(package)}" for package in packages)
                value = {"client": name.title(), "made": "recorded", "source": source, "exchanges": exchanges}
                text = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
                Path(__file__).with_name(f"{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
