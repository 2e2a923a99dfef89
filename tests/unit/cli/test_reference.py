"""The reference page is generated from the declarations of options and settings."""

from __future__ import annotations

from docs.site.reference_page import PAGE, reference_page


def test_the_committed_page_is_current():
    assert PAGE.read_text(encoding="utf-8") == reference_page(), "python docs/site/reference_page.py"


def test_the_page_has_commands_keys_and_variables():
    page = reference_page()
    for expected in (
        "### dragoman translate",
        "| `--beam INT` | 5 | Beam size; 1 is greedy search. |",
        "### [model] with family = 'transformer'",
        "| `clip_norm` | 1 |",
        "`DRAGOMAN_LIMITS_TEXTS`",
    ):
        assert expected in page
    assert "[dim]" not in page
