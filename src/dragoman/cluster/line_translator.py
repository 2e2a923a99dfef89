"""Open a model in a worker: everything that it needs is passed as plain, picklable values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dragoman.api.files.output_lines import LineFormat, LineTranslator
from dragoman.api.translation.translator import Translator
from dragoman.config.engine import EngineSettings
from dragoman.config.search import SearchSettings
from dragoman.errors import BundleError
from dragoman.text.glossary import Glossary

__all__ = ["LineTranslatorOptions"]


@dataclass(frozen=True)
class LineTranslatorOptions:
    """Bundles, settings and glossary of a `LineTranslator`; paths must be absolute and exist on every node."""

    bundles: tuple[Path, ...]
    engine: EngineSettings
    search: SearchSettings
    form: LineFormat
    glossary: Path | None = None
    split_sentences: bool = False
    round_trip: Path | None = None

    def open(self) -> LineTranslator:
        """Load the model in this process."""
        for path in (*self.bundles, *filter(None, (self.glossary, self.round_trip))):
            if not path.exists():
                raise BundleError(f"{path} must exist on every node, got a node without it; use a shared folder")
        terms = None if self.glossary is None else Glossary.from_file(self.glossary)
        opened = Translator.open(*self.bundles, search=self.search, glossary=terms, **self.engine.model_dump())
        translator = opened.direction()
        back = None
        if self.round_trip is not None:
            back = Translator.open(self.round_trip, **self.engine.reversed().model_dump()).direction()
        return LineTranslator(translator, self.form, split_sentences=self.split_sentences, round_trip=back)
