"""Prose in code and documents avoids the words of `word_list`."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import PurePosixPath

import pytest

from tests.architecture.conftest import Repository
from tests.architecture.word_list import WORD_LIST

PATTERNS = {re.compile(words, re.IGNORECASE): better for words, better in WORD_LIST.items()}
# Every expression begins at the start of a word. Lower case: matching without regard to case takes twice as long.
ANY = re.compile(r"\b(?:" + "|".join(f"(?:{words})" for words in WORD_LIST) + ")")
ALLOWED = "old-words: ok"
COMMENT_SIGNS = {
    ".yml": "#",
    ".yaml": "#",
    ".toml": "#",
    ".sh": "#",
    ".conf": "#",
    ".ts": "//",
    ".svelte": "//",
    "": "#",
}
SKIPPED = (
    "benchmarks/results/",
    "claims/report.md",
    "tests/fixtures/",
    "package-lock.json",
    "tests/architecture/word_list.py",
    ".zh.md",
    "LICENSE",
)
# Comments and string literals of Python code: all its prose, found faster than with the tokenizer.
COMMENTS_AND_STRINGS = re.compile(r'''"""(?s:.*?)"""|#.*|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'''')
# Code spans, link targets, addresses and replacement fields are not prose.
NOT_PROSE = re.compile(r"``[^`]*``|`[^`]*`|\]\([^)]*\)|https?://\S+|\{[^{}]*\}")


def python_prose(text: str, *, with_messages: bool) -> Iterator[tuple[int, str]]:
    """Lines of comments and docstrings, and of other string literals with a space where `with_messages`."""
    documents = set()
    for node in ast.walk(ast.parse(text)):
        for statement in getattr(node, "body", None) or [] if isinstance(getattr(node, "body", None), list) else []:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                documents.add(statement.value.lineno)
    middle = getattr(tokenize, "FSTRING_MIDDLE", None)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_string = token.type in (tokenize.STRING, middle)
        is_message = is_string and with_messages and " " in token.string
        if token.type == tokenize.COMMENT or (is_string and token.start[0] in documents) or is_message:
            for offset, line in enumerate(token.string.splitlines()):
                yield token.start[0] + offset, line


def markdown_prose(text: str) -> Iterator[tuple[int, str]]:
    """Lines outside fenced and indented blocks."""
    is_fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_fenced = not is_fenced
        elif not is_fenced and not line.startswith("    "):
            yield number, line


def prose(name: str, text: str) -> Iterator[tuple[int, str]]:
    """Line numbers and lines of prose of one file, without what is code in them."""
    suffix = PurePosixPath(name).suffix
    if suffix == ".py":
        found = python_prose(text, with_messages=name.startswith(("src/", "claims/")))
    elif suffix == ".md":
        found = markdown_prose(text)
    elif suffix in COMMENT_SIGNS:
        sign = COMMENT_SIGNS[suffix]
        found = ((n, line.partition(sign)[2]) for n, line in enumerate(text.splitlines(), 1) if sign in line)
    else:
        return
    lines = text.splitlines()
    for number, line in found:
        if not lines[number - 1].rstrip().endswith(ALLOWED):
            yield number, NOT_PROSE.sub(" ", line)


def may_have_old_words(name: str, text: str) -> bool:
    """Whether any comment, string or line uses a word of the list; a quick test before the exact one."""
    suffix = PurePosixPath(name).suffix
    if suffix == ".py":
        text = "\n".join(COMMENTS_AND_STRINGS.findall(text))
    return suffix in {".py", ".md", *COMMENT_SIGNS} and ANY.search(text.lower()) is not None


def old_words(name: str, text: str) -> list[str]:
    """One message per line that uses a word of the list."""
    if not may_have_old_words(name, text):
        return []
    found = []
    for number, line in prose(name, text):
        if ANY.search(line.lower()):
            found += [
                f"{name}:{number}: {match[0]!r}; write: {better}"
                for pattern, better in PATTERNS.items()
                if (match := pattern.search(line))
            ]
    return found


def test_prose_uses_plain_words(repository: Repository):
    texts = [(name, text) for name, text in repository.texts() if not any(part in name for part in SKIPPED)]
    found = [message for name, text in texts for message in old_words(name, text)]
    assert not found, "\n".join(["", *found])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("src/a.py", '"""Mend the file."""\n'),
        ("src/a.py", 'raise ValueError(f"{name} must be told")\n'),
        ("tests/a.py", "x = 1  # for whoever reads this\n"),
        ("docs/a.md", "Three lines a request.\n"),
        ("a.toml", "a = 1 # so many seconds\n"),
    ],
)
def test_old_words_are_found(name: str, text: str):
    assert old_words(name, text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("src/a.py", 'mend = "mend"\n'),
        ("tests/a.py", 'x = "somebody says"\n'),
        ("docs/a.md", "Run `mend`.\n\n```sh\nmend a file\n```\n"),
        ("src/a.py", "x = 1  # a quotation: mend  old-words: ok\n"),
    ],
)
def test_code_and_allowed_lines_are_not_prose(name: str, text: str):
    assert old_words(name, text) == []
