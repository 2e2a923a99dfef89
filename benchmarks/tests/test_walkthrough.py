"""The walkthrough, in small and in this environment: every step works, and no screen has a fault."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.walkthrough.__main__ import figures, page, walk
from benchmarks.walkthrough.environments import current
from benchmarks.walkthrough.pictures import chromium
from benchmarks.walkthrough.steps import CORPORA, Step, faults, steps
from dragoman.server.routes.static_files import STATIC

SMALL = (
    *("model.dim=32", "model.heads=2", "model.encoder_layers=1", "model.decoder_layers=1", "model.feedforward=64"),
    *("training.validation_sentences=8", "training.batch_tokens=1024"),
)


@pytest.mark.slow
@pytest.mark.measure
@pytest.mark.parametrize("corpus", CORPORA, ids=lambda corpus: corpus.name)
def test_an_empty_folder_becomes_a_served_translator(corpora, tmp_path, corpus, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    small = replace(corpus, pairs=300, updates=12, settings=SMALL)
    done = walk(small, corpora, current(), tmp_path, tmp_path)

    assert [each.number for each in done] == [1, *range(3, 13)]  # 2 needs an environment without the extra
    assert {each.number: (each.faults, each.screen) for each in done if each.faults} == {}
    if chromium() and (STATIC / "index.html").is_file():
        assert sum(len(each.pictures) for each in done) == 6
    text = page(current(), {small: done})
    assert all(f"$ {each.command}" in text for each in done)
    assert str(tmp_path) not in text
    assert len(figures(current(), {small: done})["walks"]) == 1


def test_there_are_twelve_steps():
    for corpus in CORPORA:
        assert len(steps(corpus)) == 12


@pytest.mark.parametrize(
    ("screen", "exit_code", "found"),
    [
        ("done", 0, []),
        ("", 0, ["an empty screen"]),
        ("done", 1, ["exit code 1 instead of 0"]),
        ("Traceback (most recent call last):\n x", 0, ["a traceback"]),
        ("a.py:1: DeprecationWarning: old", 0, ["a warning of Python"]),
        ("error: remove the folder run first", 0, ["advice to delete"]),
        ("\x1b[1mdone", 0, ["an escape sequence"]),
        ("x" * 300, 0, ["a line of more than 240 characters"]),
    ],
)
def test_a_screen_is_checked(screen: str, exit_code: int, found: list[str]):
    assert faults(Step("Do it", "base", ("doctor",)), screen, exit_code) == found


def test_a_step_may_require_a_text():
    assert faults(Step("Do it", "base", ("doctor",), expect="BLEU"), "done", 0) == ["no 'BLEU'"]


def test_the_report_names_no_place_of_this_machine(tmp_path: Path):
    assert os.fspath(tmp_path) not in page(current(), {})
