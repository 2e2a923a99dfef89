"""M14: the doubly stochastic term, λ Σ_s (1 − Σ_t a_t(s))²."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dragoman.config import ModelConfig, TrainingConfig, TransformerConfig
from dragoman.data.batch import Batch
from dragoman.models import build_model
from dragoman.nn.attention import Alignment
from dragoman.training.step import RewardBaseline, coverage_loss, objective
from testkit.generators import Numbers, lengths, many_cases, randomised, seeds, sizes
from tests.equations.comparison import Tensors, as_leaves, assert_same, evaluate, parameters
from tests.equations.generators_attention import VOCAB, Translating, small_config, translating
from tests.equations.score_names import CONTENT_SCORES


@dataclass(frozen=True)
class Maps:
    """Weights of several sentences, random also where there is padding. Shapes: weights [batch, *, tgt, columns]."""

    weights: Tensor
    first: Tensor | None
    source_lengths: Tensor
    target_lengths: Tensor
    src: int

    def shipped(self, given: Tensors) -> Tensors:
        alignment = Alignment(given["weights"], self.first)
        return {"loss": coverage_loss(alignment, self.source_lengths, self.target_lengths, self.src)}

    def literal(self, given: Tensors) -> Tensors:
        loss = torch.zeros((), dtype=torch.float64)
        for row, (src, tgt) in enumerate(zip(self.source_lengths.tolist(), self.target_lengths.tolist(), strict=True)):
            for s in range(src):
                covered = torch.zeros((), dtype=torch.float64)
                for t in range(tgt):
                    covered = covered + self.weight(given["weights"][row], row, t, s)
                loss = loss + (1 - covered) ** 2
        return {"loss": loss}

    def weight(self, weights: Tensor, row: int, t: int, s: int) -> Tensor | float:
        """a_t(s), by the mean over layers and heads where there are any."""
        if self.first is not None:
            column = s - int(self.first[row, t])
            return weights[t, column] if 0 <= column < weights.size(-1) else 0.0
        heads = [head[t, s] for head in weights.reshape(-1, *weights.shape[-2:])]
        return torch.stack(heads).sum() / len(heads)

    def assert_is_its_equation(self) -> None:
        given = as_leaves({"weights": self.weights}, torch.float64)
        wanted = evaluate(self.literal(given), given)
        for dtype in (torch.float64, torch.float32):
            given = as_leaves({"weights": self.weights}, dtype)
            assert_same(evaluate(self.shipped(given), given), wanted, dtype)


@st.composite
def maps(draw: st.DrawFn, *, heads: bool = False, windows: bool = False) -> Maps:
    source_lengths = draw(lengths())
    batch = len(source_lengths)
    target_lengths = torch.tensor(draw(st.lists(sizes(1, 5), min_size=batch, max_size=batch)))
    src = int(source_lengths.max()) + draw(st.integers(0, 2))
    tgt = int(target_lengths.max()) + draw(st.integers(0, 2))
    numbers = Numbers(draw(seeds))
    between = [draw(sizes(1, 2)), draw(sizes(1, 3))] if heads else []
    columns = draw(sizes(1, 5)) if windows else src
    weights = numbers.normal(batch, *between, tgt, columns).abs()
    first = numbers.tokens(src + 6, batch, tgt) - 4 if windows else None  # from before the sentence to behind it
    return Maps(weights, first, source_lengths, target_lengths, src)


@many_cases
@given(case=maps())
def test_the_term_is_its_equation(case: Maps):
    case.assert_is_its_equation()


@many_cases
@given(case=maps(windows=True))
def test_the_term_over_windows(case: Maps):
    case.assert_is_its_equation()


@many_cases
@given(case=maps(heads=True))
def test_the_term_over_layers_and_heads_takes_their_mean(case: Maps):
    case.assert_is_its_equation()


def test_known_numbers():
    weights = torch.tensor([[[0.5, 0.5, 9.0], [0.25, 0.75, 9.0]], [[1.0, 0.0, 0.0], [9.0, 9.0, 9.0]]])
    # first sentence: 2 source words, covered 0.75 and 1.25; second: 3 source words, one target word, covered 1, 0, 0
    loss = coverage_loss(Alignment(weights), torch.tensor([2, 3]), torch.tensor([2, 1]), 3)
    assert float(loss) == pytest.approx(0.0625 + 0.0625 + 2.0)
    assert float(coverage_loss(Alignment(torch.eye(3).unsqueeze(0)), torch.tensor([3]), torch.tensor([3]), 3)) == 0.0


@given(case=translating(scores=CONTENT_SCORES, alignments=["global", "local-m"], most_layers=1))
def test_the_term_of_a_whole_model(case: Translating):
    """From the decoder's own alignment, down to every parameter."""
    model = case.model()
    weights = parameters(model)

    def literal() -> Tensors:
        loss = torch.zeros((), dtype=torch.float64)
        steps = iter(case.literal(weights, {})["weights"])
        for source, target in (case.words(row) for row in range(len(case.source.lengths))):
            covered = torch.zeros(case.src, dtype=torch.float64)
            for _ in target:
                covered = covered + next(steps)
            for s in range(len(source)):
                loss = loss + (1 - covered[s]) ** 2
        return {"loss": loss}

    decoded = model(case.source.tokens, case.source.lengths, case.target.tokens, case.target.lengths)
    assert decoded.alignment is not None
    found = coverage_loss(decoded.alignment, case.source.lengths, case.target.lengths, case.src)
    assert_same(evaluate({"loss": found}, weights), evaluate(literal(), weights))


CONFIGS: dict[str, ModelConfig] = {
    "recurrent": small_config(attention={"alignment": "local-p", "window": 2}, attend="after", input_feeding=True),
    "transformer": TransformerConfig(
        family="transformer", dim=4, heads=2, encoder_layers=1, decoder_layers=2, feedforward=4, dropout=0.0
    ),
}


@pytest.mark.parametrize("family", CONFIGS)
def test_lambda_is_the_weight_of_the_term_in_what_training_minimises(family: str):
    batch = Batch.from_pairs([([4, 5, 6], [5, 4]), ([6], [4, 4, 5])])
    model = randomised(build_model(CONFIGS[family], VOCAB + 4, VOCAB + 4), 1)
    decoded = model(batch.source, batch.source_lengths, batch.inputs, batch.target_lengths, return_attention=True)
    term = coverage_loss(decoded.alignment, batch.source_lengths, batch.target_lengths, batch.source.size(1))
    plain, covering = (
        objective(model, batch, TrainingConfig(coverage_weight=weight), None, RewardBaseline(0.9)).total
        for weight in (0.0, 0.75)
    )
    weights = parameters(model)
    assert float(term.detach()) > 0.1
    assert_same(evaluate({"loss": covering}, weights), evaluate({"loss": plain + 0.75 * term}, weights))
