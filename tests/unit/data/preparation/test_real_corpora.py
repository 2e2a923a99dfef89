"""Published corpora with known damage, prepared from end to end: all of it is found."""

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.api.training.preparation import prepare_corpora
from dragoman.data.preparation.prepared_data import PreparedData
from tests.unit.data.preparation.corpus import config


def prepare(tmp_path: Path, train: list[Path], target: str, **data: Any) -> tuple[PreparedData, dict[str, Any]]:
    files = [str(path) for path in train]
    settings = config([{"files": files}], {"size": 4000, "sample_sentences": 4000}, target=target, **data)
    prepared = prepare_corpora(settings, tmp_path)
    return prepared, json.loads((prepared.folder / "report.json").read_text(encoding="utf-8"))


def test_the_leaked_pairs_of_3am(corpora: Path, tmp_path: Path):
    folder = corpora / "3am"
    prepared, report = prepare(
        tmp_path,
        [folder / "train.en.gz", folder / "train.zh.gz"],
        "zh",
        validation={"files": [str(folder / "val.en.gz"), str(folder / "val.zh.gz")]},
        test=[{"files": [str(folder / "test.en.gz"), str(folder / "test.zh.gz")], "name": "test"}],
    )
    leak = report["selection"]["leaks"]["test set test"]
    assert leak["held_out"]["pair"] == 95, "as its README says"
    assert leak["train"]["counts"]["pair"] >= 95
    first = leak["train"]["examples"]["pair"][0]
    assert first["file"].endswith("train.en.gz")
    assert "test.en.gz:" in first["detail"]
    assert prepared.manifest["splits"]["train"]["rows"] > 23_700


@pytest.mark.parametrize(
    ("year", "repaired", "noted"), [(2008, 100, "C1 control character"), (2009, 5, "line separator inside a line")]
)
def test_the_damage_of_newstest(corpora: Path, tmp_path: Path, year: int, repaired: int, noted: str):
    folder = corpora / "newstest"
    prepared, report = prepare(tmp_path, [folder / f"newstest{year}.en.gz", folder / f"newstest{year}.de.gz"], "de")
    (corpus,) = report["corpora"]
    summary = corpus["summary"]
    assert not summary["faults"]["counts"]
    assert summary["notes"]["counts"][noted] >= repaired
    assert summary["repairs"]["counts"]["mojibake repaired"] >= repaired
    for example in summary["repairs"]["examples"]["mojibake repaired"]:
        assert example["file"].endswith(f"newstest{year}.en.gz")
        assert example["line"] > 0
    rows = prepared.manifest["splits"]["train"]["rows"] + 20
    assert rows > 0.95 * summary["records"], "what is mended is kept"
