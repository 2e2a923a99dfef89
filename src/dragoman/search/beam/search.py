"""Beam search over a batch of sentences. Papers: [graves2012] (section 3), [sutskever2014] (section 3.2)."""

import math
from collections.abc import Sequence

import numpy as np

from dragoman.config.search import SearchSettings
from dragoman.search.beam.algorithms import BeamAlgorithm, BeamStep
from dragoman.search.decoding_protocol import DecodingState, Floats, Numbers, SearchMonitor, StartDecoding
from dragoman.search.hypothesis import (
    Hypothesis,
    PartialHypotheses,
    Penalties,
    RankedHypothesis,
    SearchInput,
    SearchTrace,
    StepProcessor,
    TraceNode,
)
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
    while beams.active:
        state = beams.step(state)
    return beams.results()


class _Beams:
    """The beams of the active sentences: rows [sentences, width]; `index` is a sentence's position among these."""

    def __init__(
        self,
        sentences: Sequence[SearchInput],
        settings: SearchSettings,
        algorithm: BeamAlgorithm,
        longest: int | None,
        monitor: SearchMonitor | None,
        trace: SearchTrace | None,
    ) -> None:
        self.source_lengths = [len(sentence.tokens) for sentence in sentences]
        self.limits = [settings.limit(len(sentence.tokens), longest, sentence.min_length) for sentence in sentences]
        self.settings = settings
        self.algorithm = algorithm
        self.monitor = monitor
        self.processor = StepProcessor(sentences, settings)
        self.penalties = Penalties(settings)
        self.max_finished = math.inf if settings.patience is None else math.ceil(settings.patience * settings.beam)
        self.finished: list[list[RankedHypothesis]] = [[] for _ in sentences]
        self.cut_off: list[list[RankedHypothesis]] = [[] for _ in sentences]
        self.finished_tokens: list[set[tuple[int, ...]]] = [set() for _ in sentences]
        self.reported_length = [0] * len(sentences)
        self.active = list(range(len(sentences)))
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
        self._finish(choice)
        for index in np.flatnonzero(np.isneginf(choice.log_probs).all(1)).tolist():
            if not self.finished[self.active[index]]:  # no token is allowed
                self._cut(index, self.active[index])
        indices = np.arange(len(self.active))[:, np.newaxis]
        rows = (indices * self.width + choice.parents).ravel()
        if self.tree is not None:
            self.tree.grow(self.active, choice, self.partial.written.shape[1])
        width_unchanged = self.width == self.algorithm.width
        self.width = self.algorithm.width
        self.algorithm = self.algorithm.advance(choice)
        row_credits = np.zeros(choice.log_probs.shape) if choice.credits is None else choice.credits
        self.partial = self.partial.select(rows).append(
            choice.tokens.ravel(), (choice.log_probs - row_credits).ravel(), row_credits.ravel()
        )
        unfinished = [index for index, sentence in enumerate(self.active) if not self._is_done(index, sentence)]
        unfinished = [index for index in unfinished if not self._is_cancelled(self.active[index])]
        if len(unfinished) < len(self.active):
            kept = self._keep(unfinished)
            return output.next_state.select(rows[kept])
        return output.next_state.reorder(rows) if width_unchanged else output.next_state.select(rows)

    def drop_cancelled(self) -> None:
        """Stop before the first step if all sentences are cancelled."""
        if all(self._is_cancelled(sentence) for sentence in self.active):
            self.active = []

    def results(self) -> list[list[Hypothesis]]:
        """The hypotheses of each sentence. Those cut at the length limit come after all finished ones."""
        return [
            [each.hypothesis for each in (_ranked(finished) + _ranked(cut_off))[: self.settings.nbest]]
            for finished, cut_off in zip(self.finished, self.cut_off, strict=True)
        ]

    def _choose(self, log_probs: Floats, weights: Floats | None) -> BeamStep:
        sentence_of_row = [sentence for sentence in self.active for _ in range(self.width)]
        self.processor.apply(log_probs, self.partial.written, sentence_of_row)
        shape = (len(self.active), self.width)
        attention = None if weights is None else weights.reshape(*shape, -1)
        return self.algorithm.choose(log_probs.reshape(*shape, -1), self.partial.ranked.reshape(shape), attention)

    def _finish(self, choice: BeamStep) -> None:
        row_credits = np.zeros(len(choice.ended)) if choice.ended_credits is None else choice.ended_credits
        ends = (choice.ended, choice.ended_parents, choice.ended_log_probs - row_credits, row_credits)
        for index, parent, log_prob, credit in zip(*(each.tolist() for each in ends), strict=True):
            sentence = self.active[index]
            row = index * self.width + parent
            tokens = tuple(self.partial.written[row].tolist())
            if tokens not in self.finished_tokens[sentence]:  # groups of a diverse beam can find the same
                self.finished_tokens[sentence].add(tokens)
                self.finished[sentence].append(
                    self.partial.finish(row, log_prob, credit, self.source_lengths[sentence], self.penalties)
                )

    def _is_done(self, index: int, sentence: int) -> bool:
        """Whether a sentence needs no further step."""
        best_running = float(self.partial.ranked[index * self.width : (index + 1) * self.width].max())
        finished = self.finished[sentence]
        done = best_running == -math.inf or len(finished) >= self.max_finished
        if not done and self.partial.written.shape[1] >= self.limits[sentence]:
            self._cut(index, sentence)
            done = True
        if not done and len(finished) >= self.settings.nbest:
            last_returned = _ranked(finished)[self.settings.nbest - 1].rank
            done = last_returned >= self.penalties.at_best(best_running, self.limits[sentence])
        self._report_tokens(index, sentence, done=done)
        return done

    def _cut(self, index: int, sentence: int) -> None:
        """Cut the rows of a sentence at the length limit."""
        for row in range(index * self.width, (index + 1) * self.width):
            if self.partial.log_probs[row] > -math.inf:
                self.cut_off[sentence].append(self.partial.close(row, self.source_lengths[sentence], self.penalties))

    def _keep(self, unfinished: list[int]) -> Numbers:
        """Keep these of the active sentences; return their rows."""
        indices = np.array(unfinished, np.int64)
        rows = (indices[:, np.newaxis] * self.width + np.arange(self.width)).ravel()
        self.active = [self.active[index] for index in unfinished]
        self.algorithm = self.algorithm.select(indices)
        self.partial = self.partial.select(rows)
        if self.tree is not None:
            self.tree.select(indices)
        return rows

    def _is_cancelled(self, sentence: int) -> bool:
        if self.monitor is None or not self.monitor.is_cancelled(sentence):
            return False
        self.finished[sentence], self.cut_off[sentence] = [], []
        return True

    def _report_tokens(self, index: int, sentence: int, *, done: bool) -> None:
        """Report the common prefix of all hypotheses that can still win: it is final."""
        if self.monitor is None or not self.monitor.is_streamed(sentence):
            return
        best = _ranked(self.finished[sentence])[:1] or _ranked(self.cut_off[sentence])[:1]
        may_win = [each.hypothesis.tokens for each in best]
        if not done:
            rows = slice(index * self.width, (index + 1) * self.width)
            is_used = self.partial.log_probs[rows] > -math.inf
            may_win += self.partial.written[rows][is_used].tolist()
        prefix = _common_prefix(may_win)
        if len(prefix) > self.reported_length[sentence]:
            self.reported_length[sentence] = len(prefix)
            self.monitor.on_tokens(sentence, prefix)


class _Tree:
    """Tracks the tree node of each row. Shapes: nodes [sentences, width]."""

    def __init__(self, trace: SearchTrace, sentences: int) -> None:
        self.trace = trace
        self.nodes: Numbers = np.full((sentences, 1), -1, np.int64)

    def grow(self, active: list[int], choice: BeamStep, step: int) -> None:
        ended, log_probs = choice.ended_log_probs, choice.log_probs
        if choice.ended_credits is not None and choice.credits is not None:
            ended, log_probs = ended - choice.ended_credits, log_probs - choice.credits
        for index, parent, log_prob in zip(
            choice.ended.tolist(), choice.ended_parents.tolist(), ended.tolist(), strict=True
        ):
            node = TraceNode(int(self.nodes[index, parent]), EOS_ID, step, -1, log_prob, is_end=True)
            self.trace.add(active[index], node)
        grown = np.full(choice.parents.shape, -1, np.int64)
        for index, rank in zip(*np.nonzero(np.isfinite(choice.log_probs)), strict=True):
            parent = int(self.nodes[index, choice.parents[index, rank]])
            log_prob = float(log_probs[index, rank])
            node = TraceNode(parent, int(choice.tokens[index, rank]), step, int(rank), log_prob)
            grown[index, rank] = self.trace.add(active[index], node)
        self.nodes = grown

    def select(self, indices: Numbers) -> None:
        self.nodes = self.nodes[indices]


def _ranked(hypotheses: list[RankedHypothesis]) -> list[RankedHypothesis]:
    return sorted(hypotheses, key=lambda each: -each.rank)


def _common_prefix(translations: list[list[int]]) -> list[int]:
    """The longest common prefix."""
    if not translations:
        return []
    shortest = min(map(len, translations))
    first = translations[0]
    for index in range(shortest):
        if any(other[index] != first[index] for other in translations):
            return first[:index]
    return first[:shortest]
