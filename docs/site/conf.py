"""Settings of the site: `sphinx-build -c docs/site . build/site` from the root of the repository.

The source folder is the repository, so that links between documentation, results and reports are the same on the site
and in the repository.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx import addnodes

from dragoman import __version__

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
sys.path.insert(0, str(FOLDER))

from cjk_search import SearchEnglishAndChinese  # noqa: E402 -- this folder must be known first
from math_markup import add_math_markup  # noqa: E402
from openapi_page import openapi_page  # noqa: E402

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "Dragoman"
author = "The Dragoman contributors"
copyright = author  # noqa: A001 -- Sphinx reads this name
version = release = __version__
language = "en"
smartquotes = False  # options begin with two hyphens
root_doc = "docs/index"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
include_patterns = [
    "docs/**.md",
    "docs/notebooks/*.ipynb",
    "docs/tutorial/*.ipynb",
    "*.md",
    "benchmarks/README.md",
    "benchmarks/results/*.md",
    "claims/report.md",
    "claims/report.zh.md",
    "deploy/README.md",
]
exclude_patterns = ["**/node_modules"]

myst_enable_extensions = ["dollarmath", "html_image"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # notebooks are saved with their output at full size
default_role = "code"  # of docstrings
autodoc_member_order = "bysource"
copybutton_prompt_text = "$ "

html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"Dragoman {release}"
html_favicon = "../../web/public/icon.svg"
html_copy_source = False
html_show_sphinx = False
html_last_updated_fmt = None


def setup(app: Sphinx) -> None:
    """Connect what the site adds to Sphinx."""
    from sphinx.search import languages  # noqa: PLC0415 -- a registry without a public function

    languages["en"] = SearchEnglishAndChinese
    add_math_markup(app)
    app.add_lexer("mermaid", TextLexer)  # GitHub draws them; here they are text
    app.connect("source-read", add_routes)
    app.connect("doctree-read", load_pictures_late)
    app.connect("doctree-read", link_pages, priority=400)  # before Sphinx collects downloads
    app.connect("html-page-context", set_language)
    app.connect("html-page-context", set_heading_level, priority=900)  # after the theme
    app.connect("build-finished", write_first_page)
    app.connect("build-finished", copy_pages)


def add_routes(_app: Sphinx, page: str, source: list[str]) -> None:
    """Add the generated routes to their page."""
    if page == "docs/http-reference":
        source[0] += openapi_page(ROOT / "web" / "openapi.json")


def load_pictures_late(_app: Sphinx, document: nodes.document) -> None:
    """Let a browser load a picture when it is scrolled to, except for the first of a page."""
    for picture in list(document.findall(nodes.image))[1:]:
        picture["loading"] = "lazy"


def link_pages(_app: Sphinx, document: nodes.document) -> None:
    """Let a link to an HTML page of the repository open it, where Sphinx would offer a download."""
    for link in list(document.findall(addnodes.download_reference)):
        if link["reftarget"].endswith(".html"):
            link.replace_self(nodes.reference("", "", *link.children, refuri=link["reftarget"], internal=True))


def set_language(_app: Sphinx, page: str, _template: str, context: dict[str, Any], _document: object) -> None:
    """Declare the language of Chinese pages."""
    if page.startswith("docs/zh/") or page.endswith(".zh"):
        context["language"] = "zh-CN"


def set_heading_level(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], _document: object) -> None:
    """Give the headings of lists of pages their level, which screen readers need and Sphinx leaves out."""
    for part in ("furo_navigation_tree", "body"):
        context[part] = context.get(part, "").replace('role="heading">', 'role="heading" aria-level="2">')


def write_first_page(app: Sphinx, error: Exception | None) -> None:
    """Lead from the root of the site to its first page."""
    if error is None and app.builder.format == "html":
        shutil.copy(FOLDER / "first-page.html", Path(app.outdir) / "index.html")


def copy_pages(app: Sphinx, error: Exception | None) -> None:
    """Copy the HTML pages of the claims, to which the report links."""
    if error is None and app.builder.format == "html":
        folder = Path(app.outdir) / "claims"
        folder.mkdir(exist_ok=True)
        for page in sorted((ROOT / "claims").glob("*.html")):
            text = page.read_text(encoding="utf-8")
            for report in ("report", "report.zh"):
                text = text.replace(f'href="{report}.md"', f'href="{report}.html"')
            (folder / page.name).write_text(text, encoding="utf-8")
