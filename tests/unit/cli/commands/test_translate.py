"""``dragoman translate`` as a person or a script types it."""

from __future__ import annotations

import gzip
import io
import json
import os
import pty
import random
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.api.files import input_lines as lines
from dragoman.api.files.file_translation import translate_lines
from dragoman.api.files.input_lines import LineReader
from dragoman.api.files.output_lines import LineFormat, LineTranslator
from dragoman.api.translation.translator import Translator
from dragoman.config.search import SearchSettings
from dragoman.engines.torch_engine import TorchEngine
from tests.unit.cli.tiny_translators import QUICK, QUICK_TO_START, command, ran, tiny_bundle, typed

TEXT = "abc def\n\nzwei drei vier\n123\n"
PROSE = b"the museum is closed on mondays and tuesdays\n"  # of which the language is detected
NOT_FOR_A_SENTENCE = (
    *("numpy.ma", "onnxruntime", "polars", "pyarrow", "requests", "rich", "sacrebleu", "torch"),
    *("dragoman.bundle.model_store", "dragoman.config.alignment", "dragoman.markup.html_text", "dragoman.search.beam"),
    "dragoman.api.translation.multi_model",
)
"""Modules that take time to import, and are not needed to translate a sentence on CTranslate2."""
HOSTILE = [
    *("", " ", "\t", "\r", "a\rb", "a\r", "\u2028", "a\u2028b\u2029c", "x\x85y", "a\x0bb\x0cc\x1cd", "\0", "a\0b"),
    *(
        "\ufeff",
        "\ufeffabc",
        "|||",
        "a ||| b",
        "\u202eabc",
        "e\u0301\u0323",
        "👩‍👩‍👧‍👦 abc",
        "\U0010ffff",
        "中文字",
        "ก็",
    ),
    *("x" * 300, "a " * 200, "<unk> </s> <s> <pad>", "▁▁▁", "\\n", "<0x0A>", "ﬁ Å", "\u200b", "…!?"),
]


def test_stdin_to_stdout():
    result = typed("translate", tiny_bundle(), *QUICK, stdin=TEXT)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.split("\n")
    assert len(lines) == 5
    assert (lines[1], lines[3], lines[4]) == ("", "123", "")
    assert all((lines[0], lines[2]))
    assert result.stderr.splitlines()[0] == "engine  torch float32, 1 thread"
    assert "\x1b" not in result.stderr
    assert typed("translate", tiny_bundle(), "-", *QUICK, stdin=TEXT).stdout == result.stdout
    assert typed("translate", tiny_bundle(), *QUICK, stdin=TEXT[:-1]).stdout == result.stdout
    assert typed("translate", tiny_bundle(), "-", "-o", "-", *QUICK, stdin=TEXT).stdout == result.stdout
    assert typed("translate", tiny_bundle(), *QUICK).stdout == ""


def test_files_and_gzip(tmp_path: Path):
    plain, packed = tmp_path / "in.txt", tmp_path / "in.txt.gz"
    plain.write_bytes(TEXT.encode())
    packed.write_bytes(gzip.compress(TEXT.encode()))
    expected = typed("translate", tiny_bundle(), *QUICK, stdin=TEXT).stdout_bytes
    for source in (plain, packed):
        assert typed("translate", tiny_bundle(), source, *QUICK).stdout_bytes == expected
    for name in ("out.txt", "out.txt.gz"):
        result = typed("translate", tiny_bundle(), packed, "-o", tmp_path / name, *QUICK)
        assert (result.exit_code, result.stdout) == (0, ""), result.stderr
        data = (tmp_path / name).read_bytes()
        assert (gzip.decompress(data) if name.endswith("gz") else data) == expected
        assert "4 lines" in result.stderr


def test_nbest_as_moses_has_it():
    result = typed("translate", tiny_bundle(), *QUICK, "--beam", "4", "--nbest", "3", stdin=TEXT)
    assert result.exit_code == 0, result.stderr
    fields = [line.split(" ||| ") for line in result.stdout.splitlines()]
    assert [row[0] for row in fields] == ["0", "0", "0", "1", "2", "2", "2", "3"]
    assert all(len(row) == 3 and re.fullmatch(r"-?\d+\.\d{6}", row[2]) for row in fields)
    scores = [float(row[2]) for row in fields[:3]]
    assert scores == sorted(scores, reverse=True)
    best = typed("translate", tiny_bundle(), *QUICK, "--beam", "4", stdin=TEXT).stdout.splitlines()
    assert [fields[0][1], fields[4][1]] == [best[0], best[2]]


def test_alignments_and_flags():
    result = typed("translate", tiny_bundle(), *QUICK, "--alignments", "--flags", stdin=TEXT)
    assert result.exit_code == 0, result.stderr
    fields = [line.split(" ||| ") for line in result.stdout.split("\n")[:-1]]
    assert [len(row) for row in fields] == [3] * 4
    assert all(re.fullmatch(r"(\d+-\d+( \d+-\d+)*)?", row[1]) for row in fields)
    assert fields[0][1]
    assert "truncated" in fields[0][2].split()


def test_flags_are_counted_at_the_end(tmp_path: Path):
    source = tmp_path / "in"
    source.write_text(TEXT + "Abc def. Ghi jkl. Mno pqr.\n", encoding="utf-8")
    result = typed("translate", tiny_bundle(), source, *QUICK, "--flags", "--split")
    names = [line.split(" ||| ")[1].split() for line in result.stdout.split("\n")[:-1]]
    assert "truncated" in names[4]
    assert all(len(set(row)) == len(row) for row in names)
    said = result.stderr.splitlines()[-1]
    assert re.fullmatch(r"flags   \w[\w-]* \d+(, [\w-]+ \d+)*; of 5 lines", said)
    assert f"truncated {sum('truncated' in row for row in names)}" in said
    result = typed("translate", tiny_bundle(), source, *QUICK, "--flags", "--split", "--json", "-o", tmp_path / "out")
    assert said in result.stderr.splitlines()
    assert typed("translate", tiny_bundle(), *QUICK, "--flags", stdin="123\n").stderr.endswith("none; of 1 line\n")
    assert "flags" not in typed("translate", tiny_bundle(), *QUICK, stdin=TEXT).stderr


def test_json():
    result = typed("translate", tiny_bundle(), *QUICK, "--json", "--alignments", "--nbest", "2", stdin=TEXT)
    assert result.exit_code == 0, result.stderr
    rows = [json.loads(line) for line in result.stdout.split("\n")[:-1]]
    assert [row["source"] for row in rows] == ["abc def", "", "zwei drei vier", "123"]
    assert len(rows[0]["nbest"]) == 2
    assert rows[0]["alignment"]
    plain = typed("translate", tiny_bundle(), *QUICK, stdin=TEXT).stdout.split("\n")[:-1]
    assert [row["text"] for row in rows] == plain


@pytest.fixture(scope="module")
def line_translators() -> list[LineTranslator]:
    settings = SearchSettings(beam=2, max_length=4)
    opened = [
        Translator.open(tiny_bundle(preset), engine="torch", threads=1, search=settings)
        for preset in ("vaswani2017-desk", "luong2015-desk")
    ]
    forms = (LineFormat(), LineFormat(alignment=True, flags=True), LineFormat(json=True))
    return [LineTranslator(each, form) for each in opened for form in forms] + [
        LineTranslator(opened[0], split_sentences=True)
    ]


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n")) | st.sampled_from(HOSTILE), max_size=8))
def test_as_many_lines_out_as_in(line_translators: list[LineTranslator], lines: list[str]):
    class Stdin:
        buffer = io.BytesIO("".join(f"{line}\n" for line in lines).encode())

    for work in line_translators:
        written: list[bytes] = []
        Stdin.buffer.seek(0)
        before, sys.stdin = sys.stdin, Stdin
        try:
            with LineReader("-") as source:
                translate_lines(work, source, written.append)
        finally:
            sys.stdin = before
        assert b"".join(written).count(b"\n") == len(lines), work.form


def test_hostile_lines_in_a_process():
    lines = [*HOSTILE, "x" * 3000, "a " * 2000]
    result = ran("translate", tiny_bundle(), *QUICK_TO_START, stdin="".join(f"{line}\n" for line in lines).encode())
    assert result.returncode == 0, result.stderr
    assert result.stdout.count(b"\n") == len(lines)
    result.stdout.decode("utf-8")


def test_several_bundles_decide_together():
    one, other = tiny_bundle(), tiny_bundle(seed=2)
    result = typed("translate", one, "--ensemble", other, *QUICK, stdin=TEXT)
    assert result.exit_code == 0, result.stderr
    assert len(result.stdout.split("\n")) == 5
    assert result.stderr.startswith("engine  ensemble of 2: torch")
    for alone in (one, other):
        assert typed("translate", alone, *QUICK, stdin=TEXT).stdout != result.stdout
    mistaken = typed("translate", one, other, *QUICK)
    assert mistaken.exit_code == 2
    assert f"{other} is a bundle, not a text; an ensemble is --ensemble" in mistaken.stderr


def test_a_glossary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    terms = tmp_path / "terms.tsv"
    terms.write_text("abc\tdrei\nvier\n", encoding="utf-8")
    asked: dict[int, int] = {}
    search = TorchEngine.search

    def seen(self, sentences, *arguments, **options):
        asked.update({sentence.number: len(sentence.phrases) for sentence in sentences})
        return search(self, sentences, *arguments, **options)

    monkeypatch.setattr(TorchEngine, "search", seen)
    result = typed("translate", tiny_bundle(), *QUICK, "--glossary", terms, stdin=TEXT)
    assert result.exit_code == 0, result.stderr
    assert asked == {0: 1, 2: 1}


def test_sampling_is_a_matter_of_the_seed_and_the_line():
    stdin = "abc def\n" * 50
    draw = ("translate", tiny_bundle("luong2015-desk"), *QUICK, "--sample")
    one, same, other = (typed(*draw, "--seed", seed, stdin=stdin).stdout for seed in ("1", "1", "2"))
    assert one == same
    assert one != other
    assert len(set(one.splitlines())) > 10


def test_mbr_is_the_same_for_the_same_seed():
    mbr = ("translate", tiny_bundle("luong2015-desk"), *QUICK, "--search", "mbr", "--candidates", "4")
    one, same, other = (typed(*mbr, "--seed", seed, stdin=TEXT).stdout for seed in ("1", "1", "2"))
    assert one == same != other


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (["--beam", "0"], 2, "--beam must be greater than or equal to 1, got 0;"),
        (["--nbest", "9"], 2, "--nbest must be at most the beam, 5, got 9; increase the beam"),
        (["--length-penalty", "big"], 2, "--length-penalty must be one of average, gnmt, none, got 'big';"),
        (["--groups", "3"], 2, "--groups must divide the beam, 5, got 3;"),
        (["--sample", "--top-p", "1.5"], 2, "--top-p must be less than or equal to 1, got 1.5;"),
        (["--threads", "0"], 2, "--threads must be greater than or equal to 1, got 0;"),
        (["--batch-tokens", "-1"], 2, "--batch-tokens must be greater than or equal to 1, got -1;"),
        (["--engine", "marian"], 2, "--engine must be one of auto, torch, ctranslate2, onnx, got 'marian'"),
        (["--precision", "int4"], 2, "--precision must be one of"),
        (["--temperature", "0.5"], 2, "--temperature needs --sample; add that one, or leave"),
        (["--top-k", "5"], 2, "--top-k needs --sample"),
        (["--top-p", "0.9"], 2, "--top-p needs --sample"),
        (["--seed", "3"], 2, "--seed needs --sample"),
        (["--sample", "--seed", "-1"], 2, "--seed must be greater than or equal to 0, got -1;"),
        (["--diversity", "0.2"], 2, "--diversity needs --groups"),
        (["--search", "mbr", "--sample"], 2, "--sample must be left out with --search mbr"),
        (["-o", "-", "--resume"], 2, "--resume needs an output file"),
        (["--resume"], 2, "--resume needs an output file; name it with -o"),
        (["--force"], 2, "--force needs an output file"),
        (["-o", "none/out"], 2, "the output must be in an existing folder, got none/out; create none first"),
        (["--glossary", "none.tsv"], 1, "none.tsv"),
        (["--ensemble", "none"], 1, "none"),
    ],
)
def test_a_mistake_is_one_line(options: list[str], code: int, says: str):
    result = typed("translate", tiny_bundle(), *options, stdin=TEXT)
    assert result.exit_code == code, result.stderr
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert says in line


def test_input_that_is_none(tmp_path: Path):
    result = typed("translate", tiny_bundle(), tmp_path / "none", *QUICK)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: {tmp_path}/none does not exist")
    bad = tmp_path / "bad"
    bad.write_bytes(b"abc\n\xff\nabc\n")
    result = typed("translate", tiny_bundle(), bad, *QUICK)
    assert result.exit_code == 1
    assert result.stdout.count("\n") == 1
    assert f"error: {bad}:2 must be UTF-8 text, got byte 0xFF at position 1 of the line" in result.stderr


def test_arguments_in_the_wrong_order_are_named(tmp_path: Path):
    text = tmp_path / "text"
    text.write_text(TEXT, encoding="utf-8")
    result = typed("translate", text, tiny_bundle(), *QUICK)
    assert result.exit_code == 2
    assert f"{text} is a text, and the model comes first; write dragoman translate {tiny_bundle()}" in result.stderr


def test_an_empty_file_is_named_and_nothing_is_advised(tmp_path: Path):
    (tmp_path / "empty").touch()
    result = typed("translate", tiny_bundle(), tmp_path / "empty", "-o", tmp_path / "out", *QUICK)
    assert result.exit_code == 0
    assert "empty has no lines" in result.stderr
    assert "next " not in result.stderr


def test_what_is_there_already(tmp_path: Path):
    source, output = tmp_path / "in", tmp_path / "out"
    source.write_text(TEXT, encoding="utf-8")
    output.write_text("precious", encoding="utf-8")
    result = typed("translate", tiny_bundle(), source, "-o", output, *QUICK)
    assert result.exit_code == 2
    assert result.stderr == f"error: {output} already exists; name another file, or use --force to start over\n"
    done = typed("translate", tiny_bundle(), source, "-o", output, *QUICK, "--resume")
    assert done.exit_code == 0
    assert done.stderr == f"{output} exists and was not checked; --force translates again\n"
    assert output.read_text(encoding="utf-8") == "precious"
    assert typed("translate", tiny_bundle(), source, "-o", output, *QUICK, "--force").exit_code == 0
    assert output.read_text(encoding="utf-8").count("\n") == 4


def test_the_input_is_not_written_to(tmp_path: Path):
    source = tmp_path / "out.part"
    source.write_text(TEXT, encoding="utf-8")
    result = typed("translate", tiny_bundle(), source, "-o", tmp_path / "out", "--force", *QUICK)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()  # before a model is loaded
    assert line.startswith(f"error: {source} is the input {source};")
    assert source.read_text(encoding="utf-8") == TEXT


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 75), (signal.SIGINT, 130)])
def test_stopped_and_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, code: int):
    monkeypatch.setattr(lines, "_LINES", 10)
    draw = random.Random(1)
    source, output = tmp_path / "in", tmp_path / "out"
    source.write_text("".join(f"abc {draw.random()} def\n" for _ in range(45)), encoding="utf-8")
    asked = ("translate", tiny_bundle(), source, "-o", output, *QUICK)
    whole = typed("translate", tiny_bundle(), source, *QUICK).stdout_bytes
    translate, calls = Translator.translate, []

    def stopping(self, texts, **options):
        calls.append(texts)
        found = translate(self, texts, **options)
        if len(calls) == 3:
            os.kill(os.getpid(), number)
        return found

    monkeypatch.setattr(Translator, "translate", stopping)
    result = typed(*asked)
    assert result.exit_code == code
    assert "ed after 20 lines; run the same command with --resume" in result.stderr
    other = typed(*asked, "--resume", "--beam", "2")
    assert other.exit_code == 2
    assert other.stderr.splitlines()[-1] == (
        "error: a translation is resumed with the options it started with, and beam changed; use the same, or use "
        "--force to start over"
    )
    assert typed(*asked, "--resume").exit_code == 0
    assert output.read_bytes() == whole


def test_a_line_is_answered_when_it_comes():
    process = subprocess.Popen(
        command("translate", tiny_bundle(), *QUICK_TO_START),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin
    assert process.stdout
    for _ in range(3):
        process.stdin.write(b"abc def\n")
        process.stdin.flush()
        assert process.stdout.readline().endswith(b"\n")
    process.stdin.write(b"no line feed")
    rest, said = process.communicate()
    assert process.returncode == 0, said
    assert rest.count(b"\n") == 1


def test_a_reader_that_goes_is_no_error(tmp_path: Path):
    source = tmp_path / "in"
    source.write_text("abc\n" * 20_000, encoding="utf-8")
    translating = subprocess.Popen(
        command("translate", tiny_bundle(), source, *QUICK_TO_START, "--beam", "1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert translating.stdout
    assert translating.stdout.readline().endswith(b"\n")
    translating.stdout.close()
    assert translating.stderr
    said = translating.stderr.read().decode()
    translating.stderr.close()
    assert translating.wait() == 0
    assert "Traceback" not in said
    assert "error" not in said


def test_a_log_is_narrow_and_plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name, value in (("COLUMNS", "80"), ("FORCE_COLOR", "1")):
        monkeypatch.setenv(name, value)
    (tmp_path / "in").write_text(TEXT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = ran("translate", tiny_bundle(), "in", "-o", "out", *QUICK_TO_START)
    assert result.returncode == 0
    lines = [
        line for line in result.stderr.decode().splitlines() if not line.startswith("export")
    ]  # if it is the first
    assert re.fullmatch(r"engine  \w+ float32, 1 thread.*", lines[0])
    assert lines[1] == "translating in …"
    assert re.fullmatch(r"✓ translating in  4 lines  [\d.]+ s", lines[2])
    assert max(map(len, lines)) <= 80


def test_ctranslate2_starts_without_torch(tmp_path: Path):
    pytest.importorskip("ctranslate2")
    shutil.copytree(tiny_bundle(), tmp_path / "bundle")
    arguments = ["dragoman", "translate", str(tmp_path / "bundle"), "--engine", "ctranslate2", "--threads", "1"]
    code = f"""
import sys
sys.argv = {arguments!r}
from dragoman.cli.main import main
try:
    main()
except SystemExit as stop:
    assert not stop.code, stop.code
print([name for name in {NOT_FOR_A_SENTENCE!r} if name in sys.modules])
"""
    for _ in range(2):  # it converts the bundle, and then it finds it converted
        done = subprocess.run([sys.executable, "-c", code], input=PROSE, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == b"[]"
        assert done.stdout.count(b"\n") == 2
        assert b"engine  ctranslate2 float32, 1 thread" in done.stderr


def test_progress_is_shown_for_a_file_although_the_keyboard_is_a_terminal(tmp_path: Path):
    source, output = tmp_path / "in", tmp_path / "out"
    source.write_text("a b\n" * 20, encoding="utf-8")
    ours, terminal = pty.openpty()
    line = command("translate", tiny_bundle(), source, *QUICK_TO_START)
    with output.open("wb") as file:
        done = subprocess.run(line, stdin=terminal, stdout=file, stderr=terminal, check=False)
    os.close(terminal)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert done.returncode == 0, shown
    assert "translating" in shown
    assert len(output.read_text(encoding="utf-8").splitlines()) == 20


def test_files_of_a_folder_that_are_no_text_are_skipped_and_listed(tmp_path: Path):
    folder, output = tmp_path / "texts", tmp_path / "out"
    (folder / "more").mkdir(parents=True)
    for name in ("a.txt", "notes", "more/b.en"):
        (folder / name).write_text("abc def\n", encoding="utf-8")
    (folder / "packed.gz").write_bytes(gzip.compress(b"abc\n"))
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    (folder / "packed-picture.gz").write_bytes(gzip.compress(b"GIF89a\0\0"))
    (folder / "README.md").write_text("# A title\n", encoding="utf-8")
    (folder / "more" / "paper.PDF").write_bytes(b"%PDF-1.7\n")
    (folder / "ui.json").write_text('{"open": "Open"}\n', encoding="utf-8")
    result = typed("translate", tiny_bundle(), folder, "-o", output, *QUICK)
    assert result.exit_code == 0, result.stderr
    assert result.stderr.splitlines()[0] == (
        "warning: 5 files skipped, no plain text: README.md, more/paper.PDF, packed-picture.gz, picture.png, ui.json; "
        "translate documents one by one"
    )
    written = {path.relative_to(output).as_posix() for path in output.rglob("*") if path.is_file()}
    assert {name for name in written if not name.startswith((".", "translation"))} == {
        *("a.txt", "notes", "more/b.en", "packed.gz")
    }


def test_a_folder_without_text_is_an_error_before_a_model_is_loaded(tmp_path: Path):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "letter.docx").write_bytes(b"PK")
    result = typed("translate", tmp_path / "no-model", tmp_path / "texts", "-o", tmp_path / "out", *QUICK)
    assert result.exit_code == 1
    assert result.stderr == (
        f"error: {tmp_path}/texts has no text files: letter.docx is no plain text; translate documents one by one\n"
    )
    assert not (tmp_path / "out").exists()
    (tmp_path / "texts" / "a.toml").write_text("", encoding="utf-8")
    result = typed("translate", tmp_path / "no-model", tmp_path / "texts", "-o", tmp_path / "out", *QUICK)
    assert "letter.docx is no plain text; translate documents one by one" in result.stderr
    (tmp_path / "texts" / "letter.docx").unlink()
    result = typed("translate", tmp_path / "no-model", tmp_path / "texts", "-o", tmp_path / "out", *QUICK)
    assert result.stderr.endswith("has no text files: a.toml is no plain text; convert it first\n")


def test_placeholders_of_lines_are_kept_and_lines_that_cannot_keep_them_named(tmp_path: Path):
    source = tmp_path / "in"
    source.write_text("Hello\nHello {name} and %s\n{n, plural, one {a}\n", encoding="utf-8")
    found = typed("translate", tiny_bundle(), source, *QUICK)
    lines = found.stdout.splitlines()
    assert (lines[1].count("{name}"), lines[1].count("%s")) == (1, 1)
    assert lines[2] == "{n, plural, one {a}"
    reason = "because placeholders, tags or words would be lost"
    damaged = f"error: 1 line left untranslated, {reason}, first {source}:3: an ICU "
    assert (found.exit_code, damaged in found.stderr) == (4, True), found.stderr
    flagged = typed("translate", tiny_bundle(), source, "--flags", *QUICK)
    assert (flagged.exit_code, "placeholders 1" in flagged.stderr, damaged in flagged.stderr) == (4, True, True)
    plain = typed("translate", tiny_bundle(), *QUICK, stdin=b"Hello\n")
    assert (plain.exit_code, "placeholders" in plain.stderr) == (0, False)


def test_lines_with_many_sentences_are_noted(tmp_path: Path):
    source = tmp_path / "in"
    source.write_text("The dog sleeps here. " * 4 + "\nHe. She. It.\n", encoding="utf-8")
    note = "note    1 line has more than 3 sentences and was not split: parts may be missing; --split"
    assert note in typed("translate", tiny_bundle(), source, *QUICK).stderr
    assert "--split" not in typed("translate", tiny_bundle(), source, "--split", *QUICK).stderr


def test_a_glossary_line_without_a_tab_is_named(tmp_path: Path):
    (tmp_path / "terms.tsv").write_text("dog\tHund\nNew York\ncat Katze\nthe bird Vogel\n", encoding="utf-8")
    result = typed("translate", tiny_bundle(), "-", "--glossary", tmp_path / "terms.tsv", *QUICK, stdin="abc\n")
    assert result.exit_code == 0, result.stderr
    assert (
        f"note    {tmp_path / 'terms.tsv'}:3: 'cat Katze' is copied unchanged, because the line has no translation "
        "(and 1 more such lines); write a term, a tab and its translation\n"
    ) in result.stderr
