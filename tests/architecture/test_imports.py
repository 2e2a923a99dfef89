"""The import contract of pyproject.toml holds, and each of its parts can fail."""

import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

LINTER = "from importlinter.cli import lint_imports_command as run; run()"
MODULE = re.compile(r"[\w.]+")

# (contract that must break, the module that imports, what it imports)
BREACHES = [
    ("api", "dragoman.api.translation", "dragoman.api.files"),
    ("layers", "dragoman.errors", "dragoman.config"),
    ("layers", "dragoman.text", "dragoman.bundle"),
    ("layers", "dragoman.nn", "dragoman.models"),
    ("layers", "dragoman.evaluation", "dragoman.inspection"),
    ("layers", "dragoman.api", "dragoman.server"),
    ("layers", "dragoman.server", "dragoman.cli"),
    ("training-search", "dragoman.training", "dragoman.search"),
    ("nn-data", "dragoman.nn", "dragoman.data"),
    ("no-torch", "dragoman.text", "torch"),
    ("no-torch", "dragoman.config", "torch.nn"),
    ("no-torch", "dragoman.engines.ctranslate2.engine", "torch"),
    ("front-ends", "dragoman.training", "typer"),
    ("front-ends", "dragoman.api", "fastapi"),
    ("ray", "dragoman.training", "ray"),
    ("network", "dragoman.importing", "httpx"),
    ("api", "dragoman.api.translation", "dragoman.api.files"),
    ("server", "dragoman.server.scheduling", "dragoman.server.routes"),
    ("attention", "dragoman.nn.attention.score", "dragoman.nn.attention.single_head"),
    ("attention", "dragoman.nn.attention.memory", "dragoman.nn.attention.alignment"),
    ("attention", "dragoman.nn.attention.single_head", "dragoman.nn.attention.multihead"),
]


@dataclass(frozen=True)
class Verdict:
    passed: bool
    text: str

    def broken(self, contract: str) -> bool:
        return f"{contract} BROKEN" in self.text


def contracts(root: Path) -> dict[str, dict]:
    """Every contract of pyproject.toml, by its id."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    return {contract["id"]: contract for contract in settings["tool"]["importlinter"]["contracts"]}


def layer_names(contract: dict) -> list[list[str]]:
    """The full names in a layers contract, top to bottom."""
    prefix = "".join(f"{container}." for container in contract.get("containers", []))
    return [[prefix + name for name in MODULE.findall(layer)] for layer in contract["layers"]]


def lint(root: Path, package_parent: Path) -> Verdict:
    """Check the ``dragoman`` package in ``package_parent`` against the repository's contracts."""
    done = subprocess.run(
        [sys.executable, "-c", LINTER, "--no-logo", "--no-cache", "--config", str(root / "pyproject.toml")],
        cwd=package_parent,
        env={**os.environ, "PYTHONPATH": str(package_parent), "COLUMNS": "200", "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    return Verdict(done.returncode == 0, done.stdout + done.stderr)


def file_of(module: str, parent: Path) -> Path:
    return parent.joinpath(*module.split("."), "__init__.py")


@pytest.fixture
def model_package(tmp_path: Path, root: Path) -> Path:
    """A folder with an empty ``dragoman`` that has every package the contracts name."""
    for contract in contracts(root).values():
        for layer in layer_names(contract):
            for module in layer:
                if module.startswith("dragoman."):
                    file_of(module, tmp_path).parent.mkdir(parents=True, exist_ok=True)
    for folder in [tmp_path / "dragoman", *(tmp_path / "dragoman").rglob("*")]:
        (folder / "__init__.py").touch()
    return tmp_path


def test_the_import_contract_holds(root: Path):
    verdict = lint(root, root / "src")
    assert verdict.passed, verdict.text


def test_a_package_that_keeps_the_contract_passes(root: Path, model_package: Path):
    file_of("dragoman.cli", model_package).write_text("import typer\nimport dragoman.api\n")
    file_of("dragoman.models", model_package).write_text("import torch\nimport dragoman.nn.attention.single_head\n")
    verdict = lint(root, model_package)
    assert verdict.passed, verdict.text


@pytest.mark.parametrize(("contract", "importer", "imported"), BREACHES)
def test_a_breach_is_caught(root: Path, model_package: Path, contract: str, importer: str, imported: str):
    file_of(importer, model_package).write_text(f"def later():\n    import {imported}\n")
    verdict = lint(root, model_package)
    assert not verdict.passed
    assert verdict.broken(contracts(root)[contract]["name"]), verdict.text


def test_a_roundabout_breach_is_caught(root: Path, model_package: Path):
    """``text`` does not import torch, but a module that does."""
    file_of("dragoman.nn", model_package).write_text("import torch\n")
    file_of("dragoman.text", model_package).write_text("import dragoman.nn\n")
    assert lint(root, model_package).broken(contracts(root)["no-torch"]["name"])


@pytest.mark.parametrize(("contract", "stray"), [("layers", "dragoman"), ("attention", "dragoman.nn.attention")])
def test_a_module_without_a_layer_is_caught(root: Path, model_package: Path, contract: str, stray: str):
    file_of(stray, model_package).with_name("stray.py").touch()
    verdict = lint(root, model_package)
    assert verdict.broken(contracts(root)[contract]["name"])
    assert f"{stray}.stray" in verdict.text


def test_every_contract_has_a_breach_that_shows_it_can_fail(root: Path):
    assert {contract for contract, _, _ in BREACHES} == set(contracts(root))


@pytest.mark.parametrize(
    ("contract", "allowed"),
    [
        ("front-ends", {"dragoman.cli", "dragoman.server"}),
        ("ray", {"dragoman.cli", "dragoman.cluster"}),
        ("network", {f"dragoman.{layer}" for layer in ("cli", "server", "cluster", "api", "catalogs")}),
    ],
)
def test_a_framework_is_kept_from_every_layer_but_its_own(root: Path, contract: str, allowed: set[str]):
    every_layer = {name for layer in layer_names(contracts(root)["layers"]) for name in layer}
    kept_away = set(layer_names(contracts(root)[contract])[-1])
    assert kept_away == every_layer - allowed
