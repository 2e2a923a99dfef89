"""Build the ONNX graph of one decoder step."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.config.schema import RnnConfig
from dragoman.engines.onnx.graph.attention import attend
from dragoman.engines.onnx.graph.builder import FLOAT, INT64, Array, Graph, Size, Value
from dragoman.engines.onnx.graph.shared_weights import cells, maxout_halves, output_weight, target_vectors

LARGEST_TABLE = 1 << 26
"""Maximum bytes of a table of the products of all words; larger ones are computed at each step."""

State = list[list[Value]]
"""The state tensors of each layer, the lowest first."""


def build_decoder_step(
    config: RnnConfig, weights: Mapping[str, Array], precision: str, kept: Mapping[str, list[Size]]
) -> Graph:
    """tokens [batch, beam], the state and the source memory -> log_probs, weights, the next state.

    Rows of one sentence are adjacent, so they share one source memory.
    """
    return _DecoderStep(config, weights, precision).build(kept)


class _DecoderStep:
    """Builds the graph. Shapes: all row values are [batch, beam, …]."""

    def __init__(self, config: RnnConfig, weights: Mapping[str, Array], precision: str) -> None:
        self.config = config
        self.weights = weights
        self.graph = Graph("writer", precision)
        self.cells = cells(config, weights)
        self.kept: dict[str, Value] = {}

    def build(self, kept: Mapping[str, list[Size]]) -> Graph:
        graph, config = self.graph, self.config
        tokens = graph.input("tokens", INT64, ["batch", "beam"])
        row: list[Size] = ["batch", "beam", config.decoder.hidden]
        parts = range(self.cells[0].parts)
        state = [
            [graph.input(f"state.{layer}.{part}", FLOAT, row) for part in parts] for layer in range(len(self.cells))
        ]
        fed = graph.input("state.fed", FLOAT, row) if config.decoder.input_feeding else None
        self.kept = {name: graph.input(f"memory.{name}", FLOAT, shape) for name, shape in kept.items()}
        if config.decoder.attend != "none" and config.attention.alignment == "local-m":
            self.kept["position"] = graph.input("position", INT64, [])
        features, shares, state = self._step(tokens, state, fed)
        scores = graph.linear(
            features, output_weight(self.weights), self.weights["decoder.output.bias"], bounded=not self._is_deep
        )
        log_probs = graph.op("LogSoftmax", scores, axis=-1)
        graph.output("log_probs", log_probs, FLOAT, ["batch", "beam", len(self.weights["decoder.output.bias"])])
        if shares is not None:
            graph.output("weights", shares, FLOAT, ["batch", "beam", "src"])
        for layer, values in enumerate(state):
            for part, value in enumerate(values):
                graph.output(f"next.{layer}.{part}", value, FLOAT, row)
        if fed is not None:
            graph.output("next.fed", features, FLOAT, row)
        return graph

    @property
    def _is_deep(self) -> bool:
        return self.config.decoder.output == "deep"

    def _step(self, tokens: Value, state: State, fed: Value | None) -> tuple[Value, Value | None, State]:
        """The input of the output layer, the attention weights, and the next state."""
        graph, config = self.graph, self.config
        context: Value | None = None
        shares: Value | None = None
        if config.decoder.attend == "after":
            state = self._run_layers(self._words(tokens, fed), state)
            mixed, shares = self._attend(state[-1][0])
            W_c = self.weights["decoder.W_c"][:, config.value_size :]
            return graph.op("Tanh", graph.op("Add", graph.linear(state[-1][0], W_c), mixed)), shares, state
        if config.decoder.attend == "before":
            context, shares = self._attend(state[-1][0])
        elif config.decoder.context == "every-step":
            context = self.kept["summary"]
        words, to_output = self._words(tokens, None), None
        if context is not None:
            gates = len(self.cells[0].weights.b)
            sizes = [gates, 2 * config.features] if self._is_deep else [gates]
            to_cell, *rest = graph.split(context, *sizes)
            words, to_output = graph.op("Add", words, to_cell), rest[0] if rest else None
        state = self._run_layers(words, state)
        if to_output is None:
            return state[-1][0], shares, state
        return self._deep(tokens, state[-1][0], to_output), shares, state

    def _attend(self, query: Value) -> tuple[Value, Value]:
        return attend(self.graph, self.config, self.weights, query, self.kept)

    def _words(self, tokens: Value, fed: Value | None) -> Value:
        """Products of the previous words for the lowest cell, with bias. Shapes: -> [batch, beam, gates * hidden]."""
        lowest = self.cells[0].weights
        words = self._word_products(tokens, lowest.W[:, : self.config.embedding], lowest.b)
        if fed is None:
            return words
        return self.graph.op("Add", words, self.graph.linear(fed, lowest.W[:, self.config.embedding :]))

    def _word_products(self, tokens: Value, W: Array, b: Array) -> Value:
        """W y + b for the vectors y of tokens; from a table if it is small enough."""
        vectors = target_vectors(self.weights)
        if vectors.shape[0] * W.shape[0] * 4 <= LARGEST_TABLE:
            return self.graph.op("Gather", self.graph.constant(vectors @ W.T + b), tokens)
        words = self.graph.op("Gather", self.graph.constant(vectors), tokens)
        return self.graph.linear(words, W, b, bounded=False)

    def _run_layers(self, projected: Value, state: State) -> State:
        """Run all layers."""
        new = [self.cells[0].step(self.graph, projected, state[0])]
        for cell, before in zip(self.cells[1:], state[1:], strict=True):
            below = self.graph.linear(new[-1][0], cell.weights.W, cell.weights.b)
            new.append(cell.step(self.graph, below, before))
        return new

    def _deep(self, tokens: Value, h: Value, from_context: Value) -> Value:
        """The maxout layer. Shapes: -> [batch, beam, features]."""
        graph = self.graph
        U_o, b, V_o = (maxout_halves(self.weights[f"decoder.deep.{name}"]) for name in _DEEP)
        words = graph.op("Add", self._word_products(tokens, V_o, b), from_context)
        pairs = graph.op("Add", graph.linear(h, U_o), words)
        return graph.op("Max", *graph.split(pairs, self.config.features, self.config.features))


_DEEP = ("U_o.weight", "U_o.bias", "V_o.weight")
