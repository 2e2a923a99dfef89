"""Exit code 4: texts that were left or flagged are errors, with one line per kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.api.translation.translation import Translation
from dragoman.api.translation.translator import Translator
from dragoman.cli.screens.flagged_texts import parse_fail_on
from dragoman.errors import ConfigError
from dragoman.evaluation.quality_flags import Flag
from tests.unit.cli.tiny_translators import QUICK, tiny_bundle, typed

TEXT = "A house.\nHello {name}.\nBye {name}.\n12\n"


@pytest.fixture
def _damage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines with a placeholder are left, as the guard does."""

    def translate(_: Translator, texts: list[str], *, flags: bool = False, **__: object) -> list[Translation]:
        damage, other = (Flag("placeholders", "lost {name}"),), (Flag("numbers", "lost 12"),) if flags else None
        return [Translation(text, text, flags=damage if "{" in text else other) for text in texts]

    monkeypatch.setattr(Translator, "translate", translate)


@pytest.mark.usefixtures("_damage")
def test_lines_that_are_left_are_an_error_by_default(tmp_path: Path):
    source, output = tmp_path / "in.en", tmp_path / "out"
    source.write_text(TEXT, encoding="utf-8")
    reason = "because placeholders, tags or words would be lost"
    damaged = f"2 lines left untranslated, {reason}, first {source}:2: lost {{name}}\n"
    result = typed("translate", tiny_bundle(), source, "-o", output, *QUICK)
    assert result.exit_code == 4, result.stderr
    assert result.stderr.endswith(f"wrote   {output}\nerror: {damaged}"), "nothing is advised after damage"
    assert output.read_text(encoding="utf-8") == TEXT
    result = typed("translate", tiny_bundle(), source, "--fail-on", "numbers", *QUICK)
    assert (result.exit_code, result.stdout) == (4, TEXT)
    assert f"error: {damaged}" in result.stderr
    assert "error: 2 lines have the flag numbers (numbers of the source are lost" in result.stderr
    assert f"first {source}:1: lost 12\n" in result.stderr
    result = typed("translate", tiny_bundle(), source, "-o", output, "--force", "--fail-on", "none", *QUICK)
    assert (result.exit_code, f"note    {damaged}" in result.stderr) == (0, True), result.stderr


@pytest.mark.usefixtures("_damage")
def test_the_first_file_of_a_folder_is_named(tmp_path: Path):
    (tmp_path / "in").mkdir()
    for name, text in (("a.txt", "A house.\n"), ("b.txt", TEXT)):
        (tmp_path / "in" / name).write_text(text, encoding="utf-8")
    result = typed("translate", tiny_bundle(), tmp_path / "in", "-o", tmp_path / "out", *QUICK)
    assert (result.exit_code, f"first {tmp_path}/in/b.txt:2: lost {{name}}\n" in result.stderr) == (4, True), (
        result.stderr
    )


def test_the_texts_of_a_document_are_counted_and_flagged(tmp_path: Path):
    source = tmp_path / "a.md"
    source.write_text("# A house\n\nThe dog has 1234 years and 5678 days.\n", encoding="utf-8")
    result = typed("translate", tiny_bundle(), source, *QUICK)
    assert (result.exit_code, "texts   2 texts: 2 translated\n" in result.stderr) == (0, True), result.stderr
    result = typed("translate", tiny_bundle(), source, "--fail-on", "numbers", *QUICK)
    assert result.exit_code == 4, result.stderr
    assert "error: 1 text has the flag numbers (numbers of the source are lost or changed" in result.stderr
    assert "first a.md, text 2: lost 1234, 5678\n" in result.stderr


def test_flags_that_do_not_exist_are_named():
    assert parse_fail_on(None, is_document=True) == {"placeholders", "unsure"}
    assert parse_fail_on("numbers, language", is_document=False) == {"numbers", "language", "placeholders", "unsure"}
    with pytest.raises(ConfigError, match=r"--fail-on must name quality flags \(unlikely, .*\) or none, got 'nubmers'"):
        parse_fail_on("nubmers", is_document=False)
    with pytest.raises(ConfigError, match=r"quality flags of documents \(repetition, .*\) or none, got 'unlikely'"):
        parse_fail_on("unlikely", is_document=True)
