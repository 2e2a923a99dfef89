"""Glossaries on Multi30k en→de: share of required terms in the output, and their cost in quality and time.

A case is a sentence of the test set and one to three terms: a word of the sentence, and a word associated with it in
the training data (Dice over the sentence pairs). Words with the least certain association come first, because there the
models choose other words most often. Every sentence is translated with a beam of 5, in four modes:

- plain: without a glossary;
- reference terms: the target words are those of the sentence's own reference. This gives the search a part of the
  answer, so a gain in chrF or BLEU is no gain in quality; it is the case of a user whose glossary is right;
- dictionary terms: the target word is the one with the strongest association to the source word in the training data,
  whether the reference has it or not. The reference is not used;
- words kept: the source words stay untranslated, which no reference has and the models never saw.

Where a glossary requires another word than the reference has, a translation that follows it must differ from the
reference. So translations are also compared with the reference in which the required words replace its own
(*terms in the reference*; in brackets the plain translations, compared with the same): this shows whether a term is at
its right position.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import torch

from benchmarks.quality.data import read
from benchmarks.reporting import heading, parser, table, write
from dragoman.api.translation.glossary_constraints import find_constraints
from dragoman.bundle import Bundle
from dragoman.engines.protocol import IncrementalEngine
from dragoman.engines.torch_engine import TorchEngine
from dragoman.evaluation.metrics.corpus_scores import bleu, chrf
from dragoman.search import Hypothesis, SearchInput, SearchSettings
from dragoman.text import Normalizer, Tokenizer
from dragoman.text.glossary import Glossary
from dragoman.text.tokenizers.base import word_boundary_tokens

CASES, MOST_TERMS = 500, 3
LEAST_DICE, LEAST_TIMES, LEAST_LETTERS = 0.2, 3, 4
MOST_TIMES = 2000  # more frequent ones are grammar
BATCH = 50
WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class Case:
    """A sentence and what its translation must hold; and what the training data alone would have it hold."""

    source: str
    reference: str
    terms: dict[str, str]
    dictionary: dict[str, str]


def words(text: str) -> set[str]:
    return {word for word in WORD.findall(text) if len(word) >= LEAST_LETTERS}


def associations(pairs: Sequence[tuple[str, str]], test: Sequence[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """Dice of the source words of the test set and the target words of the same training pairs."""
    known = {word for source, _ in test for word in words(source)}
    times: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    together: Counter[tuple[str, str]] = Counter()
    for source, target in pairs:
        found = (words(source) & known, words(target))
        for side in (0, 1):
            times[side].update(found[side])
        together.update(product(*found))
    return {
        pair: 2 * count / (times[0][pair[0]] + times[1][pair[1]])
        for pair, count in together.items()
        if count >= LEAST_TIMES and max(times[side][pair[side]] for side in (0, 1)) <= MOST_TIMES
    }


def dictionary(dice: dict[tuple[str, str], float]) -> dict[str, str]:
    """For each source word the target word that goes best with it."""
    best: dict[str, tuple[float, str]] = {}
    for (source, target), value in dice.items():
        best[source] = max(best.get(source, (0.0, "")), (value, target))
    return {source: target for source, (_, target) in best.items()}


def terms_of(source: str, reference: str, dice: dict[tuple[str, str], float]) -> dict[str, str]:
    """Words that choose each other, those that go together least surely first."""
    pairs = [pair for pair in product(words(source), words(reference)) if dice.get(pair, 0) >= LEAST_DICE]
    pairs = [pair for pair in pairs if pair[0].casefold() != pair[1].casefold()]
    best: dict[str, str] = {}
    for pair in sorted(pairs, key=lambda pair: (-dice[pair], pair)):
        if pair[0] not in best and pair[1] not in best.values():
            best[pair[0]] = pair[1]
    return dict(sorted(best.items(), key=lambda pair: (dice[pair], pair)))


def cases(train: Sequence[tuple[str, str]], test: Sequence[tuple[str, str]], count: int = CASES) -> list[Case]:
    """This number of sentences with terms, drawn with a fixed seed."""
    dice = associations(train, test)
    likeliest = dictionary(dice)
    chance = Random(1)
    found = []
    for source, reference in test:
        terms = terms_of(source, reference, dice)
        some = dict(list(terms.items())[: chance.randint(1, MOST_TERMS)])
        if some:
            found.append(Case(source, reference, some, {word: likeliest[word] for word in some}))
    chance.shuffle(found)
    return found[:count]


def holds(text: str, term: str) -> bool:
    """Whether a text contains a term as a whole word."""
    return re.search(rf"(?<!\w){re.escape(term)}(?!\w)", text) is not None


def kept(case: Case) -> Case:
    """The same case with its terms untranslated."""
    return replace(case, terms={source: source for source in case.terms})


def translate(
    engine: IncrementalEngine, tokenizers: dict[str, Tokenizer], chosen: Sequence[Case], *, constrained: bool
) -> tuple[list[str], float]:
    """Translations of the cases, and the seconds of all processors that they took."""
    settings = SearchSettings()
    may_follow = word_boundary_tokens(tokenizers["target"])
    terms = [
        find_constraints(
            Glossary.from_dict(dict(case.terms)), case.source, tokenizers["source"], tokenizers["target"], Normalizer()
        )
        for case in chosen
    ]
    sentences = [
        SearchInput(tokenizers["source"].encode(case.source), (), list(wanted), list(wanted.values()), may_follow)
        if constrained
        else SearchInput(tokenizers["source"].encode(case.source))
        for case, wanted in zip(chosen, terms, strict=True)
    ]
    order = sorted(range(len(sentences)), key=lambda row: len(sentences[row].tokens))
    found: dict[int, Hypothesis] = {}
    began = time.process_time()
    for start in range(0, len(order), BATCH):
        rows = order[start : start + BATCH]
        some = [sentences[row] for row in rows]
        results = engine.search(some, settings)
        found.update((row, hypotheses[0]) for row, hypotheses in zip(rows, results, strict=True))
    seconds = time.process_time() - began
    return [tokenizers["target"].decode(found[row].tokens) for row in range(len(sentences))], seconds


def with_terms(case: Case, terms: dict[str, str]) -> str:
    """The reference with other terms in the places of its own."""
    others = {own: terms[source] for source, own in case.terms.items()}
    return WORD.sub(lambda word: others.get(word.group(), word.group()), case.reference)


def measure(engine: IncrementalEngine, tokenizers: dict[str, Tokenizer], chosen: Sequence[Case]) -> dict[str, Any]:
    """Figures of one model, by way of translating; and the cases that lack a term in spite of it."""
    references = [case.reference for case in chosen]
    figures: dict[str, Any] = {}
    from_training = [replace(case, terms=case.dictionary) for case in chosen]
    plain: list[str] = []
    ways = (
        ("plain", chosen, False),
        ("reference terms", chosen, True),
        ("dictionary terms", from_training, True),
        ("words kept", [kept(case) for case in chosen], True),
    )
    for name, some, constrained in ways:
        texts, seconds = translate(engine, tokenizers, some, constrained=constrained)
        complete = [all(holds(text, t) for t in case.terms.values()) for text, case in zip(texts, some, strict=True)]
        plain = plain or texts
        scores = (chrf(texts, references), bleu(texts, references))
        wanted = [with_terms(own, case.terms) for own, case in zip(chosen, some, strict=True)]
        figures[name] = {
            "complete": sum(complete) / len(complete),
            "seconds": seconds,
            **{score.metric: score.value for score in scores},
            "chrf_with_terms": chrf(texts, wanted).value,
            "plain_with_terms": chrf(plain, wanted).value,
            "signatures": [score.signature for score in scores],
            "examples": texts[:5],
            "lacking": [
                {"source": case.source, "terms": case.terms, "text": text}
                for case, text, is_complete in zip(some, texts, complete, strict=True)
                if constrained and not is_complete
            ],
        }
    return figures


def rows_of(name: str, figures: dict[str, Any]) -> list[list[str]]:
    plain = figures["plain"]
    return [
        [
            f"{name}, {way}",
            f"**{100 * each['complete']:.1f} %**",
            f"{each['chrf']:.2f}",
            f"{each['bleu']:.2f}",
            f"{each['chrf_with_terms']:.2f} ({each['plain_with_terms']:.2f})",
            f"{each['seconds']:.1f}",
            f"{each['seconds'] / plain['seconds']:.2f}",
        ]
        for way, each in figures.items()
    ]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--corpus", type=Path, default=Path("../shared/data/multi30k"))
    options.add_argument("--bundles", type=Path, nargs="+", required=True, help="of benchmarks.quality")
    options.add_argument("--names", nargs="+", default=["rnn", "transformer"])
    options.add_argument("--cases", type=int, default=CASES)
    given = options.parse_args()
    torch.set_num_threads(given.threads)
    train, test = (
        list(zip(*(read(given.corpus / f"{split}.{side}.gz") for side in ("en", "de")), strict=True))
        for split in ("train", "test_2016_flickr")
    )
    chosen = cases(train, test, given.cases)
    rows, figures = [], {}
    for name, path in zip(given.names, given.bundles, strict=True):
        bundle = Bundle.open(path, trusted=True)
        figures[name] = measure(TorchEngine.open(bundle), bundle.tokenizers(), chosen)
        rows += rows_of(name, figures[name])
    count = sum(len(case.terms) for case in chosen)
    text = heading("Glossaries: every term, and what it costs", "python -m benchmarks.glossary", given.threads)
    text += f"\n{__doc__ or ''}\n{len(chosen)} sentences with {count} terms, torch, batches of {BATCH}.\n\n"
    header = [
        "model",
        "sentences with all terms",
        "chrF",
        "BLEU",
        "chrF, terms in the reference",
        "CPU seconds",
        "time / plain",
    ]
    text += table(header, rows) + "\n"
    text += "".join(f"- {signature}\n" for signature in next(iter(figures.values()))["plain"]["signatures"])
    other = sum(case.terms != case.dictionary for case in chosen)
    text += f"\nIn {other} of the sentences the dictionary has another word than the reference.\n"
    shown = chosen[:5]
    text += "\nSome cases:\n\n" + "".join(
        f"- {case.source} — {', '.join(f'{source} → {target}' for source, target in case.terms.items())}\n"
        for case in shown
    )
    write("glossary", text, figures)


if __name__ == "__main__":
    main()
