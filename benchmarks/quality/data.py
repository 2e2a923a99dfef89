"""Multi30k en→de: its files, the settings that name them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

HERE = Path(__file__).parent
BEAM = 5


def read(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        return [line.rstrip("\n") for line in lines]


def data_settings(corpus: Path) -> str:
    """Return the part of a configuration that names the files of Multi30k en→de."""
    pair = {
        split: [str((corpus / f"{split}.{side}.gz").resolve()) for side in ("en", "de")] for split in ("train", "val")
    }
    data = f'\n[data]\nsource = "en"\ntarget = "de"\n\n[[data.train]]\nfiles = {json.dumps(pair["train"])}\n'
    return data + f"\n[data.validation]\nfiles = {json.dumps(pair['val'])}\n"
