"""`dragoman prune` writes a smaller bundle."""

import json
from pathlib import Path

from dragoman.bundle import Bundle
from testkit.random_models.random_m2m100 import SHAPES, TEXTS, write_folder
from tests.unit.cli.tiny_translators import typed


def test_a_smaller_bundle(tmp_path: Path):
    done = typed("import", write_folder(tmp_path / "nllb", SHAPES["NLLB"]), "-o", tmp_path / "b")
    assert done.exit_code == 0, done.output
    assert "note: 110 directions of 11 languages" in done.stderr
    for code in ("en", "de"):
        (tmp_path / f"text.{code}").write_text(TEXTS[code], encoding="utf-8")
    texts = ("--text", tmp_path / "text.en", "--text", tmp_path / "text.de")
    done = typed("prune", tmp_path / "b", *texts, "--languages", "en, de", "-o", tmp_path / "small", "--json")
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    assert facts["lines"] == 8
    assert facts["tokens"][1] < facts["tokens"][0]
    assert facts["bytes"][1] < facts["bytes"][0]
    bundle = Bundle.open(tmp_path / "small")
    assert facts["parameters"] == bundle.parameter_count()
    again = typed("prune", tmp_path / "b", *texts, "-o", tmp_path / "small")
    assert again.exit_code != 0
    shown = typed("prune", tmp_path / "b", *texts, "-o", tmp_path / "small", "--force")
    assert shown.exit_code == 0, shown.output
    assert " tokens, " in shown.stdout
    latin = typed("prune", tmp_path / "b", "--languages", "en,de", "-o", tmp_path / "latin", "--json")
    assert facts["tokens"][1] < json.loads(latin.stdout)["tokens"][1] < facts["tokens"][0]
    missing = typed("prune", tmp_path / "b", "--text", tmp_path / "none", "-o", tmp_path / "other")
    assert missing.exit_code == 1
    assert "does not exist; check the path" in missing.stderr
