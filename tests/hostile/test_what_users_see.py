"""What is wrong with a corpus, end to end: `dragoman check` and `dragoman prepare` name the place."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.api.training.preparation import check_corpora, prepare_corpora
from dragoman.data.check.report_types import CheckReport, CorpusReport
from dragoman.data.reason_counts import Tally
from dragoman.errors import ConfigError, DataError, DragomanError
from tests.hostile import malformed_lines, malformed_records
from tests.hostile.malformed_lines import Case
from tests.unit.data.preparation.corpus import GERMAN, config, pairs, write_pairs

CASES = [*malformed_lines.CASES, *malformed_records.CASES]
READ = [case for case in CASES if not case.says]
REFUSED = [case for case in CASES if case.says]
CHINESE = (
    "老船长 年轻的农民 我的邻居 疲倦的老师 我们的医生 聪明的女孩 买了 画了 修好了 卖掉了 搬走了 忘记了 描述了 洗了 "
    "绿色的小船 一把坏椅子 七个红苹果 一张旧地图 沉重的大门 两只小狗 在港口 在教堂后面 在市场上 在山上 在河边 早上"
)


def settings(folder: Path, case: Case) -> dict[str, Any]:
    """Write a malformed corpus into its own folder, and name its files."""
    home = folder / case.name
    home.mkdir()
    for name, data in case.files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(data)
    named = [name if name[0] in "~-" or "://" in name else f"{case.name}/{name}" for name in case.named or case.files]
    return {"name": case.name, "files": named, "format": case.format, "columns": list(case.columns)}


def good(folder: Path) -> dict[str, Any]:
    """A corpus from German to English that nothing is wrong with."""
    return {"files": write_pairs(folder, "good", pairs(300))[::-1]}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, CheckReport]:
    """One check of all readable malformed corpora, with a good one."""
    folder = tmp_path_factory.mktemp("read")
    train = [good(folder), *(settings(folder, case) for case in READ)]
    return folder, check_corpora(config(train, source="de", target="en"), folder, measure=False)


def places(tally: Tally, *folders: Path | str) -> dict[str, list[str]]:
    """The places without these folders, as the cases name them."""

    def inner(place: str) -> str:
        for folder in folders:
            place = place.removeprefix(f"{folder}/")
        return place

    return {reason: [inner(example.place) for example in found] for reason, found in tally.examples.items()}


def corpus(report: CheckReport, name: str) -> CorpusReport:
    (found,) = [corpus for corpus in report.corpora if corpus.name == name]
    return found


@pytest.mark.parametrize("case", READ, ids=lambda case: case.name)
def test_bad_lines_are_in_the_report_with_their_places(case: Case, report: tuple[Path, CheckReport]):
    folder, whole = report
    summary = corpus(whole, case.name).summary
    assert places(summary.faults, folder, case.name) == case.faults
    assert places(summary.notes, folder, case.name) == case.notes
    assert summary.records == len(case.good) + summary.faults.total


WHOLE_FILES = {"utf-16-without-mark": "must be UTF-8, got UTF-16LE by its bytes"}
"""Cases whose whole file is in another encoding: it is named instead of its lines."""


def test_all_faults_together_are_one_problem(report: tuple[Path, CheckReport]):
    count = sum(len(found) for case in READ for found in case.faults.values() if case.name not in WHOLE_FILES)
    assert report[1].fatal.count(f"{count} bad lines must be corrected, or skipped with --on-bad-line skip") == 1
    assert report[1].selection.kept > 280


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_bad_files_are_named(case: Case, tmp_path: Path):
    train = config([good(tmp_path), settings(tmp_path, case)], source="de", target="en")
    try:
        said = check_corpora(train, tmp_path, measure=False).fatal
    except ConfigError as error:
        said = [str(error)]
    assert any(all(part in line for part in case.says) for line in said), said
    with pytest.raises((DataError, ConfigError)) as refusal:
        prepare_corpora(train, tmp_path)
    assert all(part in str(refusal.value) for part in case.says), refusal.value


@pytest.mark.parametrize("case", [case for case in READ if case.faults], ids=lambda case: case.name)
def test_preparing_stops_at_the_first_bad_line_and_names_it(case: Case, tmp_path: Path):
    train = config([good(tmp_path), settings(tmp_path, case)], source="de", target="en")
    with pytest.raises(DataError) as refusal:
        prepare_corpora(train, tmp_path)
    for reason, found in case.faults.items():
        place = f"{case.name}/{found[0]}"
        message = f"{place} must be good text, got: {reason}"
        if case.name in WHOLE_FILES:
            message = f"{place.partition(':')[0]} {WHOLE_FILES[case.name]}"
        assert message in str(refusal.value)


def chinese_pairs(count: int) -> list[tuple[str, str]]:
    """English sentences with their translations into Chinese."""
    to_chinese = dict(zip(GERMAN.values(), CHINESE.split(" "), strict=True))
    found = []
    for english, german in pairs(count):
        chinese = german.removesuffix(".")
        for one, other in sorted(to_chinese.items(), key=lambda item: -len(item[0])):
            chinese = chinese.replace(one, other)
        found.append((english, chinese.replace(" ", "") + "。"))
    return found


def says_swapped(report: CheckReport) -> bool:
    return report.corpora[0].looks_swapped or any("look swapped" in advice for advice in report.advice)


@pytest.mark.parametrize("target", ["de", "zh"])
@pytest.mark.parametrize("is_swapped", [True, False])
def test_swapped_sides(target: str, is_swapped: bool, tmp_path: Path):
    rows = pairs(300) if target == "de" else chinese_pairs(300)
    files = write_pairs(tmp_path, "train", rows)
    train = config([{"files": files[::-1] if is_swapped else files}], tokenizer={"size": 700}, target=target)
    assert says_swapped(check_corpora(train, tmp_path, measure=False)) == is_swapped
    if is_swapped and target == "zh":  # nothing is left: each side is in the other's script
        with pytest.raises(DragomanError):
            prepare_corpora(train, tmp_path)
    else:
        assert prepare_corpora(train, tmp_path).manifest["splits"]["train"]["rows"] == 280


def test_a_test_sentence_that_is_in_the_training_corpus(tmp_path: Path):
    rows = pairs(300)
    tested = [*pairs(320, seed=9)[300:], (rows[7][0], "Etwas ganz anderes als vorher."), rows[20]]
    tested = [pair for pair in tested if pair in rows[20:21] or pair not in rows]
    train = config(
        [{"files": write_pairs(tmp_path, "train", rows)}],
        test=[{"files": write_pairs(tmp_path, "test", tested)}],
    )
    report = check_corpora(train, tmp_path, measure=False)
    found = places(report.selection.drops, tmp_path)
    assert found["source also in test set test.en"] == ["train.en:8"]
    assert found["pair also in test set test.en"] == ["train.en:21"]
    assert any(advice.startswith("2 training pairs with text of a held-out set") for advice in report.advice)
    shutil.rmtree(tmp_path / "prepared")
    prepared = prepare_corpora(train, tmp_path)
    assert prepared.manifest["splits"]["train"]["rows"] == report.selection.kept == 300 - 20 - 2
    tokenizer, shards = prepared.tokenizers()["source"], prepared.shards()
    sentences = shards.gather(np.arange(len(shards))).source.split()
    learnt = {tokenizer.decode(ids.tolist()) for ids in sentences}
    assert len(learnt & {source for source, _ in rows}) == len(shards)
    assert not learnt & {source for source, _ in tested}
