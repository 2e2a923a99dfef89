"""Folders: their sizes, tests that mirror the packages, and imports between the top-level folders."""

import ast
from collections import Counter
from pathlib import PurePosixPath

import pytest

from tests.architecture.conftest import Repository

MAX_MODULES = 15
LARGE_FOLDERS = {"src/dragoman/cli/commands": "one module per command"}
# Importing folder to the folders it must not import.
FORBIDDEN = {
    "src": {"benchmarks", "claims", "testkit", "tests"},
    "claims": {"benchmarks", "testkit", "tests"},
    "tests": {"benchmarks"},
    "benchmarks": {"tests"},
    "testkit": {"benchmarks", "claims", "tests"},
}


def imported_folders(text: str) -> set[str]:
    """First components of all imported modules."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return {name.partition(".")[0] for name in names}


def test_folders_of_the_packages_are_small(repository: Repository):
    modules = Counter(
        PurePosixPath(repository.name(path)).parent.as_posix()
        for path in repository.python("src", "claims")
        if path.name != "__init__.py"
    )
    assert {folder for folder, count in modules.items() if count > MAX_MODULES} == set(LARGE_FOLDERS)


@pytest.mark.parametrize(("package", "folder"), [("src/dragoman", "tests/unit"), ("claims", "tests/claims")])
def test_unit_tests_mirror_the_package(package: str, folder: str, repository: Repository):
    packages = {path.parent.relative_to(repository.root / package) for path in repository.python(package)}
    tests = [path for path in repository.python(folder) if path.name.startswith("test_")]
    assert len(tests) > 20
    unit = repository.root / folder
    assert [str(path) for path in tests if path.parent.relative_to(unit) not in packages] == []


@pytest.mark.parametrize("folder", sorted(FORBIDDEN))
def test_folders_do_not_import_each_other(folder: str, repository: Repository):
    files = {repository.name(path): path.read_text(encoding="utf-8") for path in repository.python(folder)}
    assert files
    assert [name for name, text in files.items() if imported_folders(text) & FORBIDDEN[folder]] == []


def test_imports_are_found():
    assert imported_folders("import a.b\nfrom c.d import e\ndef f():\n    from g import h\n") == {"a", "c", "g"}


def public_classes(sources: dict[str, str]) -> dict[str, list[str]]:
    """Names of public module-level classes, each with the modules that define it."""
    found: dict[str, list[str]] = {}
    for module, text in sources.items():
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(module)
    return found


def test_a_public_class_name_is_defined_once(repository: Repository):
    sources = {repository.name(path): path.read_text(encoding="utf-8") for path in repository.python("src", "claims")}
    classes = public_classes(sources)
    assert len(classes) > 100
    assert {name: modules for name, modules in classes.items() if len(modules) > 1} == {}


def test_double_definitions_are_found():
    assert public_classes({"a": "class A: ...\n", "b": "class A: ...\nclass _B: ...\n"}) == {"A": ["a", "b"]}
