"""Python examples of the documentation: public names only, and every imported name exists."""

import ast
import importlib
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

import dragoman

ROOT = Path(__file__).resolve().parents[2]
FOR_DEVELOPERS = {"extending.md"}  # adds to the internal modules; test_extending.py follows it
DOCS = [page for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in FOR_DEVELOPERS]
PAGES = [ROOT / "README.md", ROOT / "README.zh.md", *DOCS]
_FLAGS = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
INTERNAL = ("internal modules", "内部模块")


@dataclass(frozen=True)
class Example:
    page: str
    line: int
    heading: str
    code: str

    @property
    def is_internal(self) -> bool:
        return any(each in self.heading for each in INTERNAL)

    def imports(self) -> list[tuple[str, str]]:
        """Modules of Dragoman and the names imported from them."""
        found = []
        for node in ast.walk(compile(self.code, self.page, "exec", _FLAGS)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "dragoman":
                found += [(node.module or "", each.name) for each in node.names]
            elif isinstance(node, ast.Import):
                found += [(each.name, "") for each in node.names if each.name.partition(".")[0] == "dragoman"]
        return found


def examples() -> list[Example]:
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            before = text[: block.start()]
            headings = re.findall(r"^#+ (.*)$", before, re.MULTILINE)
            code = block.group(1)
            found.append(Example(page.name, before.count("\n") + 1, headings[-1], code))
    return found


@pytest.mark.parametrize("example", examples(), ids=lambda example: f"{example.page}:{example.line}")
def test_an_example_imports_public_names_unless_it_is_marked_internal(example: Example):
    for module, name in example.imports():
        if module == "dragoman":
            assert name in dragoman.__all__, f"{example.page}:{example.line} imports {name}, which is not public"
        else:
            assert example.is_internal, f"{example.page}:{example.line} imports {module} outside of internal sections"
        assert not name or hasattr(importlib.import_module(module), name), f"{module}.{name} does not exist"
