"""Print the report of `dragoman check`, at most 80 characters wide, in colour on a terminal."""

from collections.abc import Iterator

from rich.text import Text

from dragoman.cli.console import echo
from dragoman.data.check.report_types import (
    CheckReport,
    DropStep,
    languages,
    leaks,
    merged,
    places,
    training,
    verdict,
    waterfall,
)
from dragoman.data.preparation.tokenizer_stage import grown_note
from dragoman.data.reason_counts import reading_notes
from dragoman.reporting.number_format import (
    format_approximate,
    format_bytes,
    format_compact,
    format_count,
    format_duration,
    format_percent,
)
from dragoman.reporting.safe_display_text import visible, visible_parts
from dragoman.reporting.terminal import bar, join_sections, print_lines, wrap_paragraph
from dragoman.reporting.verdict import Verdict
from dragoman.text.encoding_guess import conversion_command
from dragoman.text.other_language import is_detectable

_MOST_FAULTS = 10
_MOST_STEPS = 8
_BAR = 11  # columns
_COLOURS = {"error": "bold red", "warning": "bold yellow", "ok": "bold green"}
_STEP_COLOURS = {"reading": "red", "leakage": "magenta", "held out": "cyan"}


def print_report(report: CheckReport, command: str) -> None:
    """Print the report to stdout, and the next command."""
    print_lines(_lines(report))
    echo(f"\n{_next(report, command)}")  # never cut: it is copied


def _lines(report: CheckReport) -> Iterator[Text]:
    """Yield the lines of all sections that are not empty, separated by empty lines."""
    found = verdict(report)
    sections = [
        _verdict(report, found),
        _corpora(report),
        _faults(report),
        _waterfall(report),
        _facts(report),
        _changes(report),
        _advice(report),
    ]
    return join_sections(sections)


def _verdict(report: CheckReport, found: Verdict) -> Iterator[Text]:
    yield Text(found.text, style=_COLOURS[found.level])
    yield from wrap_paragraph(visible(found.detail, 1000))
    for problem in report.fatal:
        yield from wrap_paragraph(visible(problem, 1000), bullet="✗ ", style="red")


def _changes(report: CheckReport) -> Iterator[Text]:
    if report.changes:
        yield Text("changed pairs in training (data.augment)", style="bold")
    for kind, _, (source, target) in report.changes:
        yield from wrap_paragraph(f"{visible(source, 300)} → {visible(target, 300)}", bullet=f"  {kind:<12}")


def _advice(report: CheckReport) -> Iterator[Text]:
    for number, advice in enumerate(report.advice, 1):
        yield from wrap_paragraph(visible(advice, 1000), bullet=f"{number}. ")


def _corpora(report: CheckReport) -> Iterator[Text]:
    heads = "".join(f"{name:>12}" for name in ("read", "bad lines", "dropped", "clean"))
    yield Text(f"{'':<10}{heads}  corpus", style="dim")
    for corpus in report.corpora:
        counts = corpus.summary
        numbers = (counts.records, counts.faults.total, counts.drops.total, counts.kept)
        row = f"{corpus.role:<10}{''.join(f'{number:>12,}' for number in numbers)}  "
        yield from wrap_paragraph(visible(corpus.name), bullet=row, style="red" if counts.faults.total else "")


def _faults(report: CheckReport) -> Iterator[Text]:
    faults = merged(report.corpora, "faults")
    if not faults.total:
        return
    reasons = ", ".join(f"{count:,} {visible(reason)}" for reason, count in faults.counts.items())
    yield from wrap_paragraph(f"{format_count(faults.total, 'bad line')}: {reasons}", style="bold")
    shown = places(faults, _MOST_FAULTS)
    for reason, example in shown:
        detail = f" ({visible(example.detail)})" if example.detail else ""
        yield from wrap_paragraph(f"{visible(example.place, 200)}  {visible(reason)}{detail}", bullet="  ", style="red")
        yield Text("    ").append(_text(example.source or example.target))
    if len(shown) < faults.total:
        yield Text(f"  and {faults.total - len(shown):,} more", style="dim")


def _text(text: str) -> Text:
    """Return text of a corpus; invisible characters are written out in another style."""
    line = Text()
    for part, is_spelt in visible_parts(text, 60):
        line.append(part, style="bold cyan" if is_spelt else "dim")
    return line


def _waterfall(report: CheckReport) -> Iterator[Text]:
    steps = _gathered(waterfall(report))
    if not steps:
        return
    read = sum(corpus.summary.records for corpus in training(report))
    largest = max(step.count for step in steps)
    yield Text(f"{'pairs':>12}{'share':>8}  {'':{_BAR}}  why training pairs leave", style="dim")
    for step in steps:
        row = f"{step.count:>12,}{format_percent(step.count, read):>8}  {bar(step.count / largest, _BAR):<{_BAR}}  "
        yield from wrap_paragraph(visible(step.reason), bullet=row, style=_STEP_COLOURS.get(step.stage, "yellow"))


def _gathered(steps: list[DropStep]) -> list[DropStep]:
    """Return the drops with all bad lines as one step, since they are listed above, and the rarest drops as one."""
    bad, cleaning, others = (
        [step for step in steps if step.stage == stage or (stage == "" and step.stage not in {"reading", "cleaning"})]
        for stage in ("reading", "cleaning", "")
    )
    frequent, rare = cleaning[: _MOST_STEPS - 1], cleaning[_MOST_STEPS - 1 :]
    if bad:
        bad = [DropStep("reading", "bad lines", sum(step.count for step in bad), bad[-1].left)]
    if len(rare) > 1:
        rare = [DropStep("cleaning", f"{len(rare)} rarer reasons", sum(step.count for step in rare), rare[-1].left)]
    return [*bad, *frequent, *rare, *others]


def _facts(report: CheckReport) -> Iterator[Text]:
    before = ""
    for name, value, is_bad in [*_data_facts(report), *_training_facts(report)]:
        label = "" if name == before else name
        yield from wrap_paragraph(value, bullet=f"{label:<12}", style="red" if is_bad else "")
        before = name


def _data_facts(report: CheckReport) -> Iterator[tuple[str, str, bool]]:
    """Return name, text, and whether it is an error."""
    leaked = leaks(report)
    held_out = sum(report.selection.held_out.values())
    if leaked:
        yield (
            "leakage",
            f"{format_count(sum(leaked.values()), 'training pair')} with text of a held-out set: left out",
            True,
        )
    elif held_out:
        yield "leakage", f"none left out; {format_count(held_out, 'pair')} are held out", False
    if noted := reading_notes(merged(report.corpora, "notes")):
        yield "noted", visible(" · ".join(noted), 1000), False
    sides: dict[str, list[str]] = {}
    for corpus, side, wanted, shares in languages(report):
        most = max(shares, key=lambda language: shares[language])
        detected = f"{format_percent(shares[most])} {visible(most, 12)}"
        if is_detectable(wanted):
            text = f"{format_percent(shares.get(wanted, 0.0))} {wanted}{f', {detected}' if most != wanted else ''}"
        else:
            text = f"{wanted} cannot be detected, looks like {detected}"
        file = "" if corpus.side_name(side) == corpus.name else f"{visible(corpus.side_name(side), 30)}: "
        sides.setdefault(visible(corpus.name, 30), []).append(f"{file}{text}")
    swapped = {visible(corpus.name, 30) for corpus in report.corpora if corpus.looks_swapped}
    for name in dict.fromkeys([*sides, *sorted(swapped)]):
        warning = "; the sides look swapped" if name in swapped else ""
        yield "languages", f"{name}: {' · '.join(sides.get(name, ['not looked at']))}{warning}", name in swapped


def _training_facts(report: CheckReport) -> Iterator[tuple[str, str, bool]]:
    if tokens := report.tokens:
        names = " + ".join(f"{number:,}" for number in tokens.vocabulary.values())
        per_word = " · ".join(f"{number:.2f}" for number in tokens.per_word.values())
        unknown = " · ".join(format_percent(share) for share in tokens.unknown.values())
        examples = " ".join(visible(example, 12) for example in tokens.unknown_examples[:6])
        yield "vocabulary", f"{visible(tokens.kind)}, {names} tokens; tokens per word: {per_word}", False
        if tokens.grown_from is not None:
            yield "vocabulary", grown_note(tokens.grown_from, max(tokens.vocabulary.values())), False
        has_bytes = tokens.kind == "sentencepiece"  # unknown characters are written as bytes
        label, note = ("in bytes", "; rare characters can be translated") if has_bytes else ("unknown", "")
        shown = f", as in {examples}{note}" if examples else ""
        yield label, f"{unknown} of held-out tokens{shown}", False
        share = format_percent(tokens.too_long, tokens.sampled)
        many = f"{tokens.too_long:,} of {format_count(tokens.sampled, 'sampled pair')} ({share})"
        yield "too long", f"{many} have more than {tokens.max_tokens} tokens", False
    if batches := report.batches:
        count = format_count(batches.batches, "batch", "batches")
        amount = f"{count} an epoch, {batches.target_tokens:,} target tokens including end tokens"
        yield (
            "batches",
            f"{amount}; padding {format_percent(batches.padding)}, fill {format_percent(batches.fill)}",
            False,
        )
    if cost := report.cost:
        model = f"{format_compact(cost.parameters)} parameters, {format_bytes(cost.memory_bytes)} of memory"
        updates = f"{format_count(cost.updates, 'update')} ({format_approximate(cost.epochs)} epochs)"
        yield "training", f"{model}, {format_compact(cost.tokens_per_second)} tokens/s", False
        yield "time", f"{format_duration(cost.seconds)} for {updates}, validations not counted", False


def _next(report: CheckReport, command: str) -> str:
    if verdict(report).level == "error":
        encodings = [item for corpus in report.corpora for item in corpus.encodings.items()]
        commands = [f"{conversion_command(file, encoding)}\n" for file, encoding in dict(encodings).items()]
        return "".join(commands) + f"When that is corrected: {command}"
    return f"next    {command}"
