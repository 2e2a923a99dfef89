"""What a text is answered over HTTP does not depend on who else asks; the campaign has the same with more sentences."""

from pathlib import Path

import pytest

from benchmarks.serving_campaign.company import company
from benchmarks.serving_campaign.room import FAMILIES, Room


@pytest.mark.slow
def test_batching_never_changes_the_answer(tmp_path: Path):
    row = company(Room(tmp_path / "room", is_small=True))
    assert [target for target in row.targets if not target.is_met] == []
    assert len(row.targets) == len(FAMILIES)
    assert row.is_control_found, row.control
