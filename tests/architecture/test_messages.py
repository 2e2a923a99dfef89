"""Messages advise nothing that destroys a user's files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import dragoman

SOURCE = Path(dragoman.__file__).parent
ADVICE = re.compile(r"(?i)\b(delete|remove|erase|wipe|unlink|rm(?=\s)|rmdir|throw away|get rid of|clear out)\b")
HARMLESS = (
    "nyn oc odt",  # a list of language codes
)


def messages(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the strings of a module that have several words, with their lines; docstrings are no messages."""
    docstrings = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in docstrings:
            continue
        if " " in node.value.strip():
            yield node.lineno, node.value


def advice(source: str) -> list[str]:
    found = messages(ast.parse(source))
    return [
        f"{line}: {text}" for line, text in found if ADVICE.search(text) and not any(part in text for part in HARMLESS)
    ]


def test_no_message_advises_deleting():
    found = [
        f"{path.relative_to(SOURCE)}:{each}"
        for path in sorted(SOURCE.rglob("*.py"))
        for each in advice(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_the_search_finds_advice_and_ignores_docstrings():
    assert len(advice('raise ValueError(f"{path} must be new, got files; remove them")')) == 1
    assert len(advice('typer.echo("start again with rm -r run")')) == 1
    assert advice('def f():\n    """Remove a folder."""') == []
