"""A check report of a large, dirty corpus, with text that could break its presentation."""

from __future__ import annotations

from dragoman.data.check.report_types import (
    BatchStatistics,
    CheckReport,
    CorpusReport,
    SelectionStatistics,
    TokenStatistics,
    TrainingCost,
)
from dragoman.data.reason_counts import CorpusSummary, Example, Tally

SCRIPT = "<script>alert('x')</script> & \"quoted\""
BIDI = "user \u202egnp.exe\u202c done"
CONTROL = "Der Preis\x85betr\x1b[31mägt\x00 5 €"
CJK = "我们昨天在北京见面，谈了很久关于翻译的事情。"
ARABIC = "التقينا أمس في المدينة القديمة وتحدثنا طويلا."
LONG_LINE = "A" * 1_000_000

FAULTS = {
    "not valid UTF-8": (23, [Example("data/crawl.de.gz", 10_412, CONTROL, "", "byte 0x85 at column 10")]),
    "longer than 100,000 bytes": (2, [Example("data/crawl.en.gz", 88_017, LONG_LINE, "", "1,000,000 bytes")]),
    "NUL character": (1, [Example("data/crawl.en.gz", 9, "a\x00b", "", "column 2")]),
}
NOTES = {"byte-order mark removed": (1, [Example("data/europarl.en", 1, "\ufeffResumption of the session")])}
REPAIRS = {
    "mojibake": (18_204, [Example("data/crawl.de.gz", 77, "schÃ¶n", "schön")]),
    "entities": (40_311, [Example("data/crawl.en.gz", 12, "Q&amp;A", "Q&A")]),
}
DROPS = {
    "length ratio": (31_870, [Example("data/crawl.en.gz", 501, "Yes.", "Ja, " * 60, "ratio 51.2")]),
    "too long": (12_050, [Example("data/crawl.en.gz", 512, LONG_LINE, CJK, "412 words")]),
    "identical": (44_102, [Example("data/crawl.en.gz", 619, "Copyright 2009", "Copyright 2009")]),
    "wrong script": (9_310, [Example("data/crawl.en.gz", 640, CJK, ARABIC, "0 % Latin")]),
    "markup differs": (2_208, [Example("data/crawl.en.gz", 702, SCRIPT, "nichts", "tags differ")]),
    "control characters": (310, [Example("data/crawl.en.gz", 733, BIDI, CONTROL)]),
    "addresses differ": (1_020, [Example("data/crawl.en.gz", 745, "see http://example.org/a", "siehe dort")]),
    "empty": (6_400, [Example("data/crawl.en.gz", 3, "", "Guten Tag")]),
}
SELECTION_DROPS = {
    "duplicate pair": (150_207, [Example("data/europarl.en", 204, "(Applause)", "(Beifall)")]),
    "source also in newstest2013": (95, [Example("data/europarl.en", 4_017, "Good morning.", "Guten Morgen.")]),
    "pair also in newstest2014": (12, [Example("data/europarl.en", 9_100, ARABIC, CJK)]),
}


def tally(entries: dict[str, tuple[int, list[Example]]]) -> Tally:
    """The counts and examples as a tally."""
    whole = Tally()
    for reason, (count, examples) in entries.items():
        whole.add(reason, count, examples)
    return whole


def corpora() -> list[CorpusReport]:
    """Two training corpora, one of them dirty, a validation and a test set."""
    crawl_drops, crawl_faults = tally(DROPS), tally(FAULTS)
    crawl = CorpusSummary(
        records=1_250_000,
        kept=1_250_000 - crawl_drops.total - crawl_faults.total,
        faults=crawl_faults,
        repairs=tally(REPAIRS),
        drops=crawl_drops,
    )
    clean_drops = tally({"empty": (604, [Example("data/europarl.en", 33)])})
    europarl = CorpusSummary(160_000, 159_396, notes=tally(NOTES), drops=clean_drops)
    english, german = {"en": 0.981, "fr": 0.012, "de": 0.007}, {"de": 0.992, "nl": 0.008}
    return [
        CorpusReport(
            "europarl",
            "train",
            ["data/europarl.en", "data/europarl.de"],
            europarl,
            {"source": english, "target": german},
            declared=("en", "de"),
        ),
        CorpusReport(
            "crawl",
            "train",
            ["data/crawl.en.gz", "data/crawl.de.gz"],
            crawl,
            {"source": german, "target": english},
            looks_swapped=True,
            declared=("en", "de"),
        ),
        CorpusReport("newstest2013", "validation", ["data/newstest2013.en"], CorpusSummary(3000, 3000)),
        CorpusReport("newstest2014", "test", ["data/newstest2014.en"], CorpusSummary(2737, 2737)),
    ]


def sample_report() -> CheckReport:
    """Everything there can be in a report, but a fatal fault."""
    found = corpora()
    cleaned = sum(corpus.summary.kept for corpus in found if corpus.role == "train")
    drops = tally(SELECTION_DROPS)
    return CheckReport(
        source="en",
        target="de",
        corpora=found,
        selection=SelectionStatistics(
            cleaned, cleaned - drops.total, drops, {"newstest2013": 3000, "newstest2014": 2737}
        ),
        tokens=TokenStatistics(
            kind="sentencepiece",
            vocabulary={"source": 16_000, "target": 16_000},
            sampled=200_000,
            max_tokens=256,
            per_word={"source": 1.31, "target": 1.58},
            unknown={"source": 0.0004, "target": 0.0021},
            unknown_examples=["ﷺ", "\u202e", "<b>", "我"],
            too_long=270,
            too_long_examples=tally(
                {"more than 256 tokens": (270, [Example("data/crawl.en.gz", 4, "long " * 90, "lang " * 90, "301")])}
            ),
        ),
        batches=BatchStatistics(batches=11_204, target_tokens=38_100_552, padding=0.043, fill=0.964),
        cost=TrainingCost(
            parameters=61_240_832,
            memory_bytes=3_650_722_201,
            tokens_per_second=8_420.0,
            updates=100_000,
            epochs=8.9,
            seconds=157_000.0,
        ),
        advice=[
            "The sides of crawl look swapped: exchange its two files, or give it the right columns.",
            "26 lines are bad; correct them, or skip them with --on-bad-line skip.",
            "107 training pairs are in the validation or test set and are left out.",
        ],
        fatal=[],
    )


def bare_report() -> CheckReport:
    """The least there can be: nothing was read."""
    empty = CorpusReport("empty", "train", [], CorpusSummary())
    selection = SelectionStatistics(0, 0, Tally(), {})
    return CheckReport(
        "en",
        "zh",
        [empty],
        selection,
        None,
        None,
        None,
        [],
        ["data.train has no corpus; name its files under [[data.train]]"],
    )
