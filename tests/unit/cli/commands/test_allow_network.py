"""Commands that read corpora use the network only with --allow-network, and refuse URLs that would run code."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.unit.cli.tiny_translators import typed
from tests.unit.data.preparation.corpus import pairs, write_pairs

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


def test_the_next_command_may_use_the_network_too(tmp_path: Path):
    write_pairs(tmp_path, "train", pairs(300))
    files = [tmp_path / "train.en", tmp_path / "train.de"]
    new = typed("new", tmp_path / "project", "--corpus", *files, "--allow-network")
    assert "dragoman check --allow-network" in new.output
    assert "--allow-network" not in typed("new", tmp_path / "other", "--corpus", *files).output
    config = tmp_path / "project" / "dragoman.toml"
    prepared = typed("prepare", config, "--allow-network", "--on-bad-line", "skip")
    assert prepared.exit_code == 0, prepared.output
    (shown,) = [line for line in prepared.output.splitlines() if line.startswith("next")]
    assert shlex.split(shown)[-3:] == ["--set", 'data.on_bad_line="skip"', "--allow-network"]
