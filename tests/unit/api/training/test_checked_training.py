"""A training is opened and checked before torch is imported, by the command and in Python alike."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dragoman
from dragoman import train
from dragoman.api.training.checked_training import check_training, load_run_config, open_training
from dragoman.api.training.preparation import prepare_corpora
from dragoman.config import Config, load_config
from dragoman.errors import ConfigError, DataError, DragomanError
from dragoman.files import file_lock
from testkit.tiny_project import Stop, Stopper, tiny_project, tiny_training
from testkit.training_faults.project import make_project

NOT_ALLOWED: dict[str, tuple[list[str], str]] = {
    "other settings": (["tokenizer.size=32"], "was prepared with other settings .*: tokenizer.size; .* data.folder"),
    "other data": (["data.folder=elsewhere"], "has no prepared data; run dragoman prepare first"),
}
DATA = "tokenizer.size=48"
OVERRIDES = [DATA, "training.max_updates=4", "training.validate_every=2", "training.checkpoint_every=2"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_project().folder, tmp_path / "project"))


def test_what_is_checked(tmp_path: Path) -> None:
    checked = check_training(tiny_training("luong2015-desk"), tiny_project().folder, tmp_path / "run", overrides=["a"])
    assert checked.prepared.folder == tiny_project().folder / "prepared"
    assert (checked.resume, checked.overrides) == (False, ["a"])
    assert checked.note == ""
    assert not checked.run.exists()


@pytest.mark.parametrize("name", NOT_ALLOWED)
def test_what_is_refused(name: str, tmp_path: Path) -> None:
    overrides, message = NOT_ALLOWED[name]
    with pytest.raises(DataError, match=message):
        open_training(tiny_project().config, None, overrides, tmp_path / "run")


def test_presets_have_no_data(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"has no \[data\] section; dragoman new writes one"):
        open_training(load_config("pairs-5k"), tmp_path, run=tmp_path / "run")


def test_processes_that_do_not_divide_the_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "3")
    with pytest.raises(ConfigError, match=r"number of processes = 3, got 1; for instance .*micro_batches=3"):
        open_training(tiny_project().config, run=tmp_path / "run")


def test_the_folder_of_the_run(project: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is the folder of the configuration itself"):
        open_training(project, run=project)
    (tmp_path / "run").mkdir()
    (tmp_path / "run/log.jsonl").touch()
    with pytest.raises(ConfigError, match=r"has a file log\.jsonl already"):
        open_training(project, run=tmp_path / "run")
    with file_lock(tmp_path / "run/.lock"), pytest.raises(ConfigError, match="another training is running"):
        open_training(project, run=tmp_path / "run", resume=True)
    assert open_training(project, run=tmp_path / "run", resume=True).resume


def test_data_are_prepared_once_and_not_by_a_launcher(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Path] = []

    def prepare(config: Config, folder: Path) -> None:
        calls.append(folder)
        dragoman.prepare(config, folder)

    open_training(project, prepare=prepare)
    assert calls == []
    shutil.rmtree(project / "prepared")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(DataError, match="has no prepared data"):
        open_training(project, prepare=prepare, overrides=["training.micro_batches=2"])
    monkeypatch.delenv("WORLD_SIZE")
    open_training(project, prepare=prepare)
    assert calls == [project]


def test_python_prepares_as_the_command_does(project: Path) -> None:
    shutil.rmtree(project / "prepared")
    result = dragoman.train(project, overrides=["training.max_updates=2", "training.validation_sentences=0"])
    assert result.bundle is not None
    assert (project / "prepared/manifest.json").is_file()
    with pytest.raises(DragomanError, match="has a finished run already"):
        dragoman.train(project)


def test_nothing_of_torch_is_imported() -> None:
    program = (
        "import sys\n"
        "from dragoman.api.training.checked_training import open_training\n"
        f"open_training({str(tiny_project().config)!r}, run='none')\n"
        "sys.exit('torch' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], env=dict(os.environ), check=False).returncode == 0


OVERRIDES += ["training.validation_sentences=2", "training.seed=7", "training.threads=1"]


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_a_run_resumes_without_its_overrides(tmp_path: Path):
    project = make_project(tmp_path).config
    prepare_corpora(load_config(project, [DATA]), tmp_path)
    train(project, overrides=OVERRIDES, run=tmp_path / "whole")
    train(project, overrides=OVERRIDES, run=tmp_path / "parts", callbacks=[Stopper(Stop(3))])
    with pytest.raises(ConfigError, match=r"got tokenizer\.size = 32 instead of 48; leave out --set tokenizer\.size,"):
        train(project, overrides=["tokenizer.size=32"], run=tmp_path / "parts", resume=True)
    train(project, run=tmp_path / "parts", resume=True)
    for name in ("checkpoints/step_4", "bundle"):
        one, other = (files(tmp_path / run / name) for run in ("whole", "parts"))
        for each in one.keys() - {"card.md", "manifest.json"}:  # the card has the duration
            assert one[each] == other[each], each
    assert files(tmp_path / "whole/checkpoints/step_4") == files(tmp_path / "parts/checkpoints/step_4")
    train(project, run=tmp_path / "parts", overrides=["training.max_updates=5"], resume=True)
    opened, recorded = load_run_config(project, tmp_path / "parts", resume=True)
    assert (opened.training.max_updates, opened.tokenizer.size) == (5, 48)
    assert recorded == [each for each in OVERRIDES if "max_updates" not in each] + ["training.max_updates=5"]
    prepare_corpora(load_config(project), tmp_path)
    message = (
        r"was prepared with other settings .*: tokenizer\.size; the run needs the data it was started with: restore"
    )
    with pytest.raises(DataError, match=message):
        train(project, run=tmp_path / "parts", resume=True)


@pytest.mark.parametrize("record", [None, "{", "{}", '{"overrides": null}'])
def test_a_run_without_recorded_overrides_has_its_own_configuration(tmp_path: Path, record: str | None):
    project, run = make_project(tmp_path / "project").config, tmp_path / "run"
    (run / "checkpoints" / "step_1").mkdir(parents=True)
    (run / "dragoman.toml").write_text(
        project.read_text(encoding="utf-8").replace("size = 64", "size = 48"), encoding="utf-8"
    )
    if record is not None:
        (run / "run.json").write_text(record, encoding="utf-8")
    opened, recorded = load_run_config(project, run, ["training.max_updates=9"], resume=True)
    assert (opened.tokenizer.size, opened.training.max_updates, recorded) == (48, 9, None)


def test_a_changed_file_is_named_with_the_option_that_restores_it(tmp_path: Path):
    project, run = make_project(tmp_path / "project").config, tmp_path / "run"
    (run / "checkpoints" / "step_1").mkdir(parents=True)
    (run / "dragoman.toml").write_bytes(project.read_bytes())
    (run / "run.json").write_text(json.dumps({"overrides": []}), encoding="utf-8")
    project.write_text(
        project.read_text(encoding="utf-8").replace("hidden = 8 }\n\n", "hidden = 9 }\n\n").replace("240", "300"),
        encoding="utf-8",
    )
    message = r"got model\.decoder\.hidden = 9 instead of 8; add --set model\.decoder\.hidden=8, or start a new run"
    with pytest.raises(ConfigError, match=message):
        load_run_config(project, run, resume=True)
    opened, _ = load_run_config(project, run, ["model.decoder.hidden=8"], resume=True)
    assert opened.training.max_updates == 300
