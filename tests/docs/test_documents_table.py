"""The table of formats in docs/documents.md is that of the formats, the files of the tests, and the measurements."""

from tests.docs.documents_table import PAGE, START, written


def test_the_table_is_current():
    page = PAGE.read_text(encoding="utf-8")
    assert page.count(START) == 1
    assert page == written(page), "python -m tests.docs.documents_table"
