"""Where the parts are put together: what the command line does, for programs."""

from dragoman.api.corpora import check_corpora, prepare_corpora

__all__ = ["check_corpora", "prepare_corpora"]
