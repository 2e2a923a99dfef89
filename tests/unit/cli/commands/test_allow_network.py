"""Commands that read corpora use the network only with --allow-network, and refuse URLs that would run code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.tiny_translators import typed

CONFIG = """
extends = "pairs-5k"

[data]
source = "en"
target = "de"

[[data.train]]
files = ["{url}"]
format = "tsv"
"""


@pytest.mark.parametrize("command", ["check", "prepare"])
@pytest.mark.parametrize(
    ("url", "said"), [("reference://a.tsv::b.json", "got 'reference'"), ("ftp://127.0.0.1:1/a.tsv", "--allow-network")]
)
def test_a_url_is_refused_in_one_line(command: str, url: str, said: str, tmp_path: Path):
    config = tmp_path / "dragoman.toml"
    config.write_text(CONFIG.format(url=url), encoding="utf-8")
    result = typed(command, config)
    assert result.exit_code == 1
    shown = " ".join((result.stdout + result.stderr).split())
    assert said in shown
    allowed = typed(command, config, "--allow-network")
    assert allowed.exit_code == 1
    assert "add --allow-network" not in " ".join((allowed.stdout + allowed.stderr).split())
