"""Settings of compared systems."""

from dragoman.inspection.comparison.model_tables import compare_settings
from tests.unit.inspection.comparisons import comparison


def test_settings_are_compared_over_all_members() -> None:
    rows = {row.name: row for row in compare_settings(comparison("rnn", "transformer", members=2))}
    assert rows["training.seed"].values == ("1, 2", "2, 3")
    assert rows["training.seed"].differs
    assert not rows["data.source"].differs
