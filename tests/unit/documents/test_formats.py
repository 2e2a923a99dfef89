"""Formats of documents: every suffix has a reader."""

from __future__ import annotations

from importlib import import_module

import pytest

from dragoman.documents import formats


@pytest.mark.parametrize("suffix", formats.FORMATS)
def test_every_format_has_its_reader(suffix: str):
    module, function = formats._READERS[suffix]
    assert callable(getattr(import_module(f"dragoman.documents.{module}"), function))
