"""Write the project folder of the demo, which translates English dates to ISO dates: configuration and corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dragoman.errors import ConfigError
from dragoman.files import atomic_write

__all__ = ["CONFIG_FILE", "check_demo_folder", "write_project"]

CONFIG_FILE = "dragoman.toml"

_TEMPLATE = """\
# Date demo: translate English dates, spelt in many ways, to ISO dates: the third of May, 1998 -> 1998-05-03.
# Change a setting and train another run:   dragoman train --output another
# All settings with their defaults:         dragoman config show dragoman.toml
extends = "bahdanau2015-desk" # a recurrent network with attention; others: dragoman config presets

[data]
source = "en"
target = "zxx" # the code for "no linguistic content": digits only

[[data.train]]
files = ["corpus/train.src", "corpus/train.tgt"]

[data.validation]
files = ["corpus/validation.src", "corpus/validation.tgt"]

[[data.test]] # validation and test have no date of the training set
files = ["corpus/test.src", "corpus/test.tgt"]

[data.cleaning] # rules for sentences that do not suit dates
min_letters = 0.0 # 1998-05-03 has no letters
min_script = 0.0
max_ratio = 20.0 # "the twenty-third of September, nineteen seventy-seven" is far longer than its translation
numbers = false # 3 and 03 are the same day
identical = false # 1998/05/03 and 1998-05-03 differ in punctuation only
max_similarity = 1.0

[tokenizer]
kind = "character" # translate character by character
joint = false

[model] # about 260,000 weights
embedding = 64
dropout = 0.0
encoder = { hidden = 128 }
attention = { hidden = 128 }
decoder = { hidden = 128, output_hidden = 64 }

[training]
learning_rate = 3e-3
schedule = "cosine"
warmup_updates = 50
max_updates = 700
batch_tokens = 1_024
label_smoothing = 0.0
validate_every = 25 # often, to show the progress
validation_sentences = 110
checkpoint_every = 100
"""


def check_demo_folder(folder: Path) -> None:
    """Raise a `ConfigError` for a folder with files that are not those of a demo."""
    config = folder / CONFIG_FILE
    is_demo = config.is_file() and config.read_text(encoding="utf-8", errors="replace") == _TEMPLATE
    if not is_demo and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(
            f"{folder} must be a new folder, or that of an earlier demo, got other files there; name another: "
            "dragoman demo FOLDER"
        )


def write_project(folder: Path, corpus: Mapping[str, Sequence[tuple[str, str]]]) -> None:
    """Write the configuration and the corpus; a folder with other files is a `ConfigError`.

    The configuration is written first: it identifies the folder of a demo.
    """
    check_demo_folder(folder)
    config = folder / CONFIG_FILE
    (folder / "corpus").mkdir(parents=True, exist_ok=True)
    files = {config: _TEMPLATE}
    for name, pairs in corpus.items():
        for side, suffix in enumerate(("src", "tgt")):
            files[folder / "corpus" / f"{name}.{suffix}"] = "".join(f"{pair[side]}\n" for pair in pairs)
    for path, text in files.items():
        if not path.is_file():
            with atomic_write(path) as draft:
                draft.write_text(text, encoding="utf-8")
