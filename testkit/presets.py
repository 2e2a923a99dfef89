"""The shipped presets as models small enough to build hundreds of times: the same wiring, tiny sizes, few words.

::

    model = tiny_model("luong2015-local-p")        # float64, every weight random
    batch = sentences(EVERY_LENGTH, model)         # one pair for each (source, target) length

`MODELS` names the presets and, as ``preset + setting=value``, what no preset uses and the code can do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dragoman.config import ModelConfig, RnnConfig, TransformerConfig, load_config, preset_names
from dragoman.data.batch import Batch
from dragoman.models import Model, build_model
from dragoman.text import SPECIALS
from testkit.generators import Numbers, randomised

MOST_LAYERS = 4
MOST_ROWS = 3
WINDOW, POSITIONS = 2, 5
"""D of local attention and the positions of a location score: few, so that sentences reach beyond both."""

SOURCE_VOCAB, TARGET_VOCAB = 13, 11

EVERY_LENGTH = [(3, 5), (1, 1), (7, 2), (2, 7), (5, 4), (1, 6), (6, 1), (4, 3)]
"""(source, target) lengths, ends of sentences included: all from 1 to 7, in no order, beyond window and positions."""

VARIANTS = [
    "luong2015-desk + model.decoder.input_feeding=false",
    "luong2015-location-desk + model.decoder.input_feeding=false",
    "luong2015-local-m-desk + model.decoder.input_feeding=false",
    "luong2015-local-p-desk + model.decoder.input_feeding=false",
    "luong2015-desk + model.decoder.input_feeding=false + model.attention.alignment=hard",
    "luong2015-local-p-desk + model.attention.score=concat + model.attention.memory=split",
    "luong2015-desk + model.attention.score=scaled-dot + model.tie=target",
    "luong2015-desk + model.encoder.bidirectional=true + model.tie=all",
    "bahdanau2015-desk + model.attention.memory=split + model.decoder.output=linear + model.encoder.layers=2",
    "bahdanau2015-desk + model.attention.alignment=local-m + model.encoder.join=linear + model.decoder.layers=3",
    "bahdanau2015-desk + model.attention.score=location + model.encoder.cell=rnn + model.decoder.cell=gru-fused",
    "xu2015-desk + model.attention.score=general + model.reverse_source=true",
    "cho2014-desk + model.decoder.output=linear + model.encoder.bidirectional=true + model.decoder.layers=2",
    "bahdanau2015-desk + model.encoder.structured_rows=3 + model.attention.alignment=hard",
    "cho2014-desk + model.encoder.structured_rows=1",
    "sutskever2014-desk + model.encoder.cell=gru-fused + model.decoder.cell=gru-fused",
    "sutskever2014-desk + model.encoder.cell=rnn + model.decoder.cell=rnn + model.reverse_source=false",
    "vaswani2017-desk + model.positions=learned + model.tie=target",
    "pairs-5k + model.positions=none + model.tie=none + model.activation_dropout=0.2",
    "vaswani2017-desk + model.attention_dropout=0.2",
]

MODELS = [*preset_names(), *VARIANTS]


def tiny_config(name: str) -> ModelConfig:
    """The model of one of `MODELS` (or of any preset with overrides, written like one), shrunk."""
    preset, *overrides = name.split(" + ")
    return shrunk(load_config(preset, overrides).model)


def shrunk(model: ModelConfig) -> ModelConfig:
    """The same wiring with tiny sizes: equal sizes stay equal, unequal ones unequal, the order of sizes stays too."""
    return _shrunk_rnn(model) if isinstance(model, RnnConfig) else _shrunk_transformer(model)


def _shrunk_rnn(model: RnnConfig) -> RnnConfig:
    settings = model.model_dump(exclude_none=True)
    encoder, decoder, attention = settings["encoder"], settings["decoder"], settings["attention"]
    places = [
        (table, name)
        for table, name in [
            (settings, "embedding"),
            (encoder, "hidden"),
            (encoder, "structured_hidden"),
            (decoder, "hidden"),
            (decoder, "output_hidden"),
            (attention, "hidden"),
        ]
        if name in table
    ]
    ranked = sorted({table[name] for table, name in places})
    for table, name in places:
        table[name] = 4 + 2 * ranked.index(table[name])
    if attention["score"] in ("dot", "scaled-dot") and attention["memory"] == "split":
        encoder["hidden"] = 2 * decoder["hidden"]
    for table in (encoder, decoder):
        table["layers"] = min(MOST_LAYERS, table["layers"])
    encoder["structured_rows"] = min(MOST_ROWS, encoder["structured_rows"])
    attention.update(window=WINDOW, positions=POSITIONS)
    return RnnConfig.model_validate(settings)


def _shrunk_transformer(model: TransformerConfig) -> TransformerConfig:
    heads = min(4, model.heads)
    sizes: dict[str, Any] = {
        "heads": heads,
        "dim": 2 * heads,
        "feedforward": 3 * heads,
        "encoder_layers": min(MOST_LAYERS, model.encoder_layers),
        "decoder_layers": min(MOST_LAYERS, model.decoder_layers),
        "max_positions": 16,
    }
    return TransformerConfig.model_validate(model.model_dump() | sizes)


def tiny_model(name: str, *, dropout: float | None = None, seed: int = 0) -> Model[Any, Any]:
    """A model of `MODELS` in float64, every parameter random; with another rate of dropout on request."""
    config = tiny_config(name)
    if dropout is not None:
        config = config.model_copy(update={"dropout": dropout})
    return randomised(fresh_model(config), seed)


def fresh_model(config: ModelConfig) -> Model[Any, Any]:
    """A model as training starts with it, for the tests' vocabularies: of unlike sizes unless they are one."""
    return build_model(config, TARGET_VOCAB if config.tie == "all" else SOURCE_VOCAB, TARGET_VOCAB)


def sentences(lengths: Sequence[tuple[int, int]], *, seed: int = 0) -> Batch:
    """Random pairs of these lengths, ends of sentences included (so at least 1), named by numbers in no order."""
    numbers = Numbers(seed)
    pairs = [(_words(numbers, source - 1), _words(numbers, target - 1)) for source, target in lengths]
    return Batch.from_pairs(pairs, rows=[37 * number % 101 for number in range(5, 5 + len(lengths))])


def alone(batch: Batch, row: int) -> Batch:
    """One pair of a batch, by itself and without padding."""
    source, target = int(batch.source_lengths[row]), int(batch.target_lengths[row])
    one = slice(row, row + 1)
    return Batch(
        source=batch.source[one, :source],
        source_lengths=batch.source_lengths[one],
        inputs=batch.inputs[one, :target],
        labels=batch.labels[one, :target],
        target_lengths=batch.target_lengths[one],
        rows=batch.rows[one],
    )


def _words(numbers: Numbers, count: int) -> list[int]:
    """Words of either vocabulary, no specials."""
    specials = len(SPECIALS)
    return [specials + word for word in numbers.tokens(TARGET_VOCAB - specials, count).tolist()]
