"""`dragoman prepare`: clean corpora, train tokenizers and write training data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.cli.console import echo, print_json, print_next, print_table, print_warning, report_errors
from dragoman.cli.options.arguments import (
    DEFAULT_CONFIG,
    AllowNetwork,
    ConfigFile,
    Json,
    On,
    OnBadLine,
    Overrides,
    Processes,
    Workers,
    config_file,
    next_command,
    overrides_with,
)
from dragoman.cli.options.cluster import check_cluster, preparation_workers
from dragoman.network_access import network_access

if TYPE_CHECKING:
    from dragoman.config import Config
    from dragoman.data.preparation.prepared_data import PreparedData

_NOT_COUNTED = "–"
_LISTED = 5  # reasons
_PROCESSES = 2


def prepare(
    config: ConfigFile = DEFAULT_CONFIG,
    overrides: Overrides = None,
    processes: Processes = _PROCESSES,
    on_bad_line: OnBadLine = None,
    allow_network: AllowNetwork = False,
    json: Json = False,
    on: On = None,
    workers: Workers = None,
) -> None:
    """Clean, de-duplicate and split corpora, learn the tokenizer and write shards.

    A second run repeats only steps whose input changed; after an interruption it continues.
    """
    from dragoman.environment import require

    with report_errors(), network_access(allow_network):
        check_cluster(on, workers)
        require("polars", "train", "dragoman prepare")
        from dragoman.config import load_config

        config = config_file(config)
        overrides = overrides_with(overrides, on_bad_line)
        settings = load_config(config, overrides)
        folder = config.parent if on is None else config.parent.absolute()  # workers have another working folder
        prepared = _prepare(settings, folder, on, workers, processes)
    if json:
        print_json(prepared.manifest)
    else:
        _print(prepared.folder, prepared.manifest)
        print_next(next_command("train", config, overrides, *(["--allow-network"] if allow_network else [])))


def prepare_first(settings: Config, folder: Path) -> None:
    """Prepare the corpora of a project whose data were never prepared; print a summary on stderr."""
    echo("the data are not prepared: preparing them first, as dragoman prepare does", err=True)
    prepared = _prepare(settings, folder)
    echo(_pairs_line(prepared.manifest["pairs"]), err=True)


def _prepare(
    settings: Config, folder: Path, on: str | None = None, workers: int | None = None, processes: int = _PROCESSES
) -> PreparedData:
    """Prepare the corpora with a progress bar and warnings."""
    from dragoman.api.training.preparation import prepare_corpora
    from dragoman.cli.screens.progress import ProgressDisplay

    with preparation_workers(on, workers, processes) as opened, ProgressDisplay() as progress:
        return prepare_corpora(settings, folder, workers=opened, progress=progress, tell=print_warning)


def _print(folder: Path, manifest: dict[str, Any]) -> None:
    from dragoman.data.preparation.prepared_data import REPORT
    from dragoman.data.preparation.tokenizer_stage import tokenizer_notes
    from dragoman.data.project_template import suggested_pairs

    unknown = (_NOT_COUNTED, _NOT_COUNTED)
    rows = [("set", "corpus", "pairs", "source tokens", "target tokens")]
    for name, split in manifest["splits"].items():
        corpora = split["corpora"]
        if len(corpora) > 1:
            rows += [(name, corpus["name"], f"{corpus['rows']:,}", *unknown) for corpus in corpora]
        label = corpora[0]["name"] if len(corpora) == 1 else "in all"
        counts = (split["rows"], split["tokens"]["source"], split["tokens"]["target"])
        rows.append((name, label, *(f"{count:,}" for count in counts)))
    taken = {name: count for name, count in manifest["pairs"]["taken"].items() if name == "test"}
    rows += [(name, "held out", f"{count:,}", *unknown) for name, count in taken.items()]
    rows += [("test", corpus["name"], f"{corpus['summary']['kept']:,}", *unknown) for corpus in _test_corpora(folder)]
    print_table(rows, right=frozenset({2, 3, 4}))
    for corpus in manifest["splits"]["train"]["corpora"]:
        if not corpus["rows"]:
            echo(f"note: no pair of {corpus['name']} is left; see report.json", err=True)
    for note in tokenizer_notes(manifest):
        echo(f"note: {note}", err=True)
    data = manifest["settings"]["data"]
    if not data["test"] and not data["test_pairs"]:
        some = suggested_pairs(manifest["pairs"]["kept"])
        fix = f"data.test_pairs = {some} holds one out" if some else "there are too few pairs to hold one out"
        echo(f"note: there is no test set; {fix}", err=True)
    sizes = dict.fromkeys(f"{entry['path']} ({entry['tokens']:,} tokens)" for entry in manifest["tokenizers"].values())
    pairs = manifest["pairs"]
    echo(f"\n{_pairs_line(pairs)}")
    echo(f"{folder}: {', '.join(sizes)}")
    if pairs["left_out"]:
        echo(f"examples of the pairs that were left out: {folder / REPORT}")


def _pairs_line(pairs: dict[str, Any]) -> str:
    return f"{pairs['kept']:,} of {pairs['read']:,} training pairs{_left_out(pairs)}"


def _left_out(pairs: dict[str, Any]) -> str:
    """Return the numbers of pairs that were held out, and left out, with the most frequent reasons."""
    held_out, reasons = sum(pairs["taken"].values()), pairs["left_out"]
    parts = [f"{held_out:,} held out"] if held_out else []
    if reasons:
        frequent = sorted(reasons.items(), key=lambda each: -each[1])
        listed = [f"{reason} {count:,}" for reason, count in frequent[:_LISTED]]
        if rest := sum(count for _, count in frequent[_LISTED:]):
            listed.append(f"other reasons {rest:,}")
        parts.append(f"{sum(reasons.values()):,} left out: {', '.join(listed)}")
    return "".join(f"; {part}" for part in parts)


def _test_corpora(folder: Path) -> list[dict[str, Any]]:
    """Return the records of the given test sets, which are not in the manifest."""
    from dragoman.data.preparation.prepared_data import REPORT
    from dragoman.files import read_json

    report = read_json(folder / REPORT) or {}
    return [corpus for corpus in report.get("corpora", []) if corpus["role"] == "test"]
