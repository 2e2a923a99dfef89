"""The public namespace is frozen, and ``__all__`` of every package resolves."""

import ast
import dataclasses
import functools
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import dragoman
from dragoman.api.translation.text_translator import TextTranslator

# Adding a name or an optional parameter extends the promise of docs/stability.md. Any other change breaks users: it
# needs a deprecation first, and a line in the changelog.
SIGNATURES = {
    "align": (
        "(translator: 'Translator | Bundle | Path | str', sources: 'Lines', targets: 'Lines', *, "
        "backward: 'Translator | Bundle | Path | str | None' = None, layer: 'int | None' = None, "
        "head: \"int | Literal['mean']\" = 'mean', reading: 'AttentionReading' = 'lexical', "
        "symmetrization: 'Symmetrization' = 'grow-diag-final', words: 'Words' = 'usual') -> list[Links]"
    ),
    "compare": (
        "(systems: 'Systems', sources: 'Lines | None' = None, references: 'Lines | None' = None, *, "
        "output: 'Path | str | None' = None, sentences: 'int' = 10, maps: 'int' = 2, "
        "search: 'SearchSettings | None' = None, engine: 'EngineName' = 'auto', "
        "precision: 'PrecisionName' = 'auto', threads: 'int | None' = None, baseline: 'str | None' = None, "
        "languages: 'tuple[str, str] | None' = None, "
        "progress: 'Progress | None' = None) -> ComparisonReport"
    ),
    "evaluate": (
        "(systems: 'Systems', sources: 'Lines', references: 'Lines', *, "
        "search: 'SearchSettings | None' = None, engine: 'EngineName' = 'auto', "
        "precision: 'PrecisionName' = 'auto', threads: 'int | None' = None, "
        "batch_tokens: 'int | None' = None, baseline: 'str | None' = None, languages: 'tuple[str, "
        "str] | None' = None, metrics: 'Sequence[str]' = ('bleu', 'chrf', 'ter'), "
        "resamples: 'int' = 1000, test_kind: 'TestName' = 'bootstrap', trials: 'int | None' = None, "
        "by_length: 'bool' = True, flags: 'bool' = True, probes: 'bool' = False, comet: 'str | None' = None, "
        "comet_python: 'str | None' = None, progress: 'Progress | None' = None) -> Evaluation"
    ),
    "export": (
        "(bundle: 'Bundle | Path | str', to: \"Literal['ctranslate2', 'onnx']\", *, "
        "precision: \"Literal['auto', 'float32', 'int8']\" = 'auto', "
        "output: 'Path | str | None' = None) -> ExportResult"
    ),
    "inspect": (
        "(translator: 'Translator | Bundle | Path | str', text: 'str', *, target: 'str | None' = None, "
        "prefix: 'str' = '', counterfactuals: 'int' = 3, "
        "search_tree: 'bool' = True, output: 'Path | str | None' = None) -> InspectionResult"
    ),
    "load_config": "(source: 'str | Path', overrides: 'Sequence[str]' = ()) -> Config",
    "prepare": (
        "(config: 'Config | Path | str' = 'dragoman.toml', folder: 'Path | str | None' = None, *, "
        "overrides: 'Sequence[str]' = (), processes: 'int' = 1, "
        "progress: 'Progress | None' = None, allow_network: 'bool' = False) -> PreparedData"
    ),
    "train": (
        "(config: 'Config | Path | str' = 'dragoman.toml', folder: 'Path | str | None' = None, *, "
        "overrides: 'Sequence[str]' = (), run: 'Path | str | None' = None, resume: 'bool' = False, "
        "callbacks: 'Sequence[TrainerCallback]' = (), loader_workers: 'int' = 0, "
        "allow_network: 'bool' = False) -> TrainResult"
    ),
}
SHARED = {  # by Translator and Translators
    "translate_async": (
        "(self, text: 'str | Sequence[str]', **options: 'Unpack[TranslateKeywords]') -> Translation | list[Translation]"
    ),
    "translate_html": (
        "(self, html: 'str', *, source: 'str | None' = None, target: 'str | None' = None, beam: 'int | None' = None, "
        "glossary: 'Glossary | None' = None, cancelled: 'Cancellation | None' = None) -> str"
    ),
    "translate_file": (
        "(self, path: 'Path | str', output: 'Path | str | None' = None, *, source: 'str | None' = None, "
        "target: 'str | None' = None, read_as: 'str | None' = None, split_sentences: 'bool' = False, "
        "again: 'bool' = False, force: 'bool' = False, progress: 'Progress | None' = None) -> Path"
    ),
    "close": "(self) -> None",
}
CLASSES = {
    "Bundle": {
        "open": "(cls, folder: 'Path | str', *, trusted: 'bool' = False, verify_again: 'bool' = False) -> Self",
        "digest": "property",
        "tokenizers": "(self) -> dict[str, Tokenizer]",
        "weights": "(self) -> dict[str, NDArray[np.float32]]",
        "quantization": "(self) -> Quantization | None",
        "shortlist": "(self) -> Shortlist | None",
        "parameter_count": "(self) -> int",
        "card": "(self) -> str",
        "folder": "field",
        "config": "field",
        "manifest": "field",
    },
    "DragomanError": {},
    "Glossary": {
        "from_dict": "(cls, terms: 'Mapping[str, str | None]') -> Self",
        "from_file": "(cls, path: 'Path | str', *, languages: 'Sequence[str]' = ()) -> Self",
        "terms": "property",
        "digest": "property",
    },
    "SearchSettings": {
        "search": "field",
        "candidates": "field",
        "beam": "field",
        "nbest": "field",
        "length_penalty": "field",
        "alpha": "field",
        "coverage_penalty": "field",
        "patience": "field",
        "min_length": "field",
        "max_length": "field",
        "no_repeat_ngram": "field",
        "groups": "field",
        "diversity": "field",
        "sample": "field",
        "temperature": "field",
        "top_k": "field",
        "top_p": "field",
        "seed": "field",
        "min_confidence": "field",
    },
    "Translation": {
        "to_json": "(self) -> dict[str, Any]",
        "damage": "property",
        "alternatives": "(self, kept: 'Sequence[str]' = ()) -> tuple[tuple[str, float], ...]",
        "source": "field",
        "text": "field",
        "score": "field",
        "log_prob": "field",
        "tokens": "field",
        "source_words": "field",
        "target_words": "field",
        "alignment": "field",
        "weights": "field",
        "flags": "field",
        "nbest": "field",
        "tree": "field",
        "is_truncated": "field",
        "is_cut": "field",
        "confidence": "field",
        "sentences": "field",
        "memory": "field",
        "matches": "field",
    },
    "Translator": SHARED
    | {
        "open": (
            "(cls, *bundles: 'Bundle | Path | str', engine: 'EngineName' = 'auto', "
            "precision: 'PrecisionName' = 'auto', device: 'DeviceName' = 'cpu', threads: 'int | None' = None, "
            "search: 'SearchSettings | None' = None, glossary: 'Glossary | None' = None, "
            "batch_tokens: 'int | None' = None, search_tree: 'bool' = False, "
            "incremental: 'bool' = False, shortlist: 'bool' = True, source_language: 'str | None' = None, "
            "target_language: 'str | None' = None, memory: 'str | MemoryReader | None' = None) -> Self"
        ),
        "translate": (
            "(self, text: 'str | Sequence[str]', *, source: 'str | None' = None, target: 'str | None' = None, "
            "prefix: 'str | Sequence[str]' = '', "
            "split_sentences: 'bool' = True, max_sentence_tokens: 'int | None' = None, "
            "search: 'SearchSettings | None' = None, beam: 'int | None' = None, nbest: 'int | None' = None, "
            "alignment: 'bool' = False, attention: 'bool' = False, posterior: 'bool' = False, "
            "flags: 'bool' = False, "
            "search_tree: 'bool' = False, glossary: 'Glossary | None' = None, protect: 'bool' = True, "
            "first: 'int' = 0, cancelled: 'Cancellation | None' = None, "
            "progress: 'Progress | None' = None) -> Translation | list[Translation]"
        ),
        "translate_stream": (
            "(self, text: 'str', *, source: 'str | None' = None, target: 'str | None' = None, "
            "prefix: 'str' = '', split_sentences: 'bool' = True, "
            "max_sentence_tokens: 'int | None' = None, search: 'SearchSettings | None' = None, "
            "beam: 'int | None' = None, glossary: 'Glossary | None' = None, protect: 'bool' = True, "
            "cancelled: 'Cancellation | None' = None) -> Iterator[str]"
        ),
        "score": (
            "(self, sources: 'Sequence[str]', targets: 'Sequence[str]', *, alignment: 'bool' = False, "
            "attention: 'bool' = False, posterior: 'bool' = False, flags: 'bool' = False) -> list[Translation]"
        ),
        "attention": (
            "(self, sources: 'Sequence[str]', targets: 'Sequence[str]', *, "
            "likelihoods: 'bool' = False, lexical: 'bool' = False) -> list[AttentionMaps]"
        ),
        "align": "(self, sources: 'Sequence[str]', targets: 'Sequence[str]') -> list[Links]",
        "direction": "(self, source: 'str | None' = None, target: 'str | None' = None) -> Self",
    },
    "Translators": SHARED
    | {
        "open": (
            "(cls, *bundles: 'Bundle | Path | str', engine: 'EngineName' = 'auto', "
            "precision: 'PrecisionName' = 'auto', device: 'DeviceName' = 'cpu', threads: 'int | None' = None, "
            "search: 'SearchSettings | None' = None, batch_tokens: 'int | None' = None, "
            "incremental: 'bool' = False, shortlist: 'bool' = True) -> Self"
        ),
        "translate": (
            "(self, text: 'str | Sequence[str]', **options: 'Unpack[TranslateKeywords]') "
            "-> Translation | list[Translation]"
        ),
        "direction": (
            "(self, source: 'str | None' = None, target: 'str | None' = None) -> Translator | PivotTranslator"
        ),
    },
}
# Methods that the server and the command line share; docs/stability.md excludes them.
INTERNAL = {
    "Bundle": {"calibrations", "inference", "stored_weights"},
    "Glossary": {"characters", "find_terms", "location", "normalized"},
    "SearchSettings": {"limit"},
    "Translation": {"if_sure"},
    "Translator": {"assemble", "detokenizer", "postprocess", "prepare", "preprocessor", "search"},
}
TOP_LEVEL = sorted([*SIGNATURES, *CLASSES, "__version__"])

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


def signature_text(function: object) -> str:
    """Render a signature with its annotations as written."""
    signature = inspect.signature(function)  # type: ignore[arg-type]
    lines = [f"{each}" for each in signature.parameters.values()]
    kinds = [each.kind for each in signature.parameters.values()]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        lines.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    return f"({', '.join(lines)}) -> {signature.return_annotation}"


def members(cls: type) -> dict[str, str]:
    """Public methods with their signatures, properties, and the fields of a dataclass or a pydantic model.

    Those of `TextTranslator` are also those of the two classes that derive from it.
    """
    found = {}
    values = [vars(each) for each in reversed(cls.__mro__) if each in (cls, TextTranslator)]
    for name, value in ((name, value) for each in values for name, value in each.items()):
        if name.startswith("_"):
            continue
        if isinstance(value, classmethod | staticmethod):
            found[name] = signature_text(value.__func__)
        elif inspect.isfunction(value):
            found[name] = signature_text(value)
        elif isinstance(value, property | functools.cached_property):
            found[name] = "property"
    fields = {each.name: each.type for each in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else {}
    fields |= getattr(cls, "model_fields", {})
    return found | dict.fromkeys((name for name in fields if not name.startswith("_")), "field")


def test_the_public_names_are_frozen():
    assert dragoman.__all__ == TOP_LEVEL


@pytest.mark.parametrize("name", SIGNATURES)
def test_the_signature_of_a_public_function_is_frozen(name: str):
    assert signature_text(getattr(dragoman, name)) == SIGNATURES[name]


@pytest.mark.parametrize("name", CLASSES)
def test_the_members_of_a_public_class_are_frozen(name: str):
    found = members(getattr(dragoman, name))
    internal = INTERNAL.get(name, set())
    assert internal <= found.keys()
    assert {each: found[each] for each in found if each not in internal} == CLASSES[name]


def test_importing_the_namespace_imports_neither_torch_nor_numpy():
    code = "import sys, dragoman; dir(dragoman); print(sorted({'torch', 'numpy', 'pydantic'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_no_module_has_the_name_of_a_public_function():
    modules = {path.stem for path in SOURCE.iterdir()}
    assert modules.isdisjoint(dragoman.__all__)


def test_every_public_object_has_a_docstring():
    for name in dragoman.__all__:
        if name != "__version__":
            assert inspect.getdoc(getattr(dragoman, name)), name


def test_only_packages_declare_their_names():
    """The names that a package offers are declared in its `__init__`; other modules have no list to keep in step."""
    packages = set(module_names("__init__.py"))
    declaring = {name for name in module_names("*.py") if declares_all(name)}
    assert "dragoman" in declaring
    assert declaring <= packages


@pytest.mark.parametrize("name", [name for name in module_names("*.py") if declares_all(name)])
def test_all_is_sorted_and_resolves(name: str):
    module = imported(name)
    offered = list(module.__all__)
    assert offered == sorted(set(offered)), f"{name}.__all__ must be in sorted() order, without repeats"
    assert [entry for entry in offered if not hasattr(module, entry)] == []
