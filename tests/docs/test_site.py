"""The site: built without a warning, every link leads somewhere, nothing is loaded from another host."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import lxml.html
import pytest

from dragoman.environment import is_installed

ROOT = Path(__file__).resolve().parents[2]
MIN_PAGES = 80

Pages = dict[Path, lxml.html.HtmlElement]


def dead_links(pages: Pages) -> list[str]:
    """Links to files that do not exist, and to parts that a page does not have."""
    names = {path: {*page.xpath("//@id"), *page.xpath("//a/@name")} for path, page in pages.items()}
    found = []
    for path, page in pages.items():
        for link in {*page.xpath("//@href"), *page.xpath("//@src")}:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            is_named = not parts.fragment or target not in names or unquote(parts.fragment) in names[target]
            if not target.exists() or not is_named:
                found.append(f"{path.name}: {link}")
    return found


def test_dead_links_are_found(tmp_path: Path) -> None:
    page = lxml.html.fromstring('<p id="x"><a href="a.html#y">a</a><img src="none.png"><a href="a.html#x">b</a></p>')
    (tmp_path / "a.html").touch()
    assert len(dead_links({tmp_path / "a.html": page})) == 2


@pytest.mark.long
@pytest.mark.skipif(not is_installed("sphinx"), reason="needs the extra docs")
def test_the_site_is_whole(tmp_path: Path) -> None:
    site = tmp_path / "html"
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-c",
        "docs/site",
        "-d",
        str(tmp_path / "cache"),
    ]
    built = subprocess.run(
        [*command, ".", str(site)], cwd=ROOT, capture_output=True, text=True, timeout=1200, check=False
    )
    assert built.returncode == 0, built.stderr
    pages = {path: lxml.html.parse(str(path)).getroot() for path in site.rglob("*.html")}
    assert len(pages) >= MIN_PAGES
    assert dead_links(pages) == []
    unlevelled = [path for path, page in pages.items() if page.xpath("//*[@role='heading'][not(@aria-level)]")]
    assert unlevelled == [], "screen readers need the level of a heading"
    serving = pages[site / "docs/serving.html"]
    assert [picture.get("loading") for picture in serving.xpath("//article//img")[:3]] == [None, "lazy", "lazy"]
    check_loaded(pages, site)
    check_languages(pages, site)
    check_generated_pages(pages, site)


@pytest.mark.skipif(not is_installed("latex2mathml"), reason="needs the extra docs")
def test_formulas_side_by_side_wrap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is an element of its own, because browsers do not break an equation into lines."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "site"))
    math_markup = importlib.import_module("math_markup")
    split_formulas = math_markup.split_formulas
    assert split_formulas(r"a \leftarrow b \qquad\qquad c, \quad d") == [r"a \leftarrow b", "c,", "d"]
    for whole in (r"\text{if \quad so}", r"\left( a \quad b \right)", r"\begin{aligned} a \qquad b \end{aligned}"):
        assert split_formulas(whole) == [whole]
    page = lxml.html.fromstring(math_markup.block_markup(r"a = b \qquad c"))
    assert len(page.xpath("div/math")) == 2
    assert {"flex-wrap:wrap", "overflow-x:auto"} <= set(page.get("style").split(";"))


def check_loaded(pages: Pages, site: Path) -> None:
    """Nothing is loaded from another host."""
    for path, page in pages.items():
        loaded = [*page.xpath("//script/@src"), *page.xpath("//img/@src"), *page.xpath("//link/@href")]
        assert not [link for link in loaded if urlsplit(link).netloc], path
    for path in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//", path.read_text(encoding="utf-8")), path


def check_languages(pages: Pages, site: Path) -> None:
    """Chinese pages declare their language, and their words are in the search."""
    languages = {path.relative_to(site).as_posix(): page.get("lang") for path, page in pages.items()}
    assert languages["README.zh.html"] == languages["docs/tutorial/01-rnn.zh.html"] == "zh-CN"
    assert languages["README.html"] == "en"
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    terms = json.loads(index.removeprefix("Search.setIndex(").removesuffix(")"))["terms"]
    assert {"翻译", "翻", "attent"} <= set(terms)


def check_generated_pages(pages: Pages, site: Path) -> None:
    """All routes and public names have a place."""
    routes = json.loads((ROOT / "web" / "openapi.json").read_text(encoding="utf-8"))["paths"]
    text = pages[site / "docs" / "http-reference.html"].text_content()
    assert [route for route in routes if route not in text] == []
    names = set(pages[site / "docs" / "api.html"].xpath("//dt/@id"))
    assert {"dragoman.Translator.translate", "dragoman.evaluate", "dragoman.SearchSettings"} <= names
