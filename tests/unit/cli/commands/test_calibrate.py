"""``dragoman calibrate``, and ``--min-confidence``, which leaves texts untranslated."""

import json
from pathlib import Path

import pytest

from dragoman import SearchSettings, Translator
from dragoman.bundle import Bundle
from dragoman.bundle.bundle import write_calibration
from dragoman.errors import ConfigError
from tests.server.bundles import tiny_bundle
from tests.unit.bundle.test_confidence import FITTED
from tests.unit.cli.tiny_translators import QUICK, typed

TEXTS = [f"the small house {number} is red" for number in range(120)]
ENGINE = ("--engine", "torch", "--threads", "1")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny_bundle(tmp_path / "en-de", "en", "de")


def surely(model: Path, bias: float) -> Path:
    """The bundle with a confidence that is the same for all translations without flags."""
    fitted = FITTED.model_copy(update={"bias": bias, "weights": (0.0,) * 4})
    write_calibration(Bundle.open(model), "en-de", fitted)
    return model


def test_a_test_set_gives_a_model_its_confidence(model: Path, tmp_path: Path):
    source, reference = tmp_path / "a.en", tmp_path / "a.de"
    source.write_text("".join(f"{text}\n" for text in TEXTS))
    with Translator.open(model, engine="torch", threads=1) as translator:
        texts = [each.text for each in translator.translate(TEXTS, split_sentences=False)]
        assert translator.translate("a house").confidence is None
    reference.write_text("".join(f"{text if row % 3 else '#'}\n" for row, text in enumerate(texts)))
    found = typed("calibrate", model, "--test", source, reference, *ENGINE, "--json")
    assert found.exit_code == 0, found.output
    facts = json.loads(found.stdout)
    assert (facts["sentences"], facts["usable"]) == (120, 80)
    assert 0 <= facts["calibration_error"] < 0.3
    assert 0 <= facts["roc_area"] <= 1
    with Translator.open(model, engine="torch", threads=1) as translator:
        first, *_ = translator.translate(TEXTS)
        confidence = first.confidence
        assert confidence is not None
        assert 0 < confidence < 1
        assert first.to_json()["confidence"] == round(confidence, 4)
        text = translator.translate("the house is red. it is small")
        assert text.confidence == min(each.confidence or 0 for each in text.sentences)


def test_files_that_are_no_test_set_leave_the_bundle(model: Path, tmp_path: Path):
    digest = Bundle.open(model).digest
    source, reference = tmp_path / "a.en", tmp_path / "a.de"
    source.write_text("a house\n" * 60)
    reference.write_text("#\n" * 60)
    refused = typed("calibrate", model, "--test", source, reference, *ENGINE)
    assert (refused.exit_code, "0 of them usable" in refused.stderr) == (1, True), refused.stderr
    reference.write_text("#\n")
    assert "must have the same number of lines" in typed("calibrate", model, "--test", source, reference).stderr
    assert Bundle.open(model).digest == digest


def test_unsure_lines_are_left_and_counted(model: Path, tmp_path: Path):
    source = tmp_path / "a.en"
    source.write_text("a small house\n12 %\nthe house of {name}\n")
    sure = typed("translate", surely(model, 2.0), source, "--min-confidence", "0.5", *QUICK)
    left = typed("translate", surely(model, -2.0), source, "--min-confidence", "0.5", "--fail-on", "none", *QUICK)
    failed = typed("translate", model, source, "--min-confidence", "0.5", "--json", *QUICK)
    assert sure.stdout.splitlines()[0] != "a small house"
    assert "left untranslated" not in sure.output
    assert left.stdout == source.read_text()
    assert left.exit_code == 0
    assert "lines left untranslated, because the confidence is too low" in left.stderr
    assert failed.exit_code == 4
    first, other, _ = map(json.loads, failed.stdout.splitlines())
    assert (first["text"], first["confidence"]) == ("a small house", 0.1192)
    assert first["flags"] == [{"name": "unsure", "detail": "confidence 0.12, below 0.5"}]
    assert "confidence" not in other


def test_unsure_texts_of_documents_are_left(model: Path, tmp_path: Path):
    source, target = tmp_path / "a.xliff", tmp_path / "b.xliff"
    units = "".join(f'<trans-unit id="{n}"><source>a <g id="1">red</g> house</source></trans-unit>' for n in range(2))
    source.write_text(
        f'<xliff version="1.2"><file source-language="en" target-language="de"><body>{units}</body></file></xliff>'
    )
    found = typed("translate", surely(model, -2.0), source, "-o", target, "--min-confidence", "0.5", *ENGINE)
    assert found.exit_code == 4, found.output
    assert "2 texts: 0 translated, 2 left (2 unsure)" in found.stderr
    assert "<target" not in target.read_text()
    surely(model, 2.0)
    typed("translate", model, source, "-o", target, "--force", "--min-confidence", "0.5", *ENGINE)
    assert target.read_text().count('state="needs-review-translation"') == 2


def test_a_minimum_needs_one_calibrated_model(model: Path):
    settings = SearchSettings(min_confidence=0.5)
    with (
        Translator.open(model, engine="torch", search=settings) as translator,
        pytest.raises(ConfigError, match="needs a calibrated model, which this one is not"),
    ):
        translator.translate("a house")
    ensemble = Translator.open(surely(model, 2.0), model, engine="torch", search=settings)
    with pytest.raises(ConfigError, match="needs a calibrated model"):
        ensemble.translate("a house")


def test_html_is_left_with_a_warning(model: Path):
    search = SearchSettings(min_confidence=0.5)
    with Translator.open(surely(model, -2.0), engine="torch", search=search) as translator:
        assert list(translator.translate_stream("a house")) == ["a house"]
        with pytest.warns(UserWarning, match="or the confidence is too low, first: confidence 0.12, below 0.5"):
            assert translator.translate_html("<p>a house</p>") == "<p>a house</p>"
