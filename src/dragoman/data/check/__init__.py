"""Corpus check: measure corpora before training and report problems."""

from dragoman.data.check.check import check
from dragoman.data.check.report_types import CheckReport

__all__ = ["CheckReport", "check"]
