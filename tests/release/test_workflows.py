"""Workflows: pinned actions, least permissions, and a release that is tested before it is published."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from dragoman.version import DISTRIBUTION

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def parsed(name: str) -> dict[str, Any]:
    text = (ROOT / ".github/workflows" / name).read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.load(text, Loader=yaml.BaseLoader)  # the key `on` stays text
    return found


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_to_commits(path: Path):
    used = re.findall(r"^\s*(?:- )?uses: (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert used
    assert [each for each in used if not re.match(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_permissions_are_few(path: Path):
    found = parsed(path.name)
    assert found["permissions"] in ({}, {"contents": "read"})
    granted = {name: job.get("permissions", {}) for name, job in found["jobs"].items()}
    writing = {(name, right) for name, rights in granted.items() for right, value in rights.items() if value == "write"}
    wanted = {("build", "id-token"), ("build", "attestations"), ("publish", "id-token"), ("notes", "contents")}
    assert writing == (wanted if path.name == "release.yml" else set())


def test_a_release_is_published_only_after_it_was_used():
    jobs = parsed("release.yml")["jobs"]
    assert set(jobs["publish"]["needs"]) == {"build", "walkthrough"}
    assert jobs["publish"]["environment"] == {"name": "pypi", "url": f"https://pypi.org/project/{DISTRIBUTION}/"}
    assert "password" not in (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8").replace(
        "no password", ""
    )


def test_commands_of_the_release_exist():
    text = "\n".join(
        (ROOT / name).read_text(encoding="utf-8") for name in (".github/workflows/release.yml", "justfile")
    )
    script = (ROOT / ".ci/release.py").read_text(encoding="utf-8")
    for command in set(re.findall(r"\.ci/release\.py (\w+)", text)):
        assert f'add_parser("{command}")' in script
    for module in set(re.findall(r"-m (benchmarks\.wheel\w+)", text)):
        assert (ROOT / f"{module.replace('.', '/')}.py").is_file()
    walkthrough = (ROOT / "benchmarks/wheel_walkthrough.py").read_text(encoding="utf-8")
    assert re.search(r"^(from|import) (dragoman|benchmarks)", walkthrough, re.MULTILINE) is None, (
        "only the standard library"
    )


def test_platforms_are_two_systems_and_two_versions():
    matrix = parsed("platforms.yml")["jobs"]["quick"]["strategy"]["matrix"]
    assert matrix == {"system": ["ubuntu-latest", "macos-latest"], "python": ["3.11", "3.13"]}
