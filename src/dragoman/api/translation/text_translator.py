"""What a translator of one model and a set of models share: HTML, files, asynchronous calls, closing."""

from __future__ import annotations

import functools
import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn, Self, Unpack, overload

from dragoman.api.translation.options import Cancellation, TranslateKeywords
from dragoman.api.translation.preprocessor import check_texts
from dragoman.api.translation.translation import Translation, damage_flag
from dragoman.config.search import SearchSettings
from dragoman.environment import default_threads, trim_heap
from dragoman.errors import ConfigError
from dragoman.progress import Progress
from dragoman.reporting.number_format import format_count
from dragoman.storage.memory_reader import KnownTranslations, MemoryReader
from dragoman.text.glossary import Glossary

_CLOSED = "This translator is closed; open it again."


class ClosedEngine:
    """Takes the place of the engine of a closed translator: using it is an error."""

    name, precision, longest = "closed", "", None

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # Python itself reads these
            raise AttributeError(name)
        raise ConfigError(_CLOSED)


class TextTranslator(ABC):
    """Translates texts, HTML and files, with one model or with several."""

    languages: tuple[str, str]
    search_settings: SearchSettings
    memory: MemoryReader | None = None
    """Translation memories whose exact matches replace translations."""
    unreadable: Callable[[str], tuple[tuple[int, int], ...]] | None = None
    """Returns the spans of a text that the model cannot read; they stay."""
    _is_closed = False
    _threads: ThreadPoolExecutor | None = None

    @overload
    def translate(self, text: str, **options: Unpack[TranslateKeywords]) -> Translation: ...  # type: ignore[overload-overlap]

    @overload
    def translate(self, text: Sequence[str], **options: Unpack[TranslateKeywords]) -> list[Translation]: ...

    @abstractmethod
    def translate(
        self, text: str | Sequence[str], **options: Unpack[TranslateKeywords]
    ) -> Translation | list[Translation]:
        """Translate a text, or each of several."""

    @abstractmethod
    def direction(self, source: str | None = None, target: str | None = None) -> TextTranslator:
        """Return the translator from one language to another."""

    @overload
    async def translate_async(self, text: str, **options: Unpack[TranslateKeywords]) -> Translation: ...  # type: ignore[overload-overlap]

    @overload
    async def translate_async(self, text: Sequence[str], **options: Unpack[TranslateKeywords]) -> list[Translation]: ...

    async def translate_async(
        self, text: str | Sequence[str], **options: Unpack[TranslateKeywords]
    ) -> Translation | list[Translation]:
        """Translate as `translate` does, in a thread: the event loop continues.

        Cancelling the task ends the search, as `cancelled` does. One call per core runs at a time; others wait.
        """
        stop, given = threading.Event(), options.get("cancelled")
        options["cancelled"] = stop if given is None else _Either(stop, given)
        import asyncio  # noqa: PLC0415 -- slow to import, and loaded where this is awaited

        work = functools.partial(self.translate, text, **options)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor(), work)
        finally:
            stop.set()

    def translate_html(
        self,
        html: str,
        *,
        source: str | None = None,
        target: str | None = None,
        beam: int | None = None,
        glossary: Glossary | None = None,
        cancelled: Cancellation | None = None,
    ) -> str:
        """Translate the text of an HTML page or fragment; its markup stays.

        Arguments are those of `translate`. Scripts, styles, code and elements with ``translate="no"`` stay unchanged.
        A text whose placeholders cannot be kept stays unchanged, with a warning.
        """
        from dragoman.api.translation.markup import translate_markup  # noqa: PLC0415 -- imports this module
        from dragoman.markup.html_text import HtmlText  # noqa: PLC0415 -- few texts are HTML

        check_texts([html])
        page = HtmlText.parse(html)
        directed = self.direction(source, target)
        found = translate_markup(directed, page.segments, beam=beam, glossary=glossary, cancelled=cancelled)
        warn_about_damage(found.damaged)
        return page.write(found.texts)

    def translate_file(  # noqa: PLR0913 -- one keyword per option
        self,
        path: Path | str,
        output: Path | str | None = None,
        *,
        source: str | None = None,
        target: str | None = None,
        read_as: str | None = None,
        split_sentences: bool = False,
        again: bool = False,
        force: bool = False,
        progress: Progress | None = None,
    ) -> Path:
        """Translate a document with its layout, or a text file line by line, and return the path of the result.

        The ending of the name determines the format, as on the command line; a file that is neither a supported
        document nor plain text is an error. Notes, such as on another language than the model's, are Python warnings.

        Args:
            path: Document (``.docx``, ``.html``, ``.po``, …) or text file, which may be ``.gz``.
            output: File to write; by default next to `path` with the target language in its name.
            source: Language of the file; needed if there are several.
            target: Language of the translation; needed if there are several.
            read_as: Format, such as ``"text"`` or ``"html"``, where the ending of the name is another one.
            split_sentences: Lines of a text file are paragraphs: translate them sentence by sentence.
            again: Translate entries of a ``.po`` or ``.xliff`` file again that no person has reviewed.
            force: Overwrite an existing output.
            progress: Receives the progress; by default a notebook shows it.
        """
        from dragoman.api.files.file_translation import translate_path  # noqa: PLC0415 -- imports this module

        return translate_path(
            self.direction(source, target),
            Path(path),
            None if output is None else Path(output),
            read_as=read_as,
            split_sentences=split_sentences,
            again=again,
            force=force,
            progress=progress,
        )

    def _known_matches(self, texts: Sequence[str]) -> KnownTranslations | None:
        """Return what the translation memories have for texts; None without any."""
        return None if self.memory is None else (self.memory, self.memory.find(*self.languages, texts))

    def close(self) -> None:
        """Free the memory of the engine; every later call, and a translation in progress, ends with an error."""
        self._is_closed = True
        threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=False)
        self._release()
        trim_heap()

    @abstractmethod
    def _release(self) -> None:
        """Drop all references to engines."""

    def __enter__(self) -> Self:
        """Return the translator, which the end of the ``with`` block closes."""
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise ConfigError(_CLOSED)

    def _executor(self) -> ThreadPoolExecutor:
        self._check_open()
        if self._threads is None:
            self._threads = ThreadPoolExecutor(default_threads(), "dragoman-translate")
        return self._threads


class _Either:
    """Cancellation by one of two flags."""

    def __init__(self, *flags: Cancellation) -> None:
        self._flags = flags

    def is_set(self) -> bool:
        return any(each.is_set() for each in self._flags)


def warn_about_damage(damaged: dict[Any, str]) -> None:
    """Emit a Python warning if texts stay unchanged because their placeholders could not be kept."""
    if damaged:
        warnings.warn(
            f"{format_count(len(damaged), 'text')} not translated, since placeholders or words would be lost"
            f"{', or the confidence is too low' if 'unsure' in map(damage_flag, damaged.values()) else ''}, first: "
            f"{next(iter(damaged.values()))}",
            stacklevel=3,
        )
