"""The desk presets small enough to learn in seconds: sizes and rates change, the wiring does not."""

from dragoman.config import Config, load_config

RATE = ("training.learning_rate=4e-3", "training.warmup_updates=50", "training.schedule=constant")
RNN = (
    *RATE,
    "training.clip_norm=1.0",
    "model.dropout=0.1",
    "model.embedding=64",
    "model.encoder.hidden=64",
    "model.decoder.hidden=64",
)
DEEP_OUTPUT = ("model.decoder.output_hidden=64",)
ADDITIVE = (*DEEP_OUTPUT, "model.attention.hidden=64")
TRANSFORMER = (
    "training.learning_rate=4e-3",
    "training.warmup_updates=100",
    "training.schedule=cosine",
    "training.max_updates=400",
    "model.dropout=0.0",
    "model.dim=64",
    "model.feedforward=128",
)
SIZES = {
    "sutskever2014-desk": RNN,
    # A single vector for the source and a single layer need more units and a decreasing learning rate.
    "cho2014-desk": (
        *RNN,
        *DEEP_OUTPUT,
        "model.encoder.hidden=128",
        "model.decoder.hidden=128",
        "training.learning_rate=3e-3",
        "training.warmup_updates=100",
        "training.schedule=inverse-sqrt",
    ),
    "bahdanau2015-desk": (*RNN, *ADDITIVE),
    "luong2015-desk": RNN,
    "lin2017-desk": (*RNN, "model.encoder.structured_rows=12", "model.encoder.structured_hidden=64"),
    "luong2015-location-desk": RNN,
    "luong2015-local-p-desk": RNN,
    "luong2015-local-m-desk": RNN,
    "xu2015-desk": (*RNN, *ADDITIVE, "training.learning_rate=2e-3"),  # REINFORCE is noisy
    "vaswani2017-desk": TRANSFORMER,
    "kim2019-ssru-desk": TRANSFORMER,
    "pairs-30k": TRANSFORMER,
}


def small(preset: str, *settings: str) -> Config:
    """A preset at the size of these tests, with further settings on top."""
    return load_config(preset, (*SIZES[preset], *settings))
