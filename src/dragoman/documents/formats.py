"""The table of document formats by file suffix; each reader is imported when it is needed."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NamedTuple, cast

from dragoman.documents.limits import DocumentLimits, DocumentTooLargeError
from dragoman.errors import ConfigError, DataError, DragomanError, MissingExtraError
from dragoman.plugins import find_plugin, load_plugin, load_plugins, plugin_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from dragoman.documents.document import Document

MAX_BYTES = 64 << 20
"""Maximum size of a document in bytes; callers may allow less."""

GROUP = "document_formats"
"""Group of plug-ins that add formats; the name of one is its suffix without the dot."""

_OFFICE = "application/vnd.openxmlformats-officedocument."
_READER = "dragoman.documents."


class DocumentFormat(NamedTuple):
    """What is known of a format."""

    media_type: str
    reader: str
    """Module and name of ``read(name, data, limits) -> Document``, such as ``package.module:read_ini``; a reader
    raises `DataError` for damaged files."""
    max_bytes: int = 8 << 20
    is_archive: bool = False
    """Whether its files are binary, so that they are not written to a terminal."""
    is_bilingual: bool = False
    """Whether it has source texts and their translations; its reader then has the keyword `again`."""

    def read(self, name: str, data: bytes, limits: DocumentLimits, *, again: bool) -> Document:
        """Import the reader and read a file."""
        module, _, function = self.reader.partition(":")
        reader = cast("Callable[..., Document]", getattr(import_module(module), function))
        return reader(name, data, limits, **({"again": again} if self.is_bilingual else {}))


_HTML = DocumentFormat("text/html", f"{_READER}html_document:read_html")
_XLIFF = DocumentFormat("application/xliff+xml", f"{_READER}xml.xliff:read_xliff", is_bilingual=True)
_ASS = DocumentFormat("text/x-ssa", f"{_READER}text.subtitles:read_ass")
_OPEN = "application/vnd.oasis.opendocument."
_YAML = DocumentFormat("application/yaml", f"{_READER}strings.yaml_strings:YAML")
_PO = "text/x-gettext-translation"
_STRINGS = f"{_READER}strings."


def _archive(media_type: str, reader: str) -> DocumentFormat:
    return DocumentFormat(media_type, f"{_READER}office.{reader}", MAX_BYTES, is_archive=True)


FORMATS = {
    ".arb": DocumentFormat("application/json", f"{_STRINGS}json_strings:ARB"),
    ".ass": _ASS,
    ".docx": _archive(f"{_OFFICE}wordprocessingml.document", "ooxml:read_docx"),
    ".epub": DocumentFormat("application/epub+zip", f"{_READER}epub:read_epub", MAX_BYTES, is_archive=True),
    ".ftl": DocumentFormat("text/x-fluent", f"{_STRINGS}fluent:FTL"),
    ".htm": _HTML,
    ".html": _HTML,
    ".ipynb": DocumentFormat("application/x-ipynb+json", f"{_READER}notebook:read_ipynb"),
    ".json": DocumentFormat("application/json", f"{_STRINGS}json_strings:JSON"),
    ".md": DocumentFormat("text/markdown", f"{_READER}markdown.document:read_md", 1 << 20),  # parsing is slow
    ".mdx": DocumentFormat("text/mdx", f"{_READER}markdown.document:read_mdx", 1 << 20),
    ".mqxliff": _XLIFF,
    ".odp": _archive(f"{_OPEN}presentation", "odt:read_odp"),
    ".ods": _archive(f"{_OPEN}spreadsheet", "odt:read_ods"),
    ".odt": _archive(f"{_OPEN}text", "odt:read_odt"),
    ".php": DocumentFormat("application/x-php", f"{_STRINGS}assignments:PHP_ARRAY"),
    ".po": DocumentFormat(_PO, f"{_READER}text.po:read_po", is_bilingual=True),
    ".pot": DocumentFormat(_PO, f"{_READER}text.po:read_po", is_bilingual=True),
    ".pptx": _archive(f"{_OFFICE}presentationml.presentation", "ooxml:read_pptx"),
    ".properties": DocumentFormat("text/x-java-properties", f"{_STRINGS}assignments:read_properties"),
    ".resx": DocumentFormat("text/microsoft-resx", f"{_STRINGS}xml_strings:RESX"),
    ".rst": DocumentFormat("text/x-rst", f"{_READER}prose.restructuredtext:read_rst", 2 << 20),
    ".sdlxliff": _XLIFF,
    ".srt": DocumentFormat("application/x-subrip", f"{_READER}text.subtitles:read_srt"),
    ".ssa": _ASS,
    ".strings": DocumentFormat("text/x-apple-strings", f"{_STRINGS}assignments:APPLE"),
    ".stringsdict": DocumentFormat("application/x-plist", f"{_STRINGS}xml_strings:STRINGSDICT"),
    ".tex": DocumentFormat("text/x-tex", f"{_READER}prose.latex:read_tex", 2 << 20),
    ".tmx": DocumentFormat("application/x-tmx+xml", f"{_READER}xml.tmx:read_tmx", is_bilingual=True),
    ".ts": DocumentFormat("text/vnd.trolltech.linguist", f"{_STRINGS}qt_ts:read_ts", is_bilingual=True),
    ".txt": DocumentFormat("text/plain", f"{_READER}text.text_file:read_txt"),
    ".vtt": DocumentFormat("text/vtt", f"{_READER}text.subtitles:read_vtt"),
    ".xcstrings": DocumentFormat("application/json", f"{_STRINGS}xcstrings:read_xcstrings", is_bilingual=True),
    ".xlf": _XLIFF,
    ".xliff": _XLIFF,
    ".xlsx": _archive(f"{_OFFICE}spreadsheetml.sheet", "ooxml:read_xlsx"),
    ".xml": DocumentFormat("application/xml", f"{_STRINGS}xml_strings:ANDROID"),
    ".yaml": _YAML,
    ".yml": _YAML,
}
"""The formats of this package by suffix."""

_CONVERSIONS = {
    "convert it to .po or .xliff, or write its texts to a .txt file, one per line": (
        "ini js json5 jsonc jsonl jsx plist rc resjson toml tsx vue"
    ),
    "convert it to .srt": "dfxp lrc sbv smi stl sub ttml usf",
    "add --as xliff": "mxliff",
    "export it as .xliff": "ttx txlf txml wsxz xlz xcloc",
    "make a .po file of it with msgunfmt": "gmo mo",
    "convert it to .html or .md": "adoc asciidoc creole org textile wiki",
    "convert it to .docx with LibreOffice": "doc dot fodt pages rtf wpd wps",
    "convert it to .pptx with LibreOffice": "fodp key ppt pps",
    "convert it to .xlsx with LibreOffice": "fods numbers xls xlsb",
    "save the column to translate as a .txt file": "parquet",
    "add --as docx": "docm dotm dotx",
    "add --as pptx": "potm potx ppsm ppsx pptm",
    "add --as xlsx": "xlsm xltm xltx",
    "add --as odt": "ott",
    "add --as ods": "ots",
    "add --as odp": "otp",
    "convert it to .docx with LibreOffice, or to .txt with pdftotext": "pdf",
    "convert it to .epub with calibre": "azw azw3 chm fb2 lit mobi",
    "convert it to .html, .docx or .txt": "djvu ps xps",
    "add --as html": "handlebars hbs j2 jinja jinja2 mustache njk shtml tpl twig xht xhtml",
    "add --as md": "markdown mdown mkd qmd rmd",
    "unpack it": "7z bz2 gz lz4 rar tar tgz xz zip zst",
}
_CONVERSION = {f".{name}": fix for fix, names in _CONVERSIONS.items() for name in names.split()}


def check_output_suffix(output: Path, source: Path | str, suffix: str) -> None:
    """Raise `ConfigError` for an output named as another format than the input's; `suffix` is empty for plain text."""
    ending = output.suffix.lower()
    if suffix and ending not in {suffix, Path(source).suffix.lower(), ".po" if suffix == ".pot" else suffix}:
        raise ConfigError(f"the output must end in {suffix} as the input does, got {output.name}; rename it")
    if not suffix and ending in FORMATS and FORMATS[ending].is_archive:
        raise ConfigError(f"the output is plain text and must not end in {ending}, got {output.name}; rename it")


def conversion_of(suffix: str) -> str:
    """Return what to do with a file whose format cannot be read."""
    return _CONVERSION.get(suffix, "convert it to one of these")


def document_suffixes() -> list[str]:
    """Return the suffixes of all formats, those of plug-ins included, which are not imported."""
    return sorted({*FORMATS, *(f".{name}" for name in plugin_names(GROUP))})


def is_document(suffix: str) -> bool:
    """Whether a suffix is that of a format."""
    return suffix in FORMATS or suffix[1:] in plugin_names(GROUP)


def document_formats() -> dict[str, DocumentFormat]:
    """Return all formats by suffix; a plug-in that cannot be used is logged and left out."""
    added = {f".{name}": form for name, form in load_plugins(GROUP).items() if isinstance(form, DocumentFormat)}
    return dict(sorted((added | FORMATS).items()))


def find_format(suffix: str) -> DocumentFormat:
    """Return the format of a suffix for which `is_document` is true, after importing its plug-in if it is of one."""
    form = FORMATS.get(suffix) or load_plugin(GROUP, suffix[1:])
    if not isinstance(form, DocumentFormat):
        raise MissingExtraError(
            f"{find_plugin(GROUP, suffix[1:])} is no DocumentFormat, so {suffix} files cannot be read; uninstall it"
        )
    return form


def read_document(
    name: str,
    data: bytes,
    *,
    characters: int | None = None,
    again: bool = False,
    suffix: str = "",
    is_target: bool = False,
) -> Document:
    """Read a document in the format of its suffix, or of another `suffix`.

    A file with translations, such as ``.po``, has segments for what is not translated yet; with `again` also for
    translations that are not reviewed. `is_target` states that the file is a translation of one that was accepted:
    whether its values look like texts is not checked.

    Raise `DataError` if the content does not have that format, and a subclass of it, `DocumentTooLargeError`, as soon
    as a limit is exceeded: bytes, `characters` of text, paragraphs, lines or tags. Nothing in a document is executed,
    downloaded or unpacked to disk.
    """
    suffix = suffix or PurePath(name).suffix.lower()
    shown = _shown(name)
    if not is_document(suffix):
        formats = ", ".join(document_suffixes())
        raise DataError(f"a document must be one of {formats}, got {shown}; {conversion_of(suffix)}")
    if not data.strip():
        raise DataError(f"{shown} is empty; check the file")
    form = find_format(suffix)
    if len(data) > form.max_bytes:
        raise DocumentTooLargeError(f"{shown} must have at most {form.max_bytes:,} bytes, got {len(data):,}; split it")
    limits = DocumentLimits(shown, characters)
    limits.is_target = is_target
    try:
        return form.read(shown, data, limits, again=again)
    except DragomanError:
        raise
    except Exception as error:
        if suffix in FORMATS:
            raise
        why = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise DataError(f"{find_plugin(GROUP, suffix[1:])} cannot read {shown}: {why}; report it there") from error


def _shown(name: str) -> str:
    """Return a file name for messages: printable and at most 80 characters."""
    plain = "".join(character if character.isprintable() else "?" for character in PurePath(name).name)
    return plain if len(plain) <= 80 else f"{plain[:60]}…{plain[-19:]}"
