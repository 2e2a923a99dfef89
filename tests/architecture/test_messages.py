"""Messages advise nothing that destroys a user's files, and name a value after "got"."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import dragoman

SOURCE = Path(dragoman.__file__).parent
ADVICE = re.compile(r"(?i)\b(delete|remove|erase|wipe|unlink|rm(?=\s)|rmdir|throw away|get rid of|clear out)\b")
VAGUE = re.compile(r"\bgot (?:it|its|none|neither|both|nothing|others?|another|one|something|no|an? \w+)\b(?! layer)")
NAMES_A_VALUE = (
    "got an ensemble of ",  # how many bundles
    "got a field of type ",
    "got a table of ",
    "got no attention",  # a description of a flag
)
HARMLESS = (
    "nyn oc odt",  # a list of language codes
    "List the stored models; search, ",  # the help of dragoman models
    "review, share and remove translation memories",  # the help of dragoman memory
    "export and erase the data of an API key",  # the help of dragoman database
    "PRAGMA journal_mode",  # a statement of SQLite
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


def vague(source: str) -> list[str]:
    """Messages whose "got" is followed by no value; such an error is about a state: it is one plain sentence."""
    found = messages(ast.parse(source))
    return [
        f"{line}: {text}" for line, text in found if VAGUE.search(text) and not any(x in text for x in NAMES_A_VALUE)
    ]


def test_messages_name_the_value_that_they_got():
    found = [
        f"{path.relative_to(SOURCE)}:{each}"
        for path in sorted(SOURCE.rglob("*.py"))
        for each in vague(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_the_search_finds_messages_without_a_value():
    assert len(vague('raise ValueError(f"{path} must have rows, got none; add one")')) == 1
    assert len(vague('raise ValueError(f"{path} must be new, got an existing file")')) == 1
    assert vague('raise ValueError(f"beam must be positive, got {beam}")') == []


def test_the_search_finds_advice_and_ignores_docstrings():
    assert len(advice('raise ValueError(f"{path} must be new, got files; remove them")')) == 1
    assert len(advice('typer.echo("start again with rm -r run")')) == 1
    assert advice('def f():\n    """Remove a folder."""') == []
