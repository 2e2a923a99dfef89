"""Projection of tags on hand-aligned sentences, and placeholders that must stay unchanged.

A case is a hand-aligned sentence pair with one to four inline tags, nested or side by side, around words of the source
that have a sure link. Its tags are projected onto the given translation. *Well-formed*: every tag occurs once, in its
parent tag. Of the words inside a projected tag that have a gold link, *precision* is the share with a link to a word
inside the source tag; of the words with a sure link to a word inside that tag, *recall* is the share that the projected
tag contains; both over all tags together. *On their words*: the share of tags that contain a linked word, and of whose
linked words more than half are right. *Exact*: no wrong word is in the tag, and none is missing. *Decisions*: one per
tag and target word with a sure link, inside or not; the mean over the cases of the share of right ones.

*gold* uses the gold links, and shows the loss of projection alone: a tag is one contiguous span of the target, and
words that are adjacent in one language may be separated in the other. *proportion* uses no links. The others use the
model for the given translation: *links* are those of `Translator.align`; *attention* is the single map that a search
stores, with the spelling of words; *served* is the method of the server and `translate_markup`: the same map,
multiplied by the likelihood of each target word as the translation of each source word alone.

The method of *served* was chosen on every other hand-aligned sentence; all cases here are of the remaining sentences.
The cost of a foreign word in a tag that follows links was chosen on both, so the rows *gold* and *links* are slightly
optimistic. *Decisions* also counts words that are rightly left out, and so is high even for *proportion*. Chinese is
written without spaces; a gold word of several characters is inside a tag if at least half of it is.

Then tags placed by hand: `markup_cases.txt` has 60 sentences about pictures, written for this purpose in English,
German, French and Chinese, with the same 123 tags in each. Every other sentence was for tuning, the figures are of the
rest. *On their words*: more than half of the characters of the projected tag are in the tag placed by hand. These
sentences are shorter, and their word order differs less, than those above: compare with *proportion*.

Then the CPU time of translation with links and weights, with and without the likelihoods: *first* with an empty cache
of words, *again* when the same sentences are translated a second time. Then the model translates sentences of Multi30k
with tags, placeholders and addresses in them. Figures of models that were not given stay unchanged.
"""

from __future__ import annotations

import json
import re
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import html5lib

from benchmarks.alignment.corpus import CORPORA, joined, read
from benchmarks.reporting import RESULTS, heading, parser, table, write
from dragoman.api.translation.markup import shares_of, translate_markup
from dragoman.api.translation.translation import Translation
from dragoman.api.translation.translator import Translator
from dragoman.evaluation.word_alignment import GoldLinks, Links, parse_gold_links
from dragoman.markup.html_text import HtmlText
from dragoman.markup.protected_spans import placeholder_strings
from dragoman.markup.tag_projection import project_tags
from dragoman.markup.tagged_text import TaggedText, TagSpan, parent_indices

HAND_MADE = Path(__file__).with_name("markup_cases.txt")
CASES = 750
COSTED = 100
ROUNDS = 3
MODEL_WAYS = ("links", "attention", "served")
_MOST_WORDS = 5
_LEAST_WORDS = 4


PAIRS = {"en-de": "de-en", "en-fr": "en-fr", "en-zh": "en-zh"}
"""The corpus of each pair of languages."""

Sentence = tuple[str, tuple[str, ...], GoldLinks]
"""A source whose words stand between spaces, the words of its translation, and the links that people drew."""


@dataclass(frozen=True)
class Case:
    """A source with tags, the words of its translation, the text that they make, and the links that people drew."""

    tagged: TaggedText
    target_words: tuple[str, ...]
    target: str
    gold: GoldLinks
    row: int

    def source_words(self, span: TagSpan) -> frozenset[int]:
        """The words of the source that a tag holds."""
        text = self.tagged.text
        first = len(text[: span.start].split())
        return frozenset(range(first, first + len(text[span.start : span.end].split())))

    def held_words(self, span: TagSpan) -> frozenset[int]:
        """The words of the target of which a tag holds at least a half."""
        found, at = set(), 0
        for place, word in enumerate(self.target_words):
            at = self.target.index(word, at)
            inside = min(at + len(word), span.end) - max(at, span.start)
            if 2 * inside >= len(word):
                found.add(place)
            at += len(word)
        return frozenset(found)


def gold_pairs(data: Path, name: str) -> list[Sentence]:
    """The hand-aligned sentences of a pair, in small letters."""
    pair = CORPORA[PAIRS[name]]
    sides = tuple(reversed(pair.sides)) if pair.is_swapped else pair.sides
    texts = [[line.lower().split() for line in read(data / f"{pair.gold}.{side}.gz")] for side in sides]
    lengths = [(len(one), len(other)) for one, other in zip(*texts, strict=True)]
    path = data / f"{pair.gold}.align.gz"
    gold = parse_gold_links(read(path), name=str(path), first=1, lengths=lengths)
    if sides[0] != name[:2]:
        texts, gold = [texts[1], texts[0]], [each.swapped() for each in gold]
    return [(" ".join(one), tuple(other), links) for one, other, links in zip(*texts, gold, strict=True)]


def cases(pairs: Sequence[Sentence], count: int, seed: int = 1, *, language: str = "") -> list[Case]:
    """This number of cases, always the same; with fewer sentences, they are reused with other tags."""
    chance = Random(seed)
    long = [row for row, (source, _, gold) in enumerate(pairs) if len(source.split()) >= _LEAST_WORDS and gold.sure]
    found: list[Case] = []
    while len(found) < count:
        row = long[len(found) % len(long)]
        source, target, gold = pairs[row]
        spans = tuple(_spans(source.split(), {one for one, _ in gold.sure}, chance))
        if spans:
            found.append(Case(TaggedText(source, spans), target, joined(target, language), gold, row))
    return found


def _spans(words: Sequence[str], linked: set[int], chance: Random) -> Iterator[TagSpan]:
    """Tags around words; each holds one with a link."""
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word) + 1)
    ranges = list(_ranges(0, len(words), chance.randint(1, 2), chance, 0))
    for tag, (first, end, depth) in enumerate(each for each in ranges if linked & set(range(*each[:2]))):
        yield TagSpan(starts[first], starts[end] - 1, tag, depth)


def _ranges(low: int, high: int, count: int, chance: Random, depth: int) -> Iterator[tuple[int, int, int]]:
    at = low
    for _ in range(count):
        if at >= high:
            return
        first = chance.randrange(at, high)
        end = min(high, first + chance.randint(1, _MOST_WORDS))
        yield first, end, depth
        if end - first > 1 and chance.random() < 0.5:
            yield from _ranges(first, end, 1, chance, depth + 1)
        at = end + 1


def best_gold(gold: GoldLinks) -> Links:
    """Sure links; and the possible ones of target words that have no sure one."""
    sure = {target for _, target in gold.sure}
    return tuple(sorted(gold.sure | {link for link in gold.possible if link[1] not in sure}))


def projected(case: Case, links: Links | Translation | None) -> TaggedText:
    """The tags on the translation: by links between gold words, or by the weights of a scored translation."""
    if isinstance(links, Translation):
        words = links.source_words, links.target_words
        return project_tags(case.tagged, words[0], case.target, words[1], links.alignment, shares=shares_of(links))
    return project_tags(case.tagged, case.tagged.text.split(), case.target, case.target_words, links)


def is_well_formed(source: TaggedText, target: TaggedText) -> bool:
    """Whether every tag is there once, within the text, and in the tag it was in."""
    if sorted(span.tag for span in source.spans) != sorted(span.tag for span in target.spans):
        return False
    if any(not 0 <= span.start <= span.end <= len(target.text) for span in target.spans):
        return False
    return _families(source) == _families(target)


def _families(tagged: TaggedText) -> set[tuple[int, int]]:
    found = parent_indices(tagged.spans)
    return {
        (span.tag, tagged.spans[parent].tag if parent >= 0 else -1)
        for span, parent in zip(tagged.spans, found, strict=True)
    }


@dataclass
class Score:
    """Counts over all cases."""

    tags: int = 0
    on_words: int = 0
    exact: int = 0
    inside: int = 0
    right: int = 0
    wanted: int = 0
    held: int = 0
    decisions: float = 0.0
    cases: int = 0
    well_formed: int = 0

    def add(self, case: Case, found: TaggedText) -> None:
        sure: dict[int, set[int]] = {}
        possible: dict[int, set[int]] = {}
        for origins, links in ((sure, case.gold.sure), (possible, case.gold.possible)):
            for one, other in links:
                origins.setdefault(other, set()).add(one)
        spans = {span.tag: span for span in found.spans}
        decided = 0
        for span in case.tagged.spans:
            source = case.source_words(span)
            held = case.held_words(spans[span.tag])
            known = held & possible.keys()
            right = {word for word in known if possible[word] & source}
            wanted = {word for word in sure if sure[word] & source}
            decided += sum(word in wanted if word in held else word not in wanted for word in sure)
            self.inside, self.right = self.inside + len(known), self.right + len(right)
            self.wanted, self.held = self.wanted + len(wanted), self.held + len(wanted & held)
            self.tags += 1
            self.on_words += 2 * len(right) > len(known)
            self.exact += right == known and wanted <= held
        self.cases += 1
        self.decisions += decided / (len(sure) * len(case.tagged.spans))
        self.well_formed += is_well_formed(case.tagged, found)

    def to_json(self) -> dict[str, float | int]:
        return {
            "cases": self.cases,
            "tags": self.tags,
            "well_formed": self.well_formed / self.cases,
            "precision": self.right / max(1, self.inside),
            "recall": self.held / max(1, self.wanted),
            "on_words": self.on_words / self.tags,
            "exact": self.exact / self.tags,
            "decisions": self.decisions / self.cases,
        }


def scored(some: Sequence[Case], links: Sequence[Links | Translation | None]) -> dict[str, float | int]:
    score = Score()
    for case, found in zip(some, links, strict=True):
        score.add(case, projected(case, found))
    return score.to_json()


def forced(translator: Translator, some: Sequence[Case], *, posterior: bool, attention: bool) -> list[Translation]:
    """The given translations with their links, and with weights, which tags follow."""
    texts = {case.row: (case.tagged.text, case.target) for case in some}
    rows = sorted(texts)
    sources, targets = zip(*(texts[row] for row in rows), strict=True)
    found = translator.score(sources, targets, alignment=True, attention=attention, posterior=posterior)
    by_row = dict(zip(rows, found, strict=True))
    return [by_row[case.row] for case in some]


def hand_tagged(text: str) -> TaggedText:
    """A text of `markup_cases.txt`: the tags that people placed, `<1>…</1>`, in the order of their places."""
    spans: list[TagSpan] = []
    plain, begun = "", {}
    for part in re.split(r"(</?[0-9]>)", text):
        if re.fullmatch(r"<[0-9]>", part):
            begun[part[1]] = len(plain)
        elif re.fullmatch(r"</[0-9]>", part):
            spans.append(TagSpan(begun[part[2]], len(plain), int(part[2])))
        else:
            plain += part
    return TaggedText(plain, tuple(sorted(spans, key=lambda span: span.start)))


def hand_cases(pair: str) -> list[tuple[TaggedText, TaggedText]]:
    """Sentences in two languages with the same tags, placed by hand in both."""
    blocks = HAND_MADE.read_text(encoding="utf-8").strip().split("\n\n")
    lines = [dict(line.split(": ", 1) for line in block.split("\n")) for block in blocks]
    return [(hand_tagged(each[pair[:2]]), hand_tagged(each[pair[-2:]])) for each in lines]


def hand_score(some: Sequence[tuple[TaggedText, TaggedText]], found: Sequence[TaggedText]) -> dict[str, float | int]:
    """How many tags have more than half of their characters in the tag placed by hand, and how many are equal."""
    tags = on_words = exact = 0
    for (_, expected), target in zip(some, found, strict=True):
        spans = {span.tag: span for span in target.spans}
        for span in expected.spans:
            mine = spans[span.tag]
            inside = min(mine.end, span.end) - max(mine.start, span.start)
            tags += 1
            on_words += 2 * inside > mine.end - mine.start
            exact += (mine.start, mine.end) == (span.start, span.end)
    return {"sentences": len(some), "tags": tags, "on_words": on_words / tags, "exact": exact / tags}


def hand_measured(pair: str, translator: Translator) -> dict[str, Any]:
    """Figures of the tags placed by hand, on every other sentence: the rest is for tuning."""
    some = hand_cases(pair)[1::2]
    sources, targets = [source.text for source, _ in some], [target.text for _, target in some]
    found: dict[str, Any] = {}
    ways = {"proportion": (False, False), "links": (True, False), "attention": (False, True), "served": (True, True)}
    for way, (posterior, attention) in ways.items():
        scored_ = translator.score(sources, targets, alignment=True, attention=attention, posterior=posterior)
        tagged = [
            project_tags(
                source,
                each.source_words,
                target.text,
                each.target_words,
                None if way == "proportion" else each.alignment,
                shares=shares_of(each),
            )
            for (source, target), each in zip(some, scored_, strict=True)
        ]
        found[way] = hand_score(some, tagged)
    return found


def cost(translator: Translator, sentences: Sequence[str], rounds: int) -> dict[str, float]:
    """CPU seconds of translations with links and weights, without and with likelihoods, by turns."""

    def seconds(*, posterior: bool) -> float:
        began = time.process_time()
        translator.translate(sentences, alignment=True, attention=True, posterior=posterior)
        return time.process_time() - began

    seconds(posterior=False)
    first = seconds(posterior=True)
    pairs = [(seconds(posterior=False), seconds(posterior=True)) for _ in range(rounds)]
    without = statistics.median(one for one, _ in pairs)
    return {
        "sentences": len(sentences),
        "without": without,
        "first": first / without - 1,
        "again": statistics.median(other / one for one, other in pairs) - 1,
    }


KEPT = (
    "{name}",
    "{0}",
    "{{ user }}",
    "%s",
    "%(count)d",
    "%1$s",
    "${total}",
    "https://example.org/a?b=1&c=d#e",
    "a.b@c.org",
)


def pages(sentences: Sequence[str], count: int, seed: int = 1) -> list[str]:
    """Paragraphs with nested tags around their words, and something between them that must be kept."""
    chance = Random(seed)
    found = []
    for number in range(count):
        words = sentences[number % len(sentences)].replace("<", "").replace("&", "").split()
        for first, end, _ in reversed(list(_ranges(0, len(words), chance.randint(1, 2), chance, 0))):
            name = chance.choice(["b", "i", "em", "span class='x'", "a href='https://example.org/?a=1&amp;b'"])
            words[first] = f"<{name}>{words[first]}"
            words[end - 1] += f"</{name.split()[0]}>"
        for _ in range(chance.randint(0, 2)):
            words.insert(chance.randint(0, len(words)), chance.choice(KEPT))
        found.append(f"<p>{' '.join(words)}</p>")
    return found


def translated_pages(translator: Translator, given: Sequence[str]) -> dict[str, float | int]:
    """How many pages have the same elements and the same kept strings when they are translated."""
    texts = [HtmlText.parse(page) for page in given]
    segments = [segment for text in texts for segment in text.segments]
    results = iter(translate_markup(translator, segments).texts)
    well_formed = kept = with_kept = whole = 0
    for text, page in zip(texts, given, strict=True):
        mine = [next(results) for _ in text.segments]
        well_formed += _elements(text.write(mine)) == _elements(page)
        wanted = [string for each in text.segments for string in placeholder_strings(each.text, each.kept)]
        found = [string for each in mine for string in placeholder_strings(each.text, each.kept)]
        with_kept, kept = with_kept + bool(wanted), kept + (bool(wanted) and sorted(wanted) == sorted(found))
        whole += len(wanted)
    return {
        "pages": len(given),
        "well_formed": well_formed / len(given),
        "with_kept": with_kept,
        "kept_strings": whole,
        "kept": kept / max(1, with_kept),
    }


def _elements(page: str) -> Counter[tuple[str, str]]:
    tree = html5lib.parse(page, namespaceHTMLElements=False)
    return Counter((str(node.tag), str(sorted(node.attrib.items()))) for node in tree.iter())


def measure(pair: str, data: Path, translator: Translator | None, count: int) -> dict[str, Any]:
    """Figures of one pair, by where links come from."""
    some = cases(gold_pairs(data, pair)[1::2], count, language=pair[-2:])
    found = {"gold": scored(some, [best_gold(case.gold) for case in some]), "proportion": scored(some, [None] * count)}
    if translator is not None:
        ways = {"links": (True, False), "attention": (False, True), "served": (True, True)}
        for way, (posterior, attention) in ways.items():
            found[way] = scored(some, forced(translator, some, posterior=posterior, attention=attention))
    return found


def updated(kept: dict[str, Any], found: dict[str, Any], *, is_pair: bool) -> dict[str, Any]:
    """Return the new rows of a name and the kept ones of ways not measured now; those without a model: pairs only."""
    return kept | {way: each for way, each in found.items() if is_pair or way in MODEL_WAYS}


def report(
    figures: dict[str, Any], hand: dict[str, Any], costs: dict[str, Any], pages_of: dict[str, Any], threads: int
) -> str:
    text = heading("Tags and placeholders", "python -m benchmarks.markup", threads) + f"\n{__doc__ or ''}\n"
    names = ["well_formed", "precision", "recall", "on_words", "exact", "decisions"]
    header = ["pair", "links", "cases", "tags", "well-formed", "precision", "recall", "on their words", "exact"]
    rows = [
        [name, way, f"{each['cases']}", f"{each['tags']}", *(f"{100 * each[key]:.1f} %" for key in names)]
        for name, ways in figures.items()
        for way, each in ways.items()
    ]
    text += table([*header, "decisions"], rows) + "\n"
    header = ["pair, model", "links", "sentences", "tags", "on their words", "exact"]
    rows = [
        [
            name,
            way,
            f"{each['sentences']}",
            f"{each['tags']}",
            *(f"{100 * each[k]:.1f} %" for k in ("on_words", "exact")),
        ]
        for name, ways in hand.items()
        for way, each in ways.items()
    ]
    text += table(header, rows) + "\n"
    header = ["model", "engine", "sentences", "CPU s without", "more CPU time, first", "again"]
    rows = [
        [
            name,
            each["engine"],
            f"{each['sentences']}",
            f"{each['without']:.2f}",
            *(f"{100 * each[way]:+.1f} %" for way in ("first", "again")),
        ]
        for name, each in costs.items()
    ]
    text += table(header, rows) + "\n"
    header = ["model", "pages", "well-formed", "pages with kept strings", "kept strings", "byte-identical"]
    rows = [
        [
            name,
            f"{each['pages']}",
            f"{100 * each['well_formed']:.1f} %",
            f"{each['with_kept']}",
            f"{each['kept_strings']}",
            f"{100 * each['kept']:.1f} %",
        ]
        for name, each in pages_of.items()
    ]
    return text + table(header, rows)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--gold", type=Path, default=Path("../shared/data/alignment-gold"))
    options.add_argument("--corpus", type=Path, default=Path("../shared/data/multi30k"))
    options.add_argument("--models", nargs="*", default=[], metavar="PAIR=BUNDLE", help="of benchmarks.alignment")
    options.add_argument("--captions", nargs="*", default=[], metavar="PAIR=BUNDLE", help="trained on image captions")
    options.add_argument("--translators", nargs="*", default=[], metavar="NAME=BUNDLE", help="of benchmarks.quality")
    options.add_argument("--note", default="", help="what else the page should say of the models")
    options.add_argument("--cases", type=int, default=CASES, help="of all pairs together, and pages")
    given = options.parse_args()
    models = dict(each.split("=", 1) for each in given.models)
    stored = RESULTS / "markup.json"
    kept: dict[str, Any] = json.loads(stored.read_text(encoding="utf-8")) if stored.is_file() else {}
    figures, hand, costs, pages_of = (kept.get(part, {}) for part in ("projected", "hand", "cost", "translated"))
    for pair in PAIRS:
        named = {name: path for name, path in models.items() if name.startswith(pair)} or {pair: ""}
        for name, path in named.items():
            translator = Translator.open(path, threads=given.threads) if path else None
            found = measure(pair, given.gold, translator, given.cases // len(PAIRS))
            figures[name] = updated(figures.get(name, {}), found, is_pair=name == pair)
    sentences = read(given.corpus / "test_2016_flickr.en.gz")
    for name, path in (each.split("=", 1) for each in given.captions):
        translator = Translator.open(path, threads=given.threads)
        hand[name] = hand_measured(name[:5], translator)
        costs[name] = {"engine": translator.engine.name, **cost(translator, sentences[:COSTED], ROUNDS)}
    for name, path in (each.split("=", 1) for each in given.translators):
        translator = Translator.open(path, threads=given.threads)
        pages_of[name] = translated_pages(translator, pages(sentences, given.cases))
    note = given.note or kept.get("note", "")
    parts = {"projected": figures, "hand": hand, "cost": costs, "translated": pages_of, "note": note}
    text = report(figures, hand, costs, pages_of, given.threads)
    write("markup", text + (f"\n{note}\n" if note else ""), kept | parts)


if __name__ == "__main__":
    main()
