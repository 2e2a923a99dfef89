"""Jupyter notebooks: only the cells of Markdown change, and the rest keeps its bytes."""

import json

import nbformat
import pytest

from dragoman.documents.formats import read_document
from dragoman.errors import DataError
from tests.unit.documents.samples import IPYNB
from tests.unit.documents.uppercase_translation import translated


def test_code_outputs_and_the_layout_of_the_file_stay():
    result = translated("a.ipynb", IPYNB)
    start, end = (data.index(b'{"cell_type": "code"') for data in (IPYNB, result))
    assert result[end:] == IPYNB[start:].replace(b"Only \\u00e9 text", b"ONLY \\u00c9 TEXT")
    first = json.loads(result)["cells"][0]["source"]
    assert first == ["# A HEADING\n", "\n", "TEXT WITH `code`\n", "AND $x_1$ IN *IT*."]
    assert result[:end].count(b'\n    "') == len(first)
    nbformat.reads(result.decode(), as_version=4)


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"[1]", "version 4"),
        (b'{"nbformat": 3, "cells": []}', "version 4"),
        (b'{"nbformat": 4', "must be JSON"),
        (b"[" * 100_000, "must be JSON"),
        (b"[" * 300_001, "at most 300,000 lists"),
        (
            b'{"nbformat": 4, "cells": [{"cell_type": "markdown", "source": "\\ud800 a"}]}',
            "half of a character",
        ),
    ],
)
def test_what_is_no_notebook_is_rejected(data: bytes, fault: str):
    with pytest.raises(DataError, match=fault):
        read_document("a.ipynb", data)


def test_cells_without_a_list_of_lines_stay():
    cells = [{"cell_type": "markdown", "source": [1]}, {"cell_type": "markdown"}, "markdown", {"source": "a b"}]
    data = json.dumps({"nbformat": 4, "cells": cells}).encode()
    assert not read_document("a.ipynb", data).segments
