"""From files to prepared data: everything adds up, nothing is done twice, and nothing is lost on the way."""

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.api.training.preparation import prepare_corpora
from dragoman.data.preparation import clean_stage
from dragoman.data.preparation.preparation import Preparation
from dragoman.data.preparation.prepared_data import MANIFEST, PreparedData
from dragoman.data.worker_processes import Workers
from dragoman.errors import ConfigError, DataError
from dragoman.progress import NoProgress
from tests.unit.data.preparation.corpus import config, contents, pairs, write_pairs


class Watcher(NoProgress):
    """Records which stages ran and which were cached."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.skipped: list[str] = []

    def begin(self, stage: str) -> None:
        self.ran.append(stage)

    def skip(self, stage: str) -> None:
        self.skipped.append(stage)


def run(settings: Any, folder: Path, progress: Any = None) -> PreparedData:
    return prepare_corpora(settings, folder, progress=progress)


def report_of(prepared: PreparedData) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((prepared.folder / "report.json").read_text(encoding="utf-8"))
    return read


def texts(prepared: PreparedData, split: str = "train") -> list[tuple[str, str]]:
    """What the shards hold, as text again."""
    shards, tokenizers = prepared.shards(split), prepared.tokenizers()
    found = shards.gather(np.arange(len(shards)))
    sides = [
        [tokenizers[side].decode(ids.tolist()) for ids in getattr(found, side).split()] for side in ("source", "target")
    ]
    return list(zip(*sides, strict=True))


def test_every_pair_is_where_it_should_be(tmp_path: Path):
    rows = pairs(300)
    broken = [("Too much.", "Zu " + "viel " * 300), ("", "Leer."), ("The same.", "The same."), rows[5], rows[7]]
    files = write_pairs(tmp_path, "train", [*rows, *broken])
    held_out = write_pairs(tmp_path, "val", rows[40:50])
    prepared = run(config([{"files": files}], validation={"files": held_out}), tmp_path)
    kept = [row for number, row in enumerate(rows) if not 40 <= number < 50]
    assert texts(prepared) == kept, "in their order, but for what was dropped"
    assert texts(prepared, "validation") == rows[40:50]


def test_all_that_was_read_is_accounted_for(tmp_path: Path):
    rows = pairs(300)
    first = write_pairs(tmp_path, "a", [*rows[:200], ("", "x"), rows[3]])
    long = " ".join(source for source, _ in rows[:18]), " ".join(target for _, target in rows[:18])
    second = write_pairs(tmp_path, "b", [*rows[180:], long])
    (tmp_path / "b.de").write_bytes((tmp_path / "b.de").read_bytes().replace(b"Der", b"D\xff", 1))
    settings = config([{"files": first}, {"files": second}], on_bad_line="skip", test_pairs=10, max_tokens=100)
    prepared = run(settings, tmp_path)
    report = report_of(prepared)
    train = [corpus["summary"] for corpus in report["corpora"]]
    faults, drops = (sum(sum(each[kind]["counts"].values()) for each in train) for kind in ("faults", "drops"))
    selection = report["selection"]
    later = sum(selection["drops"]["counts"].values())
    taken = selection["counts"]["VALIDATION"] + selection["counts"]["TEST"]
    too_long = sum(report["too_long"]["train"]["counts"].values())
    rows_left = prepared.manifest["splits"]["train"]["rows"]
    assert faults == 1
    assert taken == 30
    assert too_long == 1
    assert faults + drops + later + taken + too_long + rows_left == sum(each["records"] for each in train) == 323
    assert [corpus.rows for corpus in prepared.plan(settings).corpora] == [
        sum(shard["rows"] for shard in prepared.manifest["splits"]["train"]["shards"] if shard["corpus"] == number)
        for number in range(2)
    ]


def test_held_out_pairs_are_not_trained_on(tmp_path: Path):
    rows = pairs(300)
    prepared = run(config([{"files": write_pairs(tmp_path, "train", rows)}], test_pairs=15), tmp_path)
    sets = {name: set(texts(prepared, name)) for name in ("train", "validation")}
    test = list(
        zip(
            *((prepared.folder / f"test.{side}").read_text("utf-8").split("\n")[:-1] for side in ("en", "de")),
            strict=True,
        )
    )
    assert (len(sets["validation"]), len(test)) == (20, 15)
    for side in (0, 1):
        trained = {row[side] for row in sets["train"]}
        assert not trained & {row[side] for row in (*sets["validation"], *test)}
    assert {*sets["train"], *sets["validation"], *test} == set(rows)


@pytest.mark.parametrize(
    "damage", ["&quot;{}&quot;", "sch\u00c3\u00b6n {}", "don\u00e2\u0080\u0099t {}", "{}  &amp;  so"]
)
def test_leaks_are_found_though_training_text_is_mended(tmp_path: Path, damage: str):
    rows = pairs(300)
    damaged = [(damage.format(source), damage.format(target)) for source, target in rows[:30]]
    train = write_pairs(tmp_path, "train", [*damaged, *rows[30:]])
    held_out = write_pairs(tmp_path, "val", damaged)
    prepared = run(config([{"files": train}], validation={"files": held_out}), tmp_path)
    leak = report_of(prepared)["selection"]["leaks"]["validation set val.en"]
    assert leak["held_out"]["pair"] == 30
    assert prepared.manifest["splits"]["train"]["rows"] == 270
    assert prepared.manifest["splits"]["validation"]["rows"] == 30


def test_corpora_of_the_same_name_are_told_apart(tmp_path: Path):
    rows = pairs(300)
    train = write_pairs(tmp_path, "train", rows)
    for folder, part in (("a", rows[:10]), ("b", rows[10:25])):
        write_pairs(tmp_path / folder, "test", part)
    tests = [{"files": [f"{folder}/test.en", f"{folder}/test.de"]} for folder in ("a", "b")]
    report = report_of(run(config([{"files": train}, {"files": train}], test=tests), tmp_path))
    assert [corpus["name"] for corpus in report["corpora"]] == [
        "train.en (1)",
        "train.en (2)",
        "a/test.en",
        "b/test.en",
    ]
    held_out = {name: leak["held_out"]["pair"] for name, leak in report["selection"]["leaks"].items()}
    assert held_out["test set a/test.en"] == 10
    assert held_out["test set b/test.en"] == 15


def test_running_again_does_nothing(tmp_path: Path):
    settings = config([{"files": write_pairs(tmp_path, "train", pairs(200))}])
    before = contents(run(settings, tmp_path).folder)
    watcher = Watcher()
    prepared = run(settings, tmp_path, watcher)
    assert watcher.ran == ["hashing the files"]
    assert contents(prepared.folder) == before


def test_only_what_changed_is_done_again(tmp_path: Path):
    rows = pairs(300)
    corpora = [{"files": write_pairs(tmp_path, name, part)} for name, part in (("a", rows[:150]), ("b", rows[150:]))]
    run(config(corpora), tmp_path)

    watcher = Watcher()
    run(config(corpora, {"size": 350}), tmp_path, watcher)
    assert watcher.ran[1:] == ["training the tokenizer", "writing shards"]

    write_pairs(tmp_path, "b", rows[150:290])
    watcher = Watcher()
    run(config(corpora, {"size": 350}), tmp_path, watcher)
    assert watcher.skipped == ["cleaning a.en"]
    assert watcher.ran[1] == "cleaning b.en"

    watcher = Watcher()
    run(config(corpora, {"size": 350}, max_tokens=50), tmp_path, watcher)
    assert watcher.ran[1:] == ["writing shards"]


def test_exchanged_sides_are_read_anew(tmp_path: Path):
    one, other = write_pairs(tmp_path, "train", pairs(200))
    run(config([{"files": [other, one]}]), tmp_path)
    prepared = run(config([{"files": [one, other]}]), tmp_path)
    assert set(texts(prepared)) <= set(pairs(200))


def test_another_order_of_files_is_another_corpus(tmp_path: Path):
    rows = pairs(200)
    for name, part in (("a", rows[:100]), ("b", rows[100:])):
        text = "".join(f"{source}\t{target}\n" for source, target in part)
        (tmp_path / f"{name}.tsv").write_text(text, encoding="utf-8")
    found = [texts(run(config([{"files": files}]), tmp_path)) for files in (["a.tsv", "b.tsv"], ["b.tsv", "a.tsv"])]
    assert found[0] != found[1]
    assert set(found[0]) == set(found[1])


def test_a_lost_chunk_is_made_again(tmp_path: Path):
    settings = config([{"files": write_pairs(tmp_path, "train", pairs(200))}])
    before = contents(run(settings, tmp_path).folder)
    for suffix in ("arrow", "keys", "json"):
        (lost,) = (tmp_path / "prepared" / "work").glob(f"clean-*/chunk-000000.{suffix}")
        lost.unlink()
        assert contents(run(settings, tmp_path).folder) == before
        assert lost.exists()


def test_files_that_change_while_they_are_read_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    files = write_pairs(tmp_path, "train", pairs(200))
    original = clean_stage._clean_chunk

    def change_meanwhile(task: Any) -> Any:
        write_pairs(tmp_path, "train", pairs(199))
        return original(task)

    monkeypatch.setattr(clean_stage, "_clean_chunk", change_meanwhile)
    with pytest.raises(DataError, match=r"train\.en changed while it was read"):
        run(config([{"files": files}]), tmp_path)


def test_only_our_own_files_are_removed(tmp_path: Path):
    for side, language in (("source", "en"), ("target", "de")):
        write_pairs(tmp_path / side, "train", pairs(200))
        assert (tmp_path / side / f"train.{language}").exists()
    settings = config([{"files": ["source/train.en", "target/train.de"]}], folder=".")
    with pytest.raises(DataError, match="has other files than prepared data"):
        run(settings, tmp_path)
    (tmp_path / "work").mkdir()  # as if prepared before
    run(settings, tmp_path)
    assert (tmp_path / "source" / "train.en").exists()
    assert (tmp_path / "target" / "train.de").exists()


def test_nothing_is_left_of_earlier_settings(tmp_path: Path):
    corpora = [{"files": write_pairs(tmp_path, "train", pairs(200))}]
    taken = run(config(corpora, {"kind": "word"}, test_pairs=10), tmp_path)
    assert (taken.folder / "test.en").exists()
    assert (taken.folder / "tokenizer.json").exists()
    run(config(corpora, {"joint": False}), tmp_path)
    prepared = run(config(corpora, {"joint": True}), tmp_path)
    assert not (prepared.folder / "source").exists()
    assert not (prepared.folder / "test.en").exists()
    assert [path.name for path in prepared.folder.glob("tokenizer.*")] == ["tokenizer.model"]
    assert len(list(prepared.folder.glob("shards-*"))) == 1
    assert len(list((prepared.folder / "work").glob("tokenizer-*"))) == 1


@pytest.mark.parametrize("kind", ["word", "character", "sentencepiece"])
@pytest.mark.parametrize("joint", [True, False])
def test_every_tokenizer(tmp_path: Path, kind: str, joint: bool):
    rows = pairs(200)
    settings = config([{"files": write_pairs(tmp_path, "train", rows)}], {"kind": kind, "joint": joint})
    prepared = run(settings, tmp_path)
    assert set(texts(prepared)) <= set(rows)
    tokenizers = prepared.tokenizers()
    assert (tokenizers["source"] is tokenizers["target"]) is joint
    assert tokenizers["source"].kind == kind


def test_a_bad_line_stops_it_with_its_place(tmp_path: Path):
    files = write_pairs(tmp_path, "train", pairs(200))
    lines = (tmp_path / "train.de").read_bytes().split(b"\n")
    lines[41] = lines[41].replace(b" ", b" \xfc", 1)
    (tmp_path / "train.de").write_bytes(b"\n".join(lines))
    with pytest.raises(DataError, match=r"train\.de:42 must be .*, got: not UTF-8") as caught:
        run(config([{"files": files}]), tmp_path)
    assert "--on-bad-line skip" in str(caught.value)
    prepared = run(config([{"files": files}], on_bad_line="skip"), tmp_path)
    assert prepared.manifest["splits"]["train"]["rows"] == 200 - 20 - 1
    with pytest.raises(DataError, match=r"train\.de:42"):
        run(config([{"files": files}]), tmp_path)


def test_nothing_left_to_learn_from_says_so(tmp_path: Path):
    files = write_pairs(tmp_path, "train", [("same", "same")] * 50)
    with pytest.raises(DataError, match=r"no training pair is left of 50 \(most of them: sides the same\)"):
        run(config([{"files": files}], validation_pairs=0), tmp_path)


def test_too_many_held_out_pairs_say_so(tmp_path: Path):
    files = write_pairs(tmp_path, "train", pairs(30))
    with pytest.raises(DataError, match=r"must leave at least half of the 30 pairs to train on, got 20 together"):
        run(config([{"files": files}]), tmp_path)


def test_without_corpora_it_says_how_to_get_some(tmp_path: Path):
    from dragoman.config import load_config

    with pytest.raises(ConfigError, match=r"has no \[data\] section; dragoman new"):
        run(load_config("pairs-5k"), tmp_path)


def test_weights_and_names_reach_the_plan(tmp_path: Path):
    rows = pairs(300)
    corpora: list[dict[str, Any]] = [
        {"files": write_pairs(tmp_path, "a", rows[:200]), "weight": 0.5, "name": "parliament"},
        {"files": write_pairs(tmp_path, "b", rows[200:])},
    ]
    found = run(config(corpora), tmp_path).plan(config(corpora)).corpora
    assert [(corpus.name, corpus.weight) for corpus in found] == [("parliament", 0.5), ("b.en", 1.0)]
    assert found[1].first_row == found[0].rows
    assert sum(corpus.rows for corpus in found) == 280


def test_another_folder_gives_the_same_bytes(tmp_path: Path):
    found = []
    for name in ("here", "there"):
        files = write_pairs(tmp_path / name, "train", pairs(200))
        found.append(contents(run(config([{"files": files}]), tmp_path / name).folder))
    assert found[0] == found[1]


def damage(path: Path, how: str) -> None:
    content = bytearray(path.read_bytes())
    if how == "gone":
        path.unlink()
    elif how == "cut":
        path.write_bytes(content[:-8])
    else:
        content[len(content) // 2] ^= 1
        path.write_bytes(content)


def test_the_working_directory_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "p").mkdir()
    write_pairs(tmp_path, "train", pairs(200))
    settings = config([{"files": ["../train.en", "../train.de"]}])
    monkeypatch.chdir(tmp_path / "p")
    first = contents(run(settings, Path()).folder)
    monkeypatch.chdir(tmp_path)
    watcher = Watcher()
    assert contents(run(settings, Path("p"), watcher).folder) == first
    assert watcher.ran == ["hashing the files"]


@pytest.mark.parametrize("how", ["gone", "cut", "flipped"])
@pytest.mark.parametrize("which", ["*/train-00000.arrow", "tokenizer.model", "validation.en"])
def test_damage_is_found(tmp_path: Path, how: str, which: str):
    prepared = run(config([{"files": write_pairs(tmp_path, "train", pairs(200))}]), tmp_path)
    PreparedData.open(prepared.folder).verify()
    (path,) = prepared.folder.glob(which)
    damage(path, how)
    with pytest.raises(DataError, match=f"{path.name} (must|was changed)"):
        PreparedData.open(prepared.folder).verify()


@pytest.mark.parametrize("how", ["gone", "cut", "flipped"])
def test_a_damaged_shard_is_written_again_by_the_next_preparation(tmp_path: Path, how: str):
    settings = config([{"files": write_pairs(tmp_path, "train", pairs(200))}])
    before = contents(run(settings, tmp_path).folder)
    (path,) = (tmp_path / "prepared").glob("*/train-00000.arrow")
    damage(path, how)
    prepared = run(settings, tmp_path)
    prepared.verify()
    assert contents(prepared.folder) == before


def test_a_tokenizer_is_verified_before_it_is_parsed(tmp_path: Path):
    prepared = run(config([{"files": write_pairs(tmp_path, "train", pairs(200))}]), tmp_path)
    damage(prepared.folder / "tokenizer.model", "flipped")
    with pytest.raises(DataError, match=r"tokenizer\.model was changed after"):
        prepared.tokenizers()


def test_a_damaged_manifest_is_told(tmp_path: Path):
    (tmp_path / MANIFEST).write_text('{"format": 1', encoding="utf-8")
    with pytest.raises(DataError, match=r"manifest\.json must be valid JSON"):
        PreparedData.open(tmp_path)


def test_a_set_that_is_not_there_is_told(tmp_path: Path):
    prepared = run(config([{"files": write_pairs(tmp_path, "train", pairs(200))}]), tmp_path)
    with pytest.raises(DataError, match="must hold a set called test, got train, validation"):
        prepared.shards("test")


def test_other_settings_need_other_data(tmp_path: Path):
    corpora = [{"files": write_pairs(tmp_path, "train", pairs(200))}]
    prepared = run(config(corpora), tmp_path)
    with pytest.raises(
        DataError, match=r"was prepared with other settings than those of the configuration: tokenizer\.size"
    ):
        prepared.plan(config(corpora, {"size": 390}))
    prepared.plan(config(corpora, sampling={"window": 1000}, on_bad_line="skip"))


def test_a_position_is_good_for_the_same_tokens_only(tmp_path: Path):
    corpora = [{"files": write_pairs(tmp_path, "train", pairs(200))}]
    kinds: list[dict[str, Any]] = [{}, {"kind": "word"}]
    plans = [run(config(corpora, kind), tmp_path).plan(config(corpora, kind)) for kind in kinds]
    assert plans[0].pairs == plans[1].pairs
    assert plans[0].fingerprint != plans[1].fingerprint
    again = run(config(corpora), tmp_path).plan(config(corpora))
    assert again.fingerprint == plans[0].fingerprint


@pytest.mark.parametrize("content", ['{"format": 2}', '{"format": 2, "tokenizers": [], "splits": 1}'])
def test_a_manifest_without_its_entries_is_refused(tmp_path: Path, content: str):
    (tmp_path / MANIFEST).write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match="does not list prepared files"):
        PreparedData.open(tmp_path)


@pytest.mark.parametrize("content", ['{"format": 99}', '{"format": 1}', "[]"])
def test_another_format_is_refused(tmp_path: Path, content: str):
    (tmp_path / MANIFEST).write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match="must be of format 2"):
        PreparedData.open(tmp_path)


def test_an_empty_folder_is_no_prepared_data(tmp_path: Path):
    with pytest.raises(DataError, match="run dragoman prepare first"):
        PreparedData.open(tmp_path)


def test_a_stop_signal_ends_the_tasks_of_workers(tmp_path: Path):
    files = write_pairs(tmp_path, "train", pairs(50))
    settings = config([{"files": files}])
    with Workers(2) as workers:
        list(workers.run(str, range(4)))  # starts the processes
        begin = time.monotonic()
        with suppress(KeyboardInterrupt), Preparation(settings, tmp_path, workers=workers, progress=NoProgress()):
            for _ in workers.run(time.sleep, [0, 60, 60]):
                raise KeyboardInterrupt
        assert time.monotonic() - begin < 30
