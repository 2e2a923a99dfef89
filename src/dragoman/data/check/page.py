"""The report as one HTML file that needs nothing else: no network, no scripts, no fonts but the reader's own."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.data.check.charts import bar, waterfall_bar
from dragoman.data.check.figures import about, brief, counted, duration, percent, size
from dragoman.data.check.findings import is_leak, languages, leaks, merged, training, verdict, waterfall
from dragoman.data.check.histograms import length_charts, piece_charts
from dragoman.data.check.markup import figures, plain, shown, table
from dragoman.data.check.report import Report
from dragoman.data.check.samples import samples
from dragoman.data.check.style import STYLE

__all__ = ["render_page"]

# Should some text slip through after all, a browser still runs and loads nothing.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def render_page(report: Report, *, title: str) -> str:
    """The whole page, to be written as UTF-8."""
    sections = "\n".join(
        f'<section aria-labelledby="{name}"><h2 id="{name}">{heading}</h2>\n{body}\n</section>'
        for name, heading, body in _sections(report)
        if body
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{plain(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{shown(title)}</h1>\n{_verdict(report)}\n{_overview(report)}\n{sections}\n</main>\n"
        "<footer>Made by <code>dragoman check</code>. Characters that cannot be seen are spelt out "
        '<span class="spelt">\\x85</span>, and long texts are cut.</footer>\n</body>\n</html>\n'
    )


def _sections(report: Report) -> Iterator[tuple[str, str, str]]:
    yield "advice", "What to do", _advice(report)
    yield "corpora", "Corpora", _corpora(report)
    yield "waterfall", "Where the pairs go", _waterfall(report)
    yield "lengths", "Lengths", _charts(length_charts(report))
    yield "languages", "Languages", _languages(report)
    yield "pieces", "Pieces", _pieces(report)
    yield "training", "Training", _training(report)
    yield "samples", "Samples", samples(report)


def _verdict(report: Report) -> str:
    found = verdict(report)
    problems = "".join(f"<li>{shown(problem, 1000)}</li>" for problem in report.fatal)
    return (
        f'<div class="card verdict {found.level}"><strong>{shown(found.text)}</strong>'
        f"<p>{shown(found.detail, 1000)}</p>{f'<ul>{problems}</ul>' if problems else ''}</div>"
    )


def _overview(report: Report) -> str:
    own = training(report)
    read = sum(corpus.summary.records for corpus in own)
    faults = merged(report.corpora, "faults").total
    doubled = sum(count for kind, count in report.selection.drops.counts.items() if not is_leak(kind))
    dropped = merged(own, "drops").total
    kept = report.selection.kept
    return figures(
        [
            ("training pairs", f"{read:,}", f"in {counted(len(own), 'corpus', 'corpora')}"),
            ("kept", f"{kept:,}", percent(kept, read)),
            ("bad lines", f"{faults:,}", "in all corpora"),
            ("dropped", f"{dropped:,}", f"{percent(dropped, read)}, by cleaning"),
            ("leaked", f"{sum(leaks(report).values()):,}", "in held-out sets too"),
            ("duplicates", f"{doubled:,}", percent(doubled, read)),
        ]
    )


def _advice(report: Report) -> str:
    entries = "".join(f"<li>{shown(advice, 1000)}</li>" for advice in report.advice)
    return f'<div class="card advice"><ol>{entries}</ol></div>' if entries else ""


def _corpora(report: Report) -> str:
    rows = [
        [
            f"<bdi>{shown(corpus.name)}</bdi>",
            corpus.role,
            *(_number(n) for n in (s.records, s.faults.total, s.repairs.total, s.drops.total, s.kept)),
            "<br>".join(f"<code><bdi>{shown(file)}</bdi></code>" for file in corpus.files),
        ]
        for corpus in report.corpora
        for s in (corpus.summary,)
    ]
    head = ["corpus", "for", "read", "bad lines", "mends", "dropped", "clean", "files"]
    caption = "Read = bad lines + dropped + clean; leaks and duplicates are still among the clean ones."
    return f'<div class="card">{table(caption, head, rows, classes=["", "", *["number"] * 5])}</div>'


def _number(number: int) -> str:
    return f"{number:,}" if number else '<span class="soft">0</span>'


def _waterfall(report: Report) -> str:
    steps = waterfall(report)
    read = sum(corpus.summary.records for corpus in training(report))
    if not read:
        return ""
    rows = [["read", "", "", "", f"{read:,}", waterfall_bar(read, 0, read)]]
    rows += [
        [
            shown(step.reason),
            step.stage,
            f"−{step.count:,}",
            percent(step.count, read),
            f"{step.left:,}",
            waterfall_bar(step.left, step.count, read),
        ]
        for step in steps
    ]
    if report.selection.cleaned:
        kept = report.selection.kept
        share, left = percent(kept, read), f"<strong>{kept:,}</strong>"
        rows.append(["<strong>kept</strong>", "", "", share, left, waterfall_bar(kept, 0, read)])
    classes = ["", "soft wide", "number", "number wide", "number", "bar"]
    head = ["reason", "stage", "pairs", "share", "left", "what is left"]
    caption = "Training pairs of all corpora: what each reason took away, and what was left after it."
    return f'<div class="card">{table(caption, head, rows, classes=classes, name="waterfall")}</div>'


def _charts(drawn: list[str]) -> str:
    return f'<div class="charts">\n{"".join(drawn)}\n</div>' if drawn else ""


def _languages(report: Report) -> str:
    rows = []
    for corpus, side, wanted, shares in languages(report):
        found = " ".join(_share(language, share) for language, share in list(shares.items())[:5])
        right = shares.get(wanted, 0.0)
        kind = "over" if max(shares.values()) > right else side
        rows.append([f"<bdi>{shown(corpus.name)}</bdi>", side, shown(wanted, 20), found, bar(right, kind)])
    swapped = "".join(
        f'<p class="warn">The sides of <bdi>{shown(corpus.name)}</bdi> look swapped.</p>'
        for corpus in report.corpora
        if corpus.looks_swapped
    )
    head = ["corpus", "side", "should be", "recognised", "share that is"]
    caption = "The languages that a sample of each corpus is in."
    drawn = table(caption, head, rows, classes=["", "", "", "", "bar wide"]) if rows else ""
    return f'<div class="card">{swapped}{drawn}</div>' if rows or swapped else ""


def _share(language: str, share: float) -> str:
    return f'<span class="one">{shown(language, 20)} {percent(share)}</span>'


def _pieces(report: Report) -> str:
    pieces = report.pieces
    if pieces is None:
        return ""
    examples = " ".join(f"<code><bdi>{shown(example, 40)}</bdi></code>" for example in pieces.unknown_examples[:40])
    rows = [
        [
            shown(side),
            f"{entries:,}",
            f"{pieces.a_word.get(side, 0):.2f}",
            percent(pieces.unknown.get(side, 0)),
        ]
        for side, entries in pieces.vocabulary.items()
    ]
    many = f"{pieces.too_long:,} of {counted(pieces.sampled, 'sampled pair')}"
    share = percent(pieces.too_long, pieces.sampled)
    caption = f"Tokenizer: {shown(pieces.kind)}. {many} ({share}) have too many pieces on a side and would be left out."
    head = ["side", "vocabulary", "pieces a word", "unknown"]
    listed = table(caption, head, rows, classes=["", "number", "number", "number"])
    unknown = f"<p>Unknown or spelt in bytes in held-out text, most frequent first: {examples}</p>" if examples else ""
    return f'{_charts(piece_charts(pieces))}\n<div class="card more">{listed}{unknown}</div>'


def _training(report: Report) -> str:
    drawn = ""
    if batches := report.batches:
        drawn += figures(
            [
                ("batches an epoch", f"{batches.batches:,}", f"{batches.target_pieces:,} target pieces"),
                ("padding", percent(batches.padding), "of all cells of both sides"),
                ("fill", percent(batches.fill), "of what the token budget allows"),
            ]
        )
    if cost := report.cost:
        drawn += figures(
            [
                ("parameters", brief(cost.parameters), f"{cost.parameters:,}"),
                ("memory", size(cost.memory_bytes), "while training"),
                ("speed", f"{brief(cost.pieces_per_second)}/s", "target pieces"),
                ("time", duration(cost.seconds), f"{counted(cost.updates, 'update')}, {about(cost.epochs)} epochs"),
            ]
        )
    return drawn
