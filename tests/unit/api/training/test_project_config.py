"""The configuration of a project: from its folder, not from that of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.api.training.project_config import open_project
from dragoman.errors import ConfigError


@pytest.mark.parametrize(("record", "kind"), [("run.json", "a run"), ("manifest.json", "a bundle")])
@pytest.mark.parametrize("named", ["", "dragoman.toml"])
def test_a_run_or_a_bundle_is_not_a_project(tmp_path: Path, record: str, kind: str, named: str):
    folder = tmp_path / "my project" / "runs" / "first"
    folder.mkdir(parents=True)
    for place in (tmp_path / "my project", folder):
        (place / "dragoman.toml").write_text('extends = "pairs-5k"\n', encoding="utf-8")
    (folder / record).write_text("{}", encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        open_project(folder / named)
    fix = f"its project is '{tmp_path / 'my project'}'"
    assert str(error.value) == f"{folder} is {kind}, not the folder of a project; {fix}"
    assert open_project(tmp_path / "my project")[1] == tmp_path / "my project"
