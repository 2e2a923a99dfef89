"""The wheel: built from this tree, with the page, licences and nothing else; its name and extras."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from dragoman.environment import extras, missing_package
from dragoman.version import DISTRIBUTION, __version__

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGE = "src/dragoman/server/static"
TEXT = {".py", ".md", ".ts", ".svelte", ".yaml", ".toml", ".ipynb"}


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release_script", ROOT / ".ci/release.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


release = load_script()


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a wheel is built from, with a small stand-in for the built page."""
    pytest.importorskip("hatchling", reason="no hatchling here: the wheel is built with it")
    folder = tmp_path_factory.mktemp("tree")
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", release.NOTICES):
        shutil.copy(ROOT / name, folder)
    for name in ("web/package-lock.json", "CITATION.cff", "CHANGELOG.md"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    for name in ("src", "claims"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("static", "records", "__pycache__"))
    return folder


def write_page(tree: Path) -> None:
    (tree / PAGE / "assets").mkdir(parents=True, exist_ok=True)
    for name in ("index.html", "index.html.br", "assets/a.js", "assets/a.css"):
        (tree / PAGE / name).write_text("", encoding="utf-8")
    shutil.copy(tree / release.NOTICES, tree / PAGE / "licenses.txt")


def build(tree: Path, folder: Path, target: str = "wheel") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1750000000"}
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def wheel(tree: Path) -> Path:
    write_page(tree)
    done = build(tree, tree / "dist")
    assert done.returncode == 0, done.stderr
    (found,) = (tree / "dist").glob("*.whl")
    return found


def test_the_name_is_declared_once_for_the_code():
    assert PROJECT["name"] == DISTRIBUTION
    assert PROJECT["scripts"] == {"dragoman": "dragoman.cli.main:main"}


def test_all_is_every_extra_of_users_without_the_cluster():
    """Ray is for clusters: it is large and starts processes that listen on ports (decision 0033)."""
    assert PROJECT["optional-dependencies"]["all"] == [f"{DISTRIBUTION}[train,export,serve,hub]"]


def test_messages_name_the_extra_of_a_package_and_not_all_of_them():
    assert {"train", "export", "serve"} <= set(extras())
    assert "all" not in extras()
    for module in ("lxml", "markdown_it", "yaml"):  # of packages with another name
        assert str(missing_package(module, "dragoman x")).endswith('[serve]"')


def test_no_code_or_text_has_another_name_of_the_distribution():
    """The name comes from `DISTRIBUTION` in code; pages install from a clone until there is a release."""
    wrong = re.compile(r"\bdragoman\[|pip install[^\n`]* \"?dragoman(?![\w/.-])")
    folders = ("src/dragoman", "web/src", "testkit", "benchmarks", "docs", "deploy")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in TEXT]
    read = {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in files if "results" not in path.parts}
    assert [str(path) for path, text in read.items() if wrong.search(text) and "static" not in path.parts] == []


def test_the_wheel_is_complete(wheel: Path):
    assert wheel.name == f"dragoman_nmt-{__version__}-py3-none-any.whl"
    assert release.check_wheel(wheel) > 550


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tests/test_a.py", "only dragoman"),
        ("dragoman/web/node_modules/a.js", "must not have"),
        ("dragoman/a.map", "must not have"),
        ("dragoman/weights.safetensors", "must not have"),
    ],
)
def test_other_files_are_refused(wheel: Path, tmp_path: Path, name: str, message: str):
    copy = Path(shutil.copy(wheel, tmp_path))
    with zipfile.ZipFile(copy, "a") as archive:
        archive.writestr(name, "")
    with pytest.raises(release.ReleaseError, match=message):
        release.check_wheel(copy)


@pytest.mark.parametrize("name", ["dragoman/py.typed", "dragoman/server/static/index.html", "/licenses/LICENSE"])
def test_a_missing_file_is_refused(wheel: Path, tmp_path: Path, name: str):
    copy = tmp_path / wheel.name
    with zipfile.ZipFile(wheel) as archive, zipfile.ZipFile(copy, "w") as other:
        for each in archive.namelist():
            if not each.endswith(name):
                other.writestr(each, archive.read(each))
    with pytest.raises(release.ReleaseError, match="must have"):
        release.check_wheel(copy)


@pytest.mark.slow
def test_a_release_without_the_page_fails_and_an_install_from_a_clone_is_told(tree: Path, tmp_path: Path):
    folder = shutil.copytree(tree, tmp_path / "tree", ignore=shutil.ignore_patterns("static", "dist"))
    source, direct = build(folder, tmp_path / "source", "sdist"), build(folder, tmp_path / "direct")
    facts = f"Metadata-Version: 2.4\nName: {DISTRIBUTION}\nVersion: {__version__}\n"
    (folder / "PKG-INFO").write_text(facts, encoding="utf-8")  # as in an unpacked source distribution
    from_source = build(folder, tmp_path / "from_source")
    assert (source.returncode, direct.returncode, from_source.returncode) == (1, 0, 1)
    for done in (source, direct, from_source):
        assert "npm run build in web" in done.stderr
    with pytest.raises(release.ReleaseError, match=r"static/index\.html"):
        release.check_wheel(next((tmp_path / "direct").glob("*.whl")))


def test_the_licences_are_those_of_the_built_page():
    text = (ROOT / release.NOTICES).read_text(encoding="utf-8")
    packages = release.bundled(text)
    assert {"svelte"} <= {each["name"] for each in packages}
    assert {"Apache-2.0", *(each["license"] for each in packages)} == set(PROJECT["license"].split(" AND "))
    release.check_locked(packages)
    with pytest.raises(release.ReleaseError, match="svelte must be as in"):
        release.check_locked([{"name": "svelte", "version": "0.0.1", "license": "MIT"}])
    if (ROOT / PAGE / "licenses.txt").is_file():
        assert text == release.notices()


def test_the_notes_of_a_release_are_its_section(tmp_path: Path):
    text = (
        "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2030-01-01\n\n### Saved models\n\n- all\n\n## [0.1.0]\n\n- x\n"
    )
    (tmp_path / "CHANGELOG.md").write_text(text, encoding="utf-8")
    assert release.notes("0.2.0", tmp_path) == "### Saved models\n\n- all\n"
    for version, message in {"0.3.0": "has no section", "0.1.0": "saved models"}.items():
        with pytest.raises(release.ReleaseError, match=message):
            release.notes(version, tmp_path)


def test_the_version_is_the_same_everywhere():
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    with pytest.raises(release.ReleaseError, match="the tag must be"):
        release.check_version("v99.0.0")


def test_the_page_is_part_of_the_bill_of_materials():
    wheel = f"{DISTRIBUTION}=={__version__}"
    document = {
        "metadata": {"component": {"bom-ref": "root", "name": DISTRIBUTION}},
        "components": [{"name": DISTRIBUTION, "bom-ref": wheel}, {"name": "numpy", "bom-ref": "numpy==2"}],
        "dependencies": [{"ref": "root", "dependsOn": [wheel]}, {"ref": wheel, "dependsOn": ["numpy==2"]}],
    }
    svelte = {"type": "library", "name": "svelte", "version": "5", "purl": "pkg:npm/svelte@5", "bom-ref": "x"}
    packages = [{"name": "svelte", "version": "5", "license": "MIT"}]
    merged = release.merge(document, {"svelte": svelte}, packages, DISTRIBUTION, __version__)
    assert [each["name"] for each in merged["components"]] == ["numpy", "svelte"]
    own, part = merged["dependencies"]
    assert own == {"ref": "root", "dependsOn": ["numpy==2", "pkg:npm/svelte@5"]}
    assert part == {"ref": "pkg:npm/svelte@5"}


def test_the_lowest_versions_are_found(tmp_path: Path):
    """The script inside .ci/lowest; a requirement may also have an upper bound or a condition."""
    (script,) = re.findall(
        r"<<'PYTHON'\n(.*?)^PYTHON$", (ROOT / ".ci/lowest").read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    command = [sys.executable, "-c", script, str(tmp_path / "tools.txt")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = dict(line.split("==") for line in done.stdout.split())
    named = {
        each.name for extra in ("", "get", "hub", "train", "export", "memory", "serve") for each in extras()[extra]
    }
    assert set(found) == named
    assert all(re.fullmatch(r"[\d.]+", version) for version in found.values())
