"""Cases of the attention tests: queries over a padded source, and complete models with attention.

Each kind of case has several ways to compute a result: the library and the literal one, with the same outputs by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor

from dragoman.config.rnn import LEGAL_WIRINGS, AttentionConfig, RnnConfig, Wiring
from dragoman.models import Model, build_model
from dragoman.nn.attention import Alignment, Attention, Memory
from dragoman.nn.attention.single_head import build_attention
from dragoman.nn.recurrent import CELLS
from dragoman.nn.stateless_noise import number_sites
from testkit.generators import (
    Numbers,
    Sentences,
    lengths,
    randomised,
    seeds,
    sentence_batches,
    sizes,
)
from tests.equations.comparison import Tensors, assert_agrees
from tests.equations.literal_attention import DECODERS, Attended, attend, over_words
from tests.equations.literal_recurrent import Weights, encode
from tests.equations.score_names import CONTENT_SCORES, EVERY_SCORE, SAME_SIZE_SCORES

VOCAB = 5
ATTENDING = [wiring for wiring in LEGAL_WIRINGS if wiring.attend != "none"]
Translator = Model[Any, Any]
Road = Callable[[Any, Tensors], Tensors]


def attended_as_outputs(steps: Sequence[Attended]) -> dict[str, Tensor]:
    """Attention of each step. Shapes: weights [steps, src], context [steps, value], the others [steps]."""
    outputs = {
        "weights": torch.stack([torch.stack(step.weights) for step in steps]),
        "context": torch.stack([step.context for step in steps]),
    }
    for name in ("centre", "log_prob", "entropy"):
        found = [getattr(step, name) for step in steps]
        if found[0] is not None:
            outputs[name] = torch.stack(found)
    return outputs


def alignment_as_outputs(alignment: Alignment, src: int) -> dict[str, Tensor]:
    """The same of a shipped alignment. Shapes: weights [batch, tgt, src], the others [batch, tgt]."""
    outputs = {"weights": alignment.dense(src)}
    for name in ("centre", "log_prob", "entropy"):
        found = getattr(alignment, name)
        if found is not None:
            outputs[name] = found
    return outputs


def padded(weights: Sequence[Tensor], src: int) -> list[Tensor]:
    """A sentence's weights, and zeros for the padding."""
    return [*weights, *[torch.zeros((), dtype=torch.float64)] * (src - len(weights))]


def off_whole_numbers(places: Tensor) -> float:
    """How far the nearest of them is from a whole number, where a window gains or loses a place."""
    return float((places - places.round()).abs().min())


# ------------------------------------------------------------------------------------- queries that attend to a source


@dataclass(frozen=True)
class Look:
    """Queries at numbered steps, and a padded source; values are None where the keys are the values too.

    Shapes: queries [batch, tgt, query], keys [batch, src, key], values [batch, src, value], lengths [batch],
    positions [batch, tgt].
    """

    config: AttentionConfig
    queries: Tensor
    keys: Tensor
    values: Tensor | None
    lengths: Tensor
    positions: Tensor
    seed: int

    @property
    def src(self) -> int:
        return self.keys.size(1)

    def attention(self) -> Attention:
        made = build_attention(self.config, self.queries.size(-1), self.keys.size(-1))
        number_sites(made)
        return randomised(made, self.seed)

    def given(self) -> dict[str, Tensor]:
        separate = {} if self.values is None else {"values": self.values}
        return {"queries": self.queries, "keys": self.keys, **separate}

    def make_memory(self, attention: Attention, given: Tensors) -> Memory:
        return attention.make_memory(given["keys"], given.get("values", given["keys"]), self.lengths)

    def at_once(self, attention: Attention, given: Tensors) -> Tensors:
        """Every target step in one call."""
        context, alignment = attention(given["queries"], self.make_memory(attention, given), self.positions)
        return {"context": context, **alignment_as_outputs(alignment, self.src)}

    def step_by_step(self, attention: Attention, given: Tensors) -> Tensors:
        """One target step after the other over a deferred memory, as decoders with feedback do."""
        memory = self.make_memory(attention, given).deferred()
        contexts, alignments = [], []
        for t in range(self.positions.size(1)):
            now = slice(t, t + 1)
            context, alignment = attention(given["queries"][:, now], memory, self.positions[:, now])
            contexts.append(context)
            alignments.append(alignment)
        return {"context": torch.cat(contexts, 1), **alignment_as_outputs(Alignment.join(alignments), self.src)}

    def literal(self, weights: Weights, given: Tensors) -> Tensors:
        """Each sentence, each step and each position for itself."""
        values = given.get("values", given["keys"])
        rows: list[dict[str, Tensor]] = []
        for row, length in enumerate(self.lengths.tolist()):
            steps = []
            for t, position in enumerate(self.positions[row].tolist()):
                seen = attend(
                    self.config,
                    weights,
                    given["queries"][row, t],
                    list(given["keys"][row, :length]),
                    list(values[row, :length]),
                    position,
                )
                steps.append(replace(seen, weights=padded(seen.weights, self.src)))
            rows.append(attended_as_outputs(steps))
        stacked = {name: torch.stack([row[name] for row in rows]) for name in rows[0]}
        return {"context": stacked.pop("context"), **stacked}

    def assert_is_its_equations(self) -> None:
        assert_agrees(self.attention(), self.given(), self.at_once, self.literal, also=[self.step_by_step])


@st.composite
def looks(
    draw: st.DrawFn,
    *,
    alignment: str = "global",
    scores: Sequence[str] | None = None,
    longest: int = 6,
    most_steps: int = 3,
    latest: int = 0,
) -> Look:
    """Any score that goes with the alignment (or of those named), any sizes; a row's first step is at most `latest`."""
    legal = CONTENT_SCORES if alignment.startswith("local") else EVERY_SCORE
    score = draw(st.sampled_from(scores or legal))
    key_size = draw(sizes(1, 3))
    query_size = key_size if score in SAME_SIZE_SCORES else draw(sizes(1, 3))
    config = AttentionConfig.model_validate(
        {
            "score": score,
            "alignment": alignment,
            "window": draw(sizes(1, 4)),
            "positions": draw(sizes(1, longest + 1)),
            "hidden": draw(sizes(1, 3)),
        }
    )
    drawn = draw(lengths(most_rows=3, longest=longest))
    batch, src, tgt = len(drawn), int(drawn.max()) + draw(st.integers(0, 2)), draw(sizes(1, most_steps))
    starts = torch.tensor(draw(st.lists(st.integers(0, latest), min_size=batch, max_size=batch)))
    numbers = Numbers(draw(seeds))
    return Look(
        config,
        queries=numbers.normal(batch, tgt, query_size),
        keys=numbers.normal(batch, src, key_size),
        values=numbers.normal(batch, src, draw(sizes(1, 3))) if draw(st.booleans()) else None,
        lengths=drawn,
        positions=starts.unsqueeze(1) + torch.arange(tgt),
        seed=draw(seeds),
    )


# --------------------------------------------------------------------------------------------------------- whole models


@dataclass(frozen=True)
class Translating:
    """A model's configuration, and sentence pairs for it. The target is what the decoder reads."""

    config: RnnConfig
    source: Sentences
    target: Sentences
    seed: int

    @property
    def src(self) -> int:
        return self.source.tokens.size(1)

    def model(self) -> Translator:
        return randomised(build_model(self.config, VOCAB, VOCAB), self.seed)

    def make_memory(self, model: Translator) -> Any:
        return model.encode(self.source.tokens, self.source.lengths)

    def at_once(self, model: Translator, given: Tensors) -> Tensors:
        """Teacher-forced."""
        decoded = model(
            self.source.tokens, self.source.lengths, self.target.tokens, self.target.lengths, return_attention=True
        )
        assert decoded.alignment is not None
        return self._real_steps(model.decoder.output(decoded.features), decoded.alignment)

    def step_by_step(self, model: Translator, given: Tensors) -> Tensors:
        """As a search does it."""
        memory = self.make_memory(model)
        state = model.decoder.start(memory)
        log_probs, alignments = [], []
        for tokens in self.target.tokens.unbind(1):
            step = model.decoder.step(tokens, state, memory)
            assert step.alignment is not None
            log_probs.append(step.log_probs)
            alignments.append(step.alignment)
            state = step.state
        return self._real_steps(torch.stack(log_probs, 1), Alignment.join(alignments))

    def literal(self, weights: Weights, given: Tensors) -> Tensors:
        """Each sentence for itself, word after word."""
        log_probs, steps = [], []
        for row in range(len(self.source.lengths)):
            source, inputs = self.words(row)
            encoding = encode(self.config, weights, source)
            for step in DECODERS[self.config.decoder.attend](self.config, weights, encoding, inputs):
                log_probs.append(step.log_probs)
                seen = step.attended.weights
                if encoding.structured is not None:
                    seen = over_words(seen, encoding.structured)
                steps.append(replace(step.attended, weights=padded(seen, self.src)))
        outputs = attended_as_outputs(steps)
        del outputs["context"]  # the decoders do not return it
        return {"log_probs": torch.stack(log_probs), **outputs}

    def words(self, row: int) -> tuple[list[int], list[int]]:
        """One sentence pair without its padding."""
        source: list[int] = self.source.tokens[row, : self.source.lengths[row]].tolist()
        inputs: list[int] = self.target.tokens[row, : self.target.lengths[row]].tolist()
        return source, inputs

    def assert_is_its_equations(self) -> None:
        assert_agrees(self.model(), {}, self.at_once, self.literal, also=[self.step_by_step])

    def _real_steps(self, log_probs: Tensor, alignment: Alignment) -> dict[str, Tensor]:
        """The steps that are not padding, one after the other. Shapes: each [batch, tgt, *] -> [steps, *]."""
        steps = {"log_probs": log_probs, **alignment_as_outputs(alignment, self.src)}
        lengths_ = self.target.lengths.tolist()
        return {name: torch.cat([x[row, :n] for row, n in enumerate(lengths_)]) for name, x in steps.items()}


def windows_are_clear(case: Translating) -> bool:
    """Whether float32 and float64 must agree on which places a predicted window holds."""
    if case.config.attention.alignment != "local-p":
        return True
    with torch.no_grad():
        return off_whole_numbers(case.at_once(case.model(), {})["centre"]) > 1e-4


def small_config(
    cell: str = "gru-published", *, layers: int = 1, hidden: int = 2, attention: Mapping[str, Any], **decoder: Any
) -> RnnConfig:
    """One cell everywhere; an encoder of two directions, twice as wide as the decoder unless they have to be alike."""
    alike = attention.get("score") in SAME_SIZE_SCORES and attention.get("memory") != "split"
    width = hidden if alike else 2 * hidden
    return RnnConfig.model_validate(
        {
            "family": "rnn",
            "embedding": 3,
            "dropout": 0.0,
            "encoder": {"cell": cell, "layers": layers, "hidden": width},
            "decoder": {"cell": cell, "layers": layers, "hidden": hidden, **decoder},
            "attention": attention,
        }
    )


@st.composite
def translating(
    draw: st.DrawFn,
    *,
    wirings: Sequence[Wiring] = ATTENDING,
    scores: Sequence[str] = EVERY_SCORE,
    alignments: Sequence[str] = ("global",),
    memories: Sequence[str] = ("shared",),
    most_layers: int = 2,
) -> Translating:
    """Any cells, sizes and layers around a given attention and decoder."""
    width = 2 * draw(sizes(1, 2))
    encoder = {
        "cell": draw(st.sampled_from(sorted(CELLS))),
        "layers": draw(sizes(1, most_layers)),
        "hidden": width,
        "bidirectional": draw(st.booleans()),
        "join": draw(st.sampled_from(["concat", "linear"])),
    }
    attention = {
        "score": draw(st.sampled_from(scores)),
        "alignment": draw(st.sampled_from(alignments)),
        "memory": draw(st.sampled_from(memories)),
        "window": draw(sizes(1, 2)),
        "positions": draw(sizes(1, 5)),
        "hidden": draw(sizes(1, 3)),
    }
    key_size = width // 2 if attention["memory"] == "split" else width
    writer = {
        "cell": draw(st.sampled_from(sorted(CELLS))),
        "layers": draw(sizes(1, most_layers)),
        "hidden": key_size if attention["score"] in SAME_SIZE_SCORES else draw(sizes(1, 3)),
        **draw(st.sampled_from(wirings))._asdict(),
    }
    config = RnnConfig.model_validate(
        {
            "family": "rnn",
            "embedding": draw(sizes(1, 3)),
            "dropout": 0.0,
            "reverse_source": draw(st.booleans()),
            "encoder": encoder,
            "decoder": writer,
            "attention": attention,
        }
    )
    source = draw(sentence_batches(VOCAB, most_rows=2, longest=4))
    target = draw(sentence_batches(VOCAB, rows=len(source.lengths), longest=4, spare=1))
    return Translating(config, source, target, draw(seeds))
