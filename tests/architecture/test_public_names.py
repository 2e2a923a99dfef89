"""What may be imported is what ``__all__`` says, in every package, and the top level changes only on purpose."""

import ast
import importlib
from pathlib import Path

import pytest

import dragoman

# Adding a name here is a promise to users; taking one away breaks them and belongs in the changelog.
TOP_LEVEL = ["__version__"]

SOURCE = Path(dragoman.__file__).parent


def module_names(pattern: str) -> list[str]:
    """Importable names of the source files that match ``pattern``."""
    names = []
    for path in sorted(SOURCE.rglob(pattern)):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return [name for name in names if not name.endswith("__main__")]


def declares_all(module: str) -> bool:
    """Whether the module's own source assigns ``__all__``."""
    inside = SOURCE.parent.joinpath(*module.split("."))
    file = inside / "__init__.py" if inside.is_dir() else inside.with_suffix(".py")
    body = ast.parse(file.read_text(encoding="utf-8")).body
    targets = [t for node in body if isinstance(node, ast.Assign) for t in node.targets]
    targets += [node.target for node in body if isinstance(node, ast.AnnAssign)]
    return any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets)


def imported(name: str):
    """The module, or a skip that names the package which is missing here."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "dragoman":
            raise
        pytest.skip(f"{name} needs {error.name}, which is not installed")


def test_the_top_level_is_frozen():
    assert dragoman.__all__ == TOP_LEVEL


@pytest.mark.parametrize("package", module_names("__init__.py"))
def test_a_package_says_what_it_offers(package: str):
    assert declares_all(package), f"{package} must assign __all__ (an empty list offers nothing)"


@pytest.mark.parametrize("name", [name for name in module_names("*.py") if declares_all(name)])
def test_all_is_sorted_and_resolves(name: str):
    module = imported(name)
    offered = list(module.__all__)
    assert offered == sorted(set(offered)), f"{name}.__all__ must be in sorted() order, without repeats"
    assert [entry for entry in offered if not hasattr(module, entry)] == []
