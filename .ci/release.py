"""Steps of a release, which docs/releasing.md describes; needs only the standard library unless stated.

python .ci/release.py licenses           write THIRD-PARTY-LICENSES.md from the build of the web page
python .ci/release.py version v0.1.0     check that every file names this version, and that the tag does
python .ci/release.py notes 0.1.0        print the section of the changelog
python .ci/release.py contents dist      check the content of the wheel and of the source distribution
python .ci/release.py sbom PYTHON FILE   write a CycloneDX SBOM; PYTHON has the wheel installed with the extra `all`
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STATIC = "src/dragoman/server/static"
NOTICES = "THIRD-PARTY-LICENSES.md"
HEADING = f"""# Licences of bundled parts

Dragoman is licensed under Apache-2.0 ([LICENSE](LICENSE)). The built web page of `dragoman serve` contains parts of the
npm packages below. Dragoman bundles no fonts, no other libraries and no corpora: the demo generates its data.

The example model of everyday sentences (`src/dragoman/bundle/examples`) is trained on sentence pairs of Tatoeba
(tatoeba.org, as collected by manythings.org/anki), which are under CC BY 2.0 FR; its card has the details.

Written by `.ci/release.py licenses` from `{STATIC}/licenses.txt`, which the build of the page
writes. Do not edit.
"""
BUNDLED = re.compile(r"^## (?P<name>\S+) - (?P<version>\S+) \((?P<license>[^)]+)\)$", re.MULTILINE)
MAX_FILE = 4_000_000  # bytes, for the weights of an example model; a larger file in the wheel is a mistake
REQUIRED = (
    "dragoman/py.typed",
    "dragoman/api/demo/demo_project.py",
    "dragoman/bundle/examples/everyday/weights.safetensors",
    "dragoman/config/presets/pairs-30k.toml",
    "dragoman/reporting/assets/inspection.js",
    "dragoman/reporting/templates/base.html",
    "dragoman/server/static/index.html",
    "dragoman/server/static/index.html.br",
    "dragoman/server/static/licenses.txt",
)
SOURCES = (
    *("pyproject.toml", "hatch_build.py", "LICENSE", NOTICES, "README.md", "CHANGELOG.md", "conftest.py"),
    *("web/package-lock.json", "tests/unit/test_environment.py", "testkit/__init__.py", f"{STATIC}/index.html"),
)
FORBIDDEN = re.compile(
    r"(^|/)(node_modules|__pycache__|\.git|\.mypy_cache)/|\.(map|pyc|ckpt)$|^(?!.*dragoman/bundle/examples/).*\.safetensors$"
)


class ReleaseError(Exception):
    """A release that must not be published."""


def notices(root: Path = ROOT) -> str:
    """Return the text of the licences of bundled parts, from the build of the page."""
    path = root / STATIC / "licenses.txt"
    if not path.is_file():
        raise ReleaseError(f"the web page must be built, got no {path.name}; run npm ci and npm run build in web")
    text = path.read_text(encoding="utf-8")
    first = BUNDLED.search(text)
    if first is None:
        raise ReleaseError(f"{path.name} does not name the bundled packages; the format of Vite has changed")
    return f"{HEADING}\n{text[first.start() :].rstrip()}\n"


def bundled(text: str) -> list[dict[str, str]]:
    """Return name, version and license of each package in the text of the licences."""
    return [found.groupdict() for found in BUNDLED.finditer(text)]


def declared_version(root: Path = ROOT) -> str:
    """Return the version of the package."""
    text = (root / "src/dragoman/version.py").read_text(encoding="utf-8")
    (found,) = re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    return str(found)


def check_version(tag: str, root: Path = ROOT) -> None:
    """Raise unless the tag, the package, the citation and the changelog have the same version."""
    version = declared_version(root)
    if tag != f"v{version}":
        raise ReleaseError(f"the tag must be v{version}, got {tag}; change src/dragoman/version.py or the tag")
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    if f"\nversion: {version}\n" not in citation:
        raise ReleaseError(f"CITATION.cff must have version: {version}; change it")
    notes(version, root)


def notes(version: str, root: Path = ROOT) -> str:
    """Return the section of the changelog about a version."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    found = re.search(rf"^## \[{re.escape(version)}\][^\n]*\n(.*?)(?=^## \[|\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None or not found[1].strip():
        raise ReleaseError(f"CHANGELOG.md has no section [{version}]; rename the section [Unreleased]")
    if "### Saved models" not in found[1]:
        raise ReleaseError(f"the section [{version}] has no part on saved models; write it")
    return f"{found[1].strip()}\n"


def check_contents(folder: Path, root: Path = ROOT) -> dict[str, int]:
    """Raise unless the folder has a complete wheel and source distribution; return their numbers of files."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    stem = f"{project['name'].replace('-', '_')}-{declared_version(root)}"
    wheel, source = folder / f"{stem}-py3-none-any.whl", folder / f"{stem}.tar.gz"
    for path in (wheel, source):
        if not path.is_file():
            raise ReleaseError(f"{folder} has no {path.name}; run python -m build")
    with tarfile.open(source) as archive:
        names = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    check_names(names, SOURCES)
    return {wheel.name: check_wheel(wheel, root), source.name: len(names)}


def check_wheel(wheel: Path, root: Path = ROOT) -> int:
    """Raise unless the wheel is complete and has nothing else; return its number of files."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    with zipfile.ZipFile(wheel) as archive:
        sizes = {each.filename: each.file_size for each in archive.infolist()}
        (metadata,) = (name for name in sizes if name.endswith(".dist-info/METADATA"))
        facts = message_from_string(archive.read(metadata).decode())
        info = metadata.rpartition("/")[0]
        files = (*(f"{info}/licenses/{name}" for name in project["license-files"]), f"{info}/entry_points.txt")
        check_names(sizes, (*REQUIRED, *files))
        page = [name for name in sizes if name.startswith("dragoman/server/static/assets/")]
        if not {".js", ".css"} <= {Path(name).suffix for name in page}:
            raise ReleaseError(
                f"{wheel.name} must have the scripts and styles of the page, got {page}; build the page again"
            )
        _check_licences(archive, info, root)
    others = sorted(name for name in sizes if not name.startswith(("dragoman/", f"{info}/")))
    if others:
        raise ReleaseError(f"{wheel.name} must have only dragoman, got also {others[:5]}; change pyproject.toml")
    large = sorted(name for name, size in sizes.items() if size > MAX_FILE)
    if large:
        raise ReleaseError(
            f"files of {wheel.name} must have at most {MAX_FILE} bytes, got {large}; exclude them in pyproject.toml"
        )
    extras = set(facts.get_all("Provides-Extra") or [])
    if (facts["Name"], extras) != (project["name"], set(project["optional-dependencies"])):
        raise ReleaseError(
            f"{wheel.name} must have the name and extras of pyproject.toml, got {facts['Name']}, {extras}; "
            "build it again"
        )
    return len(sizes)


def _check_licences(archive: zipfile.ZipFile, info: str, root: Path) -> None:
    """Raise unless the licences of the wheel are those of the page in it, in the versions of the lock file."""
    given = bundled(archive.read(f"{info}/licenses/{NOTICES}").decode())
    if given != bundled(archive.read("dragoman/server/static/licenses.txt").decode()):
        raise ReleaseError(f"{NOTICES} must list the packages of the page; run python .ci/release.py licenses")
    check_locked(given, root)


def check_locked(packages: list[dict[str, str]], root: Path = ROOT) -> None:
    """Raise unless the packages have the versions and licences of web/package-lock.json."""
    locked = json.loads((root / "web/package-lock.json").read_text(encoding="utf-8"))["packages"]
    for each in packages:
        found = locked.get(f"node_modules/{each['name']}", {})
        if (found.get("version"), found.get("license")) != (each["version"], each["license"]):
            raise ReleaseError(
                f"{each['name']} must be as in web/package-lock.json, got {each['version']}; build the page again and "
                "run python .ci/release.py licenses"
            )


def check_names(names: Any, required: tuple[str, ...]) -> None:
    """Raise for a missing or forbidden file."""
    missing, wrong = [name for name in required if name not in names], sorted(filter(FORBIDDEN.search, names))
    if missing or wrong:
        raise ReleaseError(f"a distribution must have {missing} and must not have {wrong[:5]}; change pyproject.toml")


def sbom(python: str, root: Path = ROOT) -> dict[str, Any]:
    """Return a CycloneDX document of an environment with the wheel, and of the npm packages inside the page.

    The Python part is written by cyclonedx-py (package cyclonedx-bom), the npm part by npm.
    """
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "python.json"
        tool = shutil.which("cyclonedx-py", path=str(Path(sys.executable).parent)) or "cyclonedx-py"
        command = [tool, "environment", "--spec-version", "1.6", "--output-reproducible"]
        subprocess.run([*command, "--pyproject", root / "pyproject.toml", "-o", output, python], check=True)
        document: dict[str, Any] = json.loads(output.read_text(encoding="utf-8"))
    npm = ["npm", "sbom", "--sbom-format", "cyclonedx", "--package-lock-only"]
    written = subprocess.run(npm, cwd=root / "web", check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
    described = {each["name"]: each for each in json.loads(written)["components"]}
    return merge(document, described, bundled(notices(root)), project["name"], declared_version(root))


def merge(
    document: dict[str, Any],
    described: dict[str, dict[str, Any]],
    packages: list[dict[str, str]],
    name: str,
    version: str,
) -> dict[str, Any]:
    """Add the bundled npm packages to the document of the Python packages, as parts of this package."""
    document["components"] = [each for each in document["components"] if each["name"] != name]
    main = document["metadata"]["component"]
    main["version"], main["purl"] = version, f"pkg:pypi/{name}@{version}"
    references = []
    for package in packages:
        found = described[package["name"]]
        if found["version"] != package["version"]:
            raise ReleaseError(f"{package['name']} must be {package['version']} as in the page; build the page again")
        kept = {key: found[key] for key in ("type", "name", "version", "purl", "licenses", "hashes") if key in found}
        part = {"name": "dragoman:part", "value": "bundled in the web page"}
        document["components"].append({**kept, "bom-ref": found["purl"], "scope": "required", "properties": [part]})
        references.append(found["purl"])
    edges = {each["ref"]: each for each in document.get("dependencies", [])}
    own = edges.setdefault(main["bom-ref"], {"ref": main["bom-ref"]})
    installed = [ref for ref in edges if ref.partition("==")[0] == name and ref != main["bom-ref"]]
    for ref in installed:  # the wheel in the environment is the package itself
        own["dependsOn"] = sorted({*own.get("dependsOn", []), *edges.pop(ref).get("dependsOn", [])} - {ref})
    own["dependsOn"] = sorted({*own.get("dependsOn", []), *references} - set(installed))
    document["dependencies"] = [*edges.values(), *({"ref": ref} for ref in references)]
    return document


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = options.add_subparsers(dest="command", required=True)
    commands.add_parser("licenses")
    commands.add_parser("version").add_argument("tag")
    commands.add_parser("notes").add_argument("version")
    commands.add_parser("contents").add_argument("folder", type=Path)
    bill = commands.add_parser("sbom")
    bill.add_argument("python")
    bill.add_argument("file", type=Path)
    given = options.parse_args()
    try:
        if given.command == "licenses":
            (ROOT / NOTICES).write_text(notices(), encoding="utf-8")
        elif given.command == "version":
            check_version(given.tag)
        elif given.command == "notes":
            print(notes(given.version), end="")
        elif given.command == "contents":
            for name, count in check_contents(given.folder).items():
                print(f"{name}: {count} files, complete")
        else:
            given.file.write_text(f"{json.dumps(sbom(given.python), indent=1)}\n", encoding="utf-8")
    except ReleaseError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
