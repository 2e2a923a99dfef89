"""The report of ``dragoman check`` on one screen of a terminal, or as plain text where there is none."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from dragoman.cli.screen_lines import WIDTH, bar, parted, print_lines, wrapped
from dragoman.data.check.figures import about, brief, counted, duration, percent, size
from dragoman.data.check.findings import (
    Step,
    Verdict,
    languages,
    leaks,
    merged,
    most_pieces,
    places,
    training,
    verdict,
    waterfall,
)
from dragoman.data.check.report import Report
from dragoman.data.check.visible import visible, visible_parts

__all__ = ["print_report"]

_MOST_FAULTS = 10
_MOST_STEPS = 8
_BAR = 23
_COLOURS = {"stop": "bold red", "look": "bold yellow", "go": "bold green"}
_STEP_COLOURS = {"reading": "red", "leakage": "magenta", "held out": "cyan"}


def print_report(report: Report, *, config: str = "") -> None:
    """Print the report to stdout; `config` is what the user typed for the configuration, to say what to type next."""
    print_lines(_lines(report, config))


def _lines(report: Report, config: str) -> Iterator[Text]:
    """The sections that have something to say, with an empty line between them."""
    found = verdict(report)
    sections = [
        _verdict(report, found),
        _corpora(report),
        _faults(report),
        _waterfall(report),
        _facts(report),
        _advice(report),
        [_next(found, config)],
    ]
    return parted(sections)


def _verdict(report: Report, found: Verdict) -> Iterator[Text]:
    yield Text(found.text, style=_COLOURS[found.level])
    yield from wrapped(visible(found.detail, 1000))
    for problem in report.fatal:
        yield from wrapped(visible(problem, 1000), bullet="✗ ", style="red")


def _advice(report: Report) -> Iterator[Text]:
    for number, advice in enumerate(report.advice, 1):
        yield from wrapped(visible(advice, 1000), bullet=f"{number}. ")


def _corpora(report: Report) -> Iterator[Text]:
    head = ("corpus", "", "read", "bad lines", "dropped", "clean")
    rows = [
        (
            visible(corpus.name),
            corpus.role,
            *(f"{n:,}" for n in (s.records, s.faults.total, s.drops.total, s.kept)),
        )
        for corpus in report.corpora
        for s in (corpus.summary,)
    ]
    for number, (name, role, *numbers) in enumerate([head, *rows]):
        line = Text(f"{_fit(name, 20)}  {role:<10}", style="dim" if number == 0 else "")
        for column, value in enumerate(numbers):
            is_bad = number > 0 and column == 1 and value != "0"
            line.append(f"{value:>12}"[-12:], style="red" if is_bad else "")
        yield line


def _faults(report: Report) -> Iterator[Text]:
    faults = merged(report.corpora, "faults")
    if not faults.total:
        return
    reasons = ", ".join(f"{count:,} {visible(reason)}" for reason, count in faults.counts.items())
    yield from wrapped(f"{counted(faults.total, 'bad line')}: {reasons}", style="bold")
    shown = places(faults, _MOST_FAULTS)
    for reason, example in shown:
        detail = f" ({visible(example.detail)})" if example.detail else ""
        line = Text("  ").append(_fit_left(visible(example.place, 200), 40), style="red")
        line.append(f"  {visible(reason)}{detail}")
        text = _text(example.source or example.target)
        if line.cell_len + 2 + text.cell_len > WIDTH:  # a line of its own
            yield line
            line = Text("   ")
        yield line.append("  ").append(text)
    if len(shown) < faults.total:
        yield Text(f"  and {faults.total - len(shown):,} more", style="dim")


def _text(text: str) -> Text:
    """Text of a corpus; what is spelt out stands out."""
    line = Text()
    for part, is_spelt in visible_parts(text, 60):
        line.append(part, style="bold cyan" if is_spelt else "dim")
    return line


def _waterfall(report: Report) -> Iterator[Text]:
    steps = _gathered(waterfall(report))
    if not steps:
        return
    read = sum(corpus.summary.records for corpus in training(report))
    largest = max(step.count for step in steps)
    yield Text(f"{'training pairs that leave, and why':<36}{'pairs':>12}{'share':>8}", style="dim")
    for step in steps:
        line = Text(f"{_fit(visible(step.reason), 36)}{step.count:>12,}{percent(step.count, read):>8} ")
        yield line.append(bar(step.count / largest, _BAR), style=_STEP_COLOURS.get(step.stage, "yellow"))


def _gathered(steps: list[Step]) -> list[Step]:
    """Bad lines as one step, since they are listed above, and the rarest drops of cleaning as one."""
    bad, cleaning, others = (
        [step for step in steps if step.stage == stage or (stage == "" and step.stage not in {"reading", "cleaning"})]
        for stage in ("reading", "cleaning", "")
    )
    frequent, rare = cleaning[: _MOST_STEPS - 1], cleaning[_MOST_STEPS - 1 :]
    if bad:
        bad = [Step("reading", "bad lines", sum(step.count for step in bad), bad[-1].left)]
    if len(rare) > 1:
        rare = [Step("cleaning", f"{len(rare)} rarer reasons", sum(step.count for step in rare), rare[-1].left)]
    return [*bad, *frequent, *rare, *others]


def _facts(report: Report) -> Iterator[Text]:
    before = ""
    for name, value, is_bad in [*_data_facts(report), *_training_facts(report)]:
        label = "" if name == before else name
        yield from wrapped(value, bullet=f"{label:<12}", style="red" if is_bad else "")
        before = name


def _data_facts(report: Report) -> Iterator[tuple[str, str, bool]]:
    """Name, what there is to say, and whether it is bad."""
    leaked = leaks(report)
    held_out = sum(report.selection.held_out.values())
    if leaked:
        yield (
            "leakage",
            f"{counted(sum(leaked.values()), 'training pair')} share text with a held-out set: left out",
            True,
        )
    elif held_out:
        yield "leakage", f"none left out; {counted(held_out, 'pair')} are held out", False
    sides: dict[str, list[str]] = {}
    for corpus, _, wanted, shares in languages(report):
        most = max(shares, key=lambda language: shares[language])
        also = f", {percent(shares[most])} {visible(most, 12)}" if most != wanted else ""
        sides.setdefault(visible(corpus.name, 30), []).append(f"{percent(shares.get(wanted, 0.0))} {wanted}{also}")
    swapped = {visible(corpus.name, 30) for corpus in report.corpora if corpus.looks_swapped}
    for name in dict.fromkeys([*sides, *sorted(swapped)]):
        warning = "; the sides look swapped" if name in swapped else ""
        yield "languages", f"{name}: {' · '.join(sides.get(name, ['not looked at']))}{warning}", name in swapped


def _training_facts(report: Report) -> Iterator[tuple[str, str, bool]]:
    if pieces := report.pieces:
        names = " + ".join(f"{number:,}" for number in pieces.vocabulary.values())
        a_word = " · ".join(f"{number:.2f}" for number in pieces.a_word.values())
        unknown = " · ".join(percent(share) for share in pieces.unknown.values())
        examples = " ".join(visible(example, 12) for example in pieces.unknown_examples[:6])
        yield "vocabulary", f"{visible(pieces.kind)}, {names} pieces; pieces a word: {a_word}", False
        yield "unknown", f"{unknown} of held-out pieces{f', as in {examples}' if examples else ''}", False
        share = percent(pieces.too_long, pieces.sampled)
        many = f"{pieces.too_long:,} of {counted(pieces.sampled, 'sampled pair')} ({share})"
        yield "too long", f"{many} have more than {most_pieces(pieces)} pieces", False
    if batches := report.batches:
        amount = f"{counted(batches.batches, 'batch', 'batches')} an epoch, {batches.target_pieces:,} target pieces"
        yield "batches", f"{amount}; padding {percent(batches.padding)}, fill {percent(batches.fill)}", False
    if cost := report.cost:
        model = f"{brief(cost.parameters)} parameters, {size(cost.memory_bytes)} of memory"
        updates = f"{counted(cost.updates, 'update')} ({about(cost.epochs)} epochs)"
        yield "training", f"{model}, {brief(cost.pieces_per_second)} pieces/s", False
        yield "time", f"{duration(cost.seconds)} for {updates}", False


def _next(found: Verdict, config: str) -> Text:
    command = "check" if found.level == "stop" else "prepare"
    before = "When that is mended: " if found.level == "stop" else "Next: "
    return Text(before).append(f"dragoman {command} {config}".rstrip(), style="bold")


def _fit(text: str, width: int) -> str:
    """The text in exactly so many columns."""
    if cell_len(text) > width:
        text = set_cell_size(text, width - 1).rstrip() + "…"
    return set_cell_size(text, width)


def _fit_left(text: str, width: int) -> str:
    """A place in at most so many columns; of a long path the end says more than the beginning."""
    while cell_len(text) > width:
        text = "…" + text[2:]
    return text
