"""Read the docstrings of class attributes, parsing each source file once: pydantic tokenizes it once per class."""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from pathlib import Path

__all__ = ["attribute_docstrings"]


def attribute_docstrings(cls: type) -> dict[str, str]:
    """Return the docstrings below the annotated attributes of a class; none if its source is not available."""
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return _by_class(file).get(cls.__qualname__, {}) if file else {}


@functools.cache
def _by_class(file: str) -> dict[str, dict[str, str]]:
    """Return the docstrings of attributes by the qualified name of their class."""
    try:
        tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, UnicodeDecodeError):
        return {}
    found: dict[str, dict[str, str]] = {}
    _collect(tree.body, "", found)
    return found


def _collect(body: list[ast.stmt], prefix: str, found: dict[str, dict[str, str]]) -> None:
    for statement in body:
        if isinstance(statement, ast.ClassDef):
            found[prefix + statement.name] = _docstrings(statement)
            _collect(statement.body, f"{prefix}{statement.name}.", found)
        elif isinstance(statement, ast.FunctionDef):
            _collect(statement.body, f"{prefix}{statement.name}.<locals>.", found)


def _docstrings(cls: ast.ClassDef) -> dict[str, str]:
    found = {}
    for field, text in zip(cls.body, cls.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr):
            value = text.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                found[field.target.id] = inspect.cleandoc(value.value)
    return found
