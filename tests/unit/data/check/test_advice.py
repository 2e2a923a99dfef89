"""Advice of `dragoman check` that depends on a few numbers."""

import pytest

from dragoman.config import StartConfig, load_config
from dragoman.data.check.advice import _remedy


@pytest.mark.parametrize(("unknown", "advice"), [(1.0, "the bundle cannot read this text"), (0.1, "train with")])
def test_a_bundle_that_cannot_read_the_text_is_not_fine_tuned_as_it_is(unknown: float, advice: str):
    config = load_config("pairs-5k").model_copy(update={"start": StartConfig(bundle="parent")})
    assert _remedy(config, unknown).startswith(advice)
