"""The configuration in a bundle contains no local paths."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.bundle.bundle_config import read_shared_config, shared_config
from dragoman.config import load_config, parse_config, preset_names, to_toml

BASE = load_config("luong2015-desk").model_dump(exclude_none=True)


def test_a_configuration_without_paths_stays_as_it_is():
    config = parse_config(BASE)
    assert shared_config(config) == config


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("train.en", "train.en"),
        ("/data/of/ada/train.en.gz", "train.en.gz"),
        ("../train.en", "train.en"),
        ("~/train.en", "train.en"),
        ("C:\\data\\train.en", "train.en"),
        ("data/*.en", "*.en"),
        ("data/", "data"),
        ("https://ada:pw@example.org/a/train.en?token=abc#x", "train.en"),
        ("s3://bucket/a/train.en", "train.en"),
        ("https://example.org", "unnamed"),
        ("-", "-"),
        ("..", "unnamed"),
    ],
)
def test_names_take_the_place_of_paths_everywhere(path: str, name: str):
    corpus = {"files": [path]}
    data = {
        "source": "en",
        "target": "de",
        "train": [corpus, corpus | {"name": path}],
        "validation": corpus,
        "test": [corpus],
        "folder": path,
        "max_tokens": 100,
    }
    shared = shared_config(parse_config(BASE | {"data": data, "start": {"bundle": path}}))
    assert shared.data is not None
    assert shared.data.validation is not None
    assert shared.start is not None
    assert {shared.data.folder, shared.start.bundle, shared.data.train[1].name} == {name}
    corpora = [*shared.data.train, shared.data.validation, *shared.data.test]
    assert [corpus.files for corpus in corpora] == [[name]] * 4
    assert shared.data.max_tokens == 100


def test_every_preset_is_read_as_it_is_written():
    for name in preset_names():
        config = load_config(name)
        assert read_shared_config("x", to_toml(config).encode()) == config


@given(st.text(), st.lists(st.text(min_size=1), min_size=1))
def test_whatever_is_written_is_read(description: str, files: list[str]):
    data = {"source": "en", "target": "de", "train": [{"files": files}]}
    config = parse_config(BASE | {"description": description, "data": data})
    assert read_shared_config("x", to_toml(config).encode()) == config
