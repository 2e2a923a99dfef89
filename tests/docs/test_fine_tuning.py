"""The configurations of the pages on fine-tuning and importing are valid."""

import tomllib
from pathlib import Path

import pytest

from dragoman.config import load_config, parse_config
from tests.docs.test_readme import blocks

MODEL = {"model": load_config("vaswani2017-desk").model.model_dump()}


@pytest.mark.parametrize("page", ["docs/fine-tuning.md", "docs/importing.md"])
def test_the_example_is_a_configuration(page: str, root: Path):
    example = tomllib.loads(blocks(root, page, "toml")[0])
    config = parse_config(MODEL | example)
    assert config.start is not None
    assert config.data is not None
    assert [corpus.share is None for corpus in config.data.train] == [True, False]


def test_parts_of_the_example_are_valid_with_the_rest(root: Path):
    first, *others = (tomllib.loads(block) for block in blocks(root, "docs/fine-tuning.md", "toml"))
    start = {"bundle": first["start"]["bundle"]}
    seen = set()
    for part in others:
        data = first["data"] | part.get("data", {})
        training = {key: value for key, value in first["training"].items() if key != "freeze"} | part.get(
            "training", {}
        )
        seen |= {*part, *part.get("training", {})}
        parse_config(MODEL | {"start": start, "data": data, "training": training})
    assert {"lora", "data"} <= seen
