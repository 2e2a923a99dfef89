"""``dragoman evaluate`` as a person or a script types it."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest, Result

from testkit import random_bundle
from tests.unit.cli.tiny_translators import QUICK, english_german, tiny_bundle, typed
from tests.unit.data.preparation.corpus import pairs, write_pairs

SOURCES = ["abc def ghi", "zwei drei vier fünf", "ab cd ef gh ij kl mn op qr st uv", "123", "Haus und Hof."] * 4
REFERENCES = ["the cat sat on the mat", "a dog ran over the hill", "one two three four five six", "123", "my house"] * 4
CLOSE = [line.replace("dog", "cow") for line in REFERENCES]
FAR = [" ".join(line.split()[1:]) + " x" for line in REFERENCES]
SEEDS = [[*REFERENCES[: 3 * n], *FAR[3 * n :]] for n in (1, 2, 3)]


@pytest.fixture
def room(tmp_path: Path) -> Path:
    texts = {"src": SOURCES, "ref": REFERENCES, "close": CLOSE, "far": FAR}
    texts |= {f"seed{number}": lines for number, lines in enumerate(SEEDS)}
    for name, lines in texts.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return tmp_path


def evaluated(room: Path, *arguments: str | Path) -> Any:
    result = typed("evaluate", *arguments, "--test", room / "src", room / "ref", "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def sacrebleu(*arguments: str | Path) -> Any:
    """What sacreBLEU's own command prints."""
    command = [sys.executable, "-m", "sacrebleu", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, check=True, encoding="utf-8")
    return json.loads(done.stdout)


def test_files_get_the_scores_of_sacrebleu(room: Path):
    found = evaluated(room, room / "close")
    (member,) = found["systems"][0]["members"]
    theirs = sacrebleu(
        *(room / "ref", "-i", room / "close", "-m", "bleu", "chrf", "ter", "--chrf-word-order", "2"),
        *("--confidence", "-w", "9", "-f", "json"),
    )
    for score, other in zip(member["scores"], theirs, strict=True):
        assert f"{score['value']:.9f}" == f"{other['score']:.9f}"
        assert score["signature"] == other["signature"]
        assert f"{score['interval']['mean']:.9f}" == f"{other['confidence_mean']:.9f}"
        assert f"{score['interval']['half_width']:.9f}" == f"{other['confidence_var']:.9f}"
    assert [score["metric"] for score in member["scores"]] == ["bleu", "chrf++", "ter"]
    assert (member["throughput"], member["flags"], member["parameters"]) == (None, None, None)


@pytest.mark.parametrize(("kind", "code"), [("bootstrap", "bs"), ("randomization", "ar")])
def test_significance_is_that_of_sacrebleu(room: Path, kind: str, code: str):
    found = evaluated(room, room / "far", room / "close", "--test-kind", kind)
    assert found["baseline"] == "far"
    results = found["systems"][1]["members"][0]["tests"]
    metrics = {"BLEU": BLEU(force=True), "chrF": CHRF(word_order=2), "TER": TER()}
    theirs = PairedTest([("far", FAR), ("close", CLOSE)], metrics, [REFERENCES], test_type=code)()[1]
    for result, name in zip(results, ("BLEU", "chrF2++", "TER"), strict=True):
        other = theirs[name][1]
        assert isinstance(other, Result)
        assert (result["test"], result["p_value"]) == (kind, other.p_value)


def test_a_bundle(room: Path):
    found = evaluated(room, f"mine={tiny_bundle()}", *QUICK)
    assert set(found) == {
        *("format_version", "test_set", "systems", "baseline", "search", "versions"),
        *("machine", "command", "resamples", "seconds", "notes"),
    }
    (system,) = found["systems"]
    (member,) = system["members"]
    assert set(member) == {
        *("name", "digest", "scores", "seed", "parameters", "by_length", "flags", "perturbations", "throughput"),
        *("tests", "path"),
    }
    assert (found["test_set"]["name"], found["test_set"]["sentences"], found["baseline"], system["name"]) == (
        "src and ref",
        20,
        None,
        "mine",
    )
    assert (found["search"]["beam"], found["search"]["max_length"]) == (5, 6)
    assert re.fullmatch("[0-9a-f]{64}", member["digest"])
    assert member["flags"]["truncated"] > 0
    assert member["throughput"]["sentences"] == 20
    assert member["throughput"]["source_words"] == sum(len(line.split()) for line in SOURCES)
    assert member["throughput"]["engine"] == "torch float32, 1 thread"
    assert member["parameters"] > 1000
    assert sum(row["sentences"] for row in member["by_length"]) == 20
    assert found["seconds"]["all"] >= found["seconds"]["translating"] > 0
    assert found["versions"]["sacrebleu"]


def test_what_is_saved_is_what_was_scored(room: Path):
    run, table, values = room / "run", room / "table.md", room / "new" / "values.json"
    shutil.copytree(tiny_bundle(), run / "bundle")
    result = typed(
        *("evaluate", f"a b/c={run}", room / "close", "--test", room / "src", room / "ref", "-o", table, "-o", values),
        *("--json", *QUICK),
    )
    assert result.exit_code == 0, result.stderr
    assert json.loads(values.read_text(encoding="utf-8")) == json.loads(result.stdout)
    assert table.read_text(encoding="utf-8").startswith("| system | BLEU | chrF++ | TER ↓ |")
    translated = room / "translated"
    translated.write_text(typed("translate", tiny_bundle(), room / "src", *QUICK).stdout, encoding="utf-8")
    again = evaluated(room, translated)["systems"][0]["members"][0]
    assert again["scores"] == json.loads(result.stdout)["systems"][0]["members"][0]["scores"]
    result = typed("evaluate", room / "close", "--test", room / "src", room / "ref", "-o", room / "out")
    assert "--output must end in .json or .md" in result.stderr


def test_a_file_of_translations_cannot_be_inspected(room: Path):
    result = typed("evaluate", room / "close", "--test", room / "src", room / "ref")
    assert result.exit_code == 0, result.stderr
    assert "dragoman inspect" not in result.stderr


def test_several_seeds(room: Path):
    seeds = ",".join(str(room / f"seed{number}") for number in range(3))
    found = evaluated(room, f"seeds={seeds}", f"others={room / 'far'},{room / 'close'}", room / "far")
    first, others, alone = found["systems"]
    assert [member["name"] for member in first["members"]] == ["seeds 1", "seeds 2", "seeds 3"]
    values = [member["scores"][0]["value"] for member in first["members"]]
    assert first["scores"][0]["value"] == pytest.approx(sum(values) / 3)
    (test, *_) = others["tests"]
    assert (test["metric"], test["test"]) == ("bleu", "welch")
    assert 0 < test["p_value"] < 1
    assert first["tests"] == []
    assert {test["test"] for test in alone["tests"]} == {"bootstrap"}
    assert alone["members"][0]["tests"]


def test_probes(room: Path):
    found = evaluated(room, tiny_bundle(), *QUICK, "--probes", "--metrics", "bleu,chrf")
    probes = {probe["name"]: probe for probe in found["systems"][0]["members"][0]["perturbations"]}
    assert list(probes) == ["typos", "lower case", "upper case", "no full stop", "single words", "very long"]
    assert (probes["no full stop"]["changed"], probes["very long"]["changed"]) == (4, 4)
    assert set(probes["typos"]["drops"]) == {"bleu", "chrf++"}
    assert set(probes["single words"]["shares"]) == {"flagged", "runaway", "repeated"}
    assert probes["single words"]["shares"]["runaway"] > 0.5  # never trained, it never ends


def test_the_same_every_time(room: Path):
    def figures() -> Any:
        found = evaluated(room, tiny_bundle(), room / "close", *QUICK, "--probes")
        del found["seconds"], found["command"]
        for system in found["systems"]:
            for member in system["members"]:
                del member["throughput"]
        return found

    assert figures() == figures()


def test_packed_texts(room: Path):
    for name in ("src", "ref", "close"):
        (room / f"{name}.gz").write_bytes(gzip.compress((room / name).read_bytes()))
    plain = typed("evaluate", room / "close", "--test", room / "src", room / "ref")
    packed = typed("evaluate", room / "close.gz", "--test", room / "src.gz", room / "ref.gz")
    assert packed.stdout == plain.stdout


def test_what_is_printed(room: Path):
    systems, table = [tiny_bundle(), room / "close"], room / "new" / "table.md"
    result = typed("evaluate", *systems, "--test", room / "src", room / "ref", "--probes", "-o", table, *QUICK)
    assert result.exit_code == 0, result.stderr
    assert "\x1b" not in result.stdout
    assert "engine  torch float32, 1 thread" in result.stderr
    assert "perturbing: typos" in result.stderr
    assert result.stdout.startswith("src and ref: 20 sentences, beam 5\n")
    assert "| --- |" in table.read_text(encoding="utf-8")
    assert f"wrote   {table}\n" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none"], "error: none does not exist; name a run folder, a bundle or a file of translations"),
        (["short"], "short must have one translation per test sentence, 20, got 1 line; translate"),
        (["close", "far", "--baseline", "x"], "error: --baseline must be one of close, far, got x; or leave it out"),
        (["close", "--metrics", "bleu,rouge"], "error: --metrics must be one of bleu, chrf, ter, got 'rouge'"),
        (
            ["close", "--metrics", ""],
            "error: --metrics is empty; name one or several of bleu, chrf, ter, or leave it out",
        ),
        (["close", "--metrics", " , "], "error: --metrics is empty; name one or several of bleu, chrf, ter,"),
        (["close", "--resamples", "1"], "error: --resamples must be"),
        (["close", "--test-kind", "t"], "error: --test-kind must be one of bootstrap, randomization, got 't'"),
        (["close", "--output", "table.csv"], "error: --output must end in .json or .md, got table.csv"),
        (["close", "--threads", "0"], "error: --threads must be greater than or equal to 1, got 0"),
        (["close", "--languages", "de"], "error: --languages must be two language codes joined by -, got de"),
        (["close", "--comet", "x"], "error: COMET needs a separate Python; name one"),
        (["close", "--comet-python", "x"], "error: --comet-python needs --comet"),
        (["a=close", "a=far"], "error: names of systems must differ, got a twice"),
        (["."], ". has no model; name a run folder, a bundle or a file of translations"),
    ],
)
def test_mistakes(room: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str):
    monkeypatch.chdir(room)
    monkeypatch.delenv("DRAGOMAN_COMET_PYTHON", raising=False)
    (room / "short").write_text("x\n", encoding="utf-8")
    result = typed("evaluate", *arguments, "--test", "src", "ref")
    assert result.exit_code in {1, 2}
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()  # before anything is translated
    assert message in line
    assert re.search(r"; \S", line)  # a fix


@pytest.mark.parametrize("seed", ["-5", "x"])
def test_a_seed_that_cannot_be(room: Path, monkeypatch: pytest.MonkeyPatch, seed: str):
    monkeypatch.setenv("SACREBLEU_SEED", seed)
    result = typed("evaluate", tiny_bundle(), "--test", room / "src", room / "ref", *QUICK)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()  # before anything is translated
    assert line.startswith(f"error: SACREBLEU_SEED must be a whole number, 0 or more, or none, got '{seed}';")


def test_one_sentence(room: Path):
    for name in ("src", "ref", "close"):
        text = (room / name).read_text(encoding="utf-8").splitlines(keepends=True)[1]
        (room / name).write_text(text, encoding="utf-8")
    result = typed("evaluate", room / "close", "--test", room / "src", room / "ref")
    assert result.stdout.startswith("src and ref: 1 sentence\n")
    assert "±" not in result.stdout


def test_unequal_and_empty_sets(room: Path):
    (room / "short").write_text("x\n", encoding="utf-8")
    result = typed("evaluate", room / "close", "--test", room / "src", room / "short")
    assert f"{room / 'src'} and {room / 'short'} must have the same number of lines, got 20 and 1;" in result.stderr
    (room / "short").write_text("", encoding="utf-8")
    result = typed("evaluate", room / "close", "--test", room / "short", room / "short")
    assert "have no lines" in result.stderr


def test_an_engine_that_does_not_fit(room: Path):
    result = typed("evaluate", tiny_bundle(), "--test", room / "src", room / "ref", "--engine", "onnx")
    assert result.exit_code == 2
    assert "error: --engine must be one of ctranslate2, torch for the family transformer, got onnx" in result.stderr


def test_a_model_without_attention(room: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(random_bundle.SIZES, "sutskever2014-desk", random_bundle.RNN)
    found = evaluated(room, tiny_bundle("sutskever2014-desk"), *QUICK)
    assert "unfocused" not in found["systems"][0]["members"][0]["flags"]


def test_translations_without_a_right_word(room: Path):
    (room / "wrong").write_text("q\n" * 19 + "house\n", encoding="utf-8")
    found = evaluated(room, room / "wrong", room / "close")
    assert found["systems"][0]["members"][0]["scores"][0]["value"] == 0


def test_windows_are_counted_as_the_whole(room: Path, monkeypatch: pytest.MonkeyPatch):
    whole = evaluated(room, tiny_bundle(), *QUICK)
    monkeypatch.setattr("dragoman.api.evaluation.member_run._BLOCK", 3)
    parts = evaluated(room, tiny_bundle(), *QUICK)
    first, second = (each["systems"][0]["members"][0] for each in (whole, parts))
    assert first["scores"] == second["scores"]
    assert first["by_length"] == second["by_length"]


def test_a_swapped_test_set_is_told(tmp_path: Path):
    files = write_pairs(tmp_path, "test", pairs(20))
    paths = [tmp_path / name for name in files]
    told = "sources and references seem swapped: 20 of the first 20 sources look like de"
    for test, is_swapped in ((paths, False), (paths[::-1], True)):
        result = typed("evaluate", test[1], "--test", *test, "--languages", "en-de")
        assert result.exit_code == 0, result.stderr
        assert (told in " ".join(result.stdout.split())) == is_swapped


def test_a_swapped_test_set_is_rejected_before_a_model_translates(tmp_path: Path):
    source, target = (tmp_path / name for name in write_pairs(tmp_path, "test", pairs(20)))
    result = typed("evaluate", english_german(), "--test", target, source, *QUICK)
    assert result.exit_code == 1
    assert "exchange the two files, or name the languages to score them anyway" in result.stderr
    assert "BLEU" not in result.stdout
    insisted = typed("evaluate", english_german(), "--test", target, source, "--languages", "en:de", *QUICK)
    assert insisted.exit_code == 0, insisted.stderr


def test_a_project_without_a_run_is_called_untrained(tmp_path: Path):
    (tmp_path / "dragoman.toml").write_text("", encoding="utf-8")
    result = typed("evaluate", tmp_path)
    assert result.exit_code == 1
    assert f"the project in {tmp_path} is not trained yet; run dragoman train {tmp_path}" in result.stderr


def test_lines_with_fields_are_no_translations(room: Path):
    plain = typed("translate", tiny_bundle(), room / "src", "-o", room / "plain", *QUICK)
    assert f"next    dragoman evaluate {room / 'plain'}" in plain.stderr
    for option in ("--flags", "--alignments", "--nbest=2"):
        written = typed("translate", tiny_bundle(), room / "src", "-o", room / "fields", "--force", option, *QUICK)
        assert "dragoman evaluate" not in written.stderr
        result = typed("evaluate", room / "fields", "--test", room / "src", room / "ref")
        assert result.exit_code == 1
        assert "fields has lines with fields (|||) instead of translations; translate without" in result.stderr


def test_files_have_their_findings_once(room: Path):
    result = typed("evaluate", room / "src", "--test", room / "src", room / "ref")
    assert "has the same lines as the sources" in " ".join(result.stdout.split())
    assert "has the same lines" not in result.stderr


def test_a_test_set_is_named_by_both_files_if_their_names_differ(tmp_path: Path):
    source, target = (tmp_path / name for name in write_pairs(tmp_path, "test", pairs(5)))
    other = tmp_path / "reference.txt"
    other.write_bytes(target.read_bytes())
    for reference, name in ((target, "test"), (other, f"{source.name} and reference.txt")):
        found = json.loads(typed("evaluate", target, "--test", source, reference, "--json").stdout)
        assert found["test_set"]["name"] == name


def test_findings_about_the_texts_are_repeated_next_to_the_scores(tmp_path: Path):
    source, target = (tmp_path / name for name in write_pairs(tmp_path, "test", pairs(20)))
    (tmp_path / "close").write_text(target.read_text(encoding="utf-8").replace("a", "o"), encoding="utf-8")
    swapped, wrong = "sources and references seem swapped", "translations of test look like en; the target language is"
    unknown = "translations of test look like en; the references look like de"
    languages = ("--languages", "en-de")
    cases: list[tuple[str, tuple[str | Path, ...]]] = [
        (swapped, (tmp_path / "close", "--test", target, source, *languages)),
        (wrong, (f"test={source}", "--test", source, target, *languages)),
        (unknown, (f"test={source}", "--test", source, target)),
        ("", (tmp_path / "close", "--test", source, target, *languages)),
    ]
    for told, arguments in cases:
        written = tmp_path / "table.md"
        result = typed("evaluate", *arguments, "-o", written, "--force")
        assert result.exit_code == 0, result.stderr
        for text, warning in ((result.stdout, "Warning: "), (written.read_text(encoding="utf-8"), "**Warning: ")):
            assert (warning in text) == bool(told)
            assert told in " ".join(text.split())
        found = json.loads(typed("evaluate", *arguments, "--json").stdout)["notes"]
        assert any(told in note for note in found) if told else not found
        page = tmp_path / "page.html"
        result = typed("compare", *arguments, "-o", page, "--force", "--json")
        assert json.loads(result.stdout)["evaluation"]["notes"] == found
        assert ("<strong>Warning: " in page.read_text(encoding="utf-8")) == bool(told)
        assert "Warning: " in typed("compare", *arguments, "-o", page, "--force").stdout or not told


def test_a_file_of_translations_needs_a_test_set(room: Path):
    result = typed("evaluate", room / "close")
    assert result.exit_code == 2
    assert f"error: {room / 'close'} is a file of translations, which needs --test SRC REF; name" in result.stderr


def test_a_copy_of_the_references_or_the_sources_is_told(room: Path):
    for side, name in (("ref", "references"), ("src", "sources")):
        (room / "copy").write_bytes((room / side).read_bytes())
        for command in ("evaluate", "compare"):
            output = ("-o", room / f"{side}.html") if command == "compare" else ()
            result = typed(command, room / "close", room / "copy", "--test", room / "src", room / "ref", *output)
            assert result.exit_code == 0, result.stderr
            told = f"{room / 'copy'} has the same lines as the {name}, so its scores mean nothing"
            assert told in " ".join(result.stdout.split())
            assert "close has the same" not in result.stderr


def test_the_next_command_names_the_path_of_a_named_system(room: Path):
    bundle = tiny_bundle()
    result = typed("evaluate", f"mine={bundle}", *QUICK, "--test", room / "src", room / "ref")
    assert result.exit_code == 0, result.stderr
    assert f"dragoman inspect {bundle} TEXT" in result.output


def test_scores_of_a_model_that_does_not_translate_have_a_note(room: Path):
    found = evaluated(room, f"mine={tiny_bundle()}", *QUICK)
    assert any(note.startswith("no system translates usefully, since the best BLEU is ") for note in found["notes"])
    assert not any("usefully" in note for note in evaluated(room, room / "close")["notes"])
    (room / "ref").write_text(
        "Les enfants jouent dans le grand jardin derrière la maison.\n" * len(SOURCES), encoding="utf-8"
    )
    notes = evaluated(room, room / "close", "--languages", "de-en")["notes"]
    assert any("references look like fr" in note for note in notes), "which explains the scores"
    assert not any("usefully" in note for note in notes)
