from __future__ import annotations

import io
import re
import sys
from dataclasses import replace

import pytest
from rich.cells import cell_len

from dragoman.cli.screens.check import print_report
from dragoman.data.check.report_types import CheckReport
from dragoman.data.reason_counts import CorpusSummary, Example, Tally
from tests.unit.data.check.samples import ARABIC, CJK, bare_report, sample_report


def usual_report() -> CheckReport:
    """A corpus without bad lines, of which nothing is odd."""
    report = sample_report()
    europarl, crawl, *rest = report.corpora
    clean = replace(crawl.summary, records=crawl.summary.records - crawl.summary.faults.total, faults=Tally())
    crawl = replace(crawl, summary=clean, languages=europarl.languages, looks_swapped=False)
    return replace(report, corpora=[europarl, crawl, *rest], advice=report.advice[-1:])


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str]):
    def printed(report: CheckReport, command: str = "dragoman prepare") -> list[str]:
        print_report(report, command)
        captured = capsys.readouterr()
        assert captured.err == ""
        return captured.out.splitlines()

    return printed


@pytest.fixture
def show_on_terminal(show, monkeypatch: pytest.MonkeyPatch):
    """Without colours; elsewhere, long lines are complete."""

    def printed(report: CheckReport) -> list[str]:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        return [re.sub(r"\x1b\[[\d;]*m", "", line) for line in show(report)]

    return printed


def test_a_usual_corpus_fits_a_screen(show):
    lines = show(usual_report())
    assert len(lines) <= 40
    assert all(cell_len(line) <= 80 for line in lines)


@pytest.mark.parametrize("report", [sample_report(), bare_report()])
def test_plain_text_is_plain(show, report: CheckReport):
    lines = show(report)
    assert all(cell_len(line) <= 80 for line in lines)
    assert all(line == line.rstrip() for line in lines)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", "\n".join(lines))


def test_few_pairs_are_ready_for_a_trial_only(show):
    text = "\n".join(show(replace(sample_report(), is_small=True)))
    assert "Ready for a trial only, with 3 things to check" in text


def test_what_is_on_it(show):
    text = "\n".join(show(sample_report(), "dragoman prepare my.toml"))
    flat = " ".join(text.split())
    for shown in (
        "Ready, with 3 things to check",
        "1,151,786 of 1,410,000 training pairs are kept (81.7 %)",
        "train 1,250,000 26 107,270 1,142,704 crawl",
        "26 bad lines: 23 not valid UTF-8",
        "data/crawl.de.gz:10412 not valid UTF-8 (byte 0x85 at column 10)",
        "Der Preis\\x85betr\\x1b[31mägt\\x00 5 €",
        "and 23 more",
        "26 <0.1 % ▏ bad lines",
        "150,207 10.7 % ███████████ duplicate pair",
        "7,004 0.5 % ▌ empty",
        "95 <0.1 % ▏ source also in newstest2013",
        "leakage 107 training pairs with text of a held-out set: left out",
        "the sides look swapped",
        "16,000 + 16,000 tokens; tokens per word: 1.31 · 1.58",
        "in bytes",
        "270 of 200,000 sampled pairs (0.1 %) have more than 256 tokens",
        "padding 4.3 %, fill 96.4 %",
        "61.2 M parameters, 3.4 GiB of memory",
        "1 d 19 h for 100,000 updates (8.9 epochs), validations not counted",
        "1. The sides of crawl look swapped",
    ):
        assert shown in flat
    assert text.endswith("next    dragoman prepare my.toml")


def test_the_drops_add_up(show):
    lines = show(sample_report())
    start = next(number for number, line in enumerate(lines) if line.endswith("why training pairs leave"))
    counts = []
    for line in lines[start + 1 :]:
        if not line:
            break
        counts.append(int(line[:12].replace(",", "")))
    assert sum(counts) == 1_410_000 - 1_151_786


def test_rare_reasons_are_gathered_not_lost(show):
    drops = Tally()
    for number in range(1, 31):
        drops.add(f"reason {number}", number)
    summary = CorpusSummary(1000, 1000 - drops.total, drops=drops)
    report = replace(usual_report(), corpora=[replace(usual_report().corpora[0], summary=summary)])
    lines = show(report)
    assert len(lines) <= 40
    rarer = next(line for line in lines if "rarer reasons" in line)
    assert rarer.endswith("  23 rarer reasons")
    assert rarer.split()[0] == str(sum(range(1, 24)))


def test_fatal_problems_come_first_and_say_what_to_type(show):
    lines = show(bare_report(), "dragoman check my.toml")
    assert lines[0] == "Not ready: 1 problem must be solved before training"
    assert "✗ data.train has no corpus; name its files under [[data.train]]" in lines
    assert lines[-1] == "When that is corrected: dragoman check my.toml"


def test_wide_and_hostile_names_keep_the_columns(show_on_terminal):
    report = sample_report()
    faults = Tally()
    faults.add(CJK, 2, [Example(f"データ/{CJK * 3}.txt", 7, ARABIC, "", CJK), Example("\x1b[2J\u202e", 1, "[red]x[/]")])
    named = replace(report.corpora[0], name=CJK * 2 + "\x1b[2J", summary=CorpusSummary(5, 3, faults=faults))
    lines = show_on_terminal(replace(report, corpora=[named]))
    assert all(cell_len(line) <= 80 for line in lines)
    text = "\n".join(lines)
    assert "\x1b" not in text
    assert "[red]x[/]" in text
    assert "txt:7" in text


def test_a_terminal_gets_colour(monkeypatch: pytest.MonkeyPatch):
    class Terminal(io.StringIO):
        encoding = "utf-8"

        def isatty(self) -> bool:
            return True

    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    print_report(sample_report(), "dragoman prepare")
    shown = screen.getvalue()
    assert "\x1b[1;33mReady, with 3 things to check\x1b[0m" in shown
    assert "\x1b[2J" not in shown


def test_a_terminal_that_knows_only_ascii_gets_ascii(monkeypatch: pytest.MonkeyPatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    print_report(sample_report(), "dragoman prepare")
    sys.stdout.flush()
    shown = raw.getvalue().decode("ascii")
    assert "######" in shown
    assert "\\u6211" in shown


def test_long_reasons_and_names_are_wrapped(show_on_terminal):
    reason = "one side is more than three times as long as the other, in characters weighted by script"
    place = Example("data/" + "crawl-" * 10 + ".de", 7, "ein Haus", "", "of the second column of the fourth file")
    drops, faults = Tally(), Tally()
    drops.add(reason, 12)
    faults.add("has another number of columns than the first line of the same file", 3, [place])
    summary = CorpusSummary(1000, 985, drops=drops, faults=faults)
    corpus = replace(usual_report().corpora[0], name="a corpus whose name has many words.en", summary=summary)
    lines = show_on_terminal(replace(usual_report(), corpora=[corpus]))
    assert all(cell_len(line) <= 80 for line in lines)
    start = next(number for number, line in enumerate(lines) if line.endswith("why training pairs leave"))
    rows = lines[start + 1 : lines.index("", start)]
    assert " ".join(row[35:].strip() for row in rows).count(reason) == 1
    flat = " ".join("\n".join(lines).split())
    assert "the same file (of the second column of the fourth file)" in flat
    names = lines[next(number for number, line in enumerate(lines) if line.endswith("  corpus")) + 1 :]
    assert " ".join(line[60:].strip() for line in names[:2]) == "a corpus whose name has many words.en"


def test_every_changed_pair_is_shown(show):
    changes = [("upper", ("a dog", "ein Hund"), (f"A DOG {number}", "EIN HUND")) for number in range(10)]
    lines = show(replace(usual_report(), changes=changes))
    assert [line.split() for line in lines if "EIN HUND" in line] == [
        ["upper", "A", "DOG", str(number), "→", "EIN", "HUND"] for number in range(10)
    ]
