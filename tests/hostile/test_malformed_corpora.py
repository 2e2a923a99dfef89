"""Every fault of a corpus is named by file and line, and every good line around it comes through unchanged."""

from multiprocessing.reduction import ForkingPickler
from pathlib import Path

import pytest

from dragoman.config.corpus import CorpusConfig
from dragoman.data.readers.corpus_reader import open_corpus
from dragoman.data.reason_counts import Tally
from dragoman.errors import ConfigError, DataError
from tests.hostile import malformed_lines, malformed_records
from tests.hostile.malformed_lines import Case, Pairs

CASES = [*malformed_lines.CASES, *malformed_records.CASES]
REFUSED = [case for case in CASES if case.says]
READ = [case for case in CASES if not case.says]


def write(case: Case, folder: Path) -> CorpusConfig:
    for name, data in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    named = case.named or tuple(case.files)
    return CorpusConfig(files=list(named), format=case.format, columns=list(case.columns))


def read(case: Case, folder: Path, rows: int) -> tuple[Pairs, Tally, Tally]:
    """All of a corpus, each chunk as it looks after the journey to another process."""
    reader = open_corpus(write(case, folder), source="de", target="en", folder=folder)
    pairs, faults, notes = [], Tally(), Tally()
    shares = [0.0]
    for chunk in reader.chunks(rows):
        lines = ForkingPickler.loads(ForkingPickler.dumps(chunk)).read(max_line_bytes=100_000)
        assert lines.records == lines.frame.height + lines.faults.total
        pairs += lines.frame.select("line", "source", "target").rows()
        faults.merge(lines.faults)
        notes.merge(lines.notes)
        shares.append(chunk.progress)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    return pairs, faults, notes


def places(tally: Tally, folder: Path) -> dict[str, list[str]]:
    found = {
        reason: [example.place.removeprefix(f"{folder}/") for example in tally.examples[reason]]
        for reason in tally.counts
    }
    assert {reason: len(some) for reason, some in found.items()} == tally.counts
    return found


def test_there_are_enough():
    assert len(CASES) >= 40
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", READ, ids=lambda case: case.name)
@pytest.mark.parametrize("rows", [2, 1000])
def test_bad_lines_are_named_and_good_ones_unchanged(case: Case, rows: int, tmp_path: Path):
    if rows < len(case.good) // 100:
        pytest.skip("what is told of many lines together needs them in one chunk")
    pairs, faults, notes = read(case, tmp_path, rows)
    assert pairs == case.good
    assert places(faults, tmp_path) == case.faults
    assert places(notes, tmp_path) == case.notes


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_files_that_are_bad_as_a_whole_are_refused(case: Case, tmp_path: Path):
    with pytest.raises((DataError, ConfigError)) as refusal:
        read(case, tmp_path, 1000)
    missing = [part for part in case.says if part not in str(refusal.value)]
    assert not missing, f"{missing} not in: {refusal.value}"
    assert "\n" not in str(refusal.value)


def test_a_careless_reader_is_noticed():
    """Control: lines split at any line break, paired by `zip`, and other bytes replaced."""
    plain = [case for case in malformed_lines.CASES if len(case.files) == 2 and not case.says]

    def read_carelessly(case: Case) -> Pairs:
        sides = (data.decode("utf-8", "replace").splitlines() for data in case.files.values())
        return [(number, *pair) for number, pair in enumerate(zip(*sides, strict=False), 1)]

    assert sum(read_carelessly(case) != case.good for case in plain) > len(plain) / 2


def test_a_file_that_may_not_be_read(tmp_path: Path):
    case = next(case for case in CASES if case.name == "crlf")
    config = write(case, tmp_path)
    path = tmp_path / "a.de"
    path.chmod(0)
    try:
        with path.open("rb"):
            pytest.skip("this user may read everything")
    except PermissionError:
        pass
    with pytest.raises(DataError, match="permissions"):
        list(open_corpus(config, source="de", target="en", folder=tmp_path).chunks(10))
