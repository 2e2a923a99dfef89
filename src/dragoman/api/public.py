"""Public functions of the `dragoman` namespace, one per command; they accept paths or loaded objects."""

# ruff: noqa: PLC0415 -- each function imports its own packages: preparing data needs no torch, exporting no sacreBLEU

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from dragoman.api.notebook.stage_display import in_notebook, shown_progress
from dragoman.api.training.project_config import open_project
from dragoman.bundle import Bundle
from dragoman.bundle.locate import open_located
from dragoman.config import Config
from dragoman.config.alignment import AlignmentSettings, AttentionReading, Symmetrization, Words
from dragoman.config.engine import EngineName, EngineSettings, PrecisionName
from dragoman.config.evaluation import METRICS, EvaluationSettings, TestName
from dragoman.config.search import SearchSettings
from dragoman.config.validation_errors import validate
from dragoman.environment import limit_kernel_caches
from dragoman.errors import ConfigError
from dragoman.files import as_path, atomic_write
from dragoman.network_access import network_access
from dragoman.run_files import PROJECT

if TYPE_CHECKING:
    from dragoman.api.evaluation.system_arguments import System
    from dragoman.api.training.training_run import TrainResult
    from dragoman.api.translation.translator import Translator
    from dragoman.data.preparation.prepared_data import PreparedData
    from dragoman.engines.export_cache import ExportResult
    from dragoman.evaluation.results import Evaluation
    from dragoman.evaluation.word_alignment import Links
    from dragoman.inspection.comparison.report_types import ComparisonReport
    from dragoman.inspection.result import InspectionResult
    from dragoman.progress import Progress
    from dragoman.training.callbacks.events import TrainerCallback

_Settings = TypeVar("_Settings", AlignmentSettings, EngineSettings, EvaluationSettings)

Systems = Path | str | Sequence[Path | str] | Mapping[str, Path | str | Sequence[Path | str]]
"""Run folders, bundles or files of translations: one, several, or by name; a list under a name is one system that was
trained with several seeds."""

Lines = Path | str | Sequence[str]
"""A text file with one sentence per line, or the sentences."""


def prepare(
    config: Config | Path | str = PROJECT,
    folder: Path | str | None = None,
    *,
    overrides: Sequence[str] = (),
    processes: int = 1,
    progress: Progress | None = None,
    allow_network: bool = False,
) -> PreparedData:
    """Clean, deduplicate and split corpora, train the tokenizer, and write shards.

    Run again, it repeats only the stages whose input changed. Relative paths start from `folder`; by default that of
    the file, or the current folder. `overrides` have the form ``section.name=value``. `allow_network` allows corpora
    at URLs. A notebook shows the progress, unless `progress` receives it.
    """
    from dragoman.api.training.preparation import prepare_corpora

    opened, start = open_project(config, folder, overrides)
    with shown_progress(progress) as shown, network_access(allow_network):
        return prepare_corpora(opened, start, processes=processes, progress=shown)


def train(
    config: Config | Path | str = PROJECT,
    folder: Path | str | None = None,
    *,
    overrides: Sequence[str] = (),
    run: Path | str | None = None,
    resume: bool = False,
    callbacks: Sequence[TrainerCallback] = (),
    loader_workers: int = 0,
    allow_network: bool = False,
) -> TrainResult:
    """Train a model, and write checkpoints, curves and a bundle; data that were never prepared are prepared first.

    `folder`, `overrides` and `allow_network` are those of `prepare`. The folder of the run is by default ``run`` in
    `folder`. With `resume` it continues from the newest checkpoint, or starts if there is none; a resumed run also has
    the overrides it was started with. `callbacks` receive events; by default a notebook shows them. 0 loader workers
    load batches in this process. Several processes train together when a launcher such as torchrun starts them; the
    data must be prepared before.
    """
    limit_kernel_caches()
    from dragoman.api.training.checked_training import open_training

    def prepare_data(opened: Config, start: Path) -> None:
        prepare(opened, start, allow_network=allow_network)

    training = open_training(config, folder, overrides, run, resume=resume, prepare=prepare_data)
    from dragoman.api.training.training_run import train_model

    if not callbacks and in_notebook():
        from dragoman.training.callbacks.status import TrainingDisplay

        callbacks = [TrainingDisplay()]
    with network_access(allow_network):
        return train_model(training, callbacks=callbacks, loader_workers=loader_workers)


def evaluate(  # noqa: PLR0913 -- one keyword per setting
    systems: Systems,
    sources: Lines,
    references: Lines,
    *,
    search: SearchSettings | None = None,
    engine: EngineName = "auto",
    precision: PrecisionName = "auto",
    threads: int | None = None,
    batch_tokens: int | None = None,
    baseline: str | None = None,
    languages: tuple[str, str] | None = None,
    metrics: Sequence[str] = METRICS,
    resamples: int = 1000,
    test_kind: TestName = "bootstrap",
    trials: int | None = None,
    by_length: bool = True,
    flags: bool = True,
    probes: bool = False,
    comet: str | None = None,
    comet_python: str | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Score systems on a test set, and test the differences from the baseline for significance.

    Systems are run folders, bundles or files of translations; a dictionary gives them names. Bundles translate the
    sources; files of translations are scored unchanged. The other keywords are the options of ``dragoman evaluate``.
    """
    given = locals() | {"metrics": (metrics,) if isinstance(metrics, str) else tuple(metrics)}
    from dragoman.api.evaluation.evaluator import evaluate_systems

    settings = _chosen(EvaluationSettings, given)
    with shown_progress(progress, unit="sentence") as shown:
        return evaluate_systems(
            _systems(systems),
            _lines(sources),
            _lines(references),
            settings,
            search=search,
            engine=_chosen(EngineSettings, given),
            progress=shown,
            name=Path(sources).name.partition(".")[0] if isinstance(sources, Path | str) else "",
        )


def compare(  # noqa: PLR0913 -- one keyword per setting
    systems: Systems,
    sources: Lines | None = None,
    references: Lines | None = None,
    *,
    output: Path | str | None = None,
    sentences: int = 10,
    maps: int = 2,
    search: SearchSettings | None = None,
    engine: EngineName = "auto",
    precision: PrecisionName = "auto",
    threads: int | None = None,
    baseline: str | None = None,
    languages: tuple[str, str] | None = None,
    progress: Progress | None = None,
) -> ComparisonReport:
    """Compare systems: settings and training curves, and on a test set scores, sentences and attention.

    The arguments are those of `evaluate`. Without a test set, only the records of the runs are compared. `output` is an
    HTML file, which shows `sentences` whose translations differ most and attention maps of `maps` sentences.
    """
    from dragoman.api.evaluation.comparison import ScoredTestSet, compare_systems

    file = None if output is None else _output_file(output)
    if (sources is None) != (references is None):
        raise ConfigError("a test set is sources and references; give both, or none")
    opened, test = _systems(systems), None
    if sources is not None and references is not None:
        evaluation = evaluate(
            {system.name: system.members for system in opened},
            sources,
            references,
            search=search,
            engine=engine,
            precision=precision,
            threads=threads,
            baseline=baseline,
            languages=languages,
            progress=progress,
        )
        test = ScoredTestSet(evaluation, _lines(sources), _lines(references))
    comparison = compare_systems(opened, test, sentences=sentences, maps=maps, threads=threads)
    if file is not None:
        from dragoman.inspection.comparison.page import render_comparison_page

        with atomic_write(file) as draft:
            draft.write_text(render_comparison_page(comparison), encoding="utf-8")
    return comparison


def align(  # noqa: PLR0913 -- one keyword per setting
    translator: Translator | Bundle | Path | str,
    sources: Lines,
    targets: Lines,
    *,
    backward: Translator | Bundle | Path | str | None = None,
    layer: int | None = None,
    head: int | Literal["mean"] = "mean",
    reading: AttentionReading = "lexical",
    symmetrization: Symmetrization = "grow-diag-final",
    words: Words = "usual",
) -> list[Links]:
    """Align the words of sentence pairs by attention; each link is (source word, target word), counted from 0.

    With `backward`, a translator or bundle from target to source, the links of both directions are combined. The other
    keywords are the options of ``dragoman align``.
    """
    given = locals()
    from dragoman.api.alignment.align_pairs import align_pairs

    settings = _chosen(AlignmentSettings, given)
    engine: EngineName = "auto" if settings.is_usual else "torch"
    forward = _translator(translator, engine=engine)
    behind = None if backward is None else _translator(backward, engine=engine)
    return align_pairs(forward, behind, _lines(sources), _lines(targets), settings)


def inspect(
    translator: Translator | Bundle | Path | str,
    text: str,
    *,
    target: str | None = None,
    prefix: str = "",
    counterfactuals: int = 3,
    search_tree: bool = True,
    output: Path | str | None = None,
) -> InspectionResult:
    """Inspect the translation of one sentence: attention, candidates of each step, search tree, counterfactuals.

    `target` is a translation to inspect instead of the translator's, and `prefix` text that it must begin with. At each
    word `counterfactuals` other words are tried. `output` is a page (``.html``), the attention map (``.svg``), or the
    data (``.json``).
    """
    from dragoman.api.inspection.inspector import inspect_sentence
    from dragoman.inspection.pages.inspection import INSPECTION_SUFFIXES, write_inspection

    file = None if output is None else _output_file(output, INSPECTION_SUFFIXES)
    opened = _translator(translator, engine="torch", threads=1)  # more threads are slower for one sentence
    result = inspect_sentence(
        opened, text, target=target, prefix=prefix, counterfactuals=counterfactuals, search_tree=search_tree
    )
    if file is not None:
        write_inspection([result], file, title=text)
    return result


def export(
    bundle: Bundle | Path | str,
    to: Literal["ctranslate2", "onnx"],
    *,
    precision: Literal["auto", "float32", "int8"] = "auto",
    output: Path | str | None = None,
) -> ExportResult:
    """Export a bundle for CTranslate2 (Transformers) or ONNX Runtime (recurrent models), as ``dragoman export``."""
    from dragoman.engines.export_cache import export_bundle

    opened = bundle if isinstance(bundle, Bundle) else open_located(bundle)
    return export_bundle(opened, to, precision=precision, output=None if output is None else as_path(output))


def _translator(
    given: Translator | Bundle | Path | str, *, engine: EngineName, threads: int | None = None
) -> Translator:
    from dragoman.api.translation.translator import Translator

    return given if isinstance(given, Translator) else Translator.open(given, engine=engine, threads=threads)


def _chosen(model: type[_Settings], given: Mapping[str, Any]) -> _Settings:
    """Return settings of which each field is a keyword of the same name, if the function has it."""
    return validate(model, {name: given[name] for name in model.model_fields if name in given})


def _systems(systems: Systems) -> tuple[System, ...]:
    from dragoman.api.evaluation.system_arguments import System, parse_systems

    if not isinstance(systems, Mapping):
        return parse_systems([str(path) for path in _paths(systems)])
    return tuple(System(name, tuple(_paths(paths))) for name, paths in systems.items())


def _paths(paths: Path | str | Sequence[Path | str]) -> list[Path]:
    return [as_path(each) for each in (paths if isinstance(paths, list | tuple) else [paths])]


def _lines(lines: Lines) -> Sequence[str]:
    from dragoman.api.files.input_lines import read_lines
    from dragoman.api.translation.preprocessor import check_texts

    return read_lines(lines) if isinstance(lines, Path | str) else check_texts(lines)


def _output_file(output: Path | str, endings: Sequence[str] = (".html",)) -> Path:
    """Return the path of an output file, whose folder is created; another ending is a `ConfigError`."""
    path = as_path(output)
    if path.suffix.lower() not in endings:
        raise ConfigError(f"output must end in {' or '.join(endings)}, got {path}; the ending selects the format")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
