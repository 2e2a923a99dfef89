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

    Run again, it repeats only the stages whose input changed.

    Args:
        config: Configuration, or a file or project folder that has it.
        folder: Folder that relative paths start from; by default that of the file, or the current folder.
        overrides: Settings in the form ``section.name=value``.
        processes: Number of processes.
        progress: Receives the progress; by default a notebook shows it.
        allow_network: Read corpora from URLs of the network.
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

    Several processes train together when a launcher such as torchrun starts them; the data must be prepared before.

    Args:
        config: Configuration, or a file or project folder that has it.
        folder: Folder that relative paths start from; by default that of the file, or the current folder.
        overrides: Settings in the form ``section.name=value``; a resumed run also has those it was started with.
        run: Folder of the run; by default ``run`` in `folder`.
        resume: Resume from the newest checkpoint, or start if there is none.
        callbacks: Receive events of the training; by default a notebook shows them.
        loader_workers: Number of processes that load batches; 0 loads them in this process.
        allow_network: Read corpora and test sets from URLs of the network.
    """
    limit_kernel_caches()
    from dragoman.api.training.checked_training import open_training

    def prepare_data(opened: Config, start: Path) -> None:
        prepare(opened, start, allow_network=allow_network)

    training = open_training(config, folder, overrides, run, resume=resume, prepare=prepare_data)
    from dragoman.api.training.training_run import train_model

    if not callbacks and in_notebook():
        from dragoman.api.notebook.training_display import TrainingDisplay

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

    Args:
        systems: Run folders, bundles or files of translations; a dictionary gives them names.
        sources: Source file or sentences. Bundles translate them; files of translations are scored unchanged.
        references: Reference file or sentences.
        search: Search settings of bundles.
        engine: Engine of bundles.
        precision: Precision of the engine.
        threads: Number of threads; all cores by default.
        batch_tokens: Number of source tokens per batch.
        baseline: Name of the system that the others are compared with; the first by default.
        languages: Source and target language; those of the bundles by default.
        metrics: Any of ``bleu``, ``chrf`` and ``ter``.
        resamples: Number of bootstrap resamples of confidence intervals; 0 disables intervals.
        test_kind: Paired significance test, ``bootstrap`` or ``randomization``.
        trials: Number of trials of the paired test; that of sacreBLEU by default.
        by_length: Score by source length, too.
        flags: Count quality flags.
        probes: Measure the effect of typos, case, missing punctuation, single words and long input.
        comet: Name of a COMET model to score with.
        comet_python: Python interpreter with the package unbabel-comet.
        progress: Receives the progress; by default a notebook shows it.
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

    Args:
        systems: Run folders, bundles or files of translations; a dictionary gives them names.
        sources: Source file or sentences. Without a test set, only the records of the runs are compared.
        references: Reference file or sentences.
        output: HTML file for the report.
        sentences: Number of sentences to show whose translations differ most.
        maps: Number of sentences to show with attention maps.
        search: Search settings of bundles.
        engine: Engine of bundles.
        precision: Precision of the engine.
        threads: Number of threads; all cores by default.
        baseline: Name of the system that the others are compared with; the first by default.
        languages: Source and target language; those of the bundles by default.
        progress: Receives the progress; by default a notebook shows it.
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

    Args:
        translator: Translator or bundle from source to target.
        sources: Source file or sentences.
        targets: File or list of their translations.
        backward: Translator or bundle from target to source; the links of both directions are combined.
        layer: Layer, from 1; the last but one by default.
        head: Head, from 1, or the mean of all heads.
        reading: Step of a word: the step that predicts it, the step that reads it as input, or the first given the
            word, by its source position (``posterior``) or by its source word alone (``lexical``).
        symmetrization: Combination of both directions.
        words: ``usual``, or ``spaces`` for words that are delimited by white space only.
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

    Args:
        translator: Translator on the torch engine, or a bundle.
        text: Source sentence.
        target: Translation to inspect instead of the translator's.
        prefix: Text that the translation must begin with.
        counterfactuals: Number of other words to try at each word of the translation.
        search_tree: Record the search tree.
        output: File for a page (``.html``), the attention map (``.svg``), or the data (``.json``).
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
    """Export a bundle for CTranslate2 (Transformers) or ONNX Runtime (recurrent models).

    Args:
        bundle: Bundle, run or project folder.
        to: Target engine.
        precision: Precision of the exported weights; auto is the one that engines use by default.
        output: Folder of the export; by default in the cache, where engines find it.
    """
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
