"""A project so small that an update takes milliseconds: two invented languages, prepared and ready to train."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from dragoman.api.training.preparation import prepare_corpora
from dragoman.config import load_config

_WORDS = {"ba": "ka", "ce": "lo", "di": "mi", "fo": "nu", "gu": "pa", "ha": "re", "ji": "su", "ke": "ta", "lu": "vi"}
_SEED = 4
_PAIRS = 180

_CONFIG = """\
description = "two invented languages, for tests of training itself"

[data]
source = "en"
target = "de"
validation_pairs = 20
max_tokens = 12

[[data.train]]
files = ["train.en", "train.de"]

[data.cleaning] # nothing is to be dropped
identical = false
max_similarity = 1.0
max_repeats = 0
duplicates = []
leakage = "keep"

[data.sampling]
window = 256

[tokenizer]
kind = "word"
size = 64

[model]
family = "rnn"
embedding = 8
dropout = 0.2
encoder = { layers = 1, hidden = 8 }
decoder = { layers = 1, hidden = 8 }

[training]
batch_tokens = 64
max_updates = 240
checkpoint_every = 5
validate_every = 16
validation_sentences = 8
keep_last = 2
log_every = 1
"""

VARIANTS: dict[str, list[str]] = {
    "recurrent, mean of weights": ["training.ema_decay=0.9"],
    "hard attention, two batches an update": [
        "model.attention.alignment=hard",
        "training.micro_batches=2",
        "training.batch_tokens=32",
    ],
    "Adadelta, gradients in order": ["training.optimizer=adadelta", "training.reproducible=true"],
}
"""What the runs of a campaign train, in turn: settings on top of the project's own."""


@dataclass(frozen=True)
class Project:
    """A folder with a configuration and prepared data."""

    folder: Path

    @property
    def config(self) -> Path:
        """The configuration file."""
        return self.folder / "dragoman.toml"


def make_project(folder: Path) -> Project:
    """Write corpus and configuration, and prepare the data; the same bytes each time."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(_SEED)
    sources = [draw.choices(sorted(_WORDS), k=draw.randint(1, 9)) for _ in range(_PAIRS)]
    targets = [[_WORDS[word] for word in reversed(words)] for words in sources]
    for name, lines in (("train.en", sources), ("train.de", targets)):
        (folder / name).write_text("".join(" ".join(words) + "\n" for words in lines), encoding="utf-8")
    project = Project(folder)
    project.config.write_text(_CONFIG, encoding="utf-8")
    prepare_corpora(load_config(project.config), folder)
    return project
