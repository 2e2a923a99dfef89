"""Test sets of a run: two text files per set in its folder ``test``, which ``sets.json`` lists."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.errors import DataError
from dragoman.files import atomic_write, read_json, write_json

FOLDER, INDEX = "test", "sets.json"


@dataclass(frozen=True)
class SavedTestSet:
    """A test set on disk: its name, and the files of its two sides."""

    name: str
    source: Path
    reference: Path
    sentences: int
    languages: tuple[str, str]


def text_file_names(stem: str, source: str, target: str) -> tuple[str, str]:
    """Return the names of the two text files of a set, given the languages: ``test.en`` and ``test.de``."""
    if source == target:
        return f"{stem}.source.{source}", f"{stem}.target.{target}"
    return f"{stem}.{source}", f"{stem}.{target}"


def save_test_sets(run: Path, sets: Sequence[tuple[str, Sequence[str], Sequence[str], tuple[str, str]]]) -> None:
    """Write test sets, each a name, sources, references and languages, to a run."""
    if not sets:
        return
    folder = run / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    entries = []
    for number, (name, sources, references, languages) in enumerate(sets, 1):
        names = text_file_names("test" if number == 1 else f"test-{number}", *languages)
        for file, lines in zip(names, (sources, references), strict=True):
            with atomic_write(folder / file) as draft:
                draft.write_bytes("".join(f"{' '.join(line.splitlines())}\n" for line in lines).encode())
        entry = {"name": name, "source": names[0], "reference": names[1], "sentences": len(sources)}
        entries.append({**entry, "languages": list(languages)})
    write_json(folder / INDEX, entries)


def load_test_sets(run: Path) -> list[SavedTestSet]:
    """Return the test sets of a run; an empty list if it has none."""
    folder = run / FOLDER
    entries = read_json(folder / INDEX)
    if entries is None:
        return []
    try:
        return [
            SavedTestSet(
                str(entry["name"]),
                folder / Path(entry["source"]).name,
                folder / Path(entry["reference"]).name,
                int(entry["sentences"]),
                (str(entry["languages"][0]), str(entry["languages"][1])),
            )
            for entry in entries
        ]
    except (IndexError, KeyError, TypeError, ValueError):
        raise DataError(
            f"{folder / INDEX} is no list of test sets written by dragoman train; name the files with --test"
        ) from None
