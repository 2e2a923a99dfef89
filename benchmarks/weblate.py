"""Matches of a translation memory inside a real Weblate, through its tmserver service.

    python -m benchmarks.weblate FOLDER

FOLDER has an installed Weblate (`FOLDER/venv`), whose PostgreSQL and Redis run; without it, nothing is measured. A
server gets a memory of an imported TMX file. Weblate adds the service as its administrator would, which validates the
address, makes a component, and answers the request of its editor for the automatic suggestions of each string. What a
string must have is stated before it is read, so the script fails if one of them differs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from benchmarks.reporting import heading, parser, table, write
from testkit.random_bundle import random_bundle

UNITS = {
    "Open the file": "Datei öffnen",
    "Delete the 3 selected files?": "Die 3 ausgewählten Dateien löschen?",
    "A man with {count} balls stands on the beach.": "Ein Mann mit {count} Bällen steht am Strand.",
    "The server could not read the file.": "Der Server konnte die Datei nicht lesen.",
    "First line\nSecond line": "Erste Zeile\nZweite Zeile",
    "Yes/No": "Ja/Nein",
    "A link to %20 in a name": "Ein Verweis auf %20 im Namen",
}
STRINGS = {  # with the best translation that Weblate must show, and its score
    "Open the file": ("Datei öffnen", 100),
    "Delete the 17 selected files?": ("Die 17 ausgewählten Dateien löschen?", 99),
    "A man with {number} balls stands on the beach.": ("Ein Mann mit {number} Bällen steht am Strand.", 99),
    "The server could not write the file.": ("Der Server konnte die Datei nicht lesen.", 86),
    "First line\nSecond line": ("Erste Zeile Zweite Zeile", 100),
    "Yes/No": ("Ja/Nein", 100),
    "A link to %20 in a name": ("Ein Verweis auf %20 im Namen", 100),
    "Nothing is like this text": None,
}
LANGUAGES = {"de": "de", "pt-BR": "pt_BR", "zh-Hans": "zh_Hans"}
"""Languages of the memory, with the codes of Weblate."""

INSIDE = """
import json, logging, sys
from django.conf import settings
settings.WEBLATE_MACHINERY = ("weblate.machinery.tmserver.TMServerTranslation",)
import django
django.setup()
logging.disable(logging.CRITICAL)
from django.core.cache import cache
from django.test import RequestFactory
from weblate.auth.models import User
from weblate.lang.models import Language
from weblate.machinery.models import MACHINERY
from weblate.machinery.views import handle_machinery
from weblate.trans.models import Component, Project
from weblate.vcs.git import LocalRepository

given = json.load(sys.stdin)
cache.clear()
Project.objects.filter(slug="memory").delete()
user, _ = User.objects.get_or_create(username="memory", defaults={"email": "memory@example.com", "is_superuser": True})
service = {"url": given["address"]}
MACHINERY["tmserver"](service).validate_settings()
used = {"machinery_settings": {"tmserver": service}}
project = Project.objects.create(name="Memory", slug="memory", web="http://localhost/", **used)
quoted = [json.dumps(text, ensure_ascii=False) for text in given["strings"]]
head = 'msgid ""\\nmsgstr ""\\n"Content-Type: text/plain; charset=UTF-8\\\\n"\\n'
flags = ["#, python-brace-format\\n" if "{" in each else "" for each in quoted]
body = "".join(f'\\n{flag}msgid {each}\\nmsgstr ""\\n' for flag, each in zip(flags, quoted))
component = Component(
    name="Memory", slug="memory", project=project, vcs="local", repo="local:", branch="main", filemask="po/*.po",
    new_base="po/messages.pot", file_format="po", source_language=Language.objects.get(code="en"),
)
files = {"po/messages.pot": (head + body).encode()}
for code in given["languages"]:
    files[f"po/{code}.po"] = (head + f'"Language: {code}\\\\n"\\n' + body).encode()
LocalRepository.from_files(component.full_path, files)
component.full_clean()
component.save()
request = RequestFactory().post("/")
request.user = user
for code in given["languages"]:
    for unit in component.translation_set.get(language__code=code).unit_set.order_by("position"):
        reply = json.loads(handle_machinery(request, "tmserver", unit).content)
        shown = [[each["text"], each["quality"]] for each in reply["translations"]]
        error = reply["responseDetails"]
        print(json.dumps({"language": code, "source": unit.source, "shown": shown, "error": error}), flush=True)
"""


def tmx() -> str:
    """Return the memory; all languages have the German texts, which differ by a mark of the language."""
    units = "".join(
        f'<tu><tuv xml:lang="en"><seg>{escape(source)}</seg></tuv>'
        + "".join(
            f'<tuv xml:lang="{language}"><seg>{escape(marked(target, language))}</seg></tuv>' for language in LANGUAGES
        )
        + "</tu>"
        for source, target in UNITS.items()
    )
    return f'<tmx version="1.4"><header srclang="en"/><body>{units}</body></tmx>'


def marked(text: str, language: str) -> str:
    return text if language == "de" else f"{text} ({language})"


def ask_weblate(home: Path, address: str) -> list[dict[str, Any]]:
    """Return what Weblate shows for each string."""
    given = {"address": address, "strings": list(STRINGS), "languages": list(LANGUAGES.values())}
    environment = os.environ | {"WEBLATE_HOME": str(home), "DJANGO_SETTINGS_MODULE": "weblate.settings"}
    environment.pop("PYTHONPATH", None)
    run = subprocess.run(
        [home / "venv" / "bin" / "python", "-c", INSIDE],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        timeout=600,
    )
    if run.returncode:
        sys.exit(f"Weblate failed: {run.stderr[-3000:]}")
    return [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--port", type=int, default=5123)
    given = options.parse_args()
    home = given.folder.resolve()
    if not (home / "venv" / "bin" / "weblate").exists():
        print(f"skipped: {home} has no Weblate")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bundle = random_bundle(folder / "model", languages=("en", "de")).folder
        (folder / "memory.tmx").write_text(tmx(), encoding="utf-8")
        database = ["--database", f"sqlite:///{folder / 'data.db'}"]
        command = [sys.executable, "-m", "dragoman"]
        subprocess.run([*command, "memory", "import", "product", folder / "memory.tmx", *database], check=True)
        server = subprocess.Popen(
            [*command, "serve", bundle, "--port", str(given.port), *database, "--memory", "product"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            assert server.stdout is not None
            next(line for line in server.stdout if "Ctrl-C" in line)
            found = ask_weblate(home, f"http://127.0.0.1:{given.port}/tmserver")
        finally:
            server.terminate()
            server.wait(timeout=60)
    report(home, found)


def report(home: Path, found: list[dict[str, Any]]) -> None:
    """Write the page; fail if a string does not have what it must."""
    names = {code: language for language, code in LANGUAGES.items()}
    rows, wrong = [], []
    for each in found:
        best = tuple(each["shown"][0]) if each["shown"] else None
        wanted = STRINGS[each["source"]]
        expected = wanted and (marked(wanted[0], names[each["language"]]), wanted[1])
        if best != expected or each["error"]:
            wrong.append(f"{each}, must be {expected}")
        cells = [f"`{best[0]}`", str(best[1])] if best else ["none", ""]
        rows.append([each["language"], f"`{json.dumps(each['source'])[1:-1]}`", *cells])
    if wrong or len(found) != len(STRINGS) * len(LANGUAGES):
        sys.exit("\n".join([f"{len(found)} strings", *wrong]))
    version = subprocess.run(
        [home / "venv" / "bin" / "python", "-c", "from importlib.metadata import version; print(version('weblate'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    text = heading(f"Matches in Weblate {version}", "python -m benchmarks.weblate FOLDER", 1)
    text += f"\n{(__doc__ or '').replace('    python', '    $ python')}\n"
    write("weblate", text + table(["language", "string", "Weblate shows first", "score"], rows), found)


if __name__ == "__main__":
    main()
