"""Rules of CONTRIBUTING.md that no linter checks."""

import ast
import io
import re
import tokenize
from pathlib import PurePosixPath

from tests.architecture.conftest import Repository

MOST_LINES_A_FILE = 500
MOST_LINES_A_FUNCTION = 80

# Longer ones, each with a reason that a reader would accept: "path" or "path::function" to the reason.
LONG_FILES: dict[str, str] = {}
LONG_FUNCTIONS: dict[str, str] = {
    "src/dragoman/cli/commands/translate.py::translate": "one parameter per option",
}

SAYS_NOTHING = {"common", "helper", "helpers", "misc", "util", "utils"}
UNDONE = re.compile(r"\b(?:TODO|FIXME|HACK)\b(?!\(#\d+\))")
# A folder of one machine: after a quote, a blank, an equals sign and the like, but not inside a URL or a relative path.
MACHINE_PATH = re.compile(r"(?<![\w./~$}>-])(?:/(?:home|root|Users|work|mnt|scratch)/|[A-Za-z]:\\\\?Users\\)\w")
COMMENT_SIGNS = {
    ".toml": "#",
    ".yml": "#",
    ".yaml": "#",
    ".sh": "#",
    ".cff": "#",
    "": "#",
    ".ts": "//",
    ".svelte": "//",
}


def comments(name: str, text: str) -> list[str]:
    """The comments of a source file; for languages other than Python, the text after the comment sign."""
    suffix = PurePosixPath(name).suffix
    if suffix == ".py":
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        return [token.string for token in tokens if token.type == tokenize.COMMENT]
    sign = COMMENT_SIGNS.get(suffix)
    return [line.partition(sign)[2] for line in text.splitlines() if sign in line] if sign else []


def function_lengths(text: str) -> dict[str, int]:
    """Lines of each function, by its dotted name inside the file."""
    lengths: dict[str, int] = {}

    def visit(node: ast.AST, inside: str) -> None:
        for child in ast.iter_child_nodes(node):
            deeper = inside
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                deeper = f"{inside}{child.name}."
                if not isinstance(child, ast.ClassDef):
                    lengths[inside + child.name] = (child.end_lineno or child.lineno) - child.lineno + 1
            visit(child, deeper)

    visit(ast.parse(text), "")
    return lengths


def test_no_file_is_named_after_nothing(repository: Repository):
    names = [repository.name(path) for path in repository.files]
    stems = {name: {PurePosixPath(part).stem for part in PurePosixPath(name).parts} for name in names}
    assert [name for name in names if SAYS_NOTHING & stems[name]] == []


def test_what_is_left_to_do_has_an_issue(repository: Repository):
    found = [(name, comment) for name, text in repository.texts() for comment in comments(name, text)]
    assert [f"{name}: {comment}" for name, comment in found if UNDONE.search(comment)] == []


def test_files_are_short(repository: Repository):
    texts = {name: text for name, text in repository.texts() if name.endswith(".py")}
    long = {name for name, text in texts.items() if len(text.splitlines()) > MOST_LINES_A_FILE}
    assert sorted(long - set(LONG_FILES)) == [], f"more than {MOST_LINES_A_FILE} lines"
    assert sorted(set(LONG_FILES) - long) == [], "listed as long, but no longer so"


def test_functions_are_short(repository: Repository):
    texts = {name: text for name, text in repository.texts() if name.endswith(".py")}
    lengths = {
        f"{name}::{function}": n for name, text in texts.items() for function, n in function_lengths(text).items()
    }
    long = {function for function, n in lengths.items() if n > MOST_LINES_A_FUNCTION}
    assert sorted(long - set(LONG_FUNCTIONS)) == [], f"more than {MOST_LINES_A_FUNCTION} lines"
    assert sorted(set(LONG_FUNCTIONS) - long) == [], "listed as long, but no longer so"


def test_no_file_knows_somebodys_machine(repository: Repository):
    found = {name: MACHINE_PATH.search(text) for name, text in repository.texts()}
    assert {name: match[0] for name, match in found.items() if match} == {}


def test_the_checks_of_this_file_can_fail():
    slash = "/"
    assert MACHINE_PATH.search(f'open("{slash}home{slash}ada/corpus")')
    assert MACHINE_PATH.search(f"DATA={slash}root{slash}data")
    assert not MACHINE_PATH.search(f"https://example.org{slash}home{slash}page")
    assert UNDONE.search(comments("a.py", "x = 1  # " + "TODO: later")[0])
    assert not UNDONE.search(comments("a.py", "x = 1  # TODO(#12): later")[0])
    assert comments("a.py", "x = '# not a comment'") == []
    assert function_lengths("class A:\n    def f(self):\n        x = 1\n        return x\n") == {"A.f": 3}
