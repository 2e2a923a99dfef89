"""Beam search over a batch of sentences. Papers: [graves2012] (section 3), [sutskever2014] (section 3.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dragoman.config.search import SearchSettings
from dragoman.search.beam.algorithms import BeamAlgorithm, BeamStep
from dragoman.search.decoding_protocol import DecodingState, Floats, Numbers, SearchMonitor, StartDecoding
from dragoman.search.forbidden_tokens import StepProcessor
from dragoman.search.hypothesis import Hypothesis, SearchInput
from dragoman.search.partial_hypotheses import PartialHypotheses, RankedHypothesis
from dragoman.search.penalties import Penalties
from dragoman.search.trace import SearchTrace, TraceNode
from dragoman.text import BOS_ID, EOS_ID


def beam_search(
    start: StartDecoding,
    sentences: Sequence[SearchInput],
    settings: SearchSettings,
    algorithm: BeamAlgorithm,
    *,
    longest: int | None = None,
    return_attention: bool = False,
    monitor: SearchMonitor | None = None,
    trace: SearchTrace | None = None,
) -> list[list[Hypothesis]]:
    """The `settings.nbest` best translations of each sentence, none for a cancelled one.

    A sentence leaves the batch when enough of its translations are finished (`patience`), when no continued row can
    become better than those, or at the length limit. `longest` is the maximum length of the model.
    """
    beams = _Beams(sentences, settings, algorithm, longest, monitor, trace)
    needs_attention = return_attention or algorithm.needs_attention or settings.coverage_penalty > 0
    state = start([sentence.tokens for sentence in sentences], needs_attention)
    beams.drop_cancelled()
    while beams.alive:
        state = beams.step(state)
    return beams.results()


class _Beams:
    """The beams of the active sentences: rows [sentences, width], grouped by sentence."""

    def __init__(
        self,
        sentences: Sequence[SearchInput],
        settings: SearchSettings,
        algorithm: BeamAlgorithm,
        longest: int | None,
        monitor: SearchMonitor | None,
        trace: SearchTrace | None,
    ) -> None:
        self.sources = [len(sentence.tokens) for sentence in sentences]
        self.limits = [settings.limit(len(sentence.tokens), longest, sentence.min_length) for sentence in sentences]
        self.settings = settings
        self.algorithm = algorithm
        self.monitor = monitor
        self.processor = StepProcessor(sentences, settings)
        self.penalties = Penalties(settings)
        self.enough = math.inf if settings.patience is None else math.ceil(settings.patience * settings.beam)
        self.ended: list[list[RankedHypothesis]] = [[] for _ in sentences]
        self.cut: list[list[RankedHypothesis]] = [[] for _ in sentences]
        self.seen: list[set[tuple[int, ...]]] = [set() for _ in sentences]
        self.certain = [0] * len(sentences)
        self.alive = list(range(len(sentences)))
        self.width = 1
        self.partial = PartialHypotheses.empty(len(sentences))
        self.tree = None if trace is None else _Tree(trace, len(sentences))

    def step(self, state: DecodingState) -> DecodingState:
        """Decode one token for every row."""
        written = self.partial.written
        last = written[:, -1] if written.shape[1] else np.full(len(written), BOS_ID)
        output = state.step(last)
        self.partial = self.partial.with_attention(output.weights)
        choice = self._choose(output.log_probs, output.weights)
        self._end(choice)
        for place in np.flatnonzero(np.isneginf(choice.log_probs).all(1)).tolist():
            if not self.ended[self.alive[place]]:  # no token is allowed
                self._cut(place, self.alive[place])
        places = np.arange(len(self.alive))[:, np.newaxis]
        rows = (places * self.width + choice.parents).ravel()
        if self.tree is not None:
            self.tree.grow(self.alive, choice, self.partial.written.shape[1])
        after = output.next_state
        same = self.width == self.algorithm.width
        self.width = self.algorithm.width
        self.algorithm = self.algorithm.advance(choice)
        credit = np.zeros(choice.log_probs.shape) if choice.credits is None else choice.credits
        self.partial = self.partial.select(rows).append(
            choice.tokens.ravel(), (choice.log_probs - credit).ravel(), credit.ravel()
        )
        left = [place for place, sentence in enumerate(self.alive) if not self._is_done(place, sentence)]
        left = [place for place in left if not self._is_cancelled(self.alive[place])]
        if len(left) < len(self.alive):
            kept = self._leave(left)
            return after.select(rows[kept])
        return after.reorder(rows) if same else after.select(rows)

    def drop_cancelled(self) -> None:
        """Stop before the first step if all sentences are cancelled."""
        if all(self._is_cancelled(sentence) for sentence in self.alive):
            self.alive = []

    def results(self) -> list[list[Hypothesis]]:
        """The hypotheses of each sentence. Those cut at the length limit come after all finished ones."""
        return [
            [each.hypothesis for each in (_ranked(ended) + _ranked(cut))[: self.settings.nbest]]
            for ended, cut in zip(self.ended, self.cut, strict=True)
        ]

    def _choose(self, log_probs: Floats, weights: Floats | None) -> BeamStep:
        of = [sentence for sentence in self.alive for _ in range(self.width)]
        self.processor.apply(log_probs, self.partial.written, of)
        shape = (len(self.alive), self.width)
        looked = None if weights is None else weights.reshape(*shape, -1)
        return self.algorithm.choose(log_probs.reshape(*shape, -1), self.partial.ranked.reshape(shape), looked)

    def _end(self, choice: BeamStep) -> None:
        credit = np.zeros(len(choice.ended)) if choice.ended_credits is None else choice.ended_credits
        ends = (choice.ended, choice.ended_parents, choice.ended_log_probs - credit, credit)
        for place, parent, log_prob, given in zip(*(each.tolist() for each in ends), strict=True):
            sentence = self.alive[place]
            row, worth = place * self.width + parent, (log_prob, given)
            tokens = tuple(self.partial.written[row].tolist())
            if tokens not in self.seen[sentence]:  # groups of a diverse beam can find the same
                self.seen[sentence].add(tokens)
                self.ended[sentence].append(self.partial.finish(row, worth, self.sources[sentence], self.penalties))

    def _is_done(self, place: int, sentence: int) -> bool:
        """Whether a sentence needs no further step."""
        best = float(self.partial.ranked[place * self.width : (place + 1) * self.width].max())
        ended = self.ended[sentence]
        done = best == -math.inf or len(ended) >= self.enough
        if not done and self.partial.written.shape[1] >= self.limits[sentence]:
            self._cut(place, sentence)
            done = True
        if not done and len(ended) >= self.settings.nbest:
            least = _ranked(ended)[self.settings.nbest - 1].rank
            done = least >= self.penalties.at_best(best, self.limits[sentence])
        self._report_tokens(place, sentence, done=done)
        return done

    def _cut(self, place: int, sentence: int) -> None:
        """Cut the rows of a sentence at the length limit."""
        for row in range(place * self.width, (place + 1) * self.width):
            if self.partial.log_probs[row] > -math.inf:
                self.cut[sentence].append(self.partial.close(row, self.sources[sentence], self.penalties))

    def _leave(self, left: list[int]) -> Numbers:
        """Keep these sentences (indices in the batch); return their rows."""
        places = np.array(left, np.int64)
        rows = (places[:, np.newaxis] * self.width + np.arange(self.width)).ravel()
        self.alive = [self.alive[place] for place in left]
        self.algorithm = self.algorithm.select(places)
        self.partial = self.partial.select(rows)
        if self.tree is not None:
            self.tree.select(places)
        return rows

    def _is_cancelled(self, sentence: int) -> bool:
        if self.monitor is None or not self.monitor.is_cancelled(sentence):
            return False
        self.ended[sentence], self.cut[sentence] = [], []
        return True

    def _report_tokens(self, place: int, sentence: int, *, done: bool) -> None:
        """Report the common prefix of all hypotheses that can still win: it is final."""
        if self.monitor is None or not self.monitor.is_streamed(sentence):
            return
        best = _ranked(self.ended[sentence])[:1] or _ranked(self.cut[sentence])[:1]
        may_win = [each.hypothesis.tokens for each in best]
        if not done:
            rows = slice(place * self.width, (place + 1) * self.width)
            alive = self.partial.log_probs[rows] > -math.inf
            may_win += self.partial.written[rows][alive].tolist()
        certain = _common(may_win)
        if len(certain) > self.certain[sentence]:
            self.certain[sentence] = len(certain)
            self.monitor.on_tokens(sentence, certain)


class _Tree:
    """Tracks the tree node of each row. Shapes: nodes [sentences, width]."""

    def __init__(self, trace: SearchTrace, sentences: int) -> None:
        self.trace = trace
        self.nodes: Numbers = np.full((sentences, 1), -1, np.int64)

    def grow(self, alive: list[int], choice: BeamStep, step: int) -> None:
        ended, log_probs = choice.ended_log_probs, choice.log_probs
        if choice.ended_credits is not None and choice.credits is not None:
            ended, log_probs = ended - choice.ended_credits, log_probs - choice.credits
        for place, parent, log_prob in zip(
            choice.ended.tolist(), choice.ended_parents.tolist(), ended.tolist(), strict=True
        ):
            node = TraceNode(int(self.nodes[place, parent]), EOS_ID, step, -1, log_prob, is_end=True)
            self.trace.add(alive[place], node)
        grown = np.full(choice.parents.shape, -1, np.int64)
        for place, rank in zip(*np.nonzero(np.isfinite(choice.log_probs)), strict=True):
            parent = int(self.nodes[place, choice.parents[place, rank]])
            log_prob = float(log_probs[place, rank])
            node = TraceNode(parent, int(choice.tokens[place, rank]), step, int(rank), log_prob)
            grown[place, rank] = self.trace.add(alive[place], node)
        self.nodes = grown

    def select(self, places: Numbers) -> None:
        self.nodes = self.nodes[places]


def _ranked(hypotheses: list[RankedHypothesis]) -> list[RankedHypothesis]:
    return sorted(hypotheses, key=lambda each: -each.rank)


def _common(translations: list[list[int]]) -> list[int]:
    """The longest common prefix."""
    if not translations:
        return []
    shortest = min(map(len, translations))
    first = translations[0]
    for place in range(shortest):
        if any(other[place] != first[place] for other in translations):
            return first[:place]
    return first[:shortest]
