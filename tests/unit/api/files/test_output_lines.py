"""Translations as lines of text."""

from __future__ import annotations

import json
from typing import Any

from dragoman.api.files.output_lines import LineFormat, LineTranslator, format_links
from dragoman.api.translation.translation import Translation
from dragoman.evaluation.quality_flags import Flag
from dragoman.text.glossary import Glossary
from tests.unit.api.table_engine import subwords, table_translator

BEST = Translation(
    "s t", "a b", score=-0.5, alignment=((0, 0), (1, 1)), flags=(Flag("numbers", "x"), Flag("copied", "y"))
)
OTHER = Translation("s t", "c", score=-0.75, alignment=())


def test_fields():
    assert LineFormat().line(BEST, 3) == "a b"
    assert LineFormat(alignment=True).line(BEST, 3) == "a b ||| 0-0 1-1"
    assert LineFormat(flags=True).line(BEST, 3) == "a b ||| numbers copied"
    assert LineFormat(alignment=True, flags=True).line(OTHER, 3) == "c |||  ||| "


def test_nbest():
    both = Translation("s t", "a b", score=-0.5, nbest=(BEST, OTHER))
    form = LineFormat(nbest=True, alignment=True)
    assert form.line(both, 3).split("\n") == ["3 ||| a b ||| -0.500000 ||| 0-0 1-1", "3 ||| c ||| -0.750000 ||| "]
    assert form.line(OTHER, 0) == "0 ||| c ||| -0.750000 ||| "


def test_json():
    assert json.loads(LineFormat(json=True, nbest=True).line(BEST, 3)) == BEST.to_json()


def test_a_line_is_one_line_whatever_was_written():
    written = Translation("s", "a\nb\r\nc\rd\u2028e")
    assert LineFormat().line(written, 7) == "a b c d\u2028e"
    assert LineFormat(nbest=True).line(written, 7).count("\n") == 0
    assert "\n" not in LineFormat(json=True).line(written, 7)


def test_links():
    assert format_links([(0, 0), (12, 3)]) == "0-0 12-3"
    assert format_links(()) == ""


def test_the_job_tells_what_the_output_depends_on():
    tokenizers = subwords()

    def job(**options: Any) -> str:
        translator, _ = table_translator(tokenizers=tokenizers, **options)
        return json.dumps(LineTranslator(translator).job())

    jobs = [job(), job(batch_tokens=7), *(job(glossary=Glossary.from_dict({"a": each})) for each in ("b", "c", None))]
    assert len(set(jobs)) == 5
    assert job(glossary=Glossary.from_dict({"a": "b"})) == jobs[2]
