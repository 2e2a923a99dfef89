"""The whole check of real files: what is wrong is named, and what prepare would do is what it then does."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from dragoman.api.training.preparation import check_corpora, prepare_corpora
from dragoman.cli.screens.check import print_report
from dragoman.data.check.report_types import CheckReport, verdict
from dragoman.data.preparation import clean_stage
from dragoman.data.preparation.tokenizer_stage import tokenizer_notes
from dragoman.errors import DataError
from tests.unit.data.preparation.corpus import config, pairs, write_pairs


def check(folder: Path, train: list[dict[str, Any]], **data: Any) -> CheckReport:
    return check_corpora(config(train, **data), folder, measure=False)


def test_a_good_corpus(tmp_path: Path):
    settings = config([{"files": write_pairs(tmp_path, "train", pairs(300))}])
    report = check_corpora(settings, tmp_path, measure=False)
    assert report.fatal == []
    assert report.selection.kept == 280
    assert report.corpora[0].languages["source"]["en"] > 0.9
    assert report.tokens is not None
    assert report.batches is not None
    prepared = prepare_corpora(settings, tmp_path)
    assert prepared.manifest["splits"]["train"]["rows"] == report.selection.kept
    tokens = prepared.manifest["splits"]["train"]["tokens"]
    assert report.batches.target_tokens == tokens["target"] + 280, "with the ends of sentences"
    planned = list(_first_epoch(prepared.plan(settings)))
    assert report.batches.batches == len(planned)


def _first_epoch(plan: Any) -> Any:
    for batch in plan.batches():
        if batch.epoch:
            return
        yield batch


def test_all_faults_are_listed_and_nothing_stops_it(tmp_path: Path):
    files = write_pairs(tmp_path, "train", pairs(300))
    lines = (tmp_path / "train.de").read_bytes().split(b"\n")
    for number in (10, 20, 30):
        lines[number] = b"\xff" + lines[number]
    (tmp_path / "train.de").write_bytes(b"\n".join(lines))
    report = check(tmp_path, [{"files": files}])
    faults = report.corpora[0].summary.faults
    assert faults.counts == {"not UTF-8": 3}
    assert [example.line for example in faults.examples["not UTF-8"]] == [11, 21, 31]
    assert report.fatal == ["3 bad lines must be corrected, or skipped with --on-bad-line skip"]
    assert any("3 bad lines" in advice for advice in report.advice)
    assert check(tmp_path, [{"files": files}], on_bad_line="skip").fatal == []


def test_a_bad_file_is_named_and_the_others_are_looked_at(tmp_path: Path):
    good, short = write_pairs(tmp_path, "a", pairs(200)), write_pairs(tmp_path, "b", pairs(100, seed=2))
    (tmp_path / "b.de").write_bytes((tmp_path / "b.de").read_bytes().split(b"\n", 1)[1])
    report = check(tmp_path, [{"files": good}, {"files": short}, {"files": ["c.en", "c.de"]}])
    assert [corpus.summary.records for corpus in report.corpora] == [200, 99]
    assert len(report.fatal) == 2, "nothing is said that follows from these"
    assert any("b.en" in line and "100" in line and "99" in line for line in report.fatal)
    assert any("c.en must be a file" in line for line in report.fatal)


def test_a_fault_of_the_file_does_not_hide_those_of_its_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(clean_stage, "_CHUNK_PAIRS", 50)
    files = write_pairs(tmp_path, "a", pairs(200))
    lines = (tmp_path / "a.de").read_bytes().split(b"\n")
    lines[2] = b"\xff" + lines[2]
    del lines[150]
    (tmp_path / "a.de").write_bytes(b"\n".join(lines))
    report = check(tmp_path, [{"files": files}])
    (corpus,) = report.corpora
    assert [example.place for example in corpus.summary.faults.examples["not UTF-8"]] == ["a.de:3"]
    assert any("200" in line and "199" in line for line in report.fatal)


@pytest.mark.parametrize(("source", "target"), [("en", "de"), ("en-GB", "de-AT")])
def test_sides_that_are_in_another_language_are_told(tmp_path: Path, source: str, target: str):
    rows = pairs(300)
    same = write_pairs(tmp_path, "same", [(b, b + " Ja.") for _, b in rows])
    report = check(tmp_path, [{"files": same}], source=source, target=target, cleaning={"max_similarity": 1.0})
    assert not report.corpora[0].looks_swapped
    assert report.fatal == [
        f"the source of same.en must be {source}, got 100 % de; correct data.source, or name another file"
    ]
    assert verdict(report).level == "error"
    swapped = write_pairs(tmp_path, "swapped", [(b, a) for a, b in rows])
    report = check(tmp_path, [{"files": swapped}], source=source, target=target)
    assert report.corpora[0].looks_swapped
    assert report.fatal[0].startswith(
        f"the sides of swapped.en are swapped: its source must be {source} and its target {target};"
    )
    assert verdict(report).level == "error"


def test_a_swapped_validation_set_does_not_question_the_languages_of_the_project(tmp_path: Path):
    rows = pairs(300)
    swapped = {"files": write_pairs(tmp_path, "swapped", [(b, a) for a, b in rows[:40]])}
    report = check(tmp_path, [{"files": write_pairs(tmp_path, "train", rows[40:])}], validation=swapped)
    (fatal,) = report.fatal
    assert "the sides of swapped.en are swapped: its source must be en and its target de; exchange" in fatal
    assert "data.source" not in fatal


def test_no_updates_are_tried_after_a_fatal_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    tried: list[object] = []
    monkeypatch.setattr("dragoman.api.training.preparation.estimate_cost", lambda *_: tried.append(1))
    rows = pairs(300)
    good, bad = (write_pairs(tmp_path, name, rows) for name in ("good", "bad"))
    swapped = write_pairs(tmp_path, "swapped", [(b, a) for a, b in rows])
    (tmp_path / bad[0]).write_bytes(b"\xff" + (tmp_path / bad[0]).read_bytes())
    for files, count in ((good, 1), (swapped, 0), (bad, 0)):
        tried.clear()
        check_corpora(config([{"files": files}]), tmp_path)
        assert len(tried) == count, files


def test_the_file_of_the_side_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    rows = [(a, a + " Yes.") for a, _ in pairs(300)]
    same = write_pairs(tmp_path, "same", rows)
    report = check(tmp_path, [{"files": same}], cleaning={"max_similarity": 1.0})
    assert [line for line in report.fatal if "must be de" in line] == [
        "the target of same.de must be de, got 100 % en; correct data.target, or name another file"
    ]
    print_report(report, "dragoman prepare")
    assert "same.en: 100 % en · same.de: 0 % de, 100 % en" in " ".join(capsys.readouterr().out.split())
    for name in ("one", "two"):
        (tmp_path / f"{name}.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in rows), encoding="utf-8")
    for settings, name in (({"files": ["one.tsv", "two.tsv"]}, "one.tsv"), ({"files": same, "name": "mine"}, "mine")):
        report = check(tmp_path, [settings], cleaning={"max_similarity": 1.0})
        assert any(line.startswith(f"the target of {name} must be de") for line in report.fatal)


def test_an_error_of_the_check_does_not_recommend_the_check(tmp_path: Path):
    files = write_pairs(tmp_path, "same", [(a, a) for a, _ in pairs(300)])
    settings = config([{"files": files}])
    (lost,) = [line for line in check_corpora(settings, tmp_path, measure=False).fatal if "is left of" in line]
    assert lost.startswith("no training pair is left of 300")
    assert "dragoman check" not in lost
    with pytest.raises(DataError, match="dragoman check lists the reasons"):
        prepare_corpora(settings, tmp_path)


@pytest.mark.parametrize(("updates", "is_short"), [(999, True), (1000, False)])
def test_training_that_ends_in_its_warm_up_is_advice(tmp_path: Path, updates: int, is_short: bool):
    settings = config([{"files": write_pairs(tmp_path, "train", pairs(300))}])
    schedule = settings.training.model_copy(update={"max_updates": updates, "warmup_updates": 1000})
    report = check_corpora(settings.model_copy(update={"training": schedule}), tmp_path, measure=False)
    assert any("Training ends after 999 updates" in line for line in report.advice) == is_short


def test_some_text_in_another_language_is_advice(tmp_path: Path):
    rows = [(b if number % 4 == 0 else a, b) for number, (a, b) in enumerate(pairs(300))]
    report = check(tmp_path, [{"files": write_pairs(tmp_path, "train", rows)}], cleaning={"identical": False})
    assert report.fatal == []
    assert any("of the source side of train.en does not look like en" in line for line in report.advice)


@pytest.mark.parametrize(
    ("declared", "sentence", "code"),
    [
        ("zh-TW", "两只狗在雪地里玩耍，然后回家吃饭", "zh"),
        ("zh", "兩隻狗在雪地裡玩耍，然後回家吃飯", "zh-Hant"),
        ("zh-TW", "兩隻狗在雪地裡玩耍，然後回家吃飯", ""),
        ("zh-CN", "两只狗在雪地里玩耍，然后回家吃饭", ""),
    ],
)
def test_chinese_in_the_other_script_is_advice(tmp_path: Path, declared: str, sentence: str, code: str):
    rows = [(a, f"{sentence}{number}。") for number, (a, _) in enumerate(pairs(300))]
    files = write_pairs(tmp_path, "train", rows)
    report = check(tmp_path, [{"files": files}], target=declared)
    assert report.fatal == []
    advice = [line for line in report.advice if "Chinese" in line]
    assert len(advice) == bool(code)
    assert all(f'data.target is {declared}; data.target = "{code}"' in line for line in advice)


@pytest.mark.parametrize("on_bad_line", ["error", "skip"])
def test_a_binary_file_is_no_corpus(tmp_path: Path, on_bad_line: str):
    generator = Random(1)
    for language in ("en", "de"):
        lines = [generator.randbytes(60).replace(b"\n", b"\0") + b"\0" for _ in range(300)]
        (tmp_path / f"train.{language}").write_bytes(b"\n".join(lines) + b"\n")
    report = check(tmp_path, [{"files": ["train.en", "train.de"]}], on_bad_line=on_bad_line)
    assert report.fatal[0].startswith("train.en must be text, got")
    assert verdict(report).level == "error"


def test_a_validation_set_without_text_is_told(tmp_path: Path):
    files = write_pairs(tmp_path, "train", pairs(200))
    held_out = write_pairs(tmp_path, "val", [("", "x"), ("y", "")])
    report = check(tmp_path, [{"files": files}], validation={"files": held_out})
    assert report.fatal[0].startswith("the validation set val.en has no pairs with text on both sides")


def test_nothing_at_all_is_still_a_report(tmp_path: Path):
    report = check(tmp_path, [{"files": ["c.en", "c.de"]}])
    assert report.corpora == []
    assert report.fatal


@pytest.mark.parametrize(
    ("rows", "advice"),
    [
        ([(source, source) for source, _ in pairs(300)] + pairs(60), "Cleaning would drop 83.3 %"),
        (pairs(200) * 3, "are duplicates; is a file named twice?"),
    ],
)
def test_advice(tmp_path: Path, rows: list[tuple[str, str]], advice: str):
    report = check(tmp_path, [{"files": write_pairs(tmp_path, "train", rows)}])
    assert any(advice in line for line in report.advice), report.advice


def test_leaks_are_told(tmp_path: Path):
    rows = pairs(300)
    train, test = write_pairs(tmp_path, "train", rows), write_pairs(tmp_path, "test", rows[:15])
    report = check(tmp_path, [{"files": train}], test=[{"files": test}])
    assert report.selection.drops.counts["pair also in test set test.en"] == 15
    assert any(line.startswith("15 training pairs with text of a held-out set") for line in report.advice)


@pytest.mark.slow
def test_the_cost_is_measured(tmp_path: Path):
    settings = config([{"files": write_pairs(tmp_path, "train", pairs(300))}])
    cost = check_corpora(settings, tmp_path).cost
    assert cost is not None
    assert cost.tokens_per_second > 0
    assert 16 * cost.parameters < cost.memory_bytes < 8 * 2**30
    assert cost.updates == settings.training.max_updates


def chinese(count: int) -> list[tuple[str, str]]:
    """Pairs with more than a thousand different Chinese characters."""
    return [
        ("".join(chr(0x4E00 + (7 * number + place) % 1200) for place in range(12)) + "。", english)
        for number, (english, _) in enumerate(pairs(count))
    ]


def test_a_chinese_corpus_gets_a_vocabulary_that_works_and_the_check_says_so(tmp_path: Path):
    rows = chinese(600)
    for side, language in enumerate(("zh", "en")):
        (tmp_path / f"train.{language}").write_text("".join(f"{row[side]}\n" for row in rows), encoding="utf-8")
    report = check(tmp_path, [{"files": ["train.zh", "train.en"]}], source="zh", target="en")
    assert report.fatal == []
    assert report.tokens is not None
    assert report.tokens.grown_from == 400
    assert report.tokens.vocabulary["both"] > 1200
    assert 0.5 < report.tokens.per_word["source"] <= 1.2, "a character is a word"
    assert not any("tokens per word" in advice for advice in report.advice)
    prepared = prepare_corpora(
        config([{"files": ["train.zh", "train.en"]}], source="zh", target="en"), tmp_path
    ).manifest
    assert any("400 tokens are too few" in note for note in tokenizer_notes(prepared))


def test_many_tokens_per_word_are_told(tmp_path: Path):
    rows = [
        (f"{one} {number * 7919} electroencephalographically", other) for number, (one, other) in enumerate(pairs(300))
    ]
    report = check(tmp_path, [{"files": write_pairs(tmp_path, "train", rows)}])
    assert report.tokens is not None
    assert report.tokens.per_word["source"] > 3
    told = [advice for advice in report.advice if "tokens per word on the source side" in advice]
    assert told
    assert "raise tokenizer.size, for instance to 800" in told[0]


def test_a_test_set_of_its_own_takes_no_training_pairs(tmp_path: Path):
    files = write_pairs(tmp_path, "train", pairs(100))
    other = write_pairs(tmp_path, "other", pairs(300)[150:])
    report = check(tmp_path, [{"files": files}], validation_pairs=5, test=[{"files": other}])
    assert not any("hold out fewer" in advice for advice in report.advice)
    report = check(tmp_path, [{"files": files}], validation_pairs=40)
    assert any("40 of 100 training pairs are held out; hold out fewer" in advice for advice in report.advice)
