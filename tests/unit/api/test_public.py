"""The public functions: an argument of a wrong kind is a `DragomanError` that names it, not a traceback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman import Bundle, DragomanError, Glossary, Translator, Translators
from testkit.random_bundle import random_bundle

Call = Callable[[Bundle, Path], Any]
A_PATH = "must be text or a pathlib.Path, got"

WRONG: dict[str, tuple[Call, str]] = {
    "open": (lambda _, __: Translator.open(None), A_PATH),  # type: ignore[arg-type]
    "open a list": (lambda _, __: Translators.open([]), A_PATH),  # type: ignore[arg-type]
    "bundle": (lambda _, __: Bundle.open(3), A_PATH),  # type: ignore[arg-type]
    "train": (lambda _, __: dragoman.train(3), A_PATH),  # type: ignore[arg-type]
    "train in": (lambda _, folder: dragoman.train("pairs-5k", folder, run=3), A_PATH),  # type: ignore[arg-type]
    "prepare": (lambda _, __: dragoman.prepare(None), A_PATH),  # type: ignore[arg-type]
    "inspect": (lambda _, __: dragoman.inspect(None, "a"), A_PATH),  # type: ignore[arg-type]
    "inspect into": (lambda bundle, _: dragoman.inspect(bundle, "a", output=3), A_PATH),  # type: ignore[arg-type]
    "export": (lambda _, __: dragoman.export(None, "onnx"), A_PATH),  # type: ignore[arg-type]
    "evaluate": (lambda _, __: dragoman.evaluate(None, ["a"], ["b"]), A_PATH),  # type: ignore[arg-type]
    "evaluate a list": (lambda _, __: dragoman.evaluate([None], ["a"], ["b"]), A_PATH),  # type: ignore[list-item]
    "inspect a text": (lambda bundle, _: dragoman.inspect(bundle, None), "a text must be a string"),  # type: ignore[arg-type]
    "evaluate texts": (lambda bundle, _: dragoman.evaluate(str(bundle.folder), None, ["b"]), "a text must be a string"),  # type: ignore[arg-type]
    "overrides": (lambda _, __: dragoman.load_config("pairs-5k", "model.layers=1"), "overrides must be a list"),
    "glossary": (lambda _, __: Glossary.from_dict(None), "must be a dictionary"),  # type: ignore[arg-type]
    "terms": (lambda _, __: Glossary.from_dict({1: 2}), "must be a dictionary"),  # type: ignore[dict-item]
}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return random_bundle(tmp_path_factory.mktemp("bundle") / "bundle")


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_argument_is_an_error_in_one_line(name: str, bundle: Bundle, tmp_path: Path) -> None:
    call, message = WRONG[name]
    with pytest.raises(DragomanError, match=message) as error:
        call(bundle, tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("processes", [0, "2"])
def test_a_number_of_processes_is_checked(processes: Any, tmp_path: Path) -> None:
    (tmp_path / "dragoman.toml").write_text('extends = "pairs-5k"\n[data]\nsource = "en"\ntarget = "de"\n')
    with pytest.raises(DragomanError, match="processes must be a whole number from 1"):
        dragoman.prepare(tmp_path, processes=processes)


def test_one_metric_needs_no_list(bundle: Bundle) -> None:
    chrf: Any = "chrf"
    evaluation = dragoman.evaluate(
        str(bundle.folder), ["a b"], ["a b"], metrics=chrf, resamples=0, by_length=False, flags=False
    )
    assert [score.metric for score in evaluation.systems[0].scores] == ["chrf++"]
