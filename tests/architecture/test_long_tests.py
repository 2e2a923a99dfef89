"""Every test that runs at night only has a faster guard of the same property in the checks, named in one table."""

import ast
import re
from pathlib import Path

from tests.architecture.conftest import Repository

ROW = re.compile(r"^\| `([^`]+)` \| [^|]+ \| ([^|]+) \|$", re.MULTILINE)


def long_tests(text: str) -> set[str]:
    """Names of test functions that are long, or some of whose parameters are; `*` if the whole module is."""
    found = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            if any("mark.long" in ast.unparse(each) or "LONG" in ast.unparse(each) for each in node.decorator_list):
                found.add(node.name)
        elif isinstance(node, ast.Assign) and "mark.long" in ast.unparse(node.value):
            found.add("*")
    return found


def rows(page: str) -> dict[str, str]:
    """Long tests of the table, each with its guards."""
    return dict(ROW.findall(page.split("## Long tests\n", 1)[1].split("\n## ", 1)[0]))


def test_each_long_test_is_in_the_table_with_a_guard_that_exists(repository: Repository, root: Path):
    sources = {
        repository.name(path): path.read_text(encoding="utf-8")
        for path in repository.python("tests", "benchmarks/tests")
    }
    table = rows((root / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    found = {f"{name}::{test}" for name, text in sources.items() for test in long_tests(text)}
    assert sorted(found ^ table.keys()) == []
    for guards in table.values():
        for guard in re.findall(r"`([^`]+)`", guards):
            name, _, test = guard.partition("::")
            assert name in sources, guard
            assert not test or f"def {test}(" in sources[name], guard


def test_long_tests_are_found():
    assert long_tests("@pytest.mark.long\ndef test_a(): ...\n\ndef test_b(): ...\n") == {"test_a"}
    assert long_tests(
        '@pytest.mark.parametrize("x", [1, pytest.param(2, marks=pytest.mark.long)])\ndef test_a(x): ...\n'
    )
    assert long_tests("pytestmark = [pytest.mark.long]\n") == {"*"}
