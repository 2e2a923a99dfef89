"""Advice of `dragoman check` that depends on a few numbers."""

from dataclasses import replace

import pytest

from dragoman.config import StartConfig, load_config
from dragoman.data.check.advice import _about_tokens, _remedy
from tests.unit.data.check.samples import sample_report


@pytest.mark.parametrize(
    ("unknown", "advice"), [(1.0, "the bundle cannot read this text"), (0.1, "the base model cannot write them")]
)
def test_a_bundle_that_cannot_read_the_text_is_not_fine_tuned_as_it_is(unknown: float, advice: str):
    config = load_config("pairs-5k").model_copy(update={"start": StartConfig(bundle="parent")})
    assert _remedy(config, unknown).startswith(advice)


@pytest.mark.parametrize(
    ("vocabulary", "share", "is_told"), [("same", 0.005, True), ("same", 0.001, False), ("extend", 0.005, False)]
)
def test_characters_that_a_base_model_lacks_are_to_be_added(vocabulary: str, share: float, is_told: bool):
    """Measured: benchmarks/results/adaptation.md."""
    start = StartConfig(bundle="base", vocabulary=vocabulary)  # type: ignore[arg-type]
    config = load_config("luong2015-desk").model_copy(update={"start": start})
    tokens = sample_report().tokens
    assert tokens is not None
    found = [*_about_tokens(replace(tokens, unknown={"source": share}), config)]
    told = [each for each in found if 'start.vocabulary = "extend"' in each and "71.1 BLEU with it, 49.7" in each]
    assert bool(told) is is_told, found
