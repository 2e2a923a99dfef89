"""Every recurrent model the rules allow runs and learns; every other one is refused with a list of what is allowed."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any, NamedTuple, get_args

import pytest
import torch
from pydantic import BaseModel
from torch import Tensor

from dragoman.config import AttentionConfig, RnnConfig, RnnDecoderConfig, TrainingConfig, parse_config
from dragoman.config.attention_scores import SCORES
from dragoman.config.rnn import CellName, Wiring
from dragoman.data.batch import Batch
from dragoman.errors import CombinationError, ConfigError
from dragoman.models import Model, build_model
from dragoman.nn.stateless_noise import Noise
from dragoman.text import BOS_ID
from dragoman.training.step import RewardBaseline, objective
from testkit.legal_wirings import legal_wirings

CELLS: tuple[str, ...] = get_args(CellName)
SOURCE_VOCAB, TARGET_VOCAB = 9, 8
WINDOW, POSITIONS = 1, 3

# By hand, from the rules and not from the code:
#   without attention  3 wirings: the source only starts the decoder (plain output) or enters every step (plain, deep)
#   with attention     4 wirings: attend before (plain or deep output), attend after (with or without input feeding),
#     each with        34 attentions: global and hard 4 content scores × 2 memories + location × 1 = 9 each,
#                      local-m and local-p 4 content scores × 2 memories = 8 each
#   so 3 + 4 × 34 = 139 ways to attend, each with 4 cells, 1 or 2 directions, and the source reversed or not
COUNT = (3 + 4 * (9 + 9 + 8 + 8)) * 4 * 2 * 2


class Build(NamedTuple):
    """What is the same in all the combinations that one test goes through."""

    cell: str
    bidirectional: bool
    reverse: bool
    wiring: Wiring

    def __str__(self) -> str:
        wiring = self.wiring
        parts = (
            self.cell,
            "both-ways" if self.bidirectional else "one-way",
            "reversed" if self.reverse else "in-order",
            f"attend-{wiring.attend}",
            "feeding" if wiring.input_feeding else "",
            wiring.context if wiring.attend == "none" else "",
            wiring.output,
        )
        return "-".join(part for part in parts if part)


class Attends(NamedTuple):
    """The attention of one combination; nothing where the decoder has none."""

    score: str | None
    alignment: str | None
    memory: str | None


LEGAL: dict[Wiring, list[Attends]] = {}
for _wiring, *_rest in legal_wirings():
    LEGAL.setdefault(_wiring, []).append(Attends(*_rest))

BUILDS = [Build(*parts) for parts in product(CELLS, (False, True), (False, True), LEGAL)]


def config_of(build: Build, attends: Attends) -> RnnConfig:
    """A tiny model of this combination, in which no two sizes that may differ are equal."""
    wiring = build.wiring
    hidden, encoder_hidden = 4, 6
    if attends.score in ("dot", "scaled-dot"):
        encoder_hidden = 2 * hidden if attends.memory == "split" else hidden
    attention = {key: value for key, value in attends._asdict().items() if value is not None}
    return RnnConfig.model_validate(
        {
            "family": "rnn",
            "embedding": 3,
            "dropout": 0.1,
            "reverse_source": build.reverse,
            "encoder": {
                "cell": build.cell,
                "layers": 1,
                "hidden": encoder_hidden,
                "bidirectional": build.bidirectional,
            },
            "decoder": {"cell": build.cell, "layers": 2, "hidden": hidden, "output_hidden": 5, **wiring._asdict()},
            "attention": {"window": WINDOW, "positions": POSITIONS, "hidden": 7, **attention},
        }
    )


def legal_batch() -> Batch:
    """The shortest source and target there are, a source beyond the location score, a target beyond the last window."""
    pairs = [([], []), ([4, 5, 6, 7], [4]), ([8], [4, 5, 6, 7, 5]), ([5, 4], [6, 7])]
    batch = Batch.from_pairs(pairs)
    assert batch.source_lengths.min() == 1
    assert batch.source_lengths.max() > POSITIONS
    assert (batch.target_lengths - batch.source_lengths).max() > WINDOW + 1
    return batch


def check_learning(model: Model[Any, Any], batch: Batch, **settings: float) -> None:
    """Forward and backward: every parameter gets a finite gradient that is not all zeros."""
    training = TrainingConfig.model_validate({"coverage_weight": 0.5, "label_smoothing": 0.1, **settings})
    noise = Noise.of(training.seed, 1, batch.rows)
    total = objective(model, batch, training, noise, RewardBaseline(training.baseline_decay)).total
    assert total.isfinite()
    total.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, f"{name} has no gradient"
        assert parameter.grad.isfinite().all(), f"{name} has a gradient that is not finite"
        assert parameter.grad.any(), f"the gradient of {name} is zero"


def check_steps(model: Model[Any, Any], batch: Batch, attends: Attends) -> None:
    """Three greedy steps give distributions over words, and weights over source words."""
    src = batch.source.size(1)
    with torch.no_grad():
        memory = model.encode(batch.source, batch.source_lengths)
        state = model.decoder.start(memory)
        tokens = torch.full_like(batch.source_lengths, BOS_ID)
        for _ in range(3):
            step = model.decoder.step(tokens, state, memory)
            assert step.log_probs.shape == (batch.source.size(0), TARGET_VOCAB)
            assert step.log_probs.isfinite().all()
            torch.testing.assert_close(step.log_probs.exp().sum(-1), torch.ones(batch.source.size(0)).double())
            assert (step.alignment is None) == (attends.alignment is None)
            if step.alignment is not None:
                check_weights(step.alignment.dense(src), batch.source_lengths, sums_to_one=attends.alignment)
            state, tokens = step.state, step.log_probs.argmax(-1)


def check_weights(weights: Tensor, source_lengths: Tensor, sums_to_one: str | None) -> None:
    """Weights lie on real words; they add up to one, to at most one (local-p), or to nothing (local-m past the end)."""
    batch, _, src = weights.shape
    is_pad = torch.arange(src) >= source_lengths.unsqueeze(1)
    assert weights.shape == (batch, 1, src)
    assert (weights >= 0).all()
    assert not weights.squeeze(1)[is_pad].any()
    total = weights.sum(-1)
    assert (total <= 1 + 1e-9).all()
    if sums_to_one in ("global", "hard"):
        torch.testing.assert_close(total, torch.ones_like(total))


@contextmanager
def named(what: object) -> Iterator[None]:
    """Say in a failure which of the many combinations it was."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in {what}")
        raise


@pytest.mark.parametrize("build", BUILDS, ids=str)
def test_a_legal_combination_runs_and_learns(build: Build):
    batch = legal_batch()
    for attends in LEGAL[build.wiring]:
        with named((build, attends)):
            torch.manual_seed(1)
            model = build_model(config_of(build, attends), SOURCE_VOCAB, TARGET_VOCAB).double()
            check_learning(model, batch)
            check_steps(model, batch, attends)


def test_there_are_as_many_legal_combinations_as_the_rules_say(record_property):
    combinations = {(build, attends) for build in BUILDS for attends in LEGAL[build.wiring]}
    record_property("legal combinations", len(combinations))
    print(f"{len(combinations)} legal combinations")
    assert len(combinations) == sum(len(LEGAL[build.wiring]) for build in BUILDS)
    assert len(combinations) == COUNT == 2224


# ------------------------------------------------------------------------------------------------------ what is refused


def choices(table: type[BaseModel], setting: str) -> tuple[Any, ...]:
    """The values a setting of few values can have."""
    return get_args(table.model_fields[setting].annotation)


WIRINGS = [
    Wiring(*parts)
    for parts in product(
        choices(RnnDecoderConfig, "attend"),
        (False, True),
        choices(RnnDecoderConfig, "context"),
        choices(RnnDecoderConfig, "output"),
    )
]
ATTENTIONS = [
    Attends(*parts) for parts in product(SCORES, *(choices(AttentionConfig, name) for name in ("alignment", "memory")))
]


def is_legal(wiring: Wiring, attends: Attends) -> bool:
    """Without attention its settings are ignored."""
    fit = LEGAL.get(wiring, [])
    return attends in fit or (wiring.attend == "none" and bool(fit))


def listed(error: CombinationError) -> str:
    """The part of a message that lists what is legal."""
    return str(error).partition("legal")[2].partition(":")[2]


def legal_list(wiring: Wiring, attends: Attends) -> list[str]:
    """What the message for an illegal combination must list."""
    if wiring not in LEGAL:
        return [
            f"attend={w.attend} input_feeding={str(w.input_feeding).lower()} context={w.context} output={w.output}"
            for w in LEGAL
        ]
    fit = LEGAL[wiring]
    scores = grouped((each.alignment, each.score) for each in fit)
    pairs = scores if attends.score not in scores[attends.alignment] else grouped((a.score, a.memory) for a in fit)
    return [f"{name}: {', '.join(map(str, others))}" for name, others in pairs.items()]


def grouped(pairs: Iterable[tuple[str | None, str | None]]) -> dict[str | None, list[str | None]]:
    """What goes with each, in order and once."""
    groups: dict[str | None, list[str | None]] = {}
    for name, other in dict.fromkeys(pairs):
        groups.setdefault(name, []).append(other)
    return groups


@pytest.mark.parametrize("wiring", WIRINGS, ids=lambda wiring: "-".join(map(str, wiring)))
def test_an_illegal_combination_is_refused_with_a_list_of_the_legal_ones(wiring: Wiring):
    build = Build("lstm", True, False, wiring)
    for attends in ATTENTIONS:
        with named(attends):
            if is_legal(wiring, attends):
                config_of(build, attends)
                continue
            with pytest.raises(CombinationError) as refusal:
                config_of(build, attends)
            for legal in legal_list(wiring, attends):
                assert legal in listed(refusal.value)


def test_there_are_as_many_illegal_combinations_as_the_rules_say(record_property):
    # 3 × 2 × 2 × 2 wirings × 5 scores × 4 alignments × 2 memories = 960. Of them legal: 3 wirings without attention,
    # with any of the 40 unused attentions; and 4 × 34 with attention.
    illegal = [pair for pair in product(WIRINGS, ATTENTIONS) if not is_legal(*pair)]
    record_property("illegal combinations", len(illegal))
    print(f"{len(illegal)} illegal combinations")
    assert len(WIRINGS) * len(ATTENTIONS) == 960
    assert len(illegal) == 960 - 3 * 40 - 4 * 34 == 704


RNN: dict[str, Any] = {
    "family": "rnn",
    "embedding": 4,
    "encoder": {"cell": "lstm", "layers": 2, "hidden": 4},
    "decoder": {"cell": "lstm", "layers": 2, "hidden": 4},
}
TRANSFORMER: dict[str, Any] = {"family": "transformer", "dim": 8, "heads": 2}


def refusal_of(model: dict[str, Any], *settings: str) -> ConfigError:
    """The error for one of the models above with changed settings; without the changes it is valid."""
    parse_config({"model": model})
    with pytest.raises(ConfigError) as refusal:
        parse_config({"model": model}, settings)
    assert "must" in str(refusal.value)
    assert ", got " in str(refusal.value)
    return refusal.value


@pytest.mark.parametrize("score", ["dot", "scaled-dot"])
def test_a_query_with_the_previous_context_needs_a_score_of_different_sizes(score: str):
    error = refusal_of(RNN, "model.decoder.query_context=true", f"model.attention.score={score}")
    assert isinstance(error, CombinationError)
    assert "model.attention.score must be general, concat or location" in str(error)


def test_a_query_with_the_previous_context_needs_attention():
    error = refusal_of(RNN, "model.decoder.query_context=true", "model.decoder.attend=none")
    assert isinstance(error, CombinationError)
    assert "legal: attend=before, attend=after" in str(error)


@pytest.mark.parametrize(
    "settings",
    [("model.decoder.attend=before",), ("model.decoder.attend=after",), ("model.decoder.input_feeding=true",)],
)
@pytest.mark.parametrize(
    ("score", "alignment"),
    [
        *product(["general", "concat"], ["global", "hard", "local-m", "local-p"]),
        *product(["location"], ["global", "hard"]),
    ],
)
def test_a_query_with_the_previous_context_runs_and_learns(settings: tuple[str, ...], score: str, alignment: str):
    context = ("model.decoder.query_context=true", f"model.attention.score={score}")
    config = parse_config({"model": RNN}, [*settings, *context, f"model.attention.alignment={alignment}"]).model
    model = build_model(config, SOURCE_VOCAB, TARGET_VOCAB).double()
    batch = legal_batch()
    check_learning(model, batch)
    check_steps(model, batch, Attends(score, alignment, "shared"))


@pytest.mark.parametrize("alignment", ["local-m", "local-p"])
def test_rows_of_structured_attention_have_no_window(alignment: str):
    error = refusal_of(RNN, "model.encoder.structured_rows=3", f"model.attention.alignment={alignment}")
    assert isinstance(error, CombinationError)
    assert "model.attention.alignment must be global or hard where model.encoder.structured_rows" in str(error)


def test_several_rows_of_structured_attention_need_attention():
    error = refusal_of(RNN, "model.encoder.structured_rows=3", "model.decoder.attend=none")
    assert isinstance(error, CombinationError)
    assert "legal for more: attend=before, attend=after" in str(error)


def test_the_vector_of_structured_attention_must_enter_the_decoder():
    copied = {**RNN, "encoder": {"hidden": 6, "layers": 1}, "decoder": {"hidden": 6, "layers": 1, "start": "copy"}}
    error = refusal_of(copied, "model.encoder.structured_rows=1", "model.decoder.attend=none")
    assert isinstance(error, CombinationError)
    assert "legal: start=project, context=every-step" in str(error)


@pytest.mark.parametrize("model", [RNN, {"family": "transformer"}])
def test_the_penalty_of_structured_attention_needs_it(model: dict[str, Any]):
    assert "training.structured_penalty must be 0 without" in str(refusal_of(model, "training.structured_penalty=1"))


@pytest.mark.parametrize("model", [RNN, {"family": "transformer"}])
def test_r_drop_needs_dropout(model: dict[str, Any]):
    error = refusal_of(model, "training.r_drop=5", "model.dropout=0")
    assert "training.r_drop must be 0 where model.dropout is 0, got 5" in str(error)


@pytest.mark.parametrize("settings", [("attend=before",), ("attend=after",), ("attend=after", "input_feeding=true")])
@pytest.mark.parametrize(("score", "alignment"), [*product(["general", "concat", "location"], ["global", "hard"])])
def test_structured_attention_runs_and_learns(settings: tuple[str, ...], score: str, alignment: str):
    attention = (f"model.attention.score={score}", f"model.attention.alignment={alignment}")
    decoder = tuple(f"model.decoder.{setting}" for setting in settings)
    config = parse_config({"model": RNN}, ["model.encoder.structured_rows=3", *attention, *decoder]).model
    model = build_model(config, SOURCE_VOCAB, TARGET_VOCAB).double()
    batch = legal_batch()
    check_learning(model, batch, structured_penalty=0.5)
    check_steps(model, batch, Attends(score, "global", "shared"))


@pytest.mark.parametrize("score", ["dot", "scaled-dot"])
@pytest.mark.parametrize(
    ("sizes", "key"),
    [
        (("model.decoder.hidden=6",), 4),
        (("model.encoder.hidden=6",), 6),
        (("model.attention.memory=split",), 2),
        (("model.attention.memory=split", "model.encoder.hidden=6"), 3),
    ],
)
def test_a_dot_needs_a_query_of_the_size_of_the_keys(score: str, sizes: tuple[str, ...], key: int):
    error = refusal_of(RNN, f"model.attention.score={score}", *sizes)
    assert isinstance(error, CombinationError)
    assert f"model.decoder.hidden must be {key}" in str(error)
    assert "general or concat" in str(error)


def test_a_dot_with_split_memory_fits_half_of_the_encoder():
    split = ("model.attention.memory=split", "model.encoder.hidden=8")
    config = parse_config({"model": RNN}, ["model.attention.score=dot", *split])
    assert isinstance(config.model, RnnConfig)
    assert config.model.encoder.hidden == 2 * config.model.decoder.hidden


@pytest.mark.parametrize(
    "settings",
    [
        ("model.decoder.cell=gru-fused",),
        ("model.encoder.cell=gru-published", "model.decoder.cell=gru-fused"),
        ("model.decoder.layers=1",),
        ("model.decoder.hidden=6",),
        ("model.encoder.join=linear",),
    ],
)
def test_a_state_is_copied_only_between_equal_shapes(settings: tuple[str, ...]):
    error = refusal_of(RNN, "model.decoder.start=copy", *settings)
    assert isinstance(error, CombinationError)
    assert "legal: project always, copy where" in str(error)
    parse_config({"model": RNN}, settings)
    parse_config({"model": RNN}, ["model.decoder.start=copy"])
    parse_config({"model": RNN}, ["model.decoder.start=copy", "model.encoder.bidirectional=false"])


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ((), "each direction has half of it"),
        (("model.attention.memory=split", "model.encoder.bidirectional=false"), "keys and values have half of it each"),
        (("model.attention.memory=split", "model.encoder.join=linear"), "keys and values have half of it each"),
    ],
)
def test_what_is_halved_must_be_even(settings: tuple[str, ...], why: str):
    message = str(refusal_of(RNN, "model.encoder.hidden=5", *settings))
    assert "model.encoder.hidden must be even, got 5" in message
    assert why in message


@pytest.mark.parametrize(
    "settings",
    [
        ("model.encoder.bidirectional=false",),
        ("model.encoder.join=linear",),
        ("model.encoder.bidirectional=false", "model.attention.memory=split", "model.decoder.attend=none"),
    ],
)
def test_what_is_not_halved_may_be_odd(settings: tuple[str, ...]):
    parse_config({"model": RNN}, ["model.encoder.hidden=5", *settings])


@pytest.mark.parametrize("tie", ["target", "all"])
@pytest.mark.parametrize(
    ("settings", "features"),
    [
        (("model.embedding=6",), 4),
        (("model.decoder.attend=before", "model.decoder.output=deep", "model.decoder.output_hidden=6"), 6),
    ],
)
def test_tied_weights_have_one_size(tie: str, settings: tuple[str, ...], features: int):
    message = str(refusal_of(RNN, f"model.tie={tie}", *settings))
    assert f"model.tie must be none where the output layer has {features} features" in message


@pytest.mark.parametrize("tie", ["target", "all"])
def test_a_deep_output_is_tied_whatever_the_state_has(tie: str):
    deep = ("model.decoder.attend=before", "model.decoder.output=deep", "model.decoder.hidden=6")
    parse_config({"model": RNN}, [f"model.tie={tie}", *deep])


@pytest.mark.parametrize(("heads", "instead"), [(3, 2), (5, 4), (16, 8)])
def test_heads_divide_the_width(heads: int, instead: int):
    message = str(refusal_of(TRANSFORMER, f"model.heads={heads}"))
    assert f"model.heads must divide model.dim = 8, got {heads}; for instance {instead} does" in message


@pytest.mark.parametrize("model", [RNN, TRANSFORMER], ids=["rnn", "transformer"])
def test_one_embedding_for_both_languages_needs_one_vocabulary(model: dict[str, Any]):
    message = str(refusal_of(model, "model.tie=all", "tokenizer.joint=false"))
    assert "model.tie must be target or none where tokenizer.joint is false, got all" in message
    for tie in ("none", "target"):
        parse_config({"model": model}, [f"model.tie={tie}", "tokenizer.joint=false"])
