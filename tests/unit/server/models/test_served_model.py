"""The stated memory of a model is what it takes."""

import gc
from pathlib import Path

import pytest

from dragoman.api.translation.translator import Translator
from dragoman.bundle import Bundle
from dragoman.environment import trim_heap
from dragoman.importing.import_model import import_model
from dragoman.server.models.served_model import estimate_bytes, open_translator
from dragoman.server.settings import ServerSettings

pytest.importorskip("onnxruntime")

STATUS = Path("/proc/self/statm")
TEXT = "The committee said on Tuesday that it would not comment on the reports before the end of the month. "


def resident() -> int:
    gc.collect()
    trim_heap()
    return int(STATUS.read_text(encoding="utf-8").split()[1]) * 4096


@pytest.mark.slow
@pytest.mark.skipif(not STATUS.is_file(), reason="this system does not report resident memory")
def test_a_student_takes_no_more_than_the_stated_memory(corpora: Path, tmp_path: Path):
    folder = corpora.parent / "models" / "firefox-enpt"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    bundle = import_model(folder, tmp_path / "b").bundle
    opened = [_open(bundle)]  # the first also loads libraries
    before = resident()
    opened += [_open(bundle), _open(bundle)]
    taken = (resident() - before) / 2
    # Without VNNI the packed matrices of the kernels are smaller.
    assert 0.25 <= taken / estimate_bytes(bundle, opened[-1]) <= 1.35


def _open(bundle: Bundle) -> Translator:
    translator = open_translator(bundle, "default", ServerSettings(), 2)
    translator.translate(TEXT * 8)
    return translator
