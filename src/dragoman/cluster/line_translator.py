"""Describe a model for workers, which open it: all that it needs as plain, picklable values.

A command uses this before it starts Ray, so this module must not import Ray (see `ray_session`).
"""

from dataclasses import dataclass
from pathlib import Path

from dragoman.api.files.output_lines import LineFormat, LineTranslator
from dragoman.api.translation.glossary_constraints import read_glossary
from dragoman.api.translation.translator import Translator
from dragoman.bundle import Bundle
from dragoman.config.engine import EngineSettings
from dragoman.config.search import SearchSettings
from dragoman.errors import BundleError


@dataclass(frozen=True)
class LineTranslatorOptions:
    """Bundles, settings and glossary of a `LineTranslator`; paths must be absolute and exist on every node."""

    bundles: tuple[Path, ...]
    engine: EngineSettings
    search: SearchSettings
    form: LineFormat
    glossary: Path | None = None
    split_sentences: bool = False
    counted_flags: frozenset[str] = frozenset()

    def open(self) -> LineTranslator:
        """Load the model in this process."""
        for path in (*self.bundles, *filter(None, (self.glossary,))):
            if not path.exists():
                raise BundleError(f"{path} is missing on a node; use a shared folder")
        first = Bundle.open(self.bundles[0])
        terms = None if self.glossary is None else read_glossary(self.glossary, first)
        opened = Translator.open(
            first, *self.bundles[1:], search=self.search, glossary=terms, **self.engine.model_dump()
        )
        return LineTranslator(opened.direction(), self.form, self.split_sentences, self.counted_flags)
