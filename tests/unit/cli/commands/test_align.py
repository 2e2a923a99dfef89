"""``dragoman align`` as a person or a script types it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.unit.api.test_translator_bundles import tiny_bundle as plain_bundle
from tests.unit.cli.tiny_translators import english_german, tiny_bundle, typed
from tests.unit.data.preparation.corpus import pairs, write_pairs

QUICK = ("--engine", "torch", "--threads", "1")
PAIRS = "abc def\teins zwei drei\nghi\t\n\tvier\n"


@pytest.mark.parametrize("preset", ["vaswani2017-desk", "luong2015-desk", "bahdanau2015-desk"])
def test_links_between_words_that_are_there(preset: str):
    result = typed("align", tiny_bundle(preset), "-", *QUICK, stdin=PAIRS)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.split("\n")
    assert len(lines) == 4
    assert re.fullmatch(r"(\d-\d( \d-\d)*)?", lines[0])
    assert {int(link[0]) for link in lines[0].split()} <= {0, 1}
    assert {int(link[2]) for link in lines[0].split()} <= {0, 1, 2}
    assert lines[1:] == ["", "", ""]


def test_json():
    plain = typed("align", tiny_bundle(), "-", *QUICK, stdin=PAIRS).stdout.splitlines()
    rows = [
        json.loads(line)
        for line in typed("align", tiny_bundle(), "-", *QUICK, "--json", stdin=PAIRS).stdout.splitlines()
    ]
    assert [" ".join(f"{source}-{target}" for source, target in row["alignment"]) for row in rows] == plain
    assert (rows[0]["source_words"], rows[0]["target_words"]) == (["abc", "def"], ["eins", "zwei", "drei"])


def test_an_ensemble():
    words = "abc def ghi jkl mno pqr"
    pairs = f"{words}\teins zwei drei vier fünf sechs\n" * 2
    one, other = tiny_bundle("luong2015-desk"), tiny_bundle("bahdanau2015-desk", 2)
    together = typed("align", one, "-", "--ensemble", other, *QUICK, "--json", stdin=pairs)
    assert together.exit_code == 0, together.stderr
    assert together.stderr.startswith("engine  ensemble of 2: torch")
    alone = typed("align", one, "-", *QUICK, "--json", stdin=pairs)
    assert (
        json.loads(together.stdout.splitlines()[0])["log_prob"] != json.loads(alone.stdout.splitlines()[0])["log_prob"]
    )


def test_unequal_files(tmp_path: Path):
    for name, text in (("source", "a\nb\n"), ("target", "a\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    result = typed("align", tiny_bundle(), tmp_path / "source", tmp_path / "target", *QUICK)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "must have the same number of lines, got 2 and 1" in result.stderr


LINKS = "0-0 1p1\n\n\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Sources, targets, and links drawn between them."""
    texts = {"source": "abc def\nghi\n\n", "target": "eins zwei drei\n\nvier\n", "links": LINKS}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / "source", tmp_path / "target", tmp_path / "links"


def test_a_map_of_ones_own_choice():
    mine = typed("align", tiny_bundle(), "-", *QUICK, "--layer", "1", "--head", "2", "--reading", "input", stdin=PAIRS)
    assert mine.exit_code == 0, mine.stderr
    usual = typed("align", tiny_bundle(), "-", *QUICK, stdin=PAIRS)
    same = typed("align", tiny_bundle(), "-", *QUICK, "--reading", "lexical", stdin=PAIRS)
    assert len(mine.stdout.split("\n")) == 4
    assert same.stdout == usual.stdout


def test_links_of_both_directions_as_json():
    options = ("--backward", tiny_bundle("luong2015-desk"), "--symmetrization", "union", "--json")
    result = typed("align", tiny_bundle(), "-", *QUICK, *options, stdin=PAIRS)
    assert result.exit_code == 0, result.stderr
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert (rows[0]["source_words"], rows[0]["target_words"]) == (["abc", "def"], ["eins", "zwei", "drei"])
    assert {source for source, _ in rows[0]["alignment"]} <= {0, 1}
    assert {target for _, target in rows[0]["alignment"]} <= {0, 1, 2}
    assert rows[1]["alignment"] == rows[2]["alignment"] == []


def test_errors_against_links_drawn_by_hand(files: tuple[Path, Path, Path]):
    source, target, links = files
    result = typed("align", tiny_bundle(), source, target, "--gold", links, *QUICK)
    assert result.exit_code == 0, result.stderr
    head, forward = result.stdout.splitlines()
    assert head.split() == ["links", "AER", "precision", "recall", "F1"]
    assert re.fullmatch(r"forward( +[01]\.\d{3}){4}", forward)
    assert "aligning" in result.stderr


def test_errors_of_both_directions(files: tuple[Path, Path, Path]):
    source, target, links = files
    given = ("align", tiny_bundle(), source, target, "--gold", links, "--backward", tiny_bundle("luong2015-desk"))
    table = typed(*given, *QUICK).stdout.splitlines()
    assert [line.split()[0] for line in table[1:3]] == ["forward", "backward"]
    assert len(table) == 9
    one = typed(*given, *QUICK, "--symmetrization", "union", "--json")
    errors = json.loads(one.stdout)
    assert list(errors) == ["forward", "backward", "union"]
    assert errors["union"]["found"] >= errors["forward"]["found"]
    assert (errors["union"]["sure"], errors["union"]["possible"]) == (1, 2)


def test_a_head_that_the_backward_model_lacks(files: tuple[Path, Path, Path]):
    source, target, _ = files
    given = ("align", tiny_bundle(), source, target, "--backward", tiny_bundle("luong2015-desk"), *QUICK)
    refused = typed(*given, "--head", "2")
    assert "--head must be 1 in this model, got 2; choose one that it has" in refused.stderr


def test_an_ensemble_against_usual_words(files: tuple[Path, Path, Path]):
    source, target, links = files
    given = ("align", tiny_bundle(), source, target, "--ensemble", tiny_bundle(seed=2), "--gold", links, *QUICK)
    result = typed(*given, "--words", "usual")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[1].startswith("forward")
    assert "leave out --ensemble, or add --words usual" in typed(*given).stderr


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--symmetrization", "union"), "--symmetrization needs --backward"),
        (("--gold-from", "0"), "--gold-from needs --gold"),
        (("--words", "all"), "--words must be one of usual, spaces, got 'all'"),
        (("--gold", "x", "--gold-from", "2"), "--gold-from must be 0 or 1, got 2"),
        (("--reading", "next"), "--reading must be one of predicted, input"),
        (("--gold", "x", "--layer", "0"), "--layer must be greater than or equal to 1"),
        (("--head", "all"), "--head must be a whole number or mean, got 'all'"),
        (("--layer", "7"), "--layer must be 1 in this model, got 7"),
        (("--layer", "0"), "--layer must be greater than or equal to 1, got 0"),
        (("--head", "3"), "--head must be from 1 to 2 in this model, got 3"),
        (("--layer", "1", "--ensemble", "SAME"), "--layer needs one model: an ensemble"),
        (("--words", "spaces", "--ensemble", "SAME"), "--words spaces needs one model: an ensemble"),
        (
            ("--gold", "x", "--ensemble", "SAME"),
            "--gold needs one model: an ensemble has one attention map only; leave out",
        ),
        (("--layer", "1", "--engine", "ctranslate2"), "--engine must be torch with --layer, got ctranslate2; use"),
    ],
)
def test_what_was_typed_wrongly(options: tuple[str, ...], expected: str):
    typed_ = [tiny_bundle() if option == "SAME" else option for option in options]
    result = typed("align", tiny_bundle(), "-", *QUICK, *typed_, stdin=PAIRS)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"error: {expected}" in result.stderr


def test_links_that_do_not_fit(files: tuple[Path, Path, Path]):
    source, target, links = files
    links.write_text("0-0\n0-0\n\n", encoding="utf-8")
    result = typed("align", tiny_bundle(), source, target, "--gold", links, *QUICK)
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"{links}:2: a link has target word 0" in result.stderr


def test_a_model_without_attention(files: tuple[Path, Path, Path], tmp_path: Path):
    source, target, links = files
    bundle = plain_bundle(tmp_path / "bundle", "sutskever2014-desk").folder
    for options in ((), ("--reading", "input"), ("--gold", links)):
        result = typed("align", bundle, source, target, *options, *QUICK)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "this model has no attention to align words" in result.stderr


def test_a_pair_that_is_too_long_is_named_by_its_line():
    result = typed("align", tiny_bundle(), "-", *QUICK, "--reading", "input", stdin=f"a\ta\n{'a ' * 3000}\ta\n")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "error: standard input:2: a source must have at most" in result.stderr


@pytest.mark.parametrize("options", [("align",), ("align", "--reading", "input"), ("score",)])
def test_swapped_files_are_told(tmp_path: Path, options: tuple[str, ...]):
    source, target = (tmp_path / name for name in write_pairs(tmp_path, "pairs", pairs(20)))
    command, *others = options
    told = "note    sources and targets seem swapped: 20 of the first 20 sources look like de, 14 targets like en; "
    result = typed(command, english_german(), target, source, *others, *QUICK)
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, 20), result.stderr
    assert f"{told}exchange the two files" in result.stderr
    assert "seem swapped" not in typed(command, english_german(), source, target, *others, *QUICK).stderr
    lines = "".join(f"{german}\t{english}\n" for english, german in pairs(20))
    shown = typed(command, english_german(), "-", *others, *QUICK, stdin=lines)
    assert f"{told}exchange the two columns" in shown.stderr


def test_swapped_files_are_told_before_an_error_in_gold_links(tmp_path: Path):
    source, target = (tmp_path / name for name in write_pairs(tmp_path, "pairs", pairs(20)))
    (tmp_path / "links").write_text("90-90\n" * 20, encoding="utf-8")
    result = typed("align", english_german(), target, source, "--gold", tmp_path / "links", *QUICK)
    assert result.exit_code == 1
    assert "seem swapped" in result.stderr
