"""Beam search over many sentences at once. Papers: [graves2012] (section 3), [sutskever2014] (section 3.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dragoman.search.choosers import Choice, Chooser
from dragoman.search.drafts import Draft, Drafts
from dragoman.search.hypothesis import Hypothesis, Sentence
from dragoman.search.penalties import Penalties
from dragoman.search.protocol import Floats, Numbers, Start, Watch, Writing
from dragoman.search.rules import Rules
from dragoman.search.settings import SearchSettings
from dragoman.search.trace import Node, Trace
from dragoman.text import BOS_ID, EOS_ID

__all__ = ["beam_search"]


def beam_search(
    start: Start,
    sentences: Sequence[Sentence],
    settings: SearchSettings,
    chooser: Chooser,
    *,
    longest: int | None = None,
    show: bool = False,
    watch: Watch | None = None,
    trace: Trace | None = None,
) -> list[list[Hypothesis]]:
    """Translations of each sentence, the best first: `settings.nbest` of them, none of a cancelled sentence.

    A sentence leaves the batch when it is done: when enough of its translations have ended (`patience`), when none
    that goes on could become better than those, or when they are as long as they may be. `longest` is the most words
    that the model can write.
    """
    beams = _Beams(sentences, settings, chooser, longest, watch, trace)
    look = show or chooser.looks or settings.coverage_penalty > 0
    writing = start([sentence.pieces for sentence in sentences], look)
    beams.drop_cancelled()
    while beams.alive:
        writing = beams.step(writing)
    return beams.results()


class _Beams:
    """The beams of the sentences that are not done, side by side: rows [sentences, width], sentence by sentence."""

    def __init__(
        self,
        sentences: Sequence[Sentence],
        settings: SearchSettings,
        chooser: Chooser,
        longest: int | None,
        watch: Watch | None,
        trace: Trace | None,
    ) -> None:
        self.sources = [len(sentence.pieces) for sentence in sentences]
        self.limits = [settings.limit(len(sentence.pieces), longest, sentence.least) for sentence in sentences]
        self.settings = settings
        self.chooser = chooser
        self.watch = watch
        self.rules = Rules(sentences, settings)
        self.penalties = Penalties(settings)
        self.enough = math.inf if settings.patience is None else math.ceil(settings.patience * settings.beam)
        self.ended: list[list[Draft]] = [[] for _ in sentences]
        self.cut: list[list[Draft]] = [[] for _ in sentences]
        self.seen: list[set[tuple[int, ...]]] = [set() for _ in sentences]
        self.certain = [0] * len(sentences)
        self.alive = list(range(len(sentences)))
        self.width = 1
        self.drafts = Drafts.empty(len(sentences))
        self.tree = None if trace is None else _Tree(trace, len(sentences))

    def step(self, writing: Writing) -> Writing:
        """One word further, for every row of every sentence."""
        written = self.drafts.written
        last = written[:, -1] if written.shape[1] else np.full(len(written), BOS_ID)
        prediction = writing.step(last)
        self.drafts = self.drafts.looked(prediction.weights)
        choice = self._choose(prediction.log_probs, prediction.weights)
        self._end(choice)
        for place in np.flatnonzero(np.isneginf(choice.log_probs).all(1)).tolist():
            if not self.ended[self.alive[place]]:  # nothing may be written any more
                self._cut(place, self.alive[place])
        places = np.arange(len(self.alive))[:, np.newaxis]
        rows = (places * self.width + choice.parents).ravel()
        if self.tree is not None:
            self.tree.grow(self.alive, choice, self.drafts.written.shape[1])
        after = prediction.after
        same = self.width == self.chooser.width
        self.width = self.chooser.width
        self.chooser = self.chooser.advance(choice)
        credit = np.zeros(choice.log_probs.shape) if choice.credits is None else choice.credits
        self.drafts = self.drafts.select(rows).wrote(
            choice.tokens.ravel(), (choice.log_probs - credit).ravel(), credit.ravel()
        )
        left = [place for place, sentence in enumerate(self.alive) if not self._is_done(place, sentence)]
        left = [place for place in left if not self._is_cancelled(self.alive[place])]
        if len(left) < len(self.alive):
            kept = self._leave(left)
            return after.select(rows[kept])
        return after.reorder(rows) if same else after.select(rows)

    def drop_cancelled(self) -> None:
        """Before the first step there may be sentences already that nobody waits for; all of them, or none is left."""
        if all(self._is_cancelled(sentence) for sentence in self.alive):
            self.alive = []

    def results(self) -> list[list[Hypothesis]]:
        """What was found for each sentence. Translations that were cut come after all that ended."""
        return [
            [draft.hypothesis for draft in (_ranked(ended) + _ranked(cut))[: self.settings.nbest]]
            for ended, cut in zip(self.ended, self.cut, strict=True)
        ]

    def _choose(self, log_probs: Floats, weights: Floats | None) -> Choice:
        of = [sentence for sentence in self.alive for _ in range(self.width)]
        self.rules.apply(log_probs, self.drafts.written, of)
        shape = (len(self.alive), self.width)
        looked = None if weights is None else weights.reshape(*shape, -1)
        return self.chooser.choose(log_probs.reshape(*shape, -1), self.drafts.ranked.reshape(shape), looked)

    def _end(self, choice: Choice) -> None:
        credit = np.zeros(len(choice.ended)) if choice.ended_credits is None else choice.ended_credits
        ends = (choice.ended, choice.ended_parents, choice.ended_log_probs - credit, credit)
        for place, parent, log_prob, given in zip(*(each.tolist() for each in ends), strict=True):
            sentence = self.alive[place]
            row, worth = place * self.width + parent, (log_prob, given)
            pieces = tuple(self.drafts.written[row].tolist())
            if pieces not in self.seen[sentence]:  # groups of a beam may find the same
                self.seen[sentence].add(pieces)
                self.ended[sentence].append(self.drafts.finished(row, worth, self.sources[sentence], self.penalties))

    def _is_done(self, place: int, sentence: int) -> bool:
        """Whether a sentence needs no further step; then what it has is complete."""
        best = float(self.drafts.ranked[place * self.width : (place + 1) * self.width].max())
        ended = self.ended[sentence]
        done = best == -math.inf or len(ended) >= self.enough
        if not done and self.drafts.written.shape[1] >= self.limits[sentence]:
            self._cut(place, sentence)
            done = True
        if not done and len(ended) >= self.settings.nbest:
            least = _ranked(ended)[self.settings.nbest - 1].rank
            done = least >= self.penalties.at_best(best, self.limits[sentence])
        self._tell(place, sentence, done=done)
        return done

    def _cut(self, place: int, sentence: int) -> None:
        """The sentence's rows are as long as they may be."""
        for row in range(place * self.width, (place + 1) * self.width):
            if self.drafts.log_probs[row] > -math.inf:
                self.cut[sentence].append(self.drafts.closed(row, self.sources[sentence], self.penalties))

    def _leave(self, left: list[int]) -> Numbers:
        """Keep the sentences at these places only; the rows that stay."""
        places = np.array(left, np.int64)
        rows = (places[:, np.newaxis] * self.width + np.arange(self.width)).ravel()
        self.alive = [self.alive[place] for place in left]
        self.chooser = self.chooser.select(places)
        self.drafts = self.drafts.select(rows)
        if self.tree is not None:
            self.tree.select(places)
        return rows

    def _is_cancelled(self, sentence: int) -> bool:
        if self.watch is None or not self.watch.is_cancelled(sentence):
            return False
        self.ended[sentence], self.cut[sentence] = [], []
        return True

    def _tell(self, place: int, sentence: int, *, done: bool) -> None:
        """Tell who looks on what all translations that may still win have in common: it will not change any more."""
        if self.watch is None or not self.watch.is_told(sentence):
            return
        best = _ranked(self.ended[sentence])[:1] or _ranked(self.cut[sentence])[:1]
        may_win = [draft.hypothesis.pieces for draft in best]
        if not done:
            rows = slice(place * self.width, (place + 1) * self.width)
            alive = self.drafts.log_probs[rows] > -math.inf
            may_win += self.drafts.written[rows][alive].tolist()
        certain = _common(may_win)
        if len(certain) > self.certain[sentence]:
            self.certain[sentence] = len(certain)
            self.watch.wrote(sentence, certain)


class _Tree:
    """Numbers the nodes that the rows of beams stand on. Shapes: nodes [sentences, width]."""

    def __init__(self, trace: Trace, sentences: int) -> None:
        self.trace = trace
        self.nodes: Numbers = np.full((sentences, 1), -1, np.int64)

    def grow(self, alive: list[int], choice: Choice, step: int) -> None:
        ended, log_probs = choice.ended_log_probs, choice.log_probs
        if choice.ended_credits is not None and choice.credits is not None:
            ended, log_probs = ended - choice.ended_credits, log_probs - choice.credits
        for place, parent, log_prob in zip(
            choice.ended.tolist(), choice.ended_parents.tolist(), ended.tolist(), strict=True
        ):
            node = Node(int(self.nodes[place, parent]), EOS_ID, step, -1, log_prob, is_end=True)
            self.trace.add(alive[place], node)
        grown = np.full(choice.parents.shape, -1, np.int64)
        for place, rank in zip(*np.nonzero(np.isfinite(choice.log_probs)), strict=True):
            parent = int(self.nodes[place, choice.parents[place, rank]])
            log_prob = float(log_probs[place, rank])
            node = Node(parent, int(choice.tokens[place, rank]), step, int(rank), log_prob)
            grown[place, rank] = self.trace.add(alive[place], node)
        self.nodes = grown

    def select(self, places: Numbers) -> None:
        self.nodes = self.nodes[places]


def _ranked(drafts: list[Draft]) -> list[Draft]:
    return sorted(drafts, key=lambda draft: -draft.rank)


def _common(translations: list[list[int]]) -> list[int]:
    """The words that all of them begin with."""
    if not translations:
        return []
    shortest = min(map(len, translations))
    first = translations[0]
    for place in range(shortest):
        if any(other[place] != first[place] for other in translations):
            return first[:place]
    return first[:shortest]
