"""From files to prepared data: everything adds up, nothing is done twice, and nothing is lost on the way."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.api import prepare_corpora
from dragoman.data.preparation.manifest import MANIFEST, Prepared
from dragoman.data.progress import Silent
from dragoman.errors import ConfigError, DataError
from tests.unit.data.preparation.corpus import config, contents, pairs, write_pairs


class Watcher(Silent):
    """Remembers which stages ran, and which were there already."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.skipped: list[str] = []

    def begin(self, stage: str) -> None:
        self.ran.append(stage)

    def skip(self, stage: str) -> None:
        self.skipped.append(stage)


def run(settings: Any, folder: Path, progress: Any = None) -> Prepared:
    return prepare_corpora(settings, folder, progress=progress)


def report_of(prepared: Prepared) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((prepared.folder / "report.json").read_text(encoding="utf-8"))
    return read


def texts(prepared: Prepared, split: str = "train") -> list[tuple[str, str]]:
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
    settings = config([{"files": first}, {"files": second}], on_bad_line="skip", test_pairs=10, max_pieces=100)
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
    assert [corpus.rows for corpus in prepared.corpora()] == [
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


def test_running_again_does_nothing(tmp_path: Path):
    settings = config([{"files": write_pairs(tmp_path, "train", pairs(200))}])
    before = contents(run(settings, tmp_path).folder)
    watcher = Watcher()
    prepared = run(settings, tmp_path, watcher)
    assert watcher.ran == ["looking at the files"]
    assert contents(prepared.folder) == before


def test_only_what_changed_is_done_again(tmp_path: Path):
    rows = pairs(300)
    corpora = [{"files": write_pairs(tmp_path, name, part)} for name, part in (("a", rows[:150]), ("b", rows[150:]))]
    run(config(corpora), tmp_path)

    watcher = Watcher()
    run(config(corpora, {"size": 350}), tmp_path, watcher)
    assert watcher.ran[1:] == ["learning the tokenizer", "writing shards"]

    write_pairs(tmp_path, "b", rows[150:290])
    watcher = Watcher()
    run(config(corpora, {"size": 350}), tmp_path, watcher)
    assert watcher.skipped == ["cleaning a.en"]
    assert watcher.ran[1] == "cleaning b.en"

    watcher = Watcher()
    run(config(corpora, {"size": 350}, max_pieces=50), tmp_path, watcher)
    assert watcher.ran[1:] == ["writing shards"]


def test_nothing_is_left_of_earlier_settings(tmp_path: Path):
    corpora = [{"files": write_pairs(tmp_path, "train", pairs(200))}]
    run(config(corpora, {"joint": False}), tmp_path)
    prepared = run(config(corpora, {"joint": True}), tmp_path)
    assert not (prepared.folder / "source").exists()
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
    replaced = run(config([{"files": files}], on_bad_line="replace"), tmp_path)
    assert replaced.manifest["splits"]["train"]["rows"] == 200 - 20
    with pytest.raises(DataError, match=r"train\.de:42"):
        run(config([{"files": files}]), tmp_path)


def test_nothing_left_to_learn_from_says_so(tmp_path: Path):
    files = write_pairs(tmp_path, "train", [("same", "same")] * 50)
    with pytest.raises(DataError, match="must leave some pairs after cleaning, got none"):
        run(config([{"files": files}], validation_pairs=0), tmp_path)


def test_too_many_held_out_pairs_say_so(tmp_path: Path):
    files = write_pairs(tmp_path, "train", pairs(30))
    with pytest.raises(DataError, match=r"must leave at least half of the 30 pairs to train on, got 20 together"):
        run(config([{"files": files}]), tmp_path)


def test_without_corpora_it_says_how_to_get_some(tmp_path: Path):
    from dragoman.config import load_config

    with pytest.raises(ConfigError, match=r"must have a \[data\] section, got none; dragoman new"):
        run(load_config("pairs-5k"), tmp_path)


def test_weights_and_names_reach_the_plan(tmp_path: Path):
    rows = pairs(300)
    corpora: list[dict[str, Any]] = [
        {"files": write_pairs(tmp_path, "a", rows[:200]), "weight": 0.5, "name": "parliament"},
        {"files": write_pairs(tmp_path, "b", rows[200:])},
    ]
    found = run(config(corpora), tmp_path).corpora()
    assert [(corpus.name, corpus.weight) for corpus in found] == [("parliament", 0.5), ("b.en", 1.0)]
    assert found[1].first_row == found[0].rows
    assert sum(corpus.rows for corpus in found) == 280


def test_another_folder_gives_the_same_bytes(tmp_path: Path):
    found = []
    for name in ("here", "there"):
        files = write_pairs(tmp_path / name, "train", pairs(200))
        found.append(contents(run(config([{"files": files}]), tmp_path / name).folder))
    assert set(found[0]) == set(found[1])
    assert {name for name in found[0] if found[0][name] != found[1][name]} <= {"report.json"}, "examples name files"


def damage(path: Path, how: str) -> None:
    content = bytearray(path.read_bytes())
    if how == "gone":
        path.unlink()
    elif how == "cut":
        path.write_bytes(content[:-8])
    else:
        content[len(content) // 2] ^= 1
        path.write_bytes(content)


@pytest.mark.parametrize("how", ["gone", "cut", "flipped"])
@pytest.mark.parametrize("which", ["*/train-00000.arrow", "tokenizer.model", "validation.en"])
def test_damage_is_found(tmp_path: Path, how: str, which: str):
    prepared = run(config([{"files": write_pairs(tmp_path, "train", pairs(200))}]), tmp_path)
    Prepared.open(prepared.folder).verify()
    (path,) = prepared.folder.glob(which)
    damage(path, how)
    with pytest.raises(DataError, match=f"{path.name} must"):
        Prepared.open(prepared.folder).verify()


def test_a_tokenizer_is_verified_before_it_is_parsed(tmp_path: Path):
    prepared = run(config([{"files": write_pairs(tmp_path, "train", pairs(200))}]), tmp_path)
    damage(prepared.folder / "tokenizer.model", "flipped")
    with pytest.raises(DataError, match=r"tokenizer\.model must be as it was written"):
        prepared.tokenizers()


@pytest.mark.parametrize("content", ['{"format": 99}', "[]"])
def test_another_format_is_refused(tmp_path: Path, content: str):
    (tmp_path / MANIFEST).write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match="must be of format 1"):
        Prepared.open(tmp_path)


def test_an_empty_folder_is_no_prepared_data(tmp_path: Path):
    with pytest.raises(DataError, match="run dragoman prepare first"):
        Prepared.open(tmp_path)
