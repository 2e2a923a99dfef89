"""M5, M6, M12: decoders that see one vector of the source, and the one that feeds its attentional state back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dragoman.config.rnn import RnnConfig
from dragoman.models import Model, build_model
from dragoman.nn.recurrent import CELLS
from testkit.generators import Sentences, many_cases, randomised, seeds, sentence_batches, sizes
from tests.equations.comparison import Tensors, assert_agrees
from tests.equations.literal_attention import decode_after
from tests.equations.literal_recurrent import Encoding, Weights, decode_plain, encode

VOCAB = 5
Translator = Model[Any, Any]
Literal = Callable[[RnnConfig, Weights, Encoding, list[int]], list[Tensor]]

sutskever = {"context": "initial", "output": "linear"}
cho = {"context": "every-step", "output": "linear"}
cho_deep = {"context": "every-step", "output": "deep"}


@dataclass(frozen=True)
class Case:
    """A model's configuration, and sentence pairs for it."""

    config: RnnConfig
    source: Sentences
    target: Sentences
    seed: int

    def model(self) -> Translator:
        return randomised(build_model(self.config, VOCAB, VOCAB), self.seed)

    def target_words(self, row: int) -> list[int]:
        words: list[int] = self.target.tokens[row, : self.target.lengths[row]].tolist()
        return words


def real_steps(steps: Tensor, lengths: Tensor) -> Tensor:
    """The steps that are not padding, one after the other. Shapes: [batch, tgt, vocab] -> [steps, vocab]."""
    return torch.cat([steps[row, :length] for row, length in enumerate(lengths.tolist())])


@st.composite
def cases(draw: st.DrawFn, /, **decoder: Any) -> Case:
    """Any cells, sizes and layers around a given decoder."""
    encoder = {
        "cell": draw(st.sampled_from(sorted(CELLS))),
        "layers": draw(sizes(1, 2)),
        "hidden": 2 * draw(sizes(1, 2)),
        "bidirectional": draw(st.booleans()),
        "join": draw(st.sampled_from(["concat", "linear"])),
    }
    may_copy = not encoder["bidirectional"] or encoder["join"] == "concat"
    if may_copy and draw(st.booleans()):
        writer = {name: encoder[name] for name in ("cell", "layers", "hidden")} | {"start": "copy"}
    else:
        writer = {
            "cell": draw(st.sampled_from(sorted(CELLS))),
            "layers": draw(sizes(1, 2)),
            "hidden": draw(sizes(1, 4)),
        }
    embedding = draw(sizes(1, 4))
    ties = ["none", "target", "all"] if decoder["output"] == "deep" else ["none"]
    model = {"family": "rnn", "embedding": embedding, "dropout": 0.0, "tie": draw(st.sampled_from(ties))}
    model |= {"reverse_source": draw(st.booleans()), "encoder": encoder, "decoder": writer | decoder}
    return draw(pairs_for(RnnConfig.model_validate(model)))


@st.composite
def pairs_for(draw: st.DrawFn, config: RnnConfig) -> Case:
    source = draw(sentence_batches(VOCAB))
    target = draw(sentence_batches(VOCAB, rows=len(source.lengths), longest=4))
    return Case(config, source, target, draw(seeds))


def assert_is_its_equations(case: Case, decode: Literal) -> None:
    """The whole model, teacher-forced and step by step, against the loop over sentences and words."""

    def literal(weights: Weights, given: Tensors) -> Tensors:
        steps = []
        for row, length in enumerate(case.source.lengths.tolist()):
            encoding = encode(case.config, weights, case.source.tokens[row, :length].tolist())
            steps += decode(case.config, weights, encoding, case.target_words(row))
        return {"log_probs": torch.stack(steps)}

    def at_once(model: Translator, given: Tensors) -> Tensors:
        decoded = model(case.source.tokens, case.source.lengths, case.target.tokens, case.target.lengths)
        return {"log_probs": real_steps(model.decoder.output(decoded.features), case.target.lengths)}

    def step_by_step(model: Translator, given: Tensors) -> Tensors:
        memory = model.encode(case.source.tokens, case.source.lengths)
        state = model.decoder.start(memory)
        steps = []
        for tokens in case.target.tokens.unbind(1):
            step = model.decoder.step(tokens, state, memory)
            steps.append(step.log_probs)
            state = step.state
        return {"log_probs": real_steps(torch.stack(steps, 1), case.target.lengths)}

    assert_agrees(case.model(), {}, at_once, literal, also=[step_by_step])


@many_cases
@given(case=cases(attend="none", **sutskever))
def test_a_vector_that_only_starts_the_decoder(case: Case) -> None:
    assert_is_its_equations(case, decode_plain)


@pytest.mark.slow
@many_cases
@given(case=cases(attend="none", **cho))
def test_a_vector_that_enters_every_step(case: Case) -> None:
    assert_is_its_equations(case, decode_plain)


@many_cases
@given(case=cases(attend="none", **cho_deep))
def test_a_vector_that_enters_every_step_and_the_deep_output(case: Case) -> None:
    assert_is_its_equations(case, decode_plain)


FOUR_LAYERS = RnnConfig.model_validate(
    {
        "family": "rnn",
        "embedding": 3,
        "dropout": 0.0,
        "reverse_source": True,
        "encoder": {"cell": "lstm", "layers": 4, "hidden": 3, "bidirectional": False},
        "decoder": {"cell": "lstm", "layers": 4, "hidden": 3, "attend": "none", "start": "copy"},
    }
)


@pytest.mark.slow
@given(case=pairs_for(FOUR_LAYERS))
def test_the_deep_lstm_of_the_paper(case: Case) -> None:
    """Four layers each, the source reversed, every layer of the decoder started by its sibling of the encoder."""
    assert_is_its_equations(case, decode_plain)


def decode_feeding_back(config: RnnConfig, weights: Weights, source: Encoding, inputs: list[int]) -> list[Tensor]:
    """[y_{t-1}; h̃_{t-1}], h_{t-1} → h_t → a_t (global, general) → c_t → h̃_t → log p; without feeding, y_{t-1} alone."""
    return [written.log_probs for written in decode_after(config, weights, source, inputs)]


@many_cases
@given(case=cases(attend="after", output="linear", input_feeding=True))
def test_input_feeding(case: Case) -> None:
    assert_is_its_equations(case, decode_feeding_back)


@pytest.mark.slow
@many_cases
@given(case=cases(attend="after", output="linear", input_feeding=False))
def test_without_input_feeding(case: Case) -> None:
    """The same loop without input feeding: the setting changes nothing else."""
    assert_is_its_equations(case, decode_feeding_back)


@pytest.mark.parametrize(("wiring", "differs"), [(sutskever, False), (cho, True), (cho_deep, True)])
@many_cases
@given(data=st.data())
def test_where_the_source_enters(wiring: dict[str, str], differs: bool, data: st.DataObject) -> None:
    """Given the state before it, a step sees the source only where the vector enters every step."""
    case = data.draw(cases(attend="none", start="project", **wiring))
    model = case.model()
    memory = model.encode(case.source.tokens, case.source.lengths)
    other = model.encode((case.source.tokens + 1) % VOCAB, case.source.lengths)
    tokens, state = case.target.tokens[:, 0], model.decoder.start(memory)
    one, two = (model.decoder.step(tokens, state, seen).log_probs for seen in (memory, other))
    assert torch.equal(one, two) is not differs
