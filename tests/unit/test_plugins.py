"""Plug-ins: found by entry points, imported when they are used; a broken one is one line."""

import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.bundle.bundle_config import read_shared_config, shared_toml
from dragoman.config import parse_config
from dragoman.config.corpus import CorpusConfig
from dragoman.config.evaluation import EvaluationSettings
from dragoman.data.readers.corpus_reader import open_corpus
from dragoman.errors import BundleError, ConfigError, MissingExtraError
from dragoman.evaluation.metrics.corpus_scores import corpus_scores
from dragoman.evaluation.results import column_title
from dragoman.evaluation.significance import paired_tests
from dragoman.importing.import_model import import_model
from dragoman.plugins import installed_plugins, load_plugin, load_plugins, plugin_names
from testkit.installed_package import installed_package
from testkit.tiny_project import EventRecorder, tiny_training, train_tiny

SCORE = """
import torch
from dragoman.config.attention_scores import ScoreRules
from dragoman.nn.attention.score import ScoreFunction

class Scaled(ScoreFunction):
    rules = ScoreRules({"scale": (1,)}, needs_equal_sizes=True, alignments=("global",))

    def initialize(self):
        torch.nn.init.ones_(self.scale)

    def forward(self, query, keys):
        return self.scale * query @ keys.transpose(-1, -2)

class NoRules:
    pass
"""
MODEL: dict[str, Any] = {"family": "rnn", "attention": {"score": "scaled"}}


@pytest.fixture
def score(tmp_path: Path):
    entries = {"scores scaled": "one_score:Scaled", "scores none": "one_score:NoRules"}
    with installed_package(tmp_path / "site", "one-score", entries, SCORE):
        yield tmp_path / "site"


def test_names_are_known_without_an_import(score: Path):
    assert plugin_names("scores") == ("scaled", "none")
    assert [str(each) for each in installed_plugins()] == [
        "scaled (scores) of one-score 1.0",
        "none (scores) of one-score 1.0",
    ]
    assert "one_score" not in sys.modules
    assert load_plugin("scores", "scaled").__name__ == "Scaled"


def test_a_broken_one_is_one_line_and_the_others_are_loaded(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    entries = {"importers absent": "no_such_module:x", "importers fine": "json:dumps"}
    with (
        installed_package(tmp_path, "half-broken", entries),
        caplog.at_level(logging.WARNING, logger="dragoman"),
    ):
        assert load_plugins("importers") == {"fine": json.dumps}
    (line,) = caplog.messages
    assert line == (
        "absent (importers) of half-broken 1.0 cannot be imported: ModuleNotFoundError: No module named "
        "'no_such_module'; it is not used"
    )


def test_one_name_of_two_packages_is_that_of_the_first(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    with (
        installed_package(tmp_path / "b", "package-b", {"metrics same": "json:loads"}),
        installed_package(tmp_path / "a", "package-a", {"metrics same": "json:dumps"}),
        caplog.at_level(logging.WARNING, logger="dragoman"),
    ):
        assert load_plugin("metrics", "same") is json.dumps
    assert caplog.messages == ["package-a and package-b both add same to metrics; that of package-a is used"]


def test_the_version_lists_them_and_help_imports_none(tmp_path: Path):
    site = tmp_path / "site"
    with installed_package(site, "loud", {"scores loud": "loud:x"}, "raise SystemExit('imported')"):
        code = f"import sys; sys.path.insert(0, {str(site)!r}); from dragoman.cli.main import main; main()"
        version, page = (
            subprocess.run([sys.executable, "-c", code, option], capture_output=True, text=True, check=True)
            for option in ("--version", "--help")
        )
    assert version.stdout.splitlines()[1:] == ["plug-in loud (scores) of loud 1.0"]
    assert "translate" in page.stdout


# ------------------------------------------------------------------------------------------------------------ scores


def test_a_score_is_a_legal_setting_with_its_own_rules(score: Path):
    parse_config({"model": MODEL})
    with pytest.raises(
        ConfigError, match=r"model\.attention\.score must be one of .* with alignment local-m, got scaled"
    ):
        parse_config({"model": MODEL}, ["model.attention.alignment=local-m"])
    with pytest.raises(ConfigError, match=r"must be one of dot, .*location, scaled, none, got 'scald'; did you mean"):
        parse_config({"model": MODEL}, ["model.attention.score=scald"])
    with pytest.raises(MissingExtraError, match=r"none \(scores\) of one-score 1\.0 must be a score function"):
        parse_config({"model": MODEL}, ["model.attention.score=none"])


def test_a_bundle_states_the_package_that_it_needs(score: Path):
    text = shared_toml(parse_config({"model": MODEL}))
    assert text.startswith('plugins = ["scores scaled one-score 1.0"]\n')
    assert read_shared_config("x", text.encode()).model == parse_config({"model": MODEL}).model
    other = text.replace("one-score", "other-score").encode()
    with pytest.raises(BundleError, match=r"of the package other-score 1\.0, but that of one-score is installed"):
        read_shared_config("x", other)


def test_a_bundle_whose_package_is_missing_says_so(tmp_path: Path):
    with installed_package(tmp_path / "site", "one-score", {"scores scaled": "one_score:Scaled"}, SCORE):
        text = shared_toml(parse_config({"model": MODEL}))
    with pytest.raises(BundleError) as caught:
        read_shared_config("x", text.encode())
    assert str(caught.value) == (
        "x: this model needs the attention score scaled of the package one-score 1.0, which is not installed; "
        "pip install one-score, if you trust its author"
    )


@pytest.mark.parametrize(
    "needed",
    [
        '["scores os.system x;rm 1.0"]',
        '["callbacks loud loud 1.0"]',
        '["scores a -r/etc/passwd 1.0"]',
        '["scores a b"]',
        '"x"',
        "7",
    ],
)
def test_a_bundle_cannot_have_other_code_imported(tmp_path: Path, needed: str):
    with installed_package(tmp_path, "loud", {"callbacks loud": "loud:x"}, "raise SystemExit('imported')"):
        text = f"plugins = {needed}\n" + shared_toml(parse_config({"model": {"family": "rnn"}}))
        with pytest.raises(BundleError, match=r"must be a configuration written by Dragoman, got: plugins has"):
            read_shared_config("x", text.encode())
        for score in ("loud", "os:system", "loud:x"):  # of another group; a path of a module
            text = shared_toml(parse_config({"model": {"family": "rnn"}})).replace('"general"', f'"{score}"')
            with pytest.raises(BundleError, match=r"model\.attention\.score must be one of"):
                read_shared_config("x", text.encode())


# --------------------------------------------------------------------------------------- corpora, importers, callbacks


READER = """
from dragoman.data.readers.formats.csv import TsvReader

def read(corpus, files, source, target):
    return TsvReader(files, source, target, (2, 1))
"""


def test_a_corpus_format_is_found_by_its_ending(tmp_path: Path):
    (tmp_path / "a.swapped").write_text("ein Hund\ta dog\n", encoding="utf-8")
    corpus = {"files": ["a.swapped"]}
    with installed_package(tmp_path / "site", "swapped", {"corpus_readers swapped": "swapped:read"}, READER):
        reader = open_corpus(CorpusConfig.model_validate(corpus), source="en", target="de", folder=tmp_path)
        (chunk,) = reader.chunks(9)
        pairs = chunk.read(max_line_bytes=99).frame
        assert pairs.rows() == [("a dog", "ein Hund", 1)]
        config = parse_config(
            {
                "model": {"family": "rnn"},
                "data": {"source": "en", "target": "de", "train": [corpus | {"format": "swapped"}]},
            }
        )
        text = shared_toml(config)
    read_shared_config("x", text.encode())  # a model does not need the reader of its corpus
    with pytest.raises(ConfigError, match=r"a corpus must be two files"):
        open_corpus(CorpusConfig.model_validate(corpus), source="en", target="de", folder=tmp_path)


IMPORTER = """
from dragoman.errors import BundleError
from dragoman.importing.import_model import Format

def refuse(folder):
    raise BundleError("read by the plug-in")

FORMAT = Format("Example", lambda folder: folder.has("example.txt"), refuse)
BROKEN = Format("Broken", lambda folder: folder.nothing, lambda folder: folder.nothing)
"""


def test_an_importer_is_found_by_its_files(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    model = tmp_path / "model"
    model.mkdir()
    (model / "example.txt").touch()
    entries = {"importers broken": "example_format:BROKEN", "importers example": "example_format:FORMAT"}
    with installed_package(tmp_path / "site", "example-format", entries, IMPORTER):
        with pytest.raises(BundleError, match=r"read by the plug-in"):
            import_model(model, tmp_path / "out")
        with pytest.raises(BundleError, match=r"model must be an undamaged model, got: .* has no attribute"):
            import_model(model, tmp_path / "out", format_name="broken")
        with pytest.raises(ConfigError, match=r"--from must be one of .*, marian, broken, example, got 'x'"):
            import_model(model, tmp_path / "out", format_name="x")
    (line,) = caplog.messages
    assert line.startswith("broken (importers) of example-format 1.0 failed: ")


CALLBACK = """
from dragoman.training.callbacks.events import TrainerCallback

class Recorder(TrainerCallback):
    def __init__(self, config):
        self.updates = []
        Recorder.last = self

    def on_update(self, event):
        self.updates.append(event.update)

class Failing(TrainerCallback):
    def __init__(self, config):
        pass

    def on_update(self, event):
        raise OSError("no route\\nto host")

def refusing(config):
    raise RuntimeError("no account")
"""


def test_callbacks_receive_events_and_a_failing_one_ends_nothing(tmp_path: Path):
    entries = {f"callbacks {name}": f"two_loggers:{name.title()}" for name in ("recorder", "failing")}
    with installed_package(tmp_path / "site", "two-loggers", entries, CALLBACK):
        settings = ("training.max_updates=2", "training.validation_sentences=0")
        config = tiny_training("luong2015-desk", *settings, 'training.callbacks=["failing", "recorder"]')
        events = EventRecorder()
        result = train_tiny(config, tmp_path / "run", callbacks=[events])
        assert load_plugin("callbacks", "recorder").last.updates == [1, 2]
    failure = "failing (callbacks) of two-loggers 1.0 failed in on_update: OSError: no route to host; it receives no"
    assert [note for note in events.notes if note.startswith(failure)] == [f"{failure} more events"]
    assert failure in (tmp_path / "run" / "log.jsonl").read_text(encoding="utf-8")
    assert result.bundle is not None
    assert result.bundle.config.training.callbacks is None  # the model does not need them


def test_a_callback_that_cannot_start_is_one_line_before_the_training(tmp_path: Path):
    with installed_package(tmp_path / "site", "refuser", {"callbacks refusing": "refuser:refusing"}, CALLBACK):
        config = tiny_training("luong2015-desk", 'training.callbacks=["refusing"]')
        with pytest.raises(MissingExtraError) as caught:
            train_tiny(config, tmp_path / "run")
    assert str(caught.value) == "refusing (callbacks) of refuser 1.0 cannot start: RuntimeError: no account"
    with pytest.raises(ConfigError, match=r"training\.callbacks"):
        tiny_training("luong2015-desk", 'training.callbacks=["refusing"]')


# ----------------------------------------------------------------------------------------------------------- metrics


METRIC = """
import numpy as np
from dragoman.evaluation.significance import PluginMetric

class WrongLengths(PluginMetric):
    is_lower_better = True

    def count(self, hypotheses, references):
        wrong = [len(a.split()) != len(b.split()) for a, b in zip(hypotheses, references)]
        return np.stack([np.array(wrong, np.int64), np.ones(len(wrong), np.int64)], 1)

    def value(self, totals):
        return 100 * totals[0] / totals[1]
"""


def test_a_metric_has_intervals_tests_and_a_signature(tmp_path: Path):
    references = ["a b", "c", "d e f", "g"] * 10
    ours, theirs = ["a b", "c c", "d e f", "g"] * 10, ["a", "c c", "d e", "g g"] * 10
    with installed_package(tmp_path, "lengths", {"metrics wrong-lengths": "lengths:WrongLengths"}, METRIC):
        settings = EvaluationSettings(metrics=("chrf", "wrong-lengths"))
        chrf, score = corpus_scores(ours, references, metrics=settings.metrics, resamples=100)
        (tests,) = paired_tests(ours, [theirs], references, metrics=["wrong-lengths"])
        title = column_title("wrong-lengths")
    assert (chrf.metric, score.metric, score.value) == ("chrf++", "wrong-lengths", 25.0)
    assert score.interval is not None
    assert 20 < score.interval.mean < 30
    assert 5 < score.interval.half_width < 20
    assert score.signature == "nrefs:1|bs:100|seed:12345|package:lengths|version:1.0"
    assert (tests[0].metric, tests[0].difference) == ("wrong-lengths", 75.0)
    assert tests[0].is_significant
    assert title == "wrong-lengths ↓"
    with pytest.raises(ConfigError, match="metrics must be of bleu, chrf, ter, got 'wrong-lengths'"):
        corpus_scores(ours, references, metrics=settings.metrics)
